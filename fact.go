package ralph

import (
	"encoding/json"
	"fmt"
	"slices"
	"sync"
)

// Fact is one thing that happened. The set is closed: kindsOfFacts knows every one, and
// docs/facts.md lists them. Facts never change once they are written, so a field is only
// ever added. What none of its methods says of a fact does not compile.
type Fact interface {
	// Kind is its name, "t" in the file.
	Kind() string
	// About is the task or stage that it is about, "" for none.
	About() TaskID
	// fold makes of the state what the fact adds up to. It is total: a fact about something
	// that is not there (a person removed it meanwhile) changes nothing.
	fold(s *State, e Event)
}

// factKind is a kind of facts.
type factKind struct {
	name   string
	decode func([]byte) (Fact, error)
}

func kind[F Fact]() factKind {
	var zero F
	return factKind{zero.Kind(), func(b []byte) (Fact, error) {
		var f F
		err := json.Unmarshal(b, &f)
		return f, err
	}}
}

// kindsOfFacts is the table of all facts: what can be read from a journal.
func kindsOfFacts() []factKind {
	return []factKind{
		kind[SessionStarted](),
		kind[SessionEnded](),
		kind[Control](),
		kind[SpecAdded](),
		kind[SpecEdited](),
		kind[SpecRemoved](),
		kind[InboxOrdered](),
		kind[JobStarted](),
		kind[JobEnded](),
		kind[RoundStarted](),
		kind[PlanStarted](),
		kind[PlanOrdered](),
		kind[TaskAdded](),
		kind[TaskEdited](),
		kind[TaskRemoved](),
		kind[TaskStarted](),
		kind[TaskEnded](),
		kind[TaskRejected](),
		kind[TaskAccepted](),
		kind[RejectAdded](),
		kind[IssueAdded](),
		kind[IssueRemoved](),
		kind[StepStarted](),
		kind[StepLost](),
		kind[StepLate](),
		kind[Prepared](),
		kind[TurnEnded](),
		kind[ChecksRan](),
		kind[Committed](),
		kind[Shelved](),
		kind[Asked](),
		kind[Answered](),
		kind[RequestAnswered](),
		kind[SandboxRefused](),
		kind[RuleAdded](),
		kind[RuleRevoked](),
		kind[Signalled](),
		kind[Noted](),
		kind[CheckoutFound](),
		kind[IntegrationStarted](),
		kind[MergeQueued](),
		kind[Merged](),
		kind[Advanced](),
		kind[BaselineRan](),
		kind[Landed](),
		kind[Published](),
		kind[PullSeen](),
		kind[IssueSeen](),
		kind[Polled](),
		kind[CleanedUp](),
		kind[SavedWork](),
		kind[TaskRetried](),
		kind[SkipWanted](),
		kind[TaskRolledBack](),
		kind[TaskCleaned](),
		kind[TaskExtended](),
		kind[TaskAssigned](),
		kind[TaskMessaged](),
		kind[ModeSet](),
		kind[Retrying](),
		kind[AgentLimited](),
		kind[AgentRetries](),
		kind[AgentSwitched](),
		kind[AllLimited](),
		kind[BudgetWarned](),
		kind[ContextWarned](),
		kind[Compacted](),
		kind[HookRan](),
		kind[NoticeFailed](),
		kind[PushWanted](),
		kind[PushTried](),
		kind[Pushed](),
		kind[PushFailed](),
		kind[PushRefused](),
		kind[PushDropped](),
		kind[ServiceLimited](),
		kind[RepoRenamed](),
		kind[ServiceRetried](),
		kind[BreakerMoved](),
		kind[ViewRead](),
		kind[ViewUnreadable](),
		kind[JournalCut](),
		kind[Stalled](),
		kind[ThreadStarted](),
		kind[ThreadWanted](),
		kind[ThreadParked](),
		kind[ThreadContinued](),
		kind[Guided](),
		kind[Advised](),
		kind[Decided](),
		kind[Reviewed](),
	}
}

var decoders = sync.OnceValue(func() map[string]func([]byte) (Fact, error) {
	all := map[string]func([]byte) (Fact, error){}
	for _, k := range kindsOfFacts() {
		all[k.name] = k.decode
	}
	return all
})

func unmarshalFact(kind string, b []byte) (Fact, error) {
	if decode := decoders()[kind]; decode != nil {
		return decode(b)
	}
	return nil, fmt.Errorf("unknown kind %q: %w", kind, ErrNewer)
}

// Kinds are the kinds of all facts.
func Kinds() []string {
	var names []string
	for _, k := range kindsOfFacts() {
		names = append(names, k.name)
	}
	return slices.Clip(names)
}
