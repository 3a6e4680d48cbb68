// Package rules owns the table of rules: the id by which receipts, the log and pages name
// one, its sentence, and the page of docs/ that tells more. It decides nothing: where a rule
// holds is in internal/policy and in the packages that name it.
package rules

import (
	"slices"
	"strings"
)

// Rule is a rule by which ralph decides, as people read it.
type Rule struct {
	ID       string // as it stands in receipts, and stays: journals have it for good
	Sentence string // what it says, in one sentence without a full stop
	Page     string // below docs/, that tells more
}

// Pages of docs/ that tell of rules.
const (
	pageStates     = "state-machine.md"
	pageControl    = "control.md"
	pageStop       = "control.md#pause-stop-start-again"
	pageErrors     = "control.md#errors"
	pageLimits     = "control.md#limits-of-agents"
	pageBudgets    = "control.md#budgets"
	pageContext    = "control.md#the-context-window"
	pageTestGate   = "test-gate.md"
	pageApprovals  = "approvals.md"
	pageRobustness = "robustness.md"
	pageHooks      = "hooks.md"
	pageIssues     = "issues.md"
	pageThreads    = "decisions.md#what-becomes-of-advice"
	pageGuidance   = "auto.md#guidance"
	pageStops      = "decisions.md#when-a-thread-stops"
)

// All are all rules by which something is decided or told, sorted by their ids.
func All() []Rule {
	return slices.Concat(rulesOfWork(), rulesOfThreads(), rulesOfSettings())
}

// rulesOfWork are the first of them: of tasks, checks and commits.
func rulesOfWork() []Rule {
	return []Rule{
		{"A-060", "Before a try after an error its wait is told: after what, how often, until when", pageErrors},
		{"A-093", "In a mode in which a person looks at each error, the first one ends the task", pageErrors},
		{"A-112", "Before a phase of the plan begins, a context window that the phase before has filled is compacted", pageContext},
		{"A-113", "A context window that is nearly full is compacted, or the agent begins anew", pageContext},
		{"B-005", "A task that has a worktree begins with it made ready", pageStates},
		{"B-006", "Finished work is merged beside the checkout, in the order in which it was finished", pageStates},
		{"B-010", "COMPLETE leads to the checks: what an agent says is not believed without them", pageStates},
		{"B-013", "A task goes on when its question is answered", pageStates},
		{"B-017", "A task whose agent changes nothing turn after turn is told of as stuck", pageStates},
		{"B-021", "A person may tell the agent of a task something; it hears it in its next turn", pageControl},
		{"B-022", "A task is done when its agent says COMPLETE and every check passes", pageStates},
		{"B-023", "A task goes on when its agent says COMPLETE and a check fails: it is told what is red", pageStates},
		{"B-024", "A task is blocked when its agent says BLOCKED", pageStates},
		{"B-025", "A task waits for a person when its agent says NEEDS_HUMAN", pageStates},
		{"B-026", "Without a signal the agent gets its next turn", pageStates},
		{"B-028", "A task times out when its iterations or its time are used up", pageStates},
		{"B-029", "A turn that takes too long ends, and its task with it", pageStates},
		{"B-039", "A task has one step at a time", pageStates},
		{"B-054", "Who waits for an answer holds no slot, and needs one again to go on", pageStates},
		{"B-058", "In a pause no new step begins", pageStop},
		{"B-063", "Many failures in a row pause the session until a person has looked", pageErrors},
		{"B-065", "A task that a person skips ends, and what depends on it goes on without it", pageStates},
		{"B-069", "An agent that ended by itself is asked for its signal", pageStates},
		{"B-073", "A turn that ended with an error is tried again, as long as there are retries", pageErrors},
		{"B-074", "A turn that a person cut gives its task back, and its work is kept", pageControl},
		{"B-075", "A turn whose agent was killed gives its task back for another try", pageStates},
		{"B-076", "A person may give a task another try", pageControl},
		{"B-078", "A person may roll a task back: its merged work is reverted", pageControl},
		{"B-079", "A person may have a task's worktree and branch taken away", pageControl},
		{"B-082", "A person may give a task more iterations or time", pageControl},
		{"B-091", "A person may choose which task starts next", pageControl},
		{"B-097", "A task fails when its agent cannot be started, or its worktree not be made", pageErrors},
		{"B-099", "An autopilot ends when no task is ready and none is at work; what is left stays pending", pageControl},
		{"C-055", "What a remote or a service does not take now is kept, and sent later", pageIssues},
		{"C-061", "With test.coverage set, a coverage report that is not there is told", pageTestGate},
		{"C-063", "A check that stays red, or does not end, asks a person what is wrong: the work or the check", pageTestGate},
		{"C-064", "A check that is red and then green on the same tree is told of as flaky", pageTestGate},
		{"D-001", "A spec is done when nothing is left to do for it", pageStates},
		{"D-035", "A dry run plans a spec and changes nothing", pageStates},
		{"D-036", "A spec begins with a look at the checkout that it starts from", pageStates},
		{"D-044", "A spec goes from stage to stage: plan, investigate, build, verify, land", pageStates},
		{"D-046", "A spec that is complete gets one commit, with a trailer that names its receipt", pageStates},
		{"D-048", "A spec is done when its commit is made", pageStates},
		{"D-051", "A stop lets the step under way end and begins no other", pageStop},
		{"D-052", "A session ends where a person or a signal asked for it, between two steps", pageStop},
		{"D-072", "The changes of a spec that failed are put away, not thrown away", pageStates},
		{"D-073", "A spec fails when its tasks failed; its changes are put away first", pageStates},
		{"D-076", "A spec whose start cannot be prepared fails", pageStates},
		{"D-077", "An answer of an agent that does not fit is asked for once more", pageStates},
		{"D-078", "A spec fails when a stage of it does, such as its planning", pageStates},
		{"D-079", "A commit that fails is tried once more, then the task fails with git's own words", pageRobustness},
	}
}

