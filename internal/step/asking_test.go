package step_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/policy"
	"github.com/ralph-loop/ralph/internal/policy/replay"
	"github.com/ralph-loop/ralph/internal/ralphtest/enginetest"
	"github.com/ralph-loop/ralph/internal/step"
)

// asking is an agent that asks all its requests at once and ends when it has the answers.
type asking struct {
	requests []ralph.Request
	events   []ralph.StreamEvent
	limit    time.Duration // after which it needs no answer any more, 0: never

	mu      sync.Mutex
	replies map[string]ralph.Reply
	errs    map[string]error
}

func (a *asking) Turn(ctx context.Context, _ ralph.TurnInput, on ralph.TurnHooks) (ralph.TurnResult, error) {
	a.replies, a.errs = map[string]ralph.Reply{}, map[string]error{}
	begin := time.Now()
	on.Event(ralph.StreamEvent{Kind: ralph.StreamTurn})
	on.Event(ralph.StreamEvent{Kind: ralph.StreamPlan, Plan: []ralph.PlanStep{{Text: "look", Status: "completed"}}})
	for _, e := range a.events {
		on.Event(e)
	}
	var work sync.WaitGroup
	for _, q := range a.requests {
		work.Go(func() {
			ctx := ctx
			if a.limit > 0 {
				var cancel context.CancelFunc
				ctx, cancel = context.WithCancel(ctx)
				time.AfterFunc(a.limit, cancel)
				defer cancel()
			}
			reply, err := on.Ask(ctx, q)
			a.mu.Lock()
			defer a.mu.Unlock()
			a.replies[q.ID], a.errs[q.ID] = reply, err
		})
	}
	work.Wait()
	res := ralph.TurnResult{Exit: ralph.ExitOK, Text: "<ralph>COMPLETE</ralph>", Waited: time.Since(begin)}
	for _, r := range a.replies {
		if r.Stop {
			res.Exit = ralph.ExitUser
		}
	}
	return res, nil
}

// fixture is an executor on a journal in memory, with a task at work and a person.
type fixture struct {
	x     *step.Executor
	mem   *enginetest.Mem
	agent *asking
}

func newDesk(t *testing.T, c policy.Config, requests ...ralph.Request) *fixture {
	d := &fixture{mem: enginetest.NewMem(nil), agent: &asking{requests: requests}}
	n := 0
	var mu sync.Mutex
	c.MaxIterations = 10
	c.Agents = []string{"me"}
	d.x = &step.Executor{
		Root: t.TempDir(), Config: c, Trees: still{}, Now: time.Now, SkipDiffs: true, Journal: d.mem,
		Agents: map[string]step.ConfiguredAgent{"me": {Agent: d.agent, Spec: ralph.AgentSpec{Name: "me"}}},
		NewID: func(p string) string {
			mu.Lock()
			defer mu.Unlock()
			n++
			return fmt.Sprintf("%s-%d", p, n)
		},
	}
	raw, err := c.Encode()
	if err != nil {
		t.Fatal(err)
	}
	d.write(t, ralph.SessionStarted{ID: "s-1", Mode: "agent", Auto: ralph.Autopilot, Config: raw}, ralph.JobStarted{Job: "q-1"},
		ralph.TaskAdded{Task: ralph.Task{ID: "t-1", Name: "One"}}, ralph.TaskStarted{ID: "t-1"})
	return d
}

func (d *fixture) write(t *testing.T, facts ...ralph.Fact) {
	t.Helper()
	if err := d.mem.Update(t.Context(), "test", func(*ralph.State) ([]ralph.Fact, error) { return facts, nil }); err != nil {
		t.Fatal(err)
	}
}

// person does something to the journal, as a command does.
func (d *fixture) person(t *testing.T, do func(*ralph.State) ([]ralph.Fact, error)) {
	t.Helper()
	if err := d.mem.Update(t.Context(), "cli", do); err != nil {
		t.Error(err)
	}
}

