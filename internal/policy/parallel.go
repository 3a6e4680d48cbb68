package policy

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/tally"
	"github.com/ralph-loop/ralph/internal/text"
)

// worktrees is where the pool of them lies.
const worktrees = "ralph/.worktrees/"

// scheduleParallel is the parallel Ralph loop: the merge queue first, then what merges need
// of agents, then new tasks into free slots. Nothing here waits for anything
// else: a slot that is free is filled at once, and a merge holds up no start.
// ok is false when all is done that can be done.
func scheduleParallel(s *ralph.State, mine []ralph.TaskID, c Config, now time.Time) (Move, bool) {
	v := look(s)
	if m, ok := mergeNext(s, c); ok {
		return m, true
	}
	free := v.freeSlots(c)
	if len(free) == 0 {
		return Hold{Why: "every slot is busy"}, true
	}
	if m, ok := resolveNext(s, v, c, free[0]); ok {
		return m, true
	}
	next := chooseNext(s, c, now)
	slot, until := rested(s, free, c, now)
	switch {
	case next != nil && !until.IsZero():
		return Hold{Until: until, Why: "task.delay"}, true
	case next != nil:
		if m, waits := stepGate(s, next, now); waits {
			return m, true
		}
		return startOf(s, c, now, v.start(next, slot)), true
	}
	if m, ok := ownLimits(s, c, now); ok {
		return m, true
	}
	return Hold{Why: "nothing else is ready"}, len(mine) > 0
}

// chooseNext is the task that a free slot gets: what a person assigned, what goes
// on after an answer, then the best by score.
func chooseNext(s *ralph.State, c Config, now time.Time) *ralph.Task {
	if s.Session.Auto == ralph.Semi {
		return best(s, c, 1, now)
	}
	return best(s, c, 0, now)
}

// rested is the first of the free slots in which the next task may start; while
// task.delay holds all of them, the one in which it ends first, and until when. The
// delay is the slot's own: an end in another slot does not prolong it.
func rested(s *ralph.State, free []int, c Config, now time.Time) (slot int, until time.Time) {
	for _, n := range free {
		at := delayed(s, n, c, now)
		if at.IsZero() {
			return n, at
		}
		if slot == 0 || at.Before(until) {
			slot, until = n, at
		}
	}
	return slot, until
}

// delayed is when task.delay lets the next task start in a slot, zero for now. Slot 0
// is the checkout.
func delayed(s *ralph.State, slot int, c Config, now time.Time) time.Time {
	last := s.Session.FreedAt(slot)
	if until := last.Add(c.TaskDelay); !last.IsZero() && !last.After(now) && now.Before(until) {
		return until
	}
	return time.Time{} // also when the clock went back: nobody knows how long ago that was
}

// chosen reports whether a person wants the task to be worked on: also one that goes
// on was chosen before.
func chosen(t *ralph.Task) bool { return t.Weight().Claim > 0 }

// view is what one look at the tasks finds: the slots and worktrees that are taken.
type view struct {
	slots []int
	dirs  []string
}

func look(s *ralph.State) view {
	var v view
	for t := range s.Marked(tally.Placed) {
		v.slots, v.dirs = append(v.slots, t.Run.Worktree.Slot), append(v.dirs, t.Run.Worktree.Dir)
	}
	return v
}

func (v view) start(t *ralph.Task, slot int) ralph.TaskStarted {
	dir := t.Run.Worktree.Dir
	if dir == "" {
		dir = v.freeDir()
	}
	return ralph.TaskStarted{ID: t.ID, Slot: slot, Dir: dir}
}

// freeSlots are the slots that no task holds, lowest first.
func (v view) freeSlots(c Config) []int {
	var free []int
	for n := 1; n <= c.Parallel; n++ {
		if !slices.Contains(v.slots, n) {
			free = append(free, n)
		}
	}
	return free
}

// freeDir is the first worktree of the pool that no task owns. A task that ended
// badly owns its worktree until a person lets go of it.
func (v view) freeDir() string {
	for n := 1; ; n++ {
		if dir := worktrees + strconv.Itoa(n); !slices.Contains(v.dirs, dir) {
			return dir
		}
	}
}

