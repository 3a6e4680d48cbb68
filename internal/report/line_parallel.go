package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/text"
)

// Pilot is the session mode of `ralph autopilot`.
const Pilot = "autopilot"

// ruleFailures marks the note that failures in a row stopped everything.
const ruleFailures = "B-063"

// modeWords says what a mode is and how to leave it.
func modeWords(mode ralph.Autonomy) string {
	switch mode {
	case ralph.Semi:
		return "semi: `[[assign <task>]]` chooses what comes next, `[[autopilot]]` lets it go on by itself"
	case ralph.Stepwise:
		return "step: each task waits for `[[approve]]`, `[[autopilot]]` lets it go on by itself"
	case ralph.Manual:
		return "manual: at full speed, without retries, to the first error"
	}
	return string(mode)
}

// parallelLines are the lines of work in worktrees.
func parallelLines(e ralph.Event, s *ralph.State) []string {
	switch f := e.Fact.(type) {
	case ralph.TaskStarted:
		return slotTaken(f, s)
	case ralph.IntegrationStarted:
		return []string{fmt.Sprintf("MERGE: into %s, which lands on %s (at %s)", f.Branch, BaseWords(f.Base), text.ShortHash(f.From))}
	case ralph.Prepared:
		return prepared(f, s)
	case ralph.MergeQueued:
		return []string{fmt.Sprintf("MERGE: queued %s", f.Task)}
	case ralph.Merged:
		return merged(f, s)
	case ralph.Advanced:
		return advanced(f, s)
	case ralph.BaselineRan:
		return baseline(f, s)
	case ralph.Landed:
		return landed(f, s, 0)
	case ralph.Published:
		return published(f)
	case ralph.PullSeen:
		return pullSeen(f)
	case ralph.IssueSeen:
		line := fmt.Sprintf("ISSUE: %s %s: %s", OneLine(f.Issue.Ref), OneLine(f.What), Clip(f.Issue.Title, 100))
		if f.Issue.File == "" {
			line += " (`[[queue " + OneLine(f.Issue.Ref) + "]]` takes it all the same)"
		}
		return []string{line}
	case ralph.Polled:
		if f.Error == "" {
			return []string{"ISSUES: " + OneLine(f.Source) + " can be asked again"}
		}
		return []string{fmt.Sprintf("ISSUES: %s cannot be asked: %s; it is tried again", OneLine(f.Source), OneLine(f.Error))}
	case ralph.CleanedUp:
		return cleanedUp(f)
	case ralph.SavedWork:
		return saved(f.Task, f.Saved)
	}
	return recoveryLines(e, s)
}

// recoveryLines are the lines of what people do with tasks (B-076 to B-082, B-091).
func recoveryLines(e ralph.Event, s *ralph.State) []string {
	switch f := e.Fact.(type) {
	case ralph.TaskRetried:
		return []string{fmt.Sprintf("RETRY: %s is pending again", Called(s, f.ID))}
	case ralph.SkipWanted:
		return []string{fmt.Sprintf("SKIP: %s at the end of its iteration (%s)", Called(s, f.ID), OneLine(f.Reason))}
	case ralph.TaskRolledBack:
		how := "its branch begins anew"
		if f.Revert != "" {
			how = "reverted by " + text.ShortHash(f.Revert)
		}
		return append([]string{fmt.Sprintf("ROLLBACK: %s: %s", Called(s, f.ID), how)}, saved(f.ID, f.Saved)...)
	case ralph.TaskCleaned:
		return append([]string{fmt.Sprintf("CLEANUP: %s: worktree %s removed", Called(s, f.ID), OneLine(f.Dir))}, saved(f.ID, f.Saved)...)
	case ralph.TaskExtended:
		return []string{fmt.Sprintf("EXTEND: %s may take %s", Called(s, f.ID), f.Words())}
	case ralph.TaskMessaged:
		return []string{fmt.Sprintf("TOLD: %s: %s", Called(s, f.ID), OneLine(f.Text))}
	case ralph.TaskAssigned:
		return []string{"ASSIGN: " + Called(s, f.ID)}
	case ralph.StepLost, ralph.StepLate:
		return lostLines(e, s)
	case ralph.ThreadStarted, ralph.ThreadWanted, ralph.ThreadContinued, ralph.Guided, ralph.Decided, ralph.Reviewed:
		return threadLines(f, s)
	}
	return controlLines(e, s)
}

// Called names a task to people: `t-1a2b Name`.
func Called(s *ralph.State, id ralph.TaskID) string {
	if t := s.Task(id); t != nil {
		return fmt.Sprintf("%s %s", id, OneLine(t.Name))
	}
	return string(id)
}

