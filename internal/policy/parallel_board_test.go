package policy_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/policy"
	"github.com/ralph-loop/ralph/internal/ralphtest/enginetest"
)

// parallelSettings are those of `ralph autopilot` with three slots.
func parallelSettings() policy.Config {
	c := enginetest.Settings()
	c.Session, c.Isolated, c.Commit, c.Parallel = "autopilot", true, false, 3
	c.MaxConsecutive, c.ConflictRetries, c.Resolver, c.NoProgressTurns = 3, 3, "agent", 0
	return c
}

// parallelOn is a board of an autopilot session whose worktrees are made; the
// integration branch is at c0, where main is.
func parallelOn(t *testing.T, c policy.Config, tasks ...ralph.Task) *board {
	t.Helper()
	b := newBoard(t, c)
	b.add(ralph.PlanStarted{File: "a.md"})
	for _, x := range tasks {
		if x.Status == "" {
			x.Status = ralph.TaskPending
		}
		b.add(ralph.TaskAdded{Task: x})
	}
	b.add(ralph.JobStarted{Job: "a-s-1", File: "a.md"},
		ralph.TaskAdded{Task: ralph.Task{ID: "prepare:a-s-1", Kind: ralph.KindPrepare, Status: ralph.TaskPending}},
		ralph.TaskStarted{ID: "prepare:a-s-1"},
		ralph.Prepared{Task: "prepare:a-s-1", Head: "c0", Tree: "tree-c0"},
		ralph.IntegrationStarted{Branch: "ralph/merged", Base: "main", From: "c0", Tip: "c0", Tree: "tree-c0"},
		ralph.TaskEnded{ID: "prepare:a-s-1", Status: ralph.TaskDone, BasedOnSeq: 1})
	return b
}

// mine are the tasks that an engine which missed nothing works on.
func (b *board) mine() []ralph.TaskID {
	var ids []ralph.TaskID
	for _, t := range slices.Concat(b.s.Plan.Tasks, b.s.Stages) {
		if t.Status == ralph.TaskActive {
			ids = append(ids, t.ID)
		}
	}
	return ids
}

// next carries out what Schedule says, and says what it was.
func (b *board) next() string {
	m := policy.Schedule(&b.s, b.mine(), b.c, b.now)
	r, ok := m.(policy.Record)
	if !ok {
		return b.holdWords(m)
	}
	b.add(r.Facts...)
	return b.recordWords(r.Facts)
}

func (b *board) holdWords(m policy.Move) string {
	h, ok := m.(policy.Hold)
	if !ok {
		return moveWords(m)
	}
	if h.Until.IsZero() {
		return "hold: " + h.Why
	}
	return fmt.Sprintf("hold %s: %s", h.Until.Sub(b.now), h.Why)
}

func (b *board) recordWords(facts []ralph.Fact) string {
	var out []string
	for _, f := range facts {
		switch f := f.(type) {
		case ralph.TaskAdded: // its start follows in the same write
		case ralph.TaskStarted:
			out = append(out, startWords(b.s.Task(f.ID), f))
		case ralph.Control:
			out = append(out, fmt.Sprintf("%s: %s", f.Want, f.Cause))
		case ralph.JobEnded:
			out = append(out, "job "+string(f.Status))
		case ralph.SessionEnded:
			out = append(out, fmt.Sprintf("%s: %s", f.Reason, f.Detail))
		default:
			out = append(out, f.Kind())
		}
	}
	return strings.Join(out, ", ")
}

func startWords(t *ralph.Task, f ralph.TaskStarted) string {
	at := fmt.Sprintf("slot %d at %s", f.Slot, strings.TrimPrefix(f.Dir, "ralph/.worktrees/"))
	switch t.Kind {
	case ralph.KindMerge:
		if len(t.Members) == 0 {
			return "merge main"
		}
		return "merge " + strings.Trim(fmt.Sprint(t.Members), "[]")
	case ralph.KindResolve:
		return "resolve " + string(t.Parent) + " " + at
	case ralph.KindLand:
		return "land"
	}
	return string(t.ID) + " " + at
}

// moves carries out what is due until Schedule holds, ends or repeats itself.
func (b *board) moves() []string {
	var out []string
	for range 12 {
		out = append(out, b.next())
		if last := out[len(out)-1]; strings.HasPrefix(last, "hold") || strings.HasPrefix(last, "stop") || b.s.Session.Ended != "" {
			return out
		}
	}
	return append(out, "and no end")
}