// turn plays the turn while beside does what a person does; it returns turn.ended.
func (d *fixture) turn(t *testing.T, ctx context.Context, beside func()) (ralph.TurnEnded, error) {
	t.Helper()
	d.write(t, ralph.StepStarted{Task: "t-1", Step: ralph.Turn{Stage: ralph.KindBuild, Agent: "me", Iteration: 1}, DecidedAt: time.Now()})
	var facts []ralph.Fact
	var err error
	done := make(chan struct{})
	go func() {
		defer close(done)
		facts, err = d.x.Do(ctx, d.mem.State(), "t-1", ralph.Turn{Stage: ralph.KindBuild, Agent: "me", Iteration: 1})
	}()
	synctest.Wait()
	beside()
	<-done
	if err != nil {
		return ralph.TurnEnded{}, err
	}
	s := d.mem.State()
	d.write(t, append(facts, policy.AfterTurn(s, facts[0].(ralph.TurnEnded), d.x.Config)...)...)
	if differ, _ := d.replayed(t); len(differ) > 0 {
		t.Errorf("decided again it comes out otherwise: %+v", differ)
	}
	return facts[0].(ralph.TurnEnded), nil
}

// replayed decides again what was said to requests: what differs, and how many could be.
func (d *fixture) replayed(t *testing.T) (differ []replay.Difference, again int) {
	t.Helper()
	got, err := replay.Replay(slices.Values(d.mem.Events()), replay.ReplayOptions{})
	if err != nil {
		t.Fatal(err)
	}
	receipts := 0
	for _, e := range d.mem.Events() {
		if _, ok := e.Fact.(ralph.StepStarted); ok {
			receipts++
			got.Differences = slices.DeleteFunc(got.Differences, func(d replay.Difference) bool { return d.Seq == e.Seq }) // nobody decided them
		}
	}
	return got.Differences, got.Receipts - receipts
}

func (d *fixture) kinds() string {
	var out []string
	for _, e := range d.mem.Events() {
		switch f := e.Fact.(type) {
		case ralph.Asked:
			out = append(out, "asked "+string(f.Approval.ID))
		case ralph.Answered:
			out = append(out, strings.TrimSpace(string(f.ID)+" "+string(f.Verdict)))
		case ralph.RequestAnswered:
			out = append(out, string(f.Verdict)+" by "+f.Rule)
		case ralph.Control:
			out = append(out, string(f.Want))
		}
	}
	return strings.Join(out, ", ")
}

func run(id, command string) ralph.Request {
	return ralph.Request{ID: id, Kind: ralph.RequestApproval, Op: ralph.OpCommand, Command: command}
}

func which(id string) ralph.Request {
	return ralph.Request{ID: id, Kind: ralph.RequestQuestion, Text: "Which?", Options: []string{"red", "blue"}}
}

// E-025 to E-027, X-59: each request gets its own answer, hours later, and the clock of
// the task stands still meanwhile. What a person said stays with the task.
func TestAskedHoursLater(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t, policy.Config{Approvals: "ask"}, run("a", "make"), run("b", "rm x"), which("c"))
		f, err := d.turn(t, t.Context(), func() {
			time.Sleep(5 * time.Hour)
			for _, g := range d.mem.State().Approvals {
				d.person(t, func(s *ralph.State) ([]ralph.Fact, error) {
					switch g.Text {
					case "run make":
						return s.Approve(g.ID)
					case "run rm x":
						return s.Deny(g.ID, "it is mine")
					}
					return s.Answer(g.ID, "2")
				})
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		for id, want := range map[string]ralph.Reply{"a": {Allow: true}, "b": {Text: "it is mine"}, "c": {Text: "blue"}} {
			if got := d.agent.replies[id]; got != want || d.agent.errs[id] != nil {
				t.Errorf("%s: %+v %v, want %+v", id, got, d.agent.errs[id], want)
			}
		}
		r := d.mem.State().Task("t-1").Run
		if f.Summary.Waited != 5*time.Hour || f.Summary.Requests != 3 || f.Took != 5*time.Hour || r.Spent != 0 {
			t.Errorf("waited %s of %s, %d requests, spent %s", f.Summary.Waited, f.Took, f.Summary.Requests, r.Spent)
		}
		if len(r.Answers) != 1 || r.Answers[0].Answer != "blue" || len(d.mem.State().Approvals) > 0 {
			t.Errorf("answers %+v, gates %v", r.Answers, d.mem.State().Approvals)
		}
		var rec struct {
			Plan     []ralph.PlanStep
			Requests []struct{ Verdict, Text string }
		}
		b, err := os.ReadFile(filepath.Join(d.x.Root, f.Dir, "summary.json"))
		if err = errors.Join(err, json.Unmarshal(b, &rec)); err != nil || len(rec.Plan) != 1 || len(rec.Requests) != 3 {
			t.Errorf("summary.json: %v %s", err, b)
		}
	})
}

