package step

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/approval"
	"github.com/ralph-loop/ralph/internal/lookup"
	"github.com/ralph-loop/ralph/internal/policy"
	"github.com/ralph-loop/ralph/internal/redact"
	"github.com/ralph-loop/ralph/internal/text"
	"github.com/ralph-loop/ralph/internal/thread"
)

// Journal is what asking in the middle of a turn needs of the journal: requests are
// facts while the turn goes on, and so are their answers.
type Journal interface {
	State() *ralph.State
	Update(ctx context.Context, by string, decide func(*ralph.State) ([]ralph.Fact, error)) error
	Wait(ctx context.Context, seq int64) error
}

const (
	// askAgain is how often an open request is looked at without a fact: its deadline
	// is a time of the clock, and timers stand still while the machine sleeps.
	askAgain = 5 * time.Second

	maxAsked  = 64 << 10 // bytes of a gate's detail
	maxRecord = 4 << 10  // bytes of each text in the record of an automatic answer
	maxPart   = 1 << 10  // bytes of a path or an option
	maxParts  = 100      // paths or options of a request

	maxQuestions = 20 // of one request
)

// asker answers what the agent of one turn asks.
type asker struct {
	x     *Executor
	task  ralph.TaskID
	agent string
	turn  int // its number
	disk  lookup.Disk

	mu   sync.Mutex
	asks []asked
}

// asked is one request with its answer, for the record of the turn.
type asked struct {
	Request ralph.Request    `json:"request"`
	Gate    ralph.ApprovalID `json:"gate,omitempty"` // where a person was asked
	Rule    string           `json:"rule,omitempty"` // that answered, else why a person was asked
	Verdict ralph.Verdict    `json:"verdict,omitempty"`
	Text    string           `json:"text,omitempty"`

	passed map[string]int // how often a part of it was not asked again (allowed)
}

func (x *Executor) askerOf(t *ralph.Task, step ralph.Turn) *asker {
	dir := x.dir(t)
	disk := lookup.At(dir, x.Env)
	if x.Aliases != nil {
		disk.Aliases = sync.OnceValue(func() map[string]string { return x.Aliases(dir) })
	}
	return &asker{x: x, task: t.ID, agent: step.Agent, turn: step.Iteration, disk: disk}
}

// Asks is how the agent of a turn asks, as TurnHooks.Ask; nil without a journal. The
// turn's receipt must be the task's newest.
func (x *Executor) Asks(t *ralph.Task, step ralph.Turn) func(context.Context, ralph.Request) (ralph.Reply, error) {
	return x.askerOf(t, step).hook()
}

// hook is nil without a journal: the driver then denies by itself.
func (a *asker) hook() func(context.Context, ralph.Request) (ralph.Reply, error) {
	if a.x.Journal == nil {
		return nil
	}
	return a.ask
}

// ask answers by the settings and the rules that people have made, has a model answer a question
// of a thread where it may, or has a person do it. The error is the journal's, or ctx's.
func (a *asker) ask(ctx context.Context, q ralph.Request) (ralph.Reply, error) {
	var suggested *ralph.Suggestion // asked for once, whatever changes meanwhile
	for {
		s, now := a.x.Journal.State(), a.x.now()
		word, where := a.disk.Clear(q, a.x.Config.Approval(), approval.ActiveRules(s, a.task, now))
		if suggested == nil && a.x.Suggester != nil && thread.MaySuggest(s.Task(a.task), q, word, a.x.Config.Approval()) {
			x, err := a.suggest(ctx, s, q)
			if err != nil {
				return ralph.Reply{}, err
			}
			suggested = &x
			continue // it took its time: look again
		}
		var f ralph.Fact
		var gate ralph.ApprovalID
		said, _ := a.reply(suggested)
		switch {
		case word.Answered():
			f = a.answered(q, word, where, now)
		case said != "":
			f = a.byModel(q, word, where, now, suggested, said)
		default:
			g := a.gate(q, word)
			g.Detail = cutText(strings.TrimSpace(g.Detail+"\n\n"+a.suggestedWords(suggested)), maxAsked)
			f, gate = ralph.Asked{Approval: g, Judged: a.judged(q, word, where, now, nil), Suggested: suggested}, g.ID
		}
		stands, err := a.record(ctx, q, word, where, now, f)
		switch {
		case err != nil:
			return ralph.Reply{}, err
		case !stands:
		case gate != "":
			return a.person(ctx, q, word, gate)
		case !word.Answered():
			a.keep(asked{Request: short(q), Rule: byModelRule(suggested), Text: said})
			return ralph.Reply{Text: said}, nil
		default:
			a.keep(asked{Request: short(q), Rule: a.said(word), Verdict: word.Verdict, Text: word.Text})
			return word.Reply(), nil
		}
	}
}

