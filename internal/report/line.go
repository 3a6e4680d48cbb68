package report

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/text"
	"github.com/ralph-loop/ralph/internal/workers"
)

// Lines are the lines of the agent log that an event makes, without their time.
// s is the state after the event. Most events make none. One
// who reads a whole journal uses a Log, which knows what was said before.
func Lines(e ralph.Event, s *ralph.State) []string {
	return append(lines(e, s), freed(e)...)
}

// lines is Lines without the slot that an event frees.
func lines(e ralph.Event, s *ralph.State) []string {
	switch f := e.Fact.(type) {
	case ralph.SessionStarted:
		return sessionStarted(f, s)
	case ralph.SessionEnded:
		return sessionEnded(f, s)
	case ralph.PlanStarted:
		return planSetAside(e.Seq, s)
	case ralph.JobStarted:
		return jobStarted(f, s)
	case ralph.JobEnded:
		return jobEnded(f, s)
	case ralph.TaskAdded:
		if f.Task.Kind == ralph.KindLand && !s.Session.OnPlan() {
			return []string{"CONSTRUCT: complete"}
		}
	case ralph.TaskEnded:
		return taskEnded(f, s)
	case ralph.StepStarted:
		return stepStarted(f, s)
	case ralph.TurnEnded:
		return append(turnEnded(f, s), workers.Did(f)...)
	case ralph.ChecksRan:
		return append(checksRan(f, s), workers.Did(f)...)
	case ralph.Committed:
		return committed(f, s)
	case ralph.Shelved:
		return append(shelved(f), shelvedBeside(f)...)
	case ralph.CheckoutFound:
		return Found(f)
	case ralph.Asked:
		return asked(f.Approval)
	case ralph.Answered:
		return answered(f)
	case ralph.TaskRejected:
		return []string{fmt.Sprintf("VERIFY: rejected %s: %s", f.ID, OneLine(f.Reason))}
	case ralph.IssueAdded:
		return []string{fmt.Sprintf("ISSUE: %s %s", f.Issue.ID, OneLine(f.Issue.Desc))}
	case ralph.Noted:
		return noted(f, s)
	case ralph.HookRan:
		return hookRan(f)
	}
	if lines := outsideLines(e); lines != nil {
		return lines
	}
	return parallelLines(e, s)
}

func committed(f ralph.Committed, s *ralph.State) []string {
	switch {
	case len(f.Rewritten) > 0:
		return []string{"COMMIT: taken back: " + rewritten(f, s)}
	case f.Hook != "":
		return []string{"COMMIT: refused by a hook of the repository: " + OneLine(lastWords(f.Hook))}
	case f.Error != "":
		return []string{"COMMIT: failed: " + OneLine(f.Error)}
	case f.Away != "": // its gate says so
		return nil
	case f.Nothing: // Short is of a commit that was there before
		return []string{"COMMIT: nothing to commit"}
	case f.Short == "" && f.Subject == "":
		return nil
	}
	return slices.Concat([]string{fmt.Sprintf("COMMIT: %s %q", f.Short, f.Subject)}, CommittedBeside(f, s), weakened(f))
}

// times is how often in a row the task's agent ended with the very same words.
func times(s *ralph.State, id ralph.TaskID) int {
	if t := s.Task(id); t != nil {
		return t.Run.SaidTimes
	}
	return 0
}

// rewritten says what a hook did that changed a commit, at the first time and then.
func rewritten(f ralph.Committed, s *ralph.State) string {
	files := OneLine(text.List(f.Rewritten, 5))
	if t := s.Task(f.Task); t != nil && (t.Run.StepFailures > 1 || slices.Contains(t.Run.Checks.Reds(), ralph.CheckHook)) {
		return "a hook of the repository changes files each time it runs: " + files
	}
	return "a hook of the repository changed " + files + " in it, which nobody has checked"
}