// mergeNext begins the next merge, one at a time and in order of arrival, but what an agent
// has mended first. What a task depends on is merged before the task begins, so both respect it.
func mergeNext(s *ralph.State, c Config) (Move, bool) {
	taken := resolving(s)
	for _, t := range s.Stages {
		if t.Kind != ralph.KindMerge {
			continue
		}
		if t.Status == ralph.TaskPending {
			return record(ralph.TaskStarted{ID: t.ID}), true
		}
		if s.ApprovalOf(t.ID) == nil {
			return nil, false
		}
		for _, id := range t.Members {
			taken[id] = true
		}
	}
	i := s.Plan.Integration
	if i == nil {
		return nil, false
	}
	if i.Moved != "" && !baseGated(s) {
		return beginMerge(s, nil, "Merge what "+cmp.Or(i.Base, "HEAD")+" has got meanwhile"), true
	}
	waiting := mergeQueue(s, c, taken)
	if len(waiting) == 0 {
		return nil, false
	}
	n := batchSize(s, waiting, c)
	var ids []ralph.TaskID
	for _, t := range waiting[:n] {
		ids = append(ids, t.ID)
	}
	name := "Merge " + describe(waiting[0])
	if n > 1 {
		name = fmt.Sprintf("Merge %d tasks together", n)
	}
	return beginMerge(s, ids, name), true
}

// baseGated: the merge of the base's commits waits for a person already.
func baseGated(s *ralph.State) bool {
	return slices.ContainsFunc(s.Stages, func(t *ralph.Task) bool { return t.Kind == ralph.KindMerge && len(t.Members) == 0 })
}

func beginMerge(s *ralph.State, members []ralph.TaskID, name string) Move {
	t := stage(s.Job.ID, ralph.KindMerge, 0, name)
	t.Members = members
	return begin(s, t)
}

// mergeQueue are the done tasks whose work waits to be merged, in order of arrival; also those that
// only a person can help to be merged. What an agent has mended goes before all: until it is
// merged the next one is not mended, and behind a long queue it would be outdated again. Of a long
// queue it is the beginning, as much as may be merged together: agents may be thousands ahead.
func mergeQueue(s *ralph.State, c Config, taken map[ralph.TaskID]bool) []*ralph.Task {
	var waiting []*ralph.Task
	most := max(1, c.Batch)
	for t := range s.InPlan(tally.Mended) {
		if !taken[t.ID] && (len(waiting) == 0 || t.Run.Queue.Since < waiting[0].Run.Queue.Since) {
			waiting = []*ralph.Task{t}
		}
	}
	for t := range s.Arrivals() {
		if len(waiting) == most {
			break
		}
		if !taken[t.ID] && !resolvable(t, c) && !slices.Contains(waiting, t) {
			waiting = append(waiting, t)
		}
	}
	return waiting
}

// batchSize is how many of the queue are merged and checked together. A task that
// a person has to look at goes alone.
func batchSize(s *ralph.State, waiting []*ralph.Task, c Config) int {
	most := max(1, c.Batch)
	n := 0
	for _, t := range waiting {
		q := t.Run.Queue
		if q.Most > 0 {
			most = min(most, q.Most)
		}
		alone := q.State != ralph.MergeWaiting || len(q.Weakened) > 0 || len(unseen(s, t, c)) > 0 || c.AskToMerge
		if n >= most || alone && n > 0 {
			break
		}
		n++
		if alone {
			break
		}
	}
	return max(1, n)
}

// resolveNext gives a merge that does not fit to an agent. It goes on with one that
// was cut first.
func resolveNext(s *ralph.State, v view, c Config, slot int) (Move, bool) {
	for _, t := range s.Stages {
		if t.Kind == ralph.KindResolve && t.Status == ralph.TaskPending {
			return record(v.start(t, slot)), true
		}
	}
	busy := resolving(s)
	for t := range s.InPlan(tally.Torn) {
		if busy[t.ID] || !resolvable(t, c) || inTheWay(s, t, busy) {
			continue
		}
		x := stage(s.Job.ID, ralph.KindResolve, 0, "Resolve the merge of "+describe(t))
		x.ID = ralph.TaskID(fmt.Sprintf("%s:%s:%d", x.ID, t.ID, t.Run.Queue.Resolves+1))
		x.Parent, x.Spec = t.ID, t.Spec
		x.Run.Worktree.Branch, x.Run.Worktree.Base = t.Run.Worktree.Branch, t.Run.Worktree.Base
		return record(ralph.TaskAdded{Task: x}, v.start(&x, slot)), true
	}
	return nil, false
}