// record writes what was decided, when it is decided the same on the state that it is written
// to: a person may have made or revoked a rule meanwhile, in another process.
func (a *asker) record(ctx context.Context, q ralph.Request, word approval.Ruling, where ralph.WorkDir, now time.Time, f ralph.Fact) (stands bool, err error) {
	err = a.x.Journal.Update(ctx, "engine", func(s *ralph.State) ([]ralph.Fact, error) {
		again, missing := approval.Clear(q, a.x.Config.Approval(), where, approval.ActiveRules(s, a.task, now))
		if stands = again == word && missing.None(); !stands {
			return nil, nil
		}
		return []ralph.Fact{f}, nil
	})
	return stands, a.noted(ctx, err)
}

// said is why a request was answered as it was, or why a person is asked, as it is recorded.
func (a *asker) said(word approval.Ruling) string {
	return cutText(a.x.Redact.String(word.Rule), maxRecord)
}

// answered is an answer that nobody gave.
func (a *asker) answered(q ralph.Request, word approval.Ruling, where ralph.WorkDir, now time.Time) ralph.RequestAnswered {
	f := ralph.RequestAnswered{Task: a.task, Agent: a.agent, Request: short(redact.Value(a.x.Redact, q)), Verdict: word.Verdict, Rule: a.said(word), Text: word.Text}
	f.Judged = a.judged(q, word, where, now, &f.Request)
	return f
}

// judged is what a request was answered on, with the request where the fact has it in another
// form than has. It is nil where that would be too long, or a secret is in it: the answer then
// cannot be decided again.
func (a *asker) judged(q ralph.Request, word approval.Ruling, where ralph.WorkDir, now time.Time, has *ralph.Request) *ralph.Judged {
	j := &ralph.Judged{DecidedAt: now, WorkDir: where}
	essence := approval.Essence(q)
	if !reflect.DeepEqual(short(essence), essence) {
		return nil
	}
	if has == nil || !sameJSON(approval.Essence(*has), essence) {
		j.Request = &essence
	}
	b, err := json.Marshal(j)
	if err != nil || len(b) > maxRecord || a.said(word) != word.Rule || !sameJSON(redact.Value(a.x.Redact, j), j) {
		return nil
	}
	return j
}

func sameJSON(x, y any) bool {
	a, errA := json.Marshal(x)
	b, errB := json.Marshal(y)
	return errA == nil && errB == nil && bytes.Equal(a, b)
}

// person waits for what becomes of the gate that stands before a request.
func (a *asker) person(ctx context.Context, q ralph.Request, held approval.Ruling, gate ralph.ApprovalID) (ralph.Reply, error) {
	word, reply, err := a.await(ctx, gate)
	if err == nil {
		a.keep(asked{Request: short(q), Gate: gate, Rule: a.said(held), Verdict: word.Verdict, Text: word.Text})
	}
	return reply, err
}

func (a *asker) write(ctx context.Context, f ralph.Fact) error {
	return a.noted(ctx, a.x.Journal.Update(ctx, "engine", func(*ralph.State) ([]ralph.Fact, error) { return []ralph.Fact{f}, nil }))
}

// noted says what was being done when the journal failed; the end of ctx is no failure.
func (a *asker) noted(ctx context.Context, err error) error {
	if err != nil && ctx.Err() == nil {
		return fmt.Errorf("record what the agent asks: %w", err)
	}
	return err
}

func (a *asker) keep(x asked) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.asks = append(a.asks, x)
}

// gate is the request as people see it.
func (a *asker) gate(q ralph.Request, held approval.Ruling) ralph.Approval {
	now := a.x.Now()
	g := GateWithout(a.x.Redact, q, held, a.disk)
	g.ID, g.Task, g.AskedAt, g.Deadline = ralph.ApprovalID(a.x.NewID("g")), a.task, now, policy.AskDeadline(q.Kind, a.x.Config, now)
	return g
}