// stageOr is called for tasks of the plan; a stage goes by its name alone, since
// nobody types its id.
func stageOr(s *ralph.State, id ralph.TaskID) string {
	if t := s.Task(id); t != nil && !t.IsBuild() && t.Name != "" {
		return OneLine(t.Name)
	}
	return Called(s, id)
}

// KindOf is what a task is for, told from its id when the state has forgotten it.
func KindOf(s *ralph.State, id ralph.TaskID) ralph.TaskKind {
	if t := s.Task(id); t != nil {
		if t.IsBuild() {
			return ralph.KindBuild
		}
		return t.Kind
	}
	kind, _, stage := strings.Cut(string(id), ":")
	if !stage {
		return ralph.KindBuild
	}
	return ralph.TaskKind(kind)
}

// WorkOf is the task of the plan that an agent in a slot works on: for a resolve,
// the one whose merge it mends.
func WorkOf(t *ralph.Task) ralph.TaskID {
	if t.Kind == ralph.KindResolve && t.Parent != "" {
		return t.Parent
	}
	return t.ID
}

// ParentIn finds the task of the plan in the id of a stage that belongs to one.
func ParentIn(stage ralph.TaskID) ralph.TaskID {
	parts := strings.Split(string(stage), ":")
	if i := slices.IndexFunc(parts, func(p string) bool { return strings.HasPrefix(p, "t-") }); i > 0 {
		return ralph.TaskID(parts[i])
	}
	return stage
}

// BaseWords names the base branch in a sentence.
func BaseWords(base string) string {
	if base == "" {
		return "HEAD"
	}
	return base
}

// IDs are ids as words.
func IDs(list []ralph.TaskID) string {
	words := make([]string, len(list))
	for i, id := range list {
		words[i] = string(id)
	}
	return strings.Join(words, ", ")
}

func slotTaken(f ralph.TaskStarted, s *ralph.State) []string {
	t := s.Task(f.ID)
	if t == nil || f.Slot == 0 {
		return nil
	}
	what := Called(s, f.ID)
	if t.Kind == ralph.KindResolve {
		what = "resolve " + Called(s, t.Parent)
	}
	return []string{fmt.Sprintf("SLOT %d: %s", f.Slot, what)}
}

// freed is the line of the slot that an event frees.
func freed(e ralph.Event) []string {
	if f, ok := e.Fact.(ralph.TaskEnded); ok && f.Slot > 0 {
		return []string{fmt.Sprintf("SLOT %d: free", f.Slot)}
	}
	return nil
}

func pilotStarted(f ralph.JobStarted, s *ralph.State) []string {
	lines := []string{fmt.Sprintf("PLAN: %d of %s left", s.Plan.Unfinished(), text.Count(len(s.Plan.Tasks), "task"))}
	if f.File != "" {
		lines = slices.Insert(lines, 0, "SPEC: "+f.File)
	}
	lines = append(lines, begunBefore(s)...)
	for _, t := range s.OpenThreads() {
		if t.Run.Thread.Want == ralph.ThreadPause { // else a session that does nothing would not say why
			lines = append(lines, fmt.Sprintf("THREAD: %s is paused: `[[thread-resume %s]]` has it go on", Called(s, t.ID), t.ID))
		}
	}
	return lines
}

// begunBefore says of an interrupted spec what its tasks are, and the ways on: whoever starts
// an autopilot may not know of them.
func begunBefore(s *ralph.State) []string {
	var names []string
	begun := false
	for _, t := range s.Plan.Tasks {
		if t.Status == ralph.TaskDone || t.LeftOut() || t.Run.Thread != nil {
			continue
		}
		begun = begun || t.Run.Iterations > 0 && t.Run.Worktree.Dir == ""
		names = append(names, string(t.ID)+" "+t.Name)
	}
	if !begun {
		return nil
	}
	return []string{OneLine(fmt.Sprintf("PLAN: %s begun by an earlier start: it is finished here; `[[plan <spec> --force]]` shelves it, `[[edit]]` and `[[skip]]` change it", text.List(names, 3)))}
}

// pilotSummary is the last line of an autopilot session: what came of the tasks.
func pilotSummary(s *ralph.State) string {
	c := s.Session.Count
	// As the tasks stand now: one that was done and then denied is not done.
	parts := []string{text.Count(s.CountTasks(ralph.TaskDone), "task") + " done"}
	for _, x := range []struct {
		n    int
		word string
	}{
		{s.CountTasks(ralph.TaskFailed), "failed"},
		{s.CountTasks(ralph.TaskTimeout), "timed out"},
		{s.CountTasks(ralph.TaskBlocked), "blocked"},
		{s.Plan.Unfinished(), "left"},
		{c.MergesClean + c.MergesResolved, "merged"},
		{MergesPending(s), "not merged yet"},
	} {
		if x.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", x.n, x.word))
		}
	}
	return fmt.Sprintf("Session summary: %s, %s, %s", strings.Join(parts, ", "), s.Session.Usage.Dollars(), ralph.Elapsed(s.Session.Elapsed))
}