// expect compares the moves that follow.
func (b *board) expect(want ...string) {
	b.t.Helper()
	if got := b.moves(); !slices.Equal(got, want) {
		b.t.Errorf("moves:\n  %s\nwant:\n  %s", strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
}

// stage makes the newest stage that is at work the board's task; its start must be
// what Schedule wants now.
func (b *board) stage(want string) {
	b.t.Helper()
	if got := b.next(); got != want {
		b.t.Fatalf("Schedule: %s, want %s", got, want)
	}
	for _, t := range b.s.Stages {
		if t.Status == ralph.TaskActive && b.s.ApprovalOf(t.ID) == nil {
			b.task = t.ID
		}
	}
}

// end asks for the end of the board's task and records it as the engine does.
func (b *board) end(status ralph.TaskStatus, rule string) {
	b.t.Helper()
	step := b.want("finish "+string(status), rule)
	end, ok := step.(ralph.Finish)
	if !ok {
		b.t.FailNow()
	}
	_, why := policy.Next(&b.s, b.task, b.c, b.now)
	b.add(policy.Ending(&b.s, b.task, end, why, b.c, b.now)...)
}

// ask expects a gate whose text and detail hold the words, and puts it up.
func (b *board) ask(rule string, words ...string) ralph.ApprovalID {
	b.t.Helper()
	ask, ok := b.want("ask", rule).(ralph.Ask)
	if !ok {
		b.t.FailNow()
	}
	for _, w := range words {
		if !strings.Contains(ask.Text+"\n"+ask.Detail, w) {
			b.t.Errorf("the gate does not say %q: %s\n%s", w, ask.Text, ask.Detail)
		}
	}
	id := ralph.ApprovalID(fmt.Sprintf("g-%d", b.s.Seq))
	gate := ralph.Approval{ID: id, Kind: ask.Kind, Task: b.task, About: ask.About, Text: ask.Text, Detail: ask.Detail, AskedAt: b.now}
	if len(ask.Red) > 0 {
		gate.Request = &ralph.Request{Kind: ralph.RequestApproval, Op: ralph.OpCheck, Red: ask.Red}
	}
	b.add(ralph.Asked{Approval: gate})
	b.want("wait", "B-025")
	return id
}

// person records what a command says, which must not refuse.
func (b *board) person(facts []ralph.Fact, err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
	b.add(facts...)
}

// built are the facts of a task whose work is done, committed and queued.
func (b *board) built(ids ...ralph.TaskID) {
	for _, id := range ids {
		b.add(ralph.ChecksRan{Task: id, Pass: true, Tree: "tree-" + string(id)},
			ralph.Committed{Task: id, Commit: "c-" + string(id)},
			ralph.TaskEnded{ID: id, Status: ralph.TaskDone, BasedOnSeq: 1},
			ralph.MergeQueued{Task: id, Branch: "ralph/" + string(id), Commit: "c-" + string(id)})
	}
}

// merged are the facts of the board's stage having merged to a commit, unless more
// says what went wrong.
func (b *board) merged(to string, more ...func(*ralph.Merged)) {
	f := ralph.Merged{Task: b.task, Members: b.s.Task(b.task).Members, From: b.s.Plan.Integration.Tip, Commit: to, Tree: "tree-" + to, How: "merge"}
	for _, edit := range more {
		edit(&f)
	}
	b.add(f)
}

func conflict(kind string, paths ...string) func(*ralph.Merged) {
	return func(f *ralph.Merged) {
		f.Commit, f.Tree, f.Conflict = "", "", &ralph.Conflict{}
		for _, p := range paths {
			f.Conflict.Files = append(f.Conflict.Files, ralph.ConflictFile{Path: p, Kind: kind, Marked: "<<<<<<< " + p + "\n"})
		}
	}
}

// checked are the facts of the checks on the board's task: the names that are red.
func (b *board) checked(known []string, red ...string) {
	f := ralph.ChecksRan{Task: b.task, Pass: true, Known: known}
	for _, name := range red {
		f.Results = append(f.Results, ralph.CheckResult{Name: name, Output: name + " says no"})
		f.Pass = f.Pass && slices.Contains(known, name)
	}
	b.add(f)
}

// mergedBy takes the ids through a green merge that ends at commit to.
func (b *board) mergedBy(to string, ids ...ralph.TaskID) {
	b.t.Helper()
	b.stage("merge " + strings.Trim(fmt.Sprint(ids), "[]"))
	b.want("merge", "B-006")
	b.merged(to)
	b.want("check", "P-14")
	b.checked(nil)
	b.want("advance", "P-14")
	b.add(ralph.Advanced{Task: b.task, Commit: to, Tree: "tree-" + to})
	b.end(ralph.TaskDone, "B-006")
}

// landedAt takes a landing through, which comes out as f says.
func (b *board) landedAt(f ralph.Landed) {
	b.t.Helper()
	b.stage("land")
	b.want("land", "P-7")
	b.add(ralph.StepStarted{Task: b.task, Step: ralph.Land{}})
	f.Task = b.task
	b.add(f)
	status := ralph.TaskSkipped
	if f.How != "" {
		status = ralph.TaskDone
	}
	b.end(status, "P-7")
}