func asked(g ralph.Approval) []string {
	lines := []string{fmt.Sprintf("NEEDS YOU: %s %s", g.ID, GateWords(&g))}
	if len(g.Options) > 0 {
		lines = append(lines, "NEEDS YOU: "+OptionWords(g.Options))
	}
	return append(lines, "NEEDS YOU: "+decideWith(&g))
}

// GateWords says in one line what waits at a gate. In the middle of a turn it is an
// agent's wish, so that it is said whose.
func GateWords(g *ralph.Approval) string {
	switch {
	case g.InTurn && g.Decidable():
		return fmt.Sprintf("%s wants to %s", asker(g), OneLine(g.Text))
	case g.InTurn:
		return fmt.Sprintf("%s asks: %s", asker(g), OneLine(g.Text))
	}
	return OneLine(g.Text)
}

// asker is who waits for the answer to a gate in the middle of a turn.
func asker(g *ralph.Approval) string {
	if g.By != "" {
		return "an agent of yours"
	}
	return "the agent of " + string(g.Task)
}

// OptionWords are the answers to choose from, with their numbers.
func OptionWords(options []string) string {
	parts := make([]string, len(options))
	for i, o := range options {
		parts[i] = fmt.Sprintf("%d) %s", i+1, OneLine(o))
	}
	return strings.Join(parts, "  ")
}

// decideWith is the command by which a person passes a gate.
func decideWith(g *ralph.Approval) string {
	if g.Decidable() {
		return fmt.Sprintf("decide with: [[approve %s]] (or: [[deny %[1]s --reason \"...\"]]; [[gates %[1]s]] shows it)", g.ID)
	}
	return fmt.Sprintf("answer with: [[answer %s \"...\"]]", g.ID)
}

func answered(f ralph.Answered) []string {
	word := "ANSWERED"
	if f.Verdict != "" {
		word = strings.ToUpper(string(f.Verdict))
	}
	text := OneLine(f.Text)
	if f.Rule != "" {
		text = strings.TrimSpace(fmt.Sprintf("by rule %s %s", f.Rule, text))
	}
	if who := f.Who.Words(); who != "" {
		text = strings.TrimSpace(text + " (" + OneLine(who) + ")")
	}
	return []string{strings.TrimSpace(fmt.Sprintf("%s: %s %s", word, f.ID, text))}
}

// noted: what stops everything is said with the tasks behind it (B-063).
func noted(f ralph.Noted, s *ralph.State) []string {
	if f.Rule != ruleFailures {
		return []string{"NOTE: " + OneLine(f.Text)}
	}
	out := []string{"NEEDS YOU: " + OneLine(f.Text)}
	for _, id := range s.Session.Streak {
		if t := s.Task(id); t != nil {
			out = append(out, fmt.Sprintf("NEEDS YOU: %s %s: %s (%s)", id, OneLine(t.Name), OneLine(t.Run.Reason), t.Again()))
		}
	}
	return out
}

func sessionStarted(f ralph.SessionStarted, s *ralph.State) []string {
	lines := []string{"Agent started"}
	switch f.Mode {
	case "agent":
	case "":
		lines = []string{"Session started"}
	default:
		lines = []string{strings.ToUpper(f.Mode[:1]) + f.Mode[1:] + " started"}
	}
	if mode := f.Autonomy(); mode != ralph.Autopilot {
		lines = append(lines, "MODE: "+modeWords(mode))
	}
	if f.Mode == Pilot && f.Resumed {
		return append(lines, fmt.Sprintf("Session resumed: %s done, %s spent so far", text.Count(s.Session.Count.TasksDone, "task"), s.Session.Usage.Dollars()))
	}
	if f.Resumed || f.Carry != nil {
		lines = append(lines, fmt.Sprintf("Session resumed: %s completed, %s failed, %s spent so far",
			text.Count(s.Session.Completed, "spec"), text.Count(s.Session.Failed, "spec"), s.Session.Usage.Dollars()))
		if j := s.Job; j != nil { // cut while it was on this spec: a log names its specs
			lines = append(lines, jobStarted(ralph.JobStarted{ID: j.Spec, File: j.File, Resume: len(s.Plan.Tasks) > 0}, s)...)
		}
		return lines
	}
	return append(lines, "Session new: "+string(f.ID))
}