// E-077, E-078: what policy answers is recorded, with the rule, and nobody is asked.
func TestAnsweredByPolicy(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t, policy.Config{Approvals: "policy"}, run("a", "ls"))
		if _, err := d.turn(t, t.Context(), func() {}); err != nil || !d.agent.replies["a"].Allow {
			t.Fatal(err, d.agent.replies)
		}
		if got := d.kinds(); got != "approved by gate.approvals: policy" {
			t.Error(got)
		}
	})
}

// A symbolic link does not lead out of the work tree, also one that leads nowhere yet.
func TestLinksAreFollowed(t *testing.T) {
	t.Parallel()
	edit := func(id, path string) ralph.Request {
		return ralph.Request{ID: id, Kind: ralph.RequestApproval, Op: ralph.OpEdit, Paths: []string{path}}
	}
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t, policy.Config{Approvals: "policy", GateTimeout: time.Minute},
			edit("new", "sub/new.txt"), edit("in", "in/x"), edit("out", "out/x"), edit("dangling", "dangling"), edit("ring", "ring/x"))
		for name, to := range map[string]string{"in": "sub", "out": t.TempDir(), "dangling": filepath.Join(t.TempDir(), "none"), "ring": "ring"} {
			if err := os.Symlink(to, filepath.Join(d.x.Root, name)); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := d.turn(t, t.Context(), func() {}); err != nil {
			t.Fatal(err)
		}
		for id, want := range map[string]bool{"new": true, "in": true, "out": false, "dangling": false, "ring": false} {
			if got := d.agent.replies[id].Allow; got != want {
				t.Errorf("%s: %v", id, got)
			}
		}
	})
}

// E-071, X-76: nobody answers. An approval and a question have limits of their own; an
// expired gate never approves; stop ends the turn and the session, with that reason.
func TestNobodyAnswers(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, on string
		q        ralph.Request
		took     time.Duration
		stop     bool
		kinds    string
	}{
		{"skip", "skip", run("a", "make"), 30 * time.Minute, false, "asked g-1, g-1 expired"},
		{"stop", "stop", run("a", "make"), 30 * time.Minute, true, "asked g-1, g-1 expired, stop"},
		{"a question", "skip", which("a"), 6 * time.Hour, false, "asked g-1, g-1 expired"},
		{"a question, stop", "stop", which("a"), 6 * time.Hour, true, "asked g-1, g-1 expired, stop"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				d := newDesk(t, policy.Config{Approvals: "ask", GateTimeout: 30 * time.Minute, InputTimeout: 6 * time.Hour, OnTimeout: tt.on}, tt.q)
				f, err := d.turn(t, t.Context(), func() {})
				got := d.agent.replies["a"]
				if err != nil || got.Allow || got.Stop != tt.stop || !strings.Contains(got.Text, "nobody answered within") || f.Took != tt.took || d.kinds() != tt.kinds {
					t.Errorf("%v %+v after %s: %s", err, got, f.Took, d.kinds())
				}
				if x := d.mem.State().Session; (x.Ends == ralph.ReasonUnanswered) != tt.stop {
					t.Errorf("the session ends with %q", x.Ends)
				}
			})
		})
	}
}

