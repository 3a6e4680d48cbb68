package codex

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/agent/wire"
	"github.com/ralph-loop/ralph/internal/text"
)

// ask is a request of the app-server: what ralph is asked, and how codex is told
// the answer.
type ask struct {
	request ralph.Request
	result  func(ralph.Reply) any
}

// asked takes a request of the server; the lock is held. Each is answered exactly once:
// at once what nobody has to think about, else behind our back, so that what
// comes next is read meanwhile.
func (t *turn) asked(method, id string, p eventParams) {
	ask, refusal := t.readAsk(method, p)
	if t.ending {
		refusal = &wire.RPCError{Code: wire.ErrNoMethod, Message: "the turn is over"}
	}
	switch {
	case refusal != nil:
		t.server.rpc.Answer(id, nil, refusal)
		return
	case ask.request.Kind == "":
		t.server.rpc.Answer(id, ask.result(ralph.Reply{}), nil)
		return
	}
	ask.request.ID = id
	t.decided[wire.Text(p.itemID)] = t.ask != nil
	e := ralph.StreamEvent{Kind: ralph.StreamApproval, Thread: wire.Text(p.thread), Turn: wire.Text(p.turnID), Request: ask.request}
	if ask.request.Kind == ralph.RequestQuestion {
		e.Kind = ralph.StreamInput
	}
	t.Emit(e)
	ctx, cancel := context.WithCancel(t.askCtx)
	t.cancels[id] = cancel
	t.asks.Go(func() {
		defer cancel()
		reply, err := t.asking.Answer(ctx, ask.request)
		if err != nil {
			reply = ralph.Reply{}
			t.unanswered(ctx, err)
		}
		t.server.rpc.Answer(id, ask.result(reply), nil)
		t.Mu.Lock()
		t.over(id)
		t.Mu.Unlock()
		if reply.Stop {
			t.Stop(errHalted)
		}
	})
}

// unanswered returns when a request without an answer may be denied. While the turn is
// being ended that is after its end: codex would go on with a denial, but ignores what
// it is told after that.
func (t *turn) unanswered(ctx context.Context, err error) {
	if ctx.Err() == nil { // nobody took it back: whoever should ask is broken
		t.Mu.Lock()
		t.askErr = err
		t.Mu.Unlock()
		t.Stop(err)
	}
	if t.askCtx.Err() == nil {
		return // codex took it back itself
	}
	select {
	case <-t.done:
	case <-t.server.dead:
	}
}

// resolved takes that the server needs no answer any more; the lock is held.
func (t *turn) resolved(id string) {
	t.server.rpc.Resolved(id)
	t.over(id)
}

// over says once that a request is over; the lock is held.
func (t *turn) over(id string) {
	if cancel := t.cancels[id]; cancel != nil {
		cancel()
		delete(t.cancels, id)
		t.Emit(ralph.StreamEvent{Kind: ralph.StreamResolved, Thread: t.thread, Turn: t.id, Request: ralph.Request{ID: id}})
	}
}

// readAsk reads a request. One without a kind needs no thought, one that ralph does not
// know is refused.
func (t *turn) readAsk(method string, p eventParams) (ask, *wire.RPCError) {
	switch method {
	case "item/commandExecution/requestApproval":
		return askCommand(p), nil
	case "item/fileChange/requestApproval":
		return t.askEdit(p), nil
	case "item/permissions/requestApproval":
		return askPermissions(p), nil
	case "item/tool/requestUserInput":
		return askInput(p), nil
	case "mcpServer/elicitation/request":
		return askElicitation(p), nil
	case "item/tool/call": // ralph gives codex no tools of its own
		return ask{result: func(ralph.Reply) any {
			return map[string]any{"success": false, "contentItems": []any{map[string]string{"type": "inputText", "text": "there is no such tool"}}}
		}}, nil
	case "execCommandApproval", "applyPatchApproval": // of the first protocol
		return ask{result: func(ralph.Reply) any { return map[string]string{"decision": "denied"} }}, nil
	}
	return ask{}, &wire.RPCError{Code: wire.ErrNoMethod, Message: "ralph does not answer " + text.Cut(method, wire.MaxSaidTool)}
}