// inTheWay reports whether another resolve of the same files is at work, or is done
// and about to be merged: what an agent made beside it would be outdated at once.
func inTheWay(s *ralph.State, t *ralph.Task, busy map[ralph.TaskID]bool) bool {
	for other := range s.InPlan(tally.Unmerged) {
		q, stands := &other.Run.Queue, false
		if busy[other.ID] {
			stands = sameFiles(q.Merged, t.Run.Queue.Merged)
		} else {
			stands = q.State == ralph.MergeWaiting && q.ResolvedAt != "" && !gated(s, other.ID)
		}
		if stands && other.ID != t.ID {
			return true
		}
	}
	return false
}

// gated reports whether a task's merge waits for a person.
func gated(s *ralph.State, id ralph.TaskID) bool {
	return slices.ContainsFunc(s.Approvals, func(g *ralph.Approval) bool { return g.About == id })
}

// sameFiles reports whether two merges that did not work have a file in common. Red
// checks may be about any file.
func sameFiles(a, b *ralph.Merged) bool {
	if a == nil || b == nil || a.Conflict == nil || b.Conflict == nil {
		return true
	}
	return slices.ContainsFunc(a.Conflict.Files, func(f ralph.ConflictFile) bool {
		return slices.ContainsFunc(b.Conflict.Files, func(g ralph.ConflictFile) bool { return f.Path == g.Path })
	})
}

// resolving are the tasks whose merge an agent is at, its last try too: nobody
// else is asked about them meanwhile.
func resolving(s *ralph.State) map[ralph.TaskID]bool {
	tasks := map[ralph.TaskID]bool{}
	for _, t := range s.Stages {
		if t.Kind == ralph.KindResolve {
			tasks[t.Parent] = true
		}
	}
	return tasks
}

// autopilot is `ralph autopilot`: every ready task of the plan, until none is left.
func autopilot(s *ralph.State, mine []ralph.TaskID, c Config, now time.Time) Move {
	goesOn := c.Session != ralph.ModeAuto || len(s.OpenThreads()) > 0
	if bad := inARow(s, c); goesOn && c.MaxConsecutive > 0 && len(bad) >= c.MaxConsecutive && !s.Session.Auto.EndsAtError() {
		return record(tooManyFailures(bad)...)
	}
	if t := overflowed(s); t != nil {
		return afterTimeout(s, t, mine, c)
	}
	if m, ok := landNext(s, mine, now); ok {
		return m
	}
	m, ok := nextOnPlan(s, mine, c, now)
	if hold, is := m.(Hold); ok && is {
		if until := landAgain(s); until.After(now) {
			hold.Until = sooner(hold.Until, until)
		}
		return hold
	}
	if ok {
		return m
	}
	if s.Session.Auto == ralph.Semi {
		if why := undecided(s, c); why != "" {
			return Hold{Until: landAgain(s), Why: why, Person: true}
		}
	}
	if mayLand(s, now) { // a person may have cleared the way since the last try
		return land(s)
	}
	if c.Session == ralph.ModeAuto {
		return autoEnd(s)
	}
	return pilotEnd(s, c)
}

// nextOnPlan starts what is next: in worktrees beside merges, in the checkout alone.
func nextOnPlan(s *ralph.State, mine []ralph.TaskID, c Config, now time.Time) (Move, bool) {
	if c.Isolated {
		return scheduleParallel(s, mine, c, now)
	}
	if leftHere(s) == nil {
		if m, ok := startNext(s, c, now); ok {
			return m, true
		}
	}
	return Hold{Why: "nothing else is ready"}, len(mine) > 0
}