// GateWithout is GateOf without secrets. What was judged, and what runs, has them: so no rule
// can come of an answer to it.
func GateWithout(r *redact.Redactor, q ralph.Request, held approval.Ruling, disk lookup.Disk) ralph.Approval {
	shown := redact.Value(r, q)
	g := GateOf(shown, redact.Value(r, held), disk)
	g.Request.Cut = g.Request.Cut || shown.Command != q.Command || shown.Text != q.Text || shown.Detail != q.Detail || shown.Dir != q.Dir || !slices.Equal(shown.Paths, q.Paths)
	return g
}

// GateOf is the gate before a request that held could not answer, as people see it. Its
// id, who waits there and until when are the caller's.
func GateOf(q ralph.Request, held approval.Ruling, disk lookup.Disk) ralph.Approval {
	q.Questions = cutQuestions(q.Questions)
	g := ralph.Approval{
		Kind: held.Gate, InTurn: true, Never: held.Never, Rule: cutText(held.Rule, maxRecord),
		Text: cutText(wordsOf(q), maxRecord), Detail: cutText(detailOf(q, held.Gate, held.Rule), maxAsked),
	}
	if q.Kind == ralph.RequestQuestion {
		g.Options = cutTexts(q.Options)
		if len(q.Options) == 0 && len(q.Questions) == 1 {
			g.Options = cutTexts(q.Questions[0].Options)
		}
	}
	asked := recognisable(disk.InTree(q))
	g.Request = &asked
	return g
}

// recognisable is a request as its gate keeps it: short, and with what says which one it
// is, so that a rule can come of the answer. The gate itself has the rest.
func recognisable(q ralph.Request) ralph.Request {
	out := short(q)
	out.Options, out.Questions = nil, nil
	evident := approval.Evident(q)
	if evident {
		out.Detail = "" // not what they are known by
	}
	out.Cut = out.Command != q.Command || out.Dir != q.Dir || out.Tool != q.Tool || !slices.Equal(out.Paths, q.Paths) ||
		out.Text != q.Text && (!evident || q.Kind == ralph.RequestQuestion) || !evident && out.Detail != q.Detail ||
		!slices.Equal(cutTexts(q.Options), q.Options) || len(q.Questions) > maxQuestions
	return out
}

// await blocks until a person, a deadline, the end of the session or the agent itself
// has the last word on a gate.
func (a *asker) await(ctx context.Context, id ralph.ApprovalID) (ralph.Answered, ralph.Reply, error) {
	j := a.x.Journal
	for {
		s := j.State()
		if word := s.Reply(a.task, id); word != nil {
			return *word, replyOf(*word), nil
		}
		var word ralph.Answered
		var reply ralph.Reply
		done := false
		decide := func(s *ralph.State) ([]ralph.Fact, error) {
			if done = false; s.Reply(a.task, id) != nil {
				return nil, nil // answered just now: the first answer wins
			}
			i := slices.IndexFunc(s.Approvals, func(g *ralph.Approval) bool { return g.ID == id })
			if i < 0 {
				done, reply = true, ralph.Reply{Text: "nobody works on the task any more", Stop: true}
				return nil, nil
			}
			var facts []ralph.Fact
			if facts, reply = policy.Unanswered(s, s.Approvals[i], a.x.Config, a.x.now()); len(facts) > 0 {
				word, _ = facts[0].(ralph.Answered)
				done = true
			}
			return facts, nil
		}
		facts, _ := decide(s)
		if done && len(facts) > 0 {
			if err := j.Update(ctx, "engine", decide); err != nil && ctx.Err() == nil {
				return word, reply, fmt.Errorf("record that nobody answered: %w", err)
			}
		}
		if done && ctx.Err() == nil {
			return word, reply, nil
		}
		if ctx.Err() == nil {
			if err := a.wait(ctx, s, id); err != nil {
				return word, reply, err
			}
		}
		if ctx.Err() != nil {
			return a.withdraw(ctx, id)
		}
	}
}

// wait returns when there is a new fact, or it is time to look again.
func (a *asker) wait(ctx context.Context, s *ralph.State, id ralph.ApprovalID) error {
	next := askAgain
	for _, g := range s.Approvals {
		if g.ID == id && !g.Deadline.IsZero() {
			next = min(next, max(g.Deadline.Sub(a.x.Now()), time.Millisecond))
		}
	}
	look, cancel := context.WithTimeout(ctx, next)
	defer cancel()
	if err := a.x.Journal.Wait(look, s.Seq); err != nil && look.Err() == nil {
		return fmt.Errorf("wait for an answer: %w", err)
	}
	return nil
}

