package claude

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/agent/wire"
	"github.com/ralph-loop/ralph/internal/text"
)

// asked is the input of AskUserQuestion.
type asked struct {
	Questions []struct {
		Question string `json:"question"`
		Options  []struct {
			Label string `json:"label"`
		} `json:"options"`
	} `json:"questions"`
}

// request is a can_use_tool request in ralph's words.
func request(id string, r controlRequest) ralph.Request {
	q := ralph.Request{ID: id, Kind: ralph.RequestApproval, Tool: r.Tool, Text: toolCall(r.Tool, r.Input)}
	if r.Tool == "AskUserQuestion" && question(&q, r.Input) {
		return q
	}
	var in struct {
		Command  string `json:"command"`
		File     string `json:"file_path"`
		Notebook string `json:"notebook_path"`
		Path     string `json:"path"`
		Pattern  string `json:"pattern"`
		Old      string `json:"old_string"`
		New      string `json:"new_string"`
		Content  string `json:"content"`
		Plan     string `json:"plan"`
	}
	// A member of another type than known is left out; Detail has all of it.
	_ = json.Unmarshal(r.Input, &in)
	q.Detail = text.Cut(string(r.Input), wire.MaxDetail)
	for _, path := range []string{in.File, in.Notebook, in.Path} {
		if path != "" {
			q.Paths = append(q.Paths, path)
		}
	}
	if r.Tool == "Glob" && (filepath.IsAbs(in.Pattern) || strings.Contains(in.Pattern, "..")) {
		q.Paths = append(q.Paths, in.Pattern) // it looks elsewhere than in path
	}
	switch kind := kind(r.Tool); {
	case kind == ralph.ItemCommand && in.Command != "":
		q.Op, q.Command, q.Detail = ralph.OpCommand, in.Command, ""
	case kind == ralph.ItemEdit && len(q.Paths) > 0:
		q.Op = ralph.OpEdit
		switch {
		case in.Old != "":
			q.Detail = text.Cut(prefixed("-", in.Old)+prefixed("+", in.New), wire.MaxDetail)
		case in.Content != "":
			q.Detail = text.Cut(prefixed("+", in.Content), wire.MaxDetail)
		}
	case isLook(r.Tool):
		q.Op = ralph.OpRead
	case r.Tool == "ExitPlanMode":
		q.Op, q.Text, q.Detail = ralph.OpTool, "carry out its plan", text.Cut(in.Plan, wire.MaxDetail)
	default:
		q.Op = ralph.OpTool
	}
	return q
}

func isLook(tool string) bool {
	switch tool {
	case "Read", "NotebookRead", "Glob", "Grep", "LS":
		return true
	}
	return false
}

// question fills in a question; false when the input is none.
func question(q *ralph.Request, input json.RawMessage) bool {
	var in asked
	if json.Unmarshal(input, &in) != nil || len(in.Questions) == 0 {
		return false
	}
	q.Kind = ralph.RequestQuestion
	var texts []string
	for _, one := range in.Questions {
		var labels []string
		for _, o := range one.Options {
			labels = append(labels, o.Label)
		}
		texts = append(texts, one.Question)
		q.Questions = append(q.Questions, ralph.Question{ID: one.Question, Text: one.Question, Options: labels})
	}
	q.Text = strings.Join(texts, "\n")
	if len(q.Questions) == 1 {
		q.Options, q.Questions = q.Questions[0].Options, nil
	}
	return true
}

func prefixed(sign, text string) string {
	var out strings.Builder
	for line := range strings.Lines(text) {
		fmt.Fprintf(&out, "%s%s\n", sign, strings.TrimRight(line, "\r\n"))
	}
	return out.String()
}

// denial reports whether a reply says no, and what claude's model reads then.
func denial(q ralph.Request, r ralph.Reply) (why string, denied bool) {
	denied = r.Stop || q.Kind == ralph.RequestQuestion && r.Text == "" || q.Kind == ralph.RequestApproval && !r.Allow
	if why = r.Text; why == "" {
		why = "not allowed: go on without it, or end your turn and say what you need"
	}
	return why, denied
}

// reply is the answer to can_use_tool. updatedInput is required with allow.
func reply(q ralph.Request, input json.RawMessage, r ralph.Reply) any {
	if why, denied := denial(q, r); denied {
		deny := map[string]any{"behavior": "deny", "message": why}
		if r.Stop {
			deny["interrupt"] = true
		}
		return deny
	}
	if q.Kind == ralph.RequestQuestion {
		input = withAnswers(input, r.Text)
	}
	if len(input) == 0 {
		input = json.RawMessage("{}")
	}
	return map[string]any{"behavior": "allow", "updatedInput": input}
}

// withAnswers puts the answers into the input of AskUserQuestion. Of several questions
// each gets its line of the text when there are as many, else all of it.
func withAnswers(input json.RawMessage, text string) json.RawMessage {
	var asked asked
	all := map[string]json.RawMessage{}
	if json.Unmarshal(input, &asked) != nil || json.Unmarshal(input, &all) != nil {
		return input
	}
	var lines []string
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, line)
		}
	}
	answers := map[string]string{}
	for i, q := range asked.Questions {
		answers[q.Question] = text
		if len(lines) == len(asked.Questions) {
			answers[q.Question] = lines[i]
		}
		for _, o := range q.Options {
			if strings.EqualFold(o.Label, answers[q.Question]) {
				answers[q.Question] = o.Label
			}
		}
	}
	var err error
	if all["answers"], err = json.Marshal(answers); err != nil {
		return input
	}
	out, err := json.Marshal(all)
	if err != nil {
		return input
	}
	return out
}