// decision is how approvals of commands and files are answered. Cancel ends the turn.
func decision(r ralph.Reply) any {
	word := "decline"
	switch {
	case r.Stop:
		word = "cancel"
	case r.Allow:
		word = "accept"
	}
	return map[string]string{"decision": word}
}

func askCommand(p eventParams) ask {
	var v struct {
		Command string `json:"command"`
		Dir     string `json:"cwd"`
		Reason  string `json:"reason"`
	}
	_ = json.Unmarshal(p.all, &v) // what is not there is not said
	q := ralph.Request{
		Kind: ralph.RequestApproval, Op: ralph.OpCommand, Tool: "commandExecution", Command: wire.UnwrapShell(v.Command), Dir: v.Dir,
	}
	q.Text = firstLine(cmp.Or(v.Reason, q.Command))
	if v.Command == "" { // network access for a command that runs already
		q.Op, q.Detail, q.Text = ralph.OpPermissions, wire.Compact(p.all, wire.MaxDetail), firstLine(cmp.Or(v.Reason, "more rights for a command"))
	}
	return ask{q, decision}
}

// askEdit asks for a change of files. The request names the item only: its files and
// patch were said when it began.
func (t *turn) askEdit(p eventParams) ask {
	var v struct {
		Reason string `json:"reason"`
		Root   string `json:"grantRoot"`
	}
	_ = json.Unmarshal(p.all, &v)
	edit := t.edits[wire.Text(p.itemID)]
	q := ralph.Request{Kind: ralph.RequestApproval, Op: ralph.OpEdit, Tool: "fileChange", Paths: slices.Clone(edit.files), Detail: edit.detail}
	if v.Root != "" { // the right to write in all of a folder, later as well
		q.Op, q.Paths = ralph.OpPermissions, append(q.Paths, v.Root)
	}
	q.Text = firstLine(cmp.Or(v.Reason, "change "+strings.Join(q.Paths, ", ")))
	return ask{q, decision}
}

func askPermissions(p eventParams) ask {
	var v struct {
		Permissions json.RawMessage `json:"permissions"`
		Dir         string          `json:"cwd"`
		Reason      string          `json:"reason"`
	}
	_ = json.Unmarshal(p.all, &v)
	q := ralph.Request{
		Kind: ralph.RequestApproval, Op: ralph.OpPermissions, Tool: "permissions", Dir: v.Dir,
		Text: firstLine(cmp.Or(v.Reason, "more rights for itself")), Detail: wire.Compact(v.Permissions, wire.MaxDetail),
	}
	return ask{q, func(r ralph.Reply) any {
		granted := json.RawMessage("{}")
		if r.Allow && len(v.Permissions) > 0 {
			granted = v.Permissions
		}
		return map[string]any{"permissions": granted, "scope": "turn"}
	}}
}

func askInput(p eventParams) ask {
	var v struct {
		Questions []struct {
			ID       string `json:"id"`
			Question string `json:"question"`
			Options  []struct {
				Label string `json:"label"`
			} `json:"options"`
		} `json:"questions"`
	}
	_ = json.Unmarshal(p.all, &v)
	var all []ralph.Question
	for _, one := range v.Questions {
		q := ralph.Question{ID: one.ID, Text: one.Question}
		for _, o := range one.Options {
			q.Options = append(q.Options, o.Label)
		}
		all = append(all, q)
	}
	return ask{questions("requestUserInput", all), func(r ralph.Reply) any {
		answers := map[string]any{}
		if words := answersTo(r.Text, len(all)); len(words) > 0 {
			for i, q := range all {
				answers[q.ID] = map[string]any{"answers": []string{words[i]}}
			}
		}
		return map[string]any{"answers": answers}
	}}
}

// questions makes one request of some questions.
func questions(tool string, all []ralph.Question) ralph.Request {
	q := ralph.Request{Kind: ralph.RequestQuestion, Tool: tool, Questions: all}
	var lines []string
	for _, one := range all {
		lines = append(lines, one.Text)
	}
	q.Text = strings.Join(lines, "\n")
	if len(all) == 1 {
		q.Options, q.Questions = all[0].Options, nil
	}
	return q
}

