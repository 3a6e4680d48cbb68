package modeltest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// answerID begins the id of a call that hands in structured output.
const answerID = "call_answer_"

// Kind is what an error is, in words that all APIs have their own form of.
type Kind string

// The kinds of errors.
const (
	RateLimit  Kind = "rate_limit"  // 429, too many requests
	UsageLimit Kind = "usage_limit" // 429, the plan or the quota is used up
	Auth       Kind = "auth"        // 401, the key is refused
	Billing    Kind = "billing"     // 402
	Overloaded Kind = "overloaded"  // 529, and 503 as OpenAI says it
	Broken     Kind = "server"      // 500
	TooLong    Kind = "context"     // 400, the prompt does not fit
	NoModel    Kind = "model"       // 404, no such model
	Bad        Kind = "bad_request" // 400
)

func (k Kind) status() int {
	switch k {
	case RateLimit, UsageLimit:
		return http.StatusTooManyRequests
	case Auth:
		return http.StatusUnauthorized
	case Billing:
		return http.StatusPaymentRequired
	case Overloaded:
		return http.StatusServiceUnavailable
	case TooLong, Bad:
		return http.StatusBadRequest
	case NoModel:
		return http.StatusNotFound
	}
	return http.StatusInternalServerError
}

// kindOf gives a status without a kind the kind that goes with it.
func kindOf(a Reply) Kind {
	if a.Kind != "" {
		return a.Kind
	}
	for _, k := range []Kind{RateLimit, Auth, Billing, Bad, NoModel} {
		if k.status() == a.Status {
			return k
		}
	}
	if a.Status == http.StatusServiceUnavailable || a.Status == 529 {
		return Overloaded
	}
	return Broken
}

// Call is one call of a tool, by the tool's own name, or by what it is to do: Run,
// Write, Ask.
type Call struct {
	Tool  string
	Input any
	space string             // the group that the tool is in, for Codex
	pick  func(Request) Call // finds the tool that the agent offers
	id    string
	free  bool // Input is a string that goes as it is
}

// Do replies with calls of tools.
func Do(calls ...Call) Reply { return Reply{Calls: calls} }

// Run calls the tool that runs a shell command.
func Run(command string) Call {
	return Call{pick: func(q Request) Call {
		switch {
		case q.Tools["exec_command"]:
			return Call{Tool: "exec_command", Input: object{"cmd": command, "yield_time_ms": 30_000}}
		case q.Tools["shell_command"]:
			return Call{Tool: "shell_command", Input: object{"command": command}}
		case q.Tools["shell"]:
			return Call{Tool: "shell", Input: object{"command": []string{"sh", "-c", command}}}
		case q.Tools["exec"]: // code mode: the tools are functions of a script
			return Call{Tool: "exec", free: true, Input: fmt.Sprintf("text(JSON.stringify(await tools.exec_command({cmd: %s})))", raw(command))}
		case q.Tools["Bash"]:
			return Call{Tool: "Bash", Input: object{"command": command, "description": "Run a command"}}
		}
		return Call{Tool: "bash", Input: object{"command": command, "description": "Run a command"}}
	}}
}

// Write calls the tool that makes a new file. The path is absolute, since some
// agents take no other.
func Write(path, text string) Call {
	return Call{pick: func(q Request) Call {
		switch {
		case q.Tools["apply_patch"]:
			return Call{Tool: "apply_patch", free: true, Input: addFile(path, text)}
		case q.Tools["exec"]:
			return Call{Tool: "exec", free: true, Input: fmt.Sprintf("text(JSON.stringify(await tools.apply_patch(%s)))", raw(addFile(path, text)))}
		case q.Tools["Write"]:
			return Call{Tool: "Write", Input: object{"file_path": path, "content": text}}
		case len(q.Tools) == 1 && q.Tools["bash"]: // a shell is all that there is
			return Call{Tool: "bash", Input: object{"command": fmt.Sprintf("cat >'%s' <<'END_OF_FILE'\n%sEND_OF_FILE", path, text)}}
		}
		return Call{Tool: "write", Input: object{"filePath": path, "content": text}}
	}}
}

// addFile is a patch in the form that Codex takes.
func addFile(path, text string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "*** Begin Patch\n*** Add File: %s\n", path)
	for line := range strings.Lines(text) {
		b.WriteString("+" + strings.TrimSuffix(line, "\n") + "\n")
	}
	b.WriteString("*** End Patch")
	return b.String()
}

// Ask calls the tool that puts a question to a person, with the answers to choose
// from. Agents that offer none (CanAsk) get the call all the same, and refuse it.
func Ask(question string, options ...string) Call {
	return Call{pick: func(q Request) Call {
		list := []object{}
		for _, o := range options {
			list = append(list, object{"label": o, "description": o})
		}
		switch {
		case q.Tools["request_user_input"]:
			return Call{Tool: "request_user_input", Input: object{"questions": []object{{"id": "q1", "header": "Question", "question": question, "options": list}}}}
		case q.API == Messages:
			return Call{Tool: "AskUserQuestion", Input: object{"questions": []object{{"question": question, "header": "Question", "options": list, "multiSelect": false}}}}
		}
		return Call{Tool: "question", Input: object{"questions": []object{{"question": question, "header": "Question", "options": list}}}}
	}}
}

// MCP calls a tool of an MCP server by the name that the agent gives it. Codex keeps such
// tools in a group, most often one that its model has to look for.
func MCP(server, tool string, input any) Call {
	return Call{pick: func(q Request) Call {
		whole := "mcp__" + server + "__" + tool
		switch {
		case q.Tools[whole]:
			return Call{Tool: whole, Input: input}
		case q.API == Responses:
			return Call{Tool: tool, Input: input, space: "mcp__" + server}
		}
		return Call{Tool: server + "_" + tool, Input: input}
	}}
}

// CanAsk reports whether the agent offers a tool for questions.
func (q Request) CanAsk() bool {
	return q.Tools["request_user_input"] || q.Tools["AskUserQuestion"] || q.Tools["question"]
}

// calls are the reply's calls with the names of the tools that there are.
func (a Reply) calls(q Request) []Call {
	list := a.Calls
	if a.Tool != "" {
		_, free := a.Input.(string)
		list = append([]Call{{Tool: a.Tool, Input: a.Input, free: free}}, list...)
	}
	if a.Answer != nil && q.Tools["StructuredOutput"] {
		list = append([]Call{{Tool: "StructuredOutput", Input: a.Answer, id: answerID}}, list...)
	}
	out := make([]Call, len(list))
	for i, c := range list {
		if c.pick != nil {
			c = c.pick(q)
		}
		if c.Input == nil {
			c.Input = object{}
		}
		out[i] = c
	}
	return out
}

// call is the id of the i-th call of the n-th answer.
func (c Call) call(n, i int) string {
	if c.id != "" {
		return fmt.Sprintf("%s%d_%d", c.id, n, i)
	}
	return fmt.Sprintf("call_%d_%d", n, i)
}

// input is what the tool gets, as text.
func (c Call) input() string {
	if s, ok := c.Input.(string); ok && c.free {
		return s
	}
	if m, ok := c.Input.(json.RawMessage); ok {
		return string(m)
	}
	return string(raw(c.Input))
}