// C-040, X-75: an answer that holds is given to the same request in the same turn, to one
// that waits already, and no more when it is revoked; each is recorded with its rule.
func TestAnsweredByARule(t *testing.T) {
	t.Parallel()
	always := func(d *fixture, t *testing.T, id ralph.ApprovalID, rule ralph.RuleID) {
		d.person(t, func(s *ralph.State) ([]ralph.Fact, error) {
			facts, err := s.Approve(id)
			if err != nil {
				return nil, err
			}
			return s.Always(id, facts, ralph.AnswerRule{ID: rule, Scope: ralph.ScopeRepository})
		})
	}
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t, policy.Config{Approvals: "ask"}, run("a", "make"), run("b", "make"))
		turn := func(beside func()) {
			t.Helper()
			if _, err := d.turn(t, t.Context(), beside); err != nil {
				t.Fatal(err)
			}
		}
		turn(func() { always(d, t, "g-1", "r-1") })
		rest, first := strings.CutPrefix(d.kinds(), "asked g-1, asked g-2, ")
		if !first { // two ask at once
			rest = strings.TrimPrefix(d.kinds(), "asked g-2, asked g-1, ")
		}
		if !d.agent.replies["a"].Allow || !d.agent.replies["b"].Allow || rest != "g-1 approved, g-2 approved" {
			t.Errorf("%+v: %s", d.agent.replies, d.kinds())
		}
		last := d.mem.Events()[d.mem.State().Seq-2:]
		if f, ok := last[0].Fact.(ralph.Answered); !ok || f.Rule != "r-1" {
			t.Errorf("the second: %+v", last[0].Fact)
		}
		d.agent.requests = []ralph.Request{run("c", " make ")}
		turn(func() {})
		if !d.agent.replies["c"].Allow || !strings.HasSuffix(d.kinds(), "approved by rule r-1") {
			t.Errorf("%+v: %s", d.agent.replies, d.kinds())
		}
		d.person(t, func(s *ralph.State) ([]ralph.Fact, error) { return s.RevokeRule("r-1", "") })
		turn(func() {
			d.person(t, func(s *ralph.State) ([]ralph.Fact, error) { return s.Deny("g-3", "not now") })
		})
		if d.agent.replies["c"].Allow || !strings.HasSuffix(d.kinds(), "asked g-3, g-3 denied") {
			t.Errorf("%+v: %s", d.agent.replies, d.kinds())
		}
	})
}

// behind is a journal whose handle has not seen the newest facts yet, once.
type behind struct {
	*enginetest.Mem
	mu  sync.Mutex
	old *ralph.State
}

func (b *behind) State() *ralph.State {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := b.old
	b.old = nil
	if s == nil {
		return b.Mem.State()
	}
	return s
}

// C-040: a rule that was revoked in another process a moment ago answers nothing more.
func TestRevokedMeanwhile(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t, policy.Config{Approvals: "ask", GateTimeout: time.Hour}, run("a", "make"))
		q := run("", "make")
		d.write(t, ralph.RuleAdded{Rule: ralph.AnswerRule{ID: "r-1", Verdict: ralph.Approved, Request: q, Scope: ralph.ScopeRepository}})
		d.x.Journal = &behind{Mem: d.mem, old: d.mem.State()}
		d.write(t, ralph.RuleRevoked{ID: "r-1"})
		if _, err := d.turn(t, t.Context(), func() {}); err != nil {
			t.Fatal(err)
		}
		if d.agent.replies["a"].Allow || d.kinds() != "asked g-1, g-1 expired" {
			t.Errorf("%+v: %s", d.agent.replies["a"], d.kinds())
		}
	})
}

// A request of which not all is kept makes no rule: another one could begin the same.
func TestTooLongForARule(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 5<<10)
	web := ralph.Request{ID: "t", Kind: ralph.RequestApproval, Op: ralph.OpTool, Tool: "web", Detail: "short"}
	webLong := web
	webLong.Detail = long
	patch := ralph.Request{ID: "e", Kind: ralph.RequestApproval, Op: ralph.OpEdit, Paths: []string{"a"}, Detail: long}
	for _, tt := range []struct {
		name string
		q    ralph.Request
		cut  bool
	}{
		{"a command", run("a", "make"), false},
		{"a long one", run("a", long), true},
		{"a tool", web, false},
		{"a tool with a long input", webLong, true},
		{"an edit, however long its patch", patch, false},
		{"a question", which("q"), false},
		{"a long question", ralph.Request{ID: "q", Kind: ralph.RequestQuestion, Text: long}, true},
	} {
		synctest.Test(t, func(t *testing.T) {
			d := newDesk(t, policy.Config{Approvals: "ask", GateTimeout: time.Hour, InputTimeout: time.Hour}, tt.q)
			_, err := d.turn(t, t.Context(), func() {
				if q := d.mem.State().Approvals[0].Request; q.Cut != tt.cut {
					t.Errorf("%s: cut %v", tt.name, q.Cut)
				}
			})
			if err != nil {
				t.Fatal(err)
			}
		})
	}
}