// mergingEnded is the end of a stage of the merge queue. What came of a merge or a
// landing is said by its own facts.
func mergingEnded(f ralph.TaskEnded) []string {
	kind, _, _ := strings.Cut(string(f.ID), ":")
	if ralph.TaskKind(kind) != ralph.KindResolve || f.Status == ralph.TaskDone {
		return nil
	}
	return []string{fmt.Sprintf("RESOLVE: %s %s: %s", ParentIn(f.ID), f.Status, OneLine(f.Why.Text))}
}

func prepared(f ralph.Prepared, s *ralph.State) []string {
	kind := KindOf(s, f.Task)
	if kind == ralph.KindPrepare { // the job says why it ends
		return saved("", f.Saved)
	}
	var out []string
	id := ParentIn(f.Task)
	switch {
	case f.Error != "":
		out = append(out, fmt.Sprintf("WORKTREE: %s cannot start: %s", id, OneLine(f.Error)))
	case f.Fresh:
		out = append(out, fmt.Sprintf("WORKTREE: %s has %s (%s)", id, OneLine(f.Dir), Took(f.Took)))
	}
	if len(f.Conflicts) > 0 {
		out = append(out, fmt.Sprintf("RESOLVE: %s has both sides in %s", id, OneLine(text.List(f.Conflicts, 5))))
	}
	return append(out, saved(id, f.Saved)...)
}

// merged is an attempt to merge: one line for each task that is in.
func merged(f ralph.Merged, s *ralph.State) []string {
	switch {
	case f.Error != "":
		return []string{fmt.Sprintf("MERGE: %s failed: %s", mergeWords(f.Members, s), OneLine(f.Error))}
	case f.Moved != "":
		return []string{fmt.Sprintf("MERGE: the branch is at %s meanwhile: again", text.ShortHash(f.Moved))}
	case f.Conflict != nil:
		who := mergeWords(f.Members, s)
		if f.At != "" {
			who = string(f.At)
		}
		return []string{fmt.Sprintf("MERGE: %s conflicts in %s", who, OneLine(text.List(ConflictPaths(f.Conflict), 5)))}
	case f.Advanced:
		return mergedLines(f.Members, f.Commit, f.How, s)
	}
	return nil // the checks come next
}

func advanced(f ralph.Advanced, s *ralph.State) []string {
	var members []ralph.TaskID
	how := ""
	if t := s.Task(f.Task); t != nil {
		members = t.Members
		if t.Run.Queue.Merged != nil {
			how = t.Run.Queue.Merged.How
		}
	}
	switch {
	case f.Error != "":
		return []string{fmt.Sprintf("MERGE: %s failed: %s", mergeWords(members, s), OneLine(f.Error))}
	case f.Moved != "":
		return []string{fmt.Sprintf("MERGE: the branch is at %s meanwhile: again", text.ShortHash(f.Moved))}
	}
	return mergedLines(members, f.Commit, how, s)
}

// mergedLines are the lines of a merge that counts: how is git's word for it.
func mergedLines(members []ralph.TaskID, commit, how string, s *ralph.State) []string {
	var out []string
	for _, id := range members {
		out = append(out, fmt.Sprintf("MERGE: %s merged as %s (%s)", id, text.ShortHash(commit), MergeHow(s.Task(id), how)))
	}
	if len(members) == 0 {
		out = append(out, fmt.Sprintf("MERGE: %s merged as %s", mergeWords(nil, s), text.ShortHash(commit)))
	}
	return out
}

// MergeHow says how a task was merged: clean, resolved by an agent or a person on
// the way, or without a merge commit.
func MergeHow(t *ralph.Task, how string) string {
	switch {
	case t != nil && t.Run.Queue.Resolves > 0:
		return "resolved"
	case how == "fast-forward":
		return how
	}
	return "clean"
}

// mergeWords names what is merged: tasks, or with none the base's own commits.
func mergeWords(members []ralph.TaskID, s *ralph.State) string {
	if len(members) > 0 {
		return IDs(members)
	}
	base := ""
	if s.Plan.Integration != nil {
		base = s.Plan.Integration.Base
	}
	return "what " + BaseWords(base) + " has got meanwhile"
}