// undecided is what a person has to decide in semi mode, "" for nothing: which task is
// next, or what becomes of one that ended badly.
func undecided(s *ralph.State, c Config) string {
	if best(s, c, 0, time.Time{}) != nil {
		return "waiting for you: [[assign <id>]]"
	}
	for _, t := range s.Plan.Tasks {
		if t.Status.Ended() && t.Status != ralph.TaskDone && !t.LeftOut() {
			return decideWords(t)
		}
	}
	return ""
}

// decideWords ask what becomes of a task that ended badly.
func decideWords(t *ralph.Task) string {
	return fmt.Sprintf("waiting for you: %s is %s; %s, [[skip %[1]s]], or [[stop]]", t.ID, t.Status, t.Again())
}

// inARow are the tasks that failed one after the other; with CountTimeouts those that
// ran out of time as well.
func inARow(s *ralph.State, c Config) []ralph.TaskID {
	if c.CountTimeouts {
		return s.Session.Bad
	}
	return s.Session.Streak
}

// tooManyFailures pauses after failures in a row and says which (B-063).
func tooManyFailures(bad []ralph.TaskID) []ralph.Fact {
	var ids []string
	for _, id := range bad {
		ids = append(ids, string(id))
	}
	cause := fmt.Sprintf("%d tasks in a row failed: %s", len(bad), strings.Join(ids, ", "))
	return []ralph.Fact{
		ralph.Noted{Text: cause + "; look at them, then resume", Rule: "B-063"},
		ralph.Control{Want: ralph.WantPause, Cause: cause, From: ralph.PauseFailures},
	}
}

// overflowed is a task that filled its agent's context window and can be split as in
// construct. Other tasks that ran out wait for a person (B-028).
func overflowed(s *ralph.State) *ralph.Task {
	for t := range s.InPlan(tally.TimedOut) {
		last := t.Run.Last
		if last != nil && last.Err != nil && last.Err.Class == ralph.ErrClassContext && canDecompose(s, t) {
			return t
		}
	}
	return nil
}

// landNext brings the base branch up to date: when the queue is empty, at most
// every landPause while agents are at work, and ever more rarely while a checkout is
// in the way.
func landNext(s *ralph.State, mine []ralph.TaskID, now time.Time) (Move, bool) {
	if !unlanded(s) {
		return nil, false
	}
	for _, t := range s.Stages {
		switch {
		case t.Kind == ralph.KindLand && t.Status == ralph.TaskPending:
			return land(s), true
		case t.Kind == ralph.KindLand && !t.Status.Ended(), t.Kind == ralph.KindMerge && t.Status == ralph.TaskActive && s.ApprovalOf(t.ID) == nil:
			return nil, false
		}
	}
	atWork := slices.ContainsFunc(mine, func(id ralph.TaskID) bool { t := s.Task(id); return t != nil && t.TakesSlot() })
	if queued(s) || (atWork || len(s.Plan.Integration.Held) > 0) && now.Before(landAgain(s)) {
		return nil, false
	}
	return land(s), true
}

// unlanded reports whether merged work is not on the base branch, and may be.
func unlanded(s *ralph.State) bool {
	i := s.Plan.Integration
	return i != nil && i.Landed != i.Tip && i.Moved == "" && i.Denied == ""
}

// mayLand reports whether a last landing is worth its while when a session ends,
// whatever waits in the queue: nothing was in the way a moment ago.
func mayLand(s *ralph.State, now time.Time) bool {
	i := s.Plan.Integration
	return unlanded(s) && (len(i.Held) == 0 || !now.Before(i.LandedAt.Add(landPause)))
}

// land begins a landing, or goes on with one that was cut.
func land(s *ralph.State) Move {
	if t := stageOf(s, ralph.KindLand); t != nil {
		return record(ralph.TaskStarted{ID: t.ID})
	}
	return begin(s, stage(s.Job.ID, ralph.KindLand, 0, "Land on "+cmp.Or(s.Plan.Integration.Base, "HEAD")))
}

// begin adds a stage of which a job has many, and starts it.
func begin(s *ralph.State, t ralph.Task) Move {
	t.ID = ralph.TaskID(fmt.Sprintf("%s:%d", t.ID, s.Seq))
	return record(ralph.TaskAdded{Task: t}, ralph.TaskStarted{ID: t.ID})
}