// C-041: paths of a gate are those of the work tree, whichever slot it is.
func TestGateNamesPathsInTheTree(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t, policy.Config{Approvals: "ask", GateTimeout: time.Hour})
		out := t.TempDir()
		d.agent.requests = []ralph.Request{{ID: "e", Kind: ralph.RequestApproval, Op: ralph.OpEdit, Dir: d.x.Root + "/sub", Paths: []string{"x.go", d.x.Root + "/y.go", out + "/z.go"}}}
		_, err := d.turn(t, t.Context(), func() {
			if q := d.mem.State().Approvals[0].Request; q.Dir != "" || !slices.Equal(q.Paths, []string{"sub/x.go", "y.go", out + "/z.go"}) {
				t.Errorf("%q in %q", q.Paths, q.Dir)
			}
		})
		if err != nil {
			t.Fatal(err)
		}
	})
}

// X-21, B-065: the end of the session, and a task that is taken away, end the wait; so
// does the agent itself, and the machinery.
func TestWithdrawn(t *testing.T) {
	t.Parallel()
	stopped := errors.New("stopped at once")
	for _, tt := range []struct {
		name   string
		limit  time.Duration
		beside func(*ralph.State) ([]ralph.Fact, error)
		force  bool
		stop   bool
		kinds  string
	}{
		{"stop", 0, func(s *ralph.State) ([]ralph.Fact, error) { return s.Steer(ralph.WantStop, "a person") }, false, true, "asked g-1, stop, g-1 withdrawn"},
		{"skip", 0, func(s *ralph.State) ([]ralph.Fact, error) { return s.SkipTask("t-1", "no") }, false, true, "asked g-1, g-1 withdrawn"},
		{"removed", 0, func(*ralph.State) ([]ralph.Fact, error) { return []ralph.Fact{ralph.TaskRemoved{ID: "t-1"}}, nil }, false, true, "asked g-1"},
		{"pause", time.Hour, func(s *ralph.State) ([]ralph.Fact, error) { return s.Steer(ralph.WantPause, "a person") }, false, false, "asked g-1, pause, g-1 withdrawn"},
		{"the agent", time.Hour, nil, false, false, "asked g-1, g-1 withdrawn"},
		{"at once", 0, nil, true, false, "asked g-1, g-1 withdrawn"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				d := newDesk(t, policy.Config{Approvals: "ask"}, run("a", "make"))
				d.agent.limit = tt.limit
				ctx, force := context.WithCancelCause(t.Context())
				defer force(nil)
				_, err := d.turn(t, ctx, func() {
					time.Sleep(time.Minute)
					if tt.beside != nil {
						d.person(t, tt.beside)
					}
					if tt.force {
						force(stopped)
					}
				})
				if tt.force != errors.Is(err, stopped) || d.kinds() != tt.kinds || d.agent.replies["a"].Allow || d.agent.replies["a"].Stop != tt.stop {
					t.Errorf("%v: %s, %+v", err, d.kinds(), d.agent.replies["a"])
				}
				if wait := d.agent.errs["a"]; (tt.limit > 0 || tt.force) != errors.Is(wait, context.Canceled) {
					t.Errorf("the agent gets %v", wait)
				}
				if len(d.mem.State().Approvals) > 0 {
					t.Error("a gate is left")
				}
			})
		})
	}
}