// ConflictPaths are the files that do not merge.
func ConflictPaths(c *ralph.Conflict) []string {
	paths := make([]string, len(c.Files))
	for i, f := range c.Files {
		paths[i] = f.Path
	}
	return paths
}

// mergeChecked is one line for the checks of a merge, and one for each that is red.
func mergeChecked(f ralph.ChecksRan, s *ralph.State) []string {
	var members []ralph.TaskID
	if t := s.Task(f.Task); t != nil {
		members = t.Members
	}
	if over := ralph.PassedOverWords(f.PassedOver()); f.Pass && over != "" {
		return []string{fmt.Sprintf("MERGE: %s, with %s (%s)", OneLine(over), mergeWords(members, s), Took(f.Took))}
	}
	if f.Pass {
		return []string{fmt.Sprintf("MERGE: checks green with %s (%s)", mergeWords(members, s), Took(f.Took))}
	}
	var out []string
	for _, r := range f.Results {
		if !r.Pass && !slices.Contains(f.Known, r.Name) {
			out = append(out, fmt.Sprintf("MERGE: checks red with %s: %s (%s)", mergeWords(members, s), r.Name, whyRed(r)))
		}
	}
	return out
}

// baseline tells what is red without anybody's work. Before any work it is told once for
// people to choose; in the middle of it the log alone has it.
func baseline(f ralph.BaselineRan, s *ralph.State) []string {
	first := KindOf(s, f.Task) == ralph.KindPrepare
	var lines []string
	add := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	switch {
	case f.Skipped != "", first && len(f.Red) == 0:
	case len(f.Red) == 0:
		add("BASELINE: %s is green without the work", text.ShortHash(f.Commit))
	case !first:
		add("BASELINE: %s is red without the work: %s", text.ShortHash(f.Commit), OneLine(strings.Join(RedNames(f), ", ")))
	default:
		add("BASELINE: red before any work: %s", OneLine(strings.Join(RedNames(f), ", ")))
		if SettingsOf(s.Session.Config).Baseline == "known" {
			add("NOTE: what fails in this very way is let pass and told (quality.baseline is known); what else fails is red")
		} else {
			add("NOTE: red is red (quality.baseline is strict): mend it first, or give it to a task. To let pass what fails in this very way: [[config edit quality.baseline=known]]")
		}
	}
	if len(f.Restored) > 0 {
		add("NOTE: the checks changed %s; the files are as the commit has them again, what was in them is %s", OneLine(text.List(f.Restored, 3)), refsOf(f.Saved))
	}
	if len(f.Left) > 0 {
		add("NOTE: the checks left files that git does not ignore: %s; they are not committed: list them in .gitignore", OneLine(text.List(f.Left, 3)))
	}
	return lines
}

// RedNames are the red checks with the tests that failed.
func RedNames(f ralph.BaselineRan) []string {
	names := slices.Clone(f.Red)
	for i, name := range names {
		if j := slices.IndexFunc(f.Results, func(r ralph.CheckResult) bool { return r.Name == name }); j >= 0 {
			names[i] = ralph.RedOf(f.Results[j]).Words()
		}
	}
	return names
}

func refsOf(saved []ralph.Saved) string {
	if len(saved) == 0 {
		return "gone"
	}
	return cmp.Or(saved[0].Ref, saved[0].What)
}

// landed: tasks is how many came with it, 0 when nobody counted.
func landed(f ralph.Landed, s *ralph.State, tasks int) []string {
	base := ""
	if s.Plan.Integration != nil {
		base = s.Plan.Integration.Base
	}
	switch {
	case f.Error != "":
		return []string{"LAND: failed: " + OneLine(f.Error)}
	case f.Moved != "":
		return []string{fmt.Sprintf("LAND: %s went on to %s: its commits are merged first", BaseWords(base), text.ShortHash(f.Moved))}
	case len(f.Dirty) > 0:
		return []string{"LAND: waits: your checkout has changes in " + OneLine(text.List(f.Dirty, 5))}
	case f.How == "" || f.How == "already":
		return nil
	}
	line := fmt.Sprintf("LAND: %s is at %s", BaseWords(base), text.ShortHash(f.To))
	if tasks > 0 {
		line += fmt.Sprintf(" (%s)", text.Count(tasks, "task"))
	}
	if len(f.Behind) > 0 {
		return []string{line, "LAND: `git submodule update` brings along what your checkout has of " + OneLine(text.List(f.Behind, 5))}
	}
	return []string{line}
}