// sessionEnded closes the log: why, then the summary as the last line.
func sessionEnded(f ralph.SessionEnded, s *ralph.State) []string {
	if s.Session.Mode == "plan" && f.Reason == ralph.ReasonComplete {
		return []string{fmt.Sprintf("Planned for %s: `[[query tasks]]` shows the plan, `[[start construct]]` works on it.", s.Session.Usage.Dollars())}
	}
	why := "Stopping: " + string(f.Reason)
	if f.Reason == ralph.ReasonEmpty {
		why = "Inbox empty. Agent stopping."
	} else if f.Detail != "" {
		why += " (" + OneLine(f.Detail) + ")"
	}
	return []string{why, Summary(s)}
}

// Summary is the last line of a session.
func Summary(s *ralph.State) string {
	x := s.Session
	switch x.Mode {
	case Pilot:
		return pilotSummary(s)
	case ralph.ModeAuto:
		return threadSummary(s)
	}
	line := fmt.Sprintf("Session summary: %s, %s, %s", text.Count(x.Completed, "spec"), x.Usage.Dollars(), ralph.Elapsed(x.Elapsed))
	if x.Failed > 0 {
		line += fmt.Sprintf(", %d failed", x.Failed)
	}
	return line
}

func jobStarted(f ralph.JobStarted, s *ralph.State) []string {
	if s.Session.OnPlan() {
		return pilotStarted(f, s)
	}
	head := "SPEC: " + f.File
	if f.ID != "" {
		head = fmt.Sprintf("FETCH: %s %s", f.ID, f.File)
	}
	if f.Resume {
		return []string{head, fmt.Sprintf("PLAN: kept, %d of %s left", s.Plan.Unfinished(), text.Count(len(s.Plan.Tasks), "task"))}
	}
	return []string{head}
}

func jobEnded(f ralph.JobEnded, s *ralph.State) []string {
	switch {
	case f.Status == ralph.SpecFailed:
		return []string{"FAILED: " + OneLine(f.Error)}
	case s.Session.OnPlan(): // its end is the session's
		return nil
	case f.Status == ralph.SpecPending:
		if f.Rule == "D-035" { // planned, as was asked: nothing was given up
			if s.Session.Mode == "plan" {
				return nil
			}
			return []string{"DRY RUN: nothing executed, the spec stays pending"}
		}
		return []string{"RELEASED: the spec is pending again (" + f.Error + ")"}
	}
	if f.Commit == "" {
		return []string{"CONSTRUCT: complete"}
	}
	return nil
}

func taskEnded(f ralph.TaskEnded, s *ralph.State) []string {
	t := s.Task(f.ID)
	if t == nil || t.Kind == ralph.KindMerge || t.Kind == ralph.KindResolve || t.Kind == ralph.KindLand && f.Status != ralph.TaskFailed {
		return mergingEnded(f) // a stage that has ended may be forgotten
	}
	switch {
	case t.Kind == ralph.KindPlan && f.Status == ralph.TaskDone:
		return []string{fmt.Sprintf("PLAN: %s generated", text.Count(len(s.Plan.Tasks), "task"))}
	case !t.IsBuild() && f.Status == ralph.TaskDone:
		if t.Kind == ralph.KindInvestigate || t.Kind == ralph.KindVerify || t.Kind == ralph.KindDecompose {
			return []string{fmt.Sprintf("%s: %s", strings.ToUpper(string(t.Kind)), OneLine(f.Why.Text))}
		}
		return nil
	case !t.IsBuild():
		return []string{fmt.Sprintf("%s: %s: %s", strings.ToUpper(string(t.Kind)), f.Status, OneLine(f.Why.Text))}
	}
	out := []string{fmt.Sprintf("TASK: %s %s: %s (%s)", t.ID, f.Status, t.Name, OneLine(f.Why.Text))}
	if dir := t.Run.Worktree.Dir; dir != "" && (f.Status == ralph.TaskFailed || f.Status == ralph.TaskTimeout || f.Retry) {
		out = append(out, fmt.Sprintf("WORKTREE: %s lies in %s, as it was left", t.ID, OneLine(dir)))
	}
	return out
}