// withdraw takes back what the agent does not need to know any more.
func (a *asker) withdraw(ctx context.Context, id ralph.ApprovalID) (ralph.Answered, ralph.Reply, error) {
	word := ralph.Answered{ID: id, Verdict: ralph.Withdrawn, Text: "the agent does not wait for it any more"}
	err := a.x.Journal.Update(context.WithoutCancel(ctx), "engine", func(s *ralph.State) ([]ralph.Fact, error) {
		if !slices.ContainsFunc(s.Approvals, func(g *ralph.Approval) bool { return g.ID == id }) {
			return nil, nil
		}
		return []ralph.Fact{word}, nil
	})
	if err != nil {
		return word, ralph.Reply{}, fmt.Errorf("take back what the agent asked: %w", err)
	}
	return word, ralph.Reply{}, ctx.Err()
}

// replyOf is a person's word as the agent gets it.
func replyOf(f ralph.Answered) ralph.Reply {
	switch {
	case f.Verdict == ralph.Approved:
		return ralph.Reply{Allow: true}
	case f.Verdict == ralph.Denied && strings.TrimSpace(f.Text) == "":
		return ralph.Reply{Text: "a person said no"}
	}
	return ralph.Reply{Text: f.Text}
}

// wordsOf is a request in one line.
func wordsOf(q ralph.Request) string {
	s := text.OneLine(q.Text)
	switch {
	case q.Kind == ralph.RequestQuestion && s != "":
		return strings.TrimSpace(q.Text)
	case q.Command != "":
		return "run " + q.Command
	case s != "":
		return s
	case q.Op == ralph.OpEdit:
		return "change " + strings.Join(q.Paths, ", ")
	case q.Op == ralph.OpRead:
		return "read " + strings.Join(q.Paths, ", ")
	case q.Op == ralph.OpPermissions:
		return "more rights for the agent"
	case q.Tool != "":
		return "use " + q.Tool
	}
	return "the agent asks without words"
}

// detailOf is what a person decides by.
func detailOf(q ralph.Request, gate, why string) string {
	var b strings.Builder
	add := func(name, value string) {
		if value != "" {
			fmt.Fprintf(&b, "%s: %s\n", name, value)
		}
	}
	if q.Kind == ralph.RequestApproval {
		add("Tool", q.Tool)
		add("Command", q.Command)
		add("Folder", q.Dir)
		add("Files", strings.Join(q.Paths, ", "))
		if q.Command != "" && !strings.Contains(q.Text, q.Command) { // most say the command once more
			add("Why", q.Text)
		}
		if gate != ralph.ApprovalOperation { // there the gate says what holds it
			add("Asked because", why)
		}
	}
	if len(q.Questions) > 1 {
		for i, part := range q.Questions {
			fmt.Fprintf(&b, "%d. %s\n", i+1, part.Text)
			for _, o := range part.Options {
				fmt.Fprintf(&b, "     - %s\n", o)
			}
		}
	}
	if q.Detail != "" {
		b.WriteString("\n" + q.Detail)
	}
	return strings.TrimSpace(b.String())
}

// short is a request as it is recorded: what answered it can be seen, and a patch of
// megabytes does not get into the journal.
func short(q ralph.Request) ralph.Request {
	for _, s := range []*string{&q.ID, &q.Tool, &q.Command, &q.Dir, &q.Text, &q.Detail} {
		*s = cutText(*s, maxRecord)
	}
	q.Paths, q.Options = cutTexts(q.Paths), cutTexts(q.Options)
	q.Questions = cutQuestions(q.Questions)
	return q
}

func cutQuestions(list []ralph.Question) []ralph.Question {
	out := slices.Clone(list[:min(len(list), maxQuestions)])
	for i, q := range out {
		out[i] = ralph.Question{ID: cutText(q.ID, maxPart), Text: cutText(q.Text, maxRecord), Options: cutTexts(q.Options)}
	}
	return out
}

// cutTexts is the beginning of a list, each text of it not too long.
func cutTexts(list []string) []string {
	out := slices.Clone(list[:min(len(list), maxParts)])
	for i, s := range out {
		out[i] = cutText(s, maxPart)
	}
	return out
}