// answersTo divides words into the answers to n questions: a line each, or else all of
// it to each. nil: no answer.
func answersTo(words string, n int) []string {
	if strings.TrimSpace(words) == "" || n == 0 {
		return nil
	}
	lines := strings.Split(strings.TrimSpace(words), "\n")
	if len(lines) != n {
		return slices.Repeat([]string{words}, n)
	}
	return lines
}

// askElicitation asks what an MCP server wants to know: a form whose fields become
// questions, or a yes or no.
func askElicitation(p eventParams) ask {
	var v struct {
		Server  string `json:"serverName"`
		Mode    string `json:"mode"`
		Message string `json:"message"`
		URL     string `json:"url"`
		Schema  struct {
			Properties map[string]elicitField `json:"properties"`
		} `json:"requestedSchema"`
	}
	_ = json.Unmarshal(p.all, &v)
	names := make([]string, 0, len(v.Schema.Properties))
	for name := range v.Schema.Properties {
		names = append(names, name)
	}
	slices.Sort(names)
	answer := func(action string, content any) any {
		return map[string]any{"action": action, "content": content, "_meta": nil}
	}
	if v.Mode != "form" || len(names) == 0 {
		q := ralph.Request{
			Kind: ralph.RequestApproval, Op: ralph.OpTool, Tool: v.Server, Text: firstLine(cmp.Or(v.Message, v.Server+" asks")),
			Detail: strings.TrimSpace(v.Message + "\n" + v.URL),
		}
		return ask{q, func(r ralph.Reply) any {
			if r.Allow {
				return answer("accept", map[string]any{})
			}
			return answer("decline", nil)
		}}
	}
	var all []ralph.Question
	for _, name := range names {
		f := v.Schema.Properties[name]
		all = append(all, ralph.Question{ID: name, Text: v.Message + " (" + cmp.Or(f.Title, f.Description, name) + ")", Options: f.Enum})
	}
	return ask{questions(v.Server, all), func(r ralph.Reply) any {
		content := map[string]any{}
		words := answersTo(r.Text, len(all))
		for i, word := range words {
			value, ok := v.Schema.Properties[names[i]].value(strings.TrimSpace(word))
			if !ok {
				return answer("decline", nil)
			}
			content[names[i]] = value
		}
		if len(words) == 0 {
			return answer("decline", nil)
		}
		return answer("accept", content)
	}}
}

// elicitField is a field of a form.
type elicitField struct {
	Type        string   `json:"type"`
	Title       string   `json:"title"`
	Description string   `json:"description"`
	Enum        []string `json:"enum"`
}

// value makes words a value of the field's type.
func (f elicitField) value(words string) (any, bool) {
	switch f.Type {
	case "boolean":
		v, err := strconv.ParseBool(strings.ToLower(words))
		if slices.Contains([]string{"yes", "y"}, strings.ToLower(words)) {
			return true, true
		}
		if slices.Contains([]string{"no", "n"}, strings.ToLower(words)) {
			return false, true
		}
		return v, err == nil
	case "integer":
		v, err := strconv.ParseInt(words, 10, 64)
		return v, err == nil
	case "number":
		v, err := strconv.ParseFloat(words, 64)
		return v, err == nil
	}
	return words, true
}

// mcpServer is ralph's MCP server for one thread. The app-server is of many turns and
// gives such a process hardly any of its environment, so that the turn's comes with the
// thread. A tool waits for a person as long as that takes.
func mcpServer(command, env []string) map[string]any {
	set := map[string]string{}
	for _, kv := range env {
		if k, v, ok := strings.Cut(kv, "="); ok && strings.HasPrefix(k, "RALPH") {
			set[k] = v
		}
	}
	return map[string]any{
		"command": command[0], "args": command[1:], "env": set, "tool_timeout_sec": (24 * time.Hour).Seconds(), "default_tools_approval_mode": "approve",
	}
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	return text.Cut(line, wire.MaxSaidTool)
}