// stepStarted: CONSTRUCT counts agent turns from 1 for each spec.
func stepStarted(f ralph.StepStarted, s *ralph.State) []string {
	turn, ok := f.Step.(ralph.Turn)
	if !ok || turn.Stage == ralph.KindPlan {
		return nil
	}
	t := s.Task(f.Task)
	if t == nil {
		return nil
	}
	what := t.Name
	switch {
	case t.Run.Thread != nil:
		return []string{fmt.Sprintf("TURN %d: %s %s (%s%s)", turn.Iteration, t.ID, OneLine(t.Name), turn.Agent, reviewing(turn))}
	case t.TakesSlot():
		what = fmt.Sprintf("%s %s, try %d", WorkOf(t), t.Name, turn.Iteration)
	}
	line := fmt.Sprintf("%s: %s (%s)", strings.ToUpper(string(turn.Stage)), what, turn.Agent)
	if s.Session.OnPlan() {
		return []string{line}
	}
	return []string{iterationLine(s.Plan.Turns + 1), line}
}

// reviewing says that a turn only looks at what was changed.
func reviewing(turn ralph.Turn) string {
	if turn.Stage == ralph.KindReview {
		return ", review"
	}
	return ""
}

func iterationLine(n int) string { return fmt.Sprintf("CONSTRUCT: starting iteration %d", n) }

func turnEnded(f ralph.TurnEnded, s *ralph.State) []string {
	var lines []string
	add := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	switch {
	case f.Exit == ralph.ExitSpawn && f.Err != nil:
		add("Failed to spawn agent %s: %s", f.Agent, OneLine(f.Err.Message))
	case f.Err != nil && times(s, f.Task) > 1:
		add("ERROR: %s: %s: the same again, x%d", f.Agent, f.Err.Class, times(s, f.Task))
	case f.Err != nil:
		add("ERROR: %s: %s: %s", f.Agent, f.Err.Class, OneLine(f.Err.Message))
	case f.Exit == ralph.ExitUser: // by a person, or as nobody answered it
		add("STOPPED: %s, in the middle of its turn", f.Agent)
	case f.Exit != ralph.ExitOK:
		add("ERROR: %s: %s", f.Agent, f.Exit)
	}
	if f.Mismatch != "" {
		add("ANSWER: does not fit: %s", OneLine(f.Mismatch))
	}
	switch f.Signal.Kind {
	case ralph.SignalProgress:
		add("PROGRESS: %d%% %s", f.Signal.Percent, OneLine(f.Signal.Text))
	case ralph.SignalBlocked, ralph.SignalHuman:
		add("SIGNAL: %s: %s", f.Signal.Kind, OneLine(f.Signal.Text))
	case ralph.SignalComplete:
		add("SIGNAL: COMPLETE")
	}
	for _, d := range f.Denied {
		add("DENIED: %s (nobody could be asked; allow it in agents.%s.args)", OneLine(d), f.Agent)
	}
	if f.Leftover > 0 {
		what := text.Count(f.Leftover, "process")
		if f.Leftover != 1 {
			what = fmt.Sprintf("%d processes", f.Leftover)
		}
		add("NOTE: %s left in the background by %s ended", what, f.Agent)
	}
	return lines
}

