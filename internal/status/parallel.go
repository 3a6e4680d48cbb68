package status

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/report"
	"github.com/ralph-loop/ralph/internal/text"
)

// slots are the busy slots, by number.
func slots(s *ralph.State) []SlotRecord {
	out := []SlotRecord{}
	settings := report.SettingsOf(s.Session.Config)
	for t := range s.Work() {
		if t.Run.Worktree.Slot == 0 || t.Status != ralph.TaskActive {
			continue
		}
		r := SlotRecord{
			Slot: t.Run.Worktree.Slot, Task: report.WorkOf(t), Kind: string(report.KindOf(s, t.ID)), Name: t.Name, Iteration: IterationOf(t), Doing: DoingWords(s, t),
			MaxIterations: MostIterations(t, settings.MaxIterations), Progress: t.Run.Progress, Note: t.Run.Note, Worktree: t.Run.Worktree.Dir,
			StartedAt: t.Run.StartedAt, Stuck: t.Run.Warned, Unchanged: t.Run.Unchanged,
		}
		r.Agent, r.ContextPercent, r.at, r.counted = t.Run.Agent, report.InPercent(t.Run.Context.Part()), t.ID, t.Counted()
		r.Progressless = progressless(t, settings.OnlyCommits)
		_, r.Waits = waitOf(s, t, s.At) // with the wait's end comes a fact
		r.filling = slices.Contains(t.Run.Alerts, ralph.AlertContext)
		out = append(out, r)
	}
	slices.SortStableFunc(out, func(a, b SlotRecord) int { return cmp.Compare(a.Slot, b.Slot) })
	return out
}

// MostIterations is how many iterations a task may take, 0 for as many as it likes; usual is the limit
// of those without one of their own. A thread has its own limit of turns or none.
func MostIterations(t *ralph.Task, usual int) int {
	if th := t.Run.Thread; th != nil {
		return plus(th.Limits.Turns, th.More.Turns)
	}
	return cmp.Or(t.MaxIterations, usual)
}

// progressless says for how long a task has made no progress, as task.progress counts it.
func progressless(t *ralph.Task, onlyCommits bool) string {
	what := "change"
	if onlyCommits {
		what = "commit"
	}
	return text.Count(t.Run.Unchanged, t.Counted()) + " without a " + what
}

// mergeQueue are the done tasks whose work is not merged yet, in order of arrival.
func mergeQueue(s *ralph.State) []QueueRecord {
	var waiting []*ralph.Task
	for _, t := range s.Plan.Tasks {
		if q := t.Run.Queue.State; q != "" && q != ralph.MergeMerged {
			waiting = append(waiting, t)
		}
	}
	slices.SortStableFunc(waiting, func(a, b *ralph.Task) int { return cmp.Compare(a.Run.Queue.Since, b.Run.Queue.Since) })
	out := make([]QueueRecord, 0, len(waiting))
	for _, t := range waiting {
		r := QueueRecord{Task: t.ID, Name: t.Name, State: t.Run.Queue.State}
		r.Doing, r.Words = queueWords(s, t)
		if g := gateAbout(s, t.ID); g != nil {
			r.Doing, r.Words, r.Gate = "held", report.OneLine(g.Text), g.ID
		}
		out = append(out, r)
	}
	return out
}

// gateAbout is the open gate before a task's merge, nil when there is none.
func gateAbout(s *ralph.State, id ralph.TaskID) *ralph.Approval {
	for _, g := range s.Approvals {
		if g.Kind == ralph.ApprovalMerge && g.About == id {
			return g
		}
	}
	return nil
}

// queueWords says what happens with a task in the merge queue.
func queueWords(s *ralph.State, t *ralph.Task) (doing, words string) {
	for _, x := range s.Stages {
		if x.Status != ralph.TaskActive {
			continue
		}
		switch {
		case x.Kind == ralph.KindMerge && slices.Contains(x.Members, t.ID) && x.Run.Queue.Merged != nil:
			return "checking", "merged beside the checkout, its checks run"
		case x.Kind == ralph.KindMerge && slices.Contains(x.Members, t.ID):
			return "merging", "being merged"
		case x.Kind == ralph.KindResolve && x.Parent == t.ID:
			return "resolving", fmt.Sprintf("%s; an agent mends it in slot %d", unfitWords(t), x.Run.Worktree.Slot)
		}
	}
	q := t.Run.Queue
	switch {
	case q.GaveUp != "":
		return "held", unfitWords(t) + "; " + report.OneLine(q.GaveUp)
	case q.State == ralph.MergeWaiting && len(q.Weakened) > 0 && !q.Approved:
		return "held", "its work takes tests away: a person has to look first"
	case q.State == ralph.MergeWaiting && !q.Approved && len(s.Unseen(q.Settings)) > 0 && mergeAsked(s, t):
		return "held", "its work changes settings: a person has to look first"
	case q.State == ralph.MergeWaiting:
		return "waiting", "waits for its turn"
	}
	return "waiting", unfitWords(t) + "; it waits for a slot to mend it in"
}