// landAgain is when the next landing may be, zero when there is nothing to land.
func landAgain(s *ralph.State) time.Time {
	i := s.Plan.Integration
	if !unlanded(s) || i.LandedAt.IsZero() {
		return time.Time{}
	}
	return i.LandedAt.Add(pauseToLand(i))
}

// queued reports whether something is ready to be merged.
func queued(s *ralph.State) bool {
	for t := range s.InPlan(tally.Unmerged) {
		if t.Run.Queue.State == ralph.MergeWaiting && !inStage(s, t.ID) {
			return true
		}
	}
	return false
}

func inStage(s *ralph.State, id ralph.TaskID) bool {
	return slices.ContainsFunc(s.Stages, func(t *ralph.Task) bool {
		return t.Kind == ralph.KindMerge && slices.Contains(t.Members, id)
	})
}

// pilotEnd ends the session when nothing is ready and nothing runs (B-099).
func pilotEnd(s *ralph.State, c Config) Move {
	ended := ralph.JobEnded{Status: ralph.SpecPending, Error: "tasks are left", Rule: "B-099"}
	var left []string
	for _, status := range []ralph.TaskStatus{ralph.TaskFailed, ralph.TaskTimeout, ralph.TaskBlocked} {
		if n := s.CountTasks(status); n > 0 {
			left = append(left, fmt.Sprintf("%d %s", n, leftWord(status)))
		}
	}
	var needless []string
	left, needless = appendNamed(left, s, c)
	bad := len(left)
	if i := s.Plan.Integration; i != nil && i.Landed != i.Tip {
		left = append(left, fmt.Sprintf("merged work waits on %s: %s", i.Branch, strings.Join(i.Held, ", ")))
	}
	if len(left) == 0 {
		ended.Status, ended.Error = ralph.SpecDone, ""
		detail := "every task is done and merged"
		if len(needless) > 0 {
			detail = "every other task is done and merged; left out by a person: " + text.List(needless, maxNamed)
		}
		return record(ended, Stop{Reason: ralph.ReasonComplete, Detail: detail}.Ended(s))
	}
	stop := Stop{Reason: ralph.ReasonFailed, Detail: strings.Join(left, ", "), Cause: "no_tasks"} // that could start
	if bad == 0 {                                                                                 // all was done and merged
		stop.Reason = ralph.ReasonPerson
	}
	return record(ended, stop.Ended(s))
}

// appendNamed adds what was skipped for an error and what can never start, with what it
// waits for; needless are the tasks that a person left out.
func appendNamed(left []string, s *ralph.State, c Config) (_, needless []string) {
	var skipped, never []string
	divided := map[ralph.TaskID]bool{}
	for _, t := range s.Plan.Tasks {
		divided[t.Parent] = true
	}
	for _, t := range s.Plan.Tasks {
		switch {
		case t.Run.GivenUp:
			skipped = append(skipped, string(t.ID))
		case t.Status == ralph.TaskPending:
			never = append(never, string(t.ID)+" waits for "+text.List(unsatisfied(s, t, c), maxNamed))
		case t.LeftOut() && !divided[t.ID]:
			needless = append(needless, string(t.ID))
		}
	}
	if len(skipped) > 0 {
		left = append(left, fmt.Sprintf("%d skipped after an error (%s)", len(skipped), text.List(skipped, maxNamed)))
	}
	if len(never) > 0 {
		left = append(left, fmt.Sprintf("%d can never start (%s)", len(never), text.List(never, maxNamed)))
	}
	return left, needless
}

// maxNamed is how many tasks a reason names.
const maxNamed = 5

// unsatisfied is what a pending task waits for: tasks, or its phase.
func unsatisfied(s *ralph.State, t *ralph.Task, c Config) []string {
	var ids []string
	for _, dep := range t.Deps {
		if d := s.Task(dep); !satisfied(d, c) {
			ids = append(ids, string(dep))
		}
	}
	if _, phase := s.OpenPhase(c.Isolated); t.Phase != phase {
		ids = append(ids, fmt.Sprintf("phase %q", phase))
	}
	return ids
}

func leftWord(s ralph.TaskStatus) string {
	if s == ralph.TaskTimeout {
		return "timed out"
	}
	return string(s)
}