// published tells of a branch that was pushed, or why it was not.
func published(f ralph.Published) []string {
	switch {
	case f.Parked:
		return []string{fmt.Sprintf("PUSH: %s is not on %s: %s", OneLine(f.Branch), OneLine(f.Remote), OneLine(f.Error))}
	case f.Error != "":
		return []string{fmt.Sprintf("PUSH: %s is not on %s yet: %s; it is tried again", OneLine(f.Branch), OneLine(f.Remote), OneLine(f.Error))}
	}
	line := fmt.Sprintf("PUSH: %s is on %s at %s", OneLine(f.Branch), OneLine(f.Remote), text.ShortHash(f.Commit))
	if f.Merged != "" {
		line += fmt.Sprintf(", with what others pushed there (%s)", text.ShortHash(f.Merged))
	}
	out := []string{line}
	if f.Text != "" {
		out = append(out, "PUSH: the text of its pull request is in "+OneLine(f.Text))
	}
	return out
}

// pullSeen tells what is new of a pull request.
func pullSeen(f ralph.PullSeen) []string {
	r := f.Request
	name := fmt.Sprintf("%s#%d", OneLine(r.Repo), r.Number)
	switch {
	case r.Error != "" && r.Parked:
		return []string{fmt.Sprintf("PULL: %s waits for you: %s", OneLine(f.Branch), OneLine(r.Error))}
	case r.Error != "":
		return []string{fmt.Sprintf("PULL: %s is not up to date there: %s; it is tried again", OneLine(f.Branch), OneLine(r.Error))}
	case f.Round > 0:
		return []string{fmt.Sprintf("PULL: %s goes round %d: %s", name, f.Round, OneLine(f.Why))}
	case f.Opened:
		return []string{fmt.Sprintf("PULL: opened %s for %s: %s", name, OneLine(f.Branch), OneLine(r.URL))}
	case r.State == ralph.PullMerged || r.State == ralph.PullClosed:
		return []string{fmt.Sprintf("PULL: %s is %s", name, r.State)}
	case r.Checks != "":
		return []string{fmt.Sprintf("PULL: %s has its checks %s at %s", name, r.Checks, text.ShortHash(r.Head))}
	}
	return []string{fmt.Sprintf("PULL: %s is up to date at %s", name, text.ShortHash(r.Head))}
}

func cleanedUp(f ralph.CleanedUp) []string {
	var out []string
	if f.Error != "" {
		out = append(out, "CLEANUP: failed: "+OneLine(f.Error))
	}
	if len(f.Removed)+len(f.Branches) > 0 {
		out = append(out, fmt.Sprintf("CLEANUP: %s and %s removed", text.Count(len(f.Removed), "worktree"), text.Plural(len(f.Branches), "merged branch", "merged branches")))
	}
	if len(f.Kept) > 0 {
		out = append(out, "CLEANUP: kept "+OneLine(text.List(f.Kept, 5)))
	}
	return append(out, saved("", f.Saved)...)
}

// saved are the lines of what was put where nothing removes it.
func saved(id ralph.TaskID, list []ralph.Saved) []string {
	var out []string
	for _, x := range list {
		who := ""
		if id != "" {
			who = string(id) + ": "
		}
		line := "SAVED: " + who + OneLine(SavedWords(x))
		if x.Ref != "" {
			line += " ([[recovery]])"
		}
		out = append(out, line)
	}
	return out
}

// SavedWords say what was saved, and where it lies. A folder that was moved says so itself: it is none of git's.
func SavedWords(x ralph.Saved) string {
	if x.Ref == "" {
		return x.What
	}
	return x.What + " at " + x.Ref
}

// PutAway are SavedWords with the command that shows what git has.
func PutAway(x ralph.Saved) string {
	if x.Ref == "" {
		return x.What
	}
	return x.What + ": " + x.Ref + " (`[[recovery list]]`)"
}

// weakened is the line of tests that a task's work takes away. Whether they hold its merge
// depends on diff.weakened, and on what a person has seen before.
func weakened(f ralph.Committed) []string {
	if len(f.Weakened) == 0 {
		return nil
	}
	words := make([]string, len(f.Weakened))
	for i, x := range f.Weakened {
		words[i] = FindingWords(x)
	}
	return []string{fmt.Sprintf("NOTE: %s takes tests away: %s", ParentIn(f.Task), OneLine(text.List(words, 3)))}
}

// FindingWords says what a finding in the tests of a diff is.
func FindingWords(x ralph.Finding) string {
	where := x.Path
	if x.Line > 0 {
		where = fmt.Sprintf("%s:%d", x.Path, x.Line)
	}
	return strings.TrimSpace(fmt.Sprintf("%s %s %s", where, x.Kind, x.What))
}