// unfitWords says why a merge does not go through.
func unfitWords(t *ralph.Task) string {
	q := t.Run.Queue
	switch {
	case q.Merged != nil && q.Merged.Conflict != nil:
		return "conflicts in " + report.OneLine(text.List(report.ConflictPaths(q.Merged.Conflict), 3))
	case q.State == ralph.MergeRed:
		return "red on the merged tree"
	}
	return "does not merge"
}

// landing is nil without an integration branch.
func landing(s *ralph.State) *LandingRecord {
	i := s.Plan.Integration
	if i == nil {
		return nil
	}
	behind := i.Landed != i.Tip && (i.Waiting > 0 || i.Moved != "") // one commit of all of it is another one than the tip
	return &LandingRecord{Base: i.Base, Branch: i.Branch, Landed: i.Landed, Tip: i.Tip, Behind: behind, Held: i.Held, Moved: i.Moved}
}

// parallelStatus are the lines of `ralph status` about slots, merges and landing.
func parallelStatus(line writer, s *ralph.State, engine Engine, now time.Time) {
	if engine.Alive {
		busy := slots(s)
		if n := report.SettingsOf(s.Session.Config).Parallel; s.Session.Live() && s.Plan.Integration != nil && n > 0 {
			line("Slots", "%d of %d busy", len(busy), n)
		}
		for _, r := range busy {
			line(fmt.Sprintf("Slot %d", r.Slot), "%s%s", slotWords(r, now), engine.Fleet.Beside(r.at))
			said(line, engine, r.at)
		}
		engine.Fleet.Tell(line, now)
	}
	c := s.Session.Count
	if pending := report.MergesPending(s); pending+c.MergesClean+c.MergesResolved > 0 {
		line("Merges", "%d clean, %d resolved, %d pending", c.MergesClean, c.MergesResolved, pending)
	}
	for _, r := range mergeQueue(s) {
		line("Queue", "%s %s, %s", r.Task, report.OneLine(r.Name), r.Words)
	}
	if l := landing(s); l != nil && (l.Behind || l.Moved != "" || len(l.Held) > 0) {
		line("Landing", "%s", landingWords(l))
	}
	if n := s.Session.TaskFailures; n > 0 {
		line("Failed", "%s in a row: %s", text.Count(n, "task"), report.IDs(s.Session.Streak))
	}
}

// slotWords is what an agent in a slot is at.
func slotWords(r SlotRecord, now time.Time) string {
	head := string(r.Task) + " " + report.OneLine(r.Name)
	if r.Kind == string(ralph.KindResolve) {
		head = report.OneLine(r.Name)
	}
	parts := []string{head, fmt.Sprintf("%s %d", r.counted, r.Iteration)}
	if r.MaxIterations > 0 {
		parts[1] += fmt.Sprintf("/%d", r.MaxIterations)
	}
	if r.Progress > 0 || r.Note != "" {
		parts = append(parts, strings.TrimSpace(fmt.Sprintf("%d%% %s", r.Progress, report.OneLine(r.Note))))
	}
	if r.Doing != "" {
		parts = append(parts, r.Doing)
	}
	if r.Agent != "" {
		parts = append(parts, r.Agent)
	}
	switch {
	case r.Waits:
		parts = append(parts, "waits")
	case !r.StartedAt.IsZero():
		parts = append(parts, ralph.Elapsed(now.Sub(r.StartedAt)))
	}
	parts = append(parts, fullWords(r.ContextPercent, r.filling)...)
	if r.Stuck {
		parts = append(parts, "MAY BE STUCK: "+r.Progressless)
	}
	return strings.Join(parts, ", ")
}

func landingWords(l *LandingRecord) string {
	base := report.BaseWords(l.Base)
	switch {
	case l.Moved != "":
		return fmt.Sprintf("%s went on to %s: its commits are merged into %s first", base, text.ShortHash(l.Moved), l.Branch)
	case len(l.Held) > 0:
		return fmt.Sprintf("%s waits at %s, finished work is on %s at %s; in the way: %s", base, text.ShortHash(l.Landed), l.Branch, text.ShortHash(l.Tip), report.OneLine(text.List(l.Held, 5)))
	}
	return fmt.Sprintf("%s is at %s, %s at %s lands next", base, text.ShortHash(l.Landed), l.Branch, text.ShortHash(l.Tip))
}

// mergeAsked reports whether a gate is open about a task's merge.
func mergeAsked(s *ralph.State, t *ralph.Task) bool {
	return slices.ContainsFunc(s.Approvals, func(g *ralph.Approval) bool { return g.Kind == ralph.ApprovalMerge && g.About == t.ID })
}