func checksRan(f ralph.ChecksRan, s *ralph.State) []string {
	if KindOf(s, f.Task) == ralph.KindMerge {
		return mergeChecked(f, s)
	}
	var lines []string
	for _, r := range f.Results {
		switch {
		case r.Pass && r.Name == ralph.CheckEmpty && f.Empty:
			lines = append(lines, "CHECK: nothing has changed, as its agent knows: the checks decide")
		case r.Pass && ralph.IsDiffCheck(r.Name): // that nothing is wrong with a diff goes without saying
		case r.Pass && r.Reused:
			lines = append(lines, fmt.Sprintf("CHECK: ok %s (it ran on this tree before)", r.Name))
		case r.Pass && r.Name == ralph.CheckCoverage:
			lines = append(lines, fmt.Sprintf("CHECK: ok %s (%s)", r.Name, OneLine(r.Why)))
		case r.Pass:
			lines = append(lines, fmt.Sprintf("CHECK: ok %s (%s)", r.Name, Took(r.Took)))
		case slices.Contains(f.Known, r.Name) && isWaived(f, r.Name, s):
			lines = append(lines, fmt.Sprintf("CHECK: waived %s (a person let it pass)", failedWords(r)))
		case slices.Contains(f.Known, r.Name):
			lines = append(lines, fmt.Sprintf("CHECK: red as before %s (it was red in the same way before the work)", failedWords(r)))
		default:
			lines = append(lines, fmt.Sprintf("CHECK: failed %s (%s)", r.Name, whyRed(r)))
		}
	}
	return append(lines, checksWrote(f)...)
}

func failedWords(r ralph.CheckResult) string { return OneLine(ralph.RedOf(r).Words()) }

// isWaived reports whether a person let a red check of the task pass.
func isWaived(f ralph.ChecksRan, name string, s *ralph.State) bool {
	if slices.Contains(f.Waived, name) {
		return true
	}
	t := s.Task(f.Task)
	return t != nil && t.Run.Waived != nil && t.Run.Waived.Tree == f.Tree && slices.Contains(t.Run.Waived.Checks, name)
}

// whyRed says in one line why a check failed.
func whyRed(r ralph.CheckResult) string {
	switch {
	case len(r.Findings) > 0:
		r.Headline = FindingWords(r.Findings[0])
	case r.Name == ralph.CheckEmpty:
		r.Headline = "" // words for its agent
	case r.Headline == "": // of a journal from before there were headlines, or of no command
		r.Headline = lastWords(r.Output)
	}
	why := text.Plain(r.WhyRed())
	if r.Reused {
		why += "; it was not run again, as nothing has changed since"
	}
	return OneLine(why)
}

// RedWords names a red check with what to read first of it, for lists of them.
func RedWords(r ralph.CheckResult) string {
	if r.Headline == "" {
		return r.Name
	}
	return r.Name + ": " + OneLine(r.Headline)
}

// lastWords is the last line of a check's stderr, or else of its stdout: most
// often that is where it says what is wrong. The next prompt has it all.
func lastWords(output string) string {
	last := ""
	for line := range strings.Lines(text.Plain(output)) {
		line = strings.TrimSpace(line)
		if line == "--- stdout ---" && last != "" {
			break
		}
		if line != "" && !strings.HasPrefix(line, "--- ") {
			last = line
		}
	}
	return last
}

func shelved(f ralph.Shelved) []string {
	switch {
	case f.Error != "":
		return []string{"SHELVE: failed: " + OneLine(f.Error)}
	case f.Stash != "":
		return []string{fmt.Sprintf("STASH: %.9s (git stash apply %.9s brings the changes back)", f.Stash, f.Stash)}
	case f.Ref != "":
		return []string{"RESET: the changes are kept at " + f.Ref}
	}
	return nil
}

// Took is how long something took, as lines say it.
func Took(d time.Duration) string {
	switch {
	case d < time.Second:
		return d.Round(time.Millisecond).String()
	case d < 10*time.Second:
		return d.Round(10 * time.Millisecond).String()
	}
	return ralph.Elapsed(d)
}

// OneLine makes a text fit into one log line. Agents write it: what steers a
// terminal is left out; what turns the direction of writing or is not seen is written as
// Visible does, so that nobody takes the text for another one.
func OneLine(s string) string { return text.Cut(text.SafeLine(s), 400) }
