package approval_test

import (
	"testing"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/approval"
	"github.com/ralph-loop/ralph/internal/lookup"
)

func rule(id ralph.RuleID, v ralph.Verdict, q ralph.Request) *ralph.AnswerRule {
	return &ralph.AnswerRule{ID: id, Verdict: v, Request: q, Scope: ralph.ScopeRepository}
}

func edit(paths ...string) ralph.Request {
	return ralph.Request{Kind: ralph.RequestApproval, Op: ralph.OpEdit, Tool: "Edit", Paths: paths}
}

func tool(name, text, input string) ralph.Request {
	return ralph.Request{Kind: ralph.RequestApproval, Op: ralph.OpTool, Tool: name, Text: text, Detail: input}
}

func question(text string, options ...string) ralph.Request {
	return ralph.Request{Kind: ralph.RequestQuestion, Text: text, Options: options}
}

// C-040, X-78: a rule answers the very same request and no other. Who denies has the last
// word; otherwise the newest rule does.
func TestRules(t *testing.T) {
	t.Parallel()
	in := func(dir string) ralph.Request { q := command("make dist"); q.Dir = dir; return q }
	said := func(q ralph.Request, why string) ralph.Request { q.Text, q.Detail, q.ID = why, why, "7"; return q }
	answer := func(id ralph.RuleID, text string, q ralph.Request) *ralph.AnswerRule {
		r := rule(id, "", q)
		r.Text = text
		return r
	}
	links := func(path string) string {
		if path == "/w2/link/x.go" {
			return "/etc/x.go"
		}
		return path
	}
	yes, no := ralph.Approved, ralph.Denied
	for _, tt := range []struct {
		name  string
		q     ralph.Request
		rules []*ralph.AnswerRule
		by    ralph.RuleID
	}{
		{"none", command("make dist"), nil, ""},
		{"the same", command("make dist"), []*ralph.AnswerRule{rule("r-1", yes, command("make dist"))}, "r-1"},
		{"blanks around it", command(" make dist\n"), []*ralph.AnswerRule{rule("r-1", yes, command("make dist"))}, "r-1"},
		{"with other words of the agent", said(command("make dist"), "once more"), []*ralph.AnswerRule{rule("r-1", yes, command("make dist"))}, "r-1"},
		{"a longer one", command("make dist && rm -r x"), []*ralph.AnswerRule{rule("r-1", yes, command("make dist"))}, ""},
		{"a shorter one", command("make"), []*ralph.AnswerRule{rule("r-1", yes, command("make dist"))}, ""},
		{"in another folder", in("sub"), []*ralph.AnswerRule{rule("r-1", yes, command("make dist"))}, ""},
		{"in the folder, as another slot calls it", in("/w2/sub"), []*ralph.AnswerRule{rule("r-1", yes, in("sub"))}, "r-1"},
		{"at the top", in("/w2"), []*ralph.AnswerRule{rule("r-1", yes, command("make dist"))}, "r-1"},
		{"without a command nobody knows what it is", command(""), []*ralph.AnswerRule{rule("r-1", yes, said(command(""), "make"))}, ""},
		{"of another tool", func() ralph.Request { q := command("make dist"); q.Tool = "Bash"; return q }(), []*ralph.AnswerRule{rule("r-1", yes, command("make dist"))}, ""},
		{"a command is no edit", edit("a"), []*ralph.AnswerRule{rule("r-1", yes, command("a"))}, ""},
		{"a file in another slot", edit("/w2/src/x.go"), []*ralph.AnswerRule{rule("r-1", yes, edit("src/x.go"))}, "r-1"},
		{"with another patch", said(edit("src/x.go"), "+a"), []*ralph.AnswerRule{rule("r-1", yes, edit("src/x.go"))}, "r-1"},
		{"files in another order", edit("b", "a"), []*ralph.AnswerRule{rule("r-1", yes, edit("a", "b"))}, "r-1"},
		{"one file more", edit("a", "b", "c"), []*ralph.AnswerRule{rule("r-1", yes, edit("a", "b"))}, ""},
		{"a link that leads elsewhere by now", edit("link/x.go"), []*ralph.AnswerRule{rule("r-1", yes, edit("link/x.go"))}, ""},
		{"no files", edit(), []*ralph.AnswerRule{rule("r-1", yes, said(edit(), "some"))}, ""},
		{"a tool with the same input", tool("db", "query", "select"), []*ralph.AnswerRule{rule("r-1", yes, tool("db", "query", "select"))}, "r-1"},
		{"a tool with another input", tool("db", "query", "drop"), []*ralph.AnswerRule{rule("r-1", yes, tool("db", "query", "select"))}, ""},
		{"a tool with other words", tool("db", "b", "x"), []*ralph.AnswerRule{rule("r-1", yes, tool("db", "a", "x"))}, ""},
		{"too long to be known again", command("make dist"), []*ralph.AnswerRule{rule("r-1", yes, func() ralph.Request { q := command("make dist"); q.Cut = true; return q }())}, ""},
		{"the newest", command("make dist"), []*ralph.AnswerRule{rule("r-1", yes, command("make dist")), rule("r-2", yes, command("make dist"))}, "r-2"},
		{"denied after", command("make dist"), []*ralph.AnswerRule{rule("r-1", yes, command("make dist")), rule("r-2", no, command("make dist"))}, "r-2"},
		{"denied before", command("make dist"), []*ralph.AnswerRule{rule("r-1", no, command("make dist")), rule("r-2", yes, command("make dist"))}, "r-1"},
		{"a question", question(" Tabs?\n", "y", "n"), []*ralph.AnswerRule{answer("r-1", "y", question("Tabs?", "y", "n"))}, "r-1"},
		{"other choices", question("Tabs?", "y", "x"), []*ralph.AnswerRule{answer("r-1", "n", question("Tabs?", "y", "n"))}, ""},
		{"other words", question("Tabs"), []*ralph.AnswerRule{answer("r-1", "n", question("Tabs?"))}, ""},
		{"no words", question(""), []*ralph.AnswerRule{answer("r-1", "n", question(""))}, ""},
		{"an approval is no answer", question("make dist"), []*ralph.AnswerRule{rule("r-1", yes, said(command("make dist"), "make dist"))}, ""},
	} {
		for _, mode := range []string{"ask", "policy"} {
			w := judge(tt.q, approval.Settings{Approvals: mode}, lookup.Disk{Work: "/w2", Real: links}, tt.rules)
			if w.By != tt.by || w.Answered() && tt.by == "" && mode == "ask" {
				t.Errorf("%s, %s: by %q (%s), want %q", tt.name, mode, w.By, w.Rule, tt.by)
			}
		}
	}
	w := judge(command("x"), approval.Settings{Approvals: "never"}, lookup.Disk{Work: "/w"}, []*ralph.AnswerRule{rule("r-1", no, command("x"))})
	if w.Verdict != no || w.Reply().Allow || w.Reply().Text == "" {
		t.Errorf("with never: %+v", w)
	}
}

// C-036, X-78: what is on the never list is for a person each time, whatever a rule says
// that found its way into the journal.
func TestNoRuleForTheNeverList(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"rm -rf /", "git push --force", "npm publish", "deploy production"} {
		for _, mode := range []string{"ask", "policy", "never"} {
			c, g, q := approval.Settings{Approvals: mode}, lookup.Disk{Work: "/w"}, command(text)
			if w := judge(q, c, g, []*ralph.AnswerRule{rule("r-1", ralph.Approved, q)}); w.Answered() || !w.Never {
				t.Errorf("%s, %s: %+v", text, mode, w)
			}
		}
	}
}