// A journal that cannot be written ends the turn as broken machinery, and approves nothing.
func TestAskWithoutAJournal(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t, policy.Config{Approvals: "never"}, run("a", "make"))
		full := errors.New("disk full")
		d.mem.CutAfter(d.mem.State().Seq, full)
		_, _ = d.x.Do(t.Context(), d.mem.State(), "t-1", ralph.Turn{Stage: ralph.KindBuild, Agent: "me", Iteration: 1}) // the agent says how it went
		if got := d.agent.replies["a"]; got.Allow || !errors.Is(d.agent.errs["a"], full) {
			t.Errorf("%+v %v", got, d.agent.errs["a"])
		}
	})
}

// What was said to a request is decided again from what was recorded, whatever has become of the
// disk: where a link led counts, not where it leads. An answer that does not follow is found.
func TestAnswersAreDecidedAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		edit := func(id, path string) ralph.Request {
			return ralph.Request{ID: id, Kind: ralph.RequestApproval, Op: ralph.OpEdit, Paths: []string{path}, Text: "change it", Detail: "--- a"}
		}
		d := newDesk(t, policy.Config{Approvals: "policy", GateTimeout: time.Minute, InputTimeout: time.Minute, Patterns: []string{"terraform apply"}, Sandbox: "landlock"},
			edit("in", "in/x"), edit("out", "out/x"), run("glob", "cat *.txt"), run("held", "terraform apply"), run("make", "make build"), which("one"))
		for name, to := range map[string]string{"in": "sub", "out": t.TempDir()} {
			if err := os.Symlink(to, filepath.Join(d.x.Root, name)); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.WriteFile(filepath.Join(d.x.Root, "Makefile"), []byte("build:\n\tgo build ./...\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := d.turn(t, t.Context(), func() {}); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"in", "out", "Makefile"} {
			if err := os.Remove(filepath.Join(d.x.Root, name)); err != nil {
				t.Fatal(err)
			}
		}
		differ, again := d.replayed(t)
		if len(differ) > 0 || again != 6+4 { // requests, and those that nobody answered
			t.Errorf("%d decided again, otherwise: %+v", again, differ)
		}
		found := 0
		for i, e := range d.mem.Events() {
			events := slices.Clone(d.mem.Events())
			switch f := e.Fact.(type) {
			case ralph.RequestAnswered:
				f.Rule = "gate.approvals: never"
				events[i].Fact = f
			case ralph.Asked:
				f.Approval.Rule = "because"
				events[i].Fact = f
			default:
				continue
			}
			got, err := replay.Replay(slices.Values(events), replay.ReplayOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if slices.ContainsFunc(got.Differences, func(d replay.Difference) bool { return d.Seq == e.Seq }) {
				found++
			}
		}
		if found != 6 {
			t.Errorf("%d of 6 changed answers are found", found)
		}
	})
}

// A request of megabytes in any of its parts stays small in the journal, and is judged
// whole: the last path counts too.
func TestLongRequests(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		long := strings.Repeat("long ", 1<<18)
		many := slices.Repeat([]string{long}, 500)
		inside := slices.Repeat([]string{"a"}, 500)
		d := newDesk(t, policy.Config{Approvals: "policy"},
			ralph.Request{ID: "o", Kind: ralph.RequestQuestion, Tool: long, Text: long, Options: many},
			ralph.Request{ID: "q", Kind: ralph.RequestQuestion, Text: long, Questions: slices.Repeat([]ralph.Question{{ID: long, Text: long, Options: many}}, 200)},
			ralph.Request{ID: "t", Kind: ralph.RequestApproval, Op: ralph.OpTool, Tool: long, Detail: long},
			ralph.Request{ID: "e", Kind: ralph.RequestApproval, Op: ralph.OpEdit, Paths: append(inside, "/etc/passwd")},
		)
		d.agent.limit = time.Minute
		f, err := d.turn(t, t.Context(), func() {
			if n := len(d.mem.State().Approvals); n != 4 {
				t.Errorf("%d gates", n)
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		for i, line := range d.mem.Lines() {
			if len(line) > 300<<10 {
				t.Errorf("line %d of the journal has %d bytes", i, len(line))
			}
		}
		info, err := os.Stat(filepath.Join(d.x.Root, f.Dir, "summary.json"))
		if err != nil || info.Size() > 16<<20 {
			t.Errorf("summary.json: %v %v", info, err)
		}
	})
}