// rulesOfThreads are those of progress and of threads.
func rulesOfThreads() []Rule {
	return []Rule{
		{"E-035", "A thread's first turn begins with what its person said", pageThreads},
		{"E-038", "After each turn of a thread it is decided once what comes next, and that is done", pageThreads},
		{"E-048", "Advice that is not of its type is none: the thread waits for a person", pageThreads},
		{"E-053", "A thread waits for a person when advice is not sure enough, or the thread is in no state to go on by itself", pageThreads},
		{"E-055", "With guidance on, the first message of a thread goes through typed questions to a model before its first turn", pageGuidance},
		{"E-060", "A first message that needs no work is answered, and the thread is done", pageGuidance},
		{"E-063", "A first message that says no goal has the repository looked at, understood, planned and a directive made of it", pageGuidance},
		{"E-068", "A thread ends where a person stopped it, at the end of its turn", pageStops},
		{"E-069", "A thread stops when its turn failed in a way that no retry mends", pageStops},
		{"E-070", "A thread stops when its budget is used up", pageStops},
		{"E-071", "A thread stops when a request of its agent was not answered in time", pageStops},
		{"E-072", "A task fails (task.no_progress_turns), and a thread stops, after too many turns without any progress", pageErrors},
		{"E-073", "A task fails, and a thread stops, when the same kind of error comes again and again without a change", pageErrors},
		{"E-074", "A thread stops when its agent shortens its history too often", pageStops},
		{"E-075", "A thread stops when its agent says that it is finished, and no check says otherwise", pageStops},
		{"E-080", "A model answers what an agent asks in the middle of its turn, where it is sure enough and no person has to say it", "decisions.md#how-a-model-is-asked"},
		{"E-084", "A thread gives its slot to those that wait for their turn, in the order in which they became ready", pageStops},
		{"E-085", "A thread rests after a turn that changed nothing, longer each time", pageStops},
		{"E-103", "What a thread changed is looked at before it stops", pageThreads},
	}
}

// rulesOfSettings are those after them: of merging, approvals and limits.
func rulesOfSettings() []Rule {
	return []Rule{
		{"P-14", "Merged work is checked again on the merged tree, and what was red before the work does not count against it", pageTestGate},
		{"P-7", "Merged work is brought to the base branch by fast-forward, when the checkout is not in the way", pageStates},
		{"R-C2", "Nothing is committed on another branch or commit than the one the work began on, unless a person says so", pageRobustness},
		{"S2", "Changes to ralph's own settings, hooks and CI files are seen by a person before they hold", pageApprovals},
		{"X-08", "What another session left unfinished goes back to the queue, with its plan", pageStop},
		{"X-16", "A task that fails is skipped where errors.strategy is skip", pageErrors},
		{"X-22", "Where gate.scope is session, one open question holds everything", pageApprovals},
		{"X-27", "Work that was not committed when a turn was cut is stashed", pageControl},
		{"X-29", "A denied step ends its task as skipped", pageApprovals},
		{"X-31", "After an error the task is tried again, each time later", pageErrors},
		{"X-32", "A task fails when its retries after errors are used up", pageErrors},
		{"X-33", "An agent at its limit is waited for, when that is a moment", pageLimits},
		{"X-36", "An agent at its limit hands over to the next one of agent.fallback", pageLimits},
		{"X-37", "A change of agent is told before its first turn", pageLimits},
		{"X-38", "When every agent is at its limit the task goes back, and the session pauses or ends", pageLimits},
		{"X-39", "A failed task ends the session where errors.strategy is abort", pageErrors},
		{"X-43", "An error that no retry mends, such as a wrong model, fails the task at once", pageErrors},
		{"X-44", "A task fails when its agent is killed over and over", pageErrors},
		{"X-52", "A worktree that cannot be made ready is tried again, each time later", pageErrors},
		{"X-60", "A budget that is used up ends what it is the budget of: a task, a spec, the session", pageBudgets},
		{"X-62", "What is in doubt of a task's end is settled: a full context ends it, red from before its work is asked about", pageStates},
		{"X-69", "In construct each task may get a commit of its own (task.auto_commit)", pageStates},
		{"X-72", "Work that does not merge, or is red once merged, is resolved by an agent, else a person decides", pageStates},
		{"X-75", "What only a person may decide waits for one as a gate", pageApprovals},
		{"X-76", "A gate whose time is over ends as gate.on_timeout says", pageApprovals},
		{"X-77", "What the sandbox refuses is told, to the agent and to you", pageApprovals},
		{"X-78", "A rule that a person made answers a gate without asking again", pageApprovals},
		{"X-92", "A hook before a step may stop it", pageHooks},
	}
}

// Sentence is what a rule says; "" for one that only an old journal has, and for what
// is no rule of policy but of a setting.
func Sentence(id string) string {
	rules := All()
	i, ok := slices.BinarySearchFunc(rules, id, func(r Rule, id string) int { return strings.Compare(r.ID, id) })
	if !ok {
		return ""
	}
	return rules[i].Sentence
}
