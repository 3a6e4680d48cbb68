package policy_test

import (
	"strings"
	"testing"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/policy"
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
			w := policy.Clear(tt.q, policy.Config{Approvals: mode}, policy.Ground{Work: "/w2", Real: links}, tt.rules)
			if w.By != tt.by || w.Answered() && tt.by == "" && mode == "ask" {
				t.Errorf("%s, %s: by %q (%s), want %q", tt.name, mode, w.By, w.Rule, tt.by)
			}
		}
	}
	w := policy.Clear(command("x"), policy.Config{Approvals: "never"}, policy.Ground{Work: "/w"}, []*ralph.AnswerRule{rule("r-1", no, command("x"))})
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
			c, g, q := policy.Config{Approvals: mode}, policy.Ground{Work: "/w"}, command(text)
			if w := policy.Clear(q, c, g, []*ralph.AnswerRule{rule("r-1", ralph.Approved, q)}); w.Answered() || !w.Never {
				t.Errorf("%s, %s: %+v", text, mode, w)
			}
		}
	}
}

// C-040: how far a rule reaches, and how long.
func TestStanding(t *testing.T) {
	t.Parallel()
	b := building(t, policy.Config{}, ralph.Task{ID: "t-2", Name: "two", Status: ralph.TaskPending})
	add := func(id ralph.RuleID, scope ralph.RuleScope, of string, until time.Time) {
		b.add(ralph.RuleAdded{Rule: ralph.AnswerRule{ID: id, Verdict: ralph.Approved, Request: command("x"), Scope: scope, Of: of, Until: until}})
	}
	later := b.now.Add(time.Hour)
	add("repository", ralph.ScopeRepository, "", later)
	add("endless", ralph.ScopeRepository, "", time.Time{})
	add("session", ralph.ScopeSession, "s-1", later)
	add("earlier session", ralph.ScopeSession, "s-0", later)
	add("spec", ralph.ScopeSpec, "a.md", later)
	add("other spec", ralph.ScopeSpec, "b.md", later)
	add("task", ralph.ScopeTask, "t-1", later)
	add("revoked", ralph.ScopeRepository, "", later)
	b.add(ralph.RuleRevoked{ID: "revoked"})
	for _, tt := range []struct {
		name string
		task ralph.TaskID
		now  time.Time
		want string
	}{
		{"its task", "t-1", b.now, "repository endless session spec task"},
		{"another task", "t-2", b.now, "repository endless session spec"},
		{"a person's own session", "", b.now, "repository endless"},
		{"the last moment", "t-2", later.Add(-time.Nanosecond), "repository endless session spec"},
		{"out of time", "t-1", later, "endless"},
	} {
		got := ""
		for _, r := range policy.Standing(&b.s, tt.task, tt.now) {
			got += " " + string(r.ID)
		}
		if got != " "+tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
	b.add(ralph.SessionEnded{Reason: ralph.ReasonComplete})
	for _, r := range policy.Standing(&b.s, "t-1", b.now) {
		if r.Scope == ralph.ScopeSession {
			t.Errorf("%s holds after its session", r.ID)
		}
	}
}

// X-76, C-038: what has which limit, by the kind of the gate.
func TestGateDeadline(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	c := policy.Config{GateTimeout: time.Minute, InputTimeout: time.Hour}
	for kind, want := range map[string]time.Duration{
		ralph.GateApproval: time.Minute, ralph.GateOperation: time.Minute, ralph.GateTest: time.Minute, ralph.GateQuestion: time.Hour,
		ralph.GateMerge: 0, ralph.GateStart: 0, ralph.GateStep: 0,
	} {
		got := policy.GateDeadline(kind, c, now)
		if want == 0 && !got.IsZero() || want > 0 && !got.Equal(now.Add(want)) {
			t.Errorf("%s waits until %s", kind, got)
		}
		if got := policy.GateDeadline(kind, policy.Config{}, now); !got.IsZero() {
			t.Errorf("%s waits until %s without a limit", kind, got)
		}
	}
}

// a gate between two turns that nobody answers in time never passes, a test gate
// as little as a question: its task is blocked, or the session ends.
func TestExpiredBetweenTurns(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{ralph.GateQuestion, ralph.GateTest} {
		for on, want := range map[string]string{"skip": "finish blocked", "stop": "release"} {
			c := policy.Config{OnTimeout: on, MaxIterations: 9, Agents: []string{"claude"}, Parallel: 1}
			b := building(t, c)
			b.turn(ralph.TurnEnded{Signal: ralph.Signal{Kind: ralph.SignalHuman, Text: "port?"}})
			b.add(ralph.Asked{Gate: ralph.Gate{ID: "g-1", Kind: kind, Task: "t-1", Text: "why", Deadline: b.now.Add(time.Hour)}})
			b.now = b.now.Add(time.Hour)
			step, why := policy.Next(&b.s, "t-1", c, b.now)
			if on == "skip" {
				if words(step) != want || why.Rule != "X-76" {
					t.Errorf("%s, %s: %s by %s, want %s", kind, on, words(step), why.Rule, want)
				}
				continue
			}
			tell, ok := step.(ralph.Tell)
			if !ok {
				t.Fatalf("%s, %s: %s", kind, on, words(step))
			}
			b.add(tell.Fact)
			if b.s.Session.Want != ralph.WantStop || b.s.Session.Ends != ralph.ReasonUnanswered {
				t.Errorf("%s: the session goes on: %+v", kind, b.s.Session)
			}
			if step, _ = policy.Next(&b.s, "t-1", c, b.now); words(step) != "finish pending" {
				t.Errorf("%s, %s: then %s", kind, on, words(step))
			}
		}
	}
}

// with gate.scope session nothing starts while an agent or its work waits for a
// person, whatever the kind; what a hook of a person's own session asks holds nobody.
func TestWhoWaits(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		g     ralph.Gate
		holds bool
	}{
		{ralph.Gate{Kind: ralph.GateApproval, InTurn: true}, true},
		{ralph.Gate{Kind: ralph.GateOperation, InTurn: true}, true},
		{ralph.Gate{Kind: ralph.GateQuestion}, true},
		{ralph.Gate{Kind: ralph.GateTest}, true},
		{ralph.Gate{Kind: ralph.GateMerge}, false},
		{ralph.Gate{Kind: ralph.GateOperation, InTurn: true, By: "hook"}, false},
	} {
		for _, scope := range []string{"agent", "session"} {
			c := policy.Config{GateScope: scope, Session: "autopilot", Isolated: true, MaxIterations: 9, Agents: []string{"claude"}, Parallel: 2, MaxRounds: 1}
			b := building(t, c, ralph.Task{ID: "t-2", Name: "two", Status: ralph.TaskPending})
			tt.g.ID, tt.g.Task, tt.g.Text = "g-1", "t-1", "?"
			b.add(ralph.Asked{Gate: tt.g})
			x := policy.Explain(&b.s, "t-2", c, b.now)
			if got := strings.Contains(strings.Join(x.Waits, "; "), "g-1"); got != (tt.holds && scope == "session") {
				t.Errorf("%s in turn %v, by %q, scope %s: holds %v: %q", tt.g.Kind, tt.g.InTurn, tt.g.By, scope, got, x.Waits)
			}
		}
	}
}
