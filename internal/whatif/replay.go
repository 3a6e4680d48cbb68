package whatif

import (
	"context"
	"errors"
	"iter"
	"slices"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/advice"
	"github.com/ralph-loop/ralph/internal/config"
	"github.com/ralph-loop/ralph/internal/journal"
	"github.com/ralph-loop/ralph/internal/policy"
	"github.com/ralph-loop/ralph/internal/policy/replay"
	"github.com/ralph-loop/ralph/internal/thread"
	"github.com/ralph-loop/ralph/internal/workspace"
)

// Options say what a history is decided again with.
type Options struct {
	Session ralph.SessionID // "": all
	Config  config.Config
	Root    string
	// Decides and Guides are the models of Config. They are asked only with Ask.
	Decides, Guides Models
	Ask             bool
	// Price is what a model costs; nil: nobody knows.
	Price func(model string) *advice.Price
	Now   func() time.Time
}

// Models are models in the order in which they are asked, and how. No names: the rules decide.
type Models struct {
	Names []string
	Chain advice.Chain
}

// Result is what other settings would have decided.
type Result struct {
	replay.Replayed
	Decisions int `json:"decisions"` // on threads
	// Threads are those of them that would differ, or that only a model could tell.
	Threads []Decision `json:"threads,omitempty"`
	// Asides are the questions beside them that models were asked, or would be: of guidance, and of
	// agents in their turns. Questions are those of them that would end otherwise or that only a
	// model could tell.
	Asides     int     `json:"asides,omitempty"`
	AsidesOpen int     `json:"asides_open,omitempty"`
	Questions  []Aside `json:"questions,omitempty"`
	Was        Cost    `json:"was"`   // what the models cost that were asked
	Would      Cost    `json:"would"` // what those of the other settings would have cost
}

// Decision is one decision on a thread, then and under the other settings.
type Decision struct {
	Seq    int64        `json:"seq"`
	Thread ralph.TaskID `json:"thread"`
	Turn   int          `json:"turn"`
	Then   Word         `json:"then"`
	Now    *Word        `json:"now,omitempty"`   // nil: only Model could tell
	Model  string       `json:"model,omitempty"` // that would be asked, or was
	From   string       `json:"from,omitempty"`  // recorded, kept, asked: where its answer is from
}

// Cost is what models cost.
type Cost struct {
	Questions int     `json:"questions"`
	Input     int64   `json:"input_tokens"`
	Output    int64   `json:"output_tokens"`
	Dollars   float64 `json:"dollars"`
	Unpriced  int     `json:"unpriced,omitempty"`  // questions whose cost nobody knows: at least
	Estimated int     `json:"estimated,omitempty"` // questions that were not asked: by the length of the prompt
}

func (c *Cost) add(u ralph.Usage) {
	c.Questions++
	c.Input += u.Input + u.CacheRead + u.CacheWrite
	c.Output += u.Output
	c.Dollars += u.Cost
	if !u.Known {
		c.Unpriced++
	}
}

// What a question that was not asked is taken to use: a token of the prompt has four bytes, and
// an answer is as long as the recorded ones were.
const (
	bytesOfToken = 4
	usualAnswer  = 120
)

// guess adds what a question to a model would cost.
func (c *Cost) guess(bytes int, p *advice.Price) {
	in := int64(bytes/bytesOfToken + 1)
	c.Questions++
	c.Estimated++
	c.Input += in
	c.Output += usualAnswer
	if p == nil {
		c.Unpriced++
		return
	}
	c.Dollars += (float64(in)*p.Input + usualAnswer*p.Output) / 1e6
}

// Replay decides a history again under other settings. Each decision is taken on the state that
// was recorded, not on one to which the other settings would have led.
func Replay(ctx context.Context, j *journal.File, o Options) (Result, error) {
	kept, err := keptAnswers(o.Root)
	if err != nil {
		return Result{}, err
	}
	w := &world{ctx: ctx, o: o, kept: kept, seqs: map[int64]bool{}}
	var broken error
	events := func(yield func(ralph.Event) bool) {
		broken = j.Each(0, func(e ralph.Event) error {
			w.seq = e.Seq
			if w.err != nil || !yield(e) {
				return errEnough
			}
			return nil
		})
	}
	opt := replay.ReplayOptions{Session: o.Session, With: func(recorded policy.Config) policy.Config { return workspace.PolicyUnder(recorded, o.Config) }, Advise: w.advise, Look: w.look}
	w.out.Replayed, err = replay.Replay(iter.Seq[ralph.Event](events), opt)
	if broken != nil && !errors.Is(broken, errEnough) {
		err = broken
	}
	if err := errors.Join(w.err, err); err != nil {
		return Result{}, err
	}
	w.settle()
	return w.out, nil
}

// world is a replay under other settings.
type world struct {
	ctx  context.Context
	o    Options
	kept []Kept
	seq  int64
	seqs map[int64]bool // of the decisions on threads
	out  Result
	ends int // how many other questions would end otherwise
	err  error
}

// models are those that are asked for guidance, or what comes next.
func (w *world) models(guide bool) Models {
	if guide {
		return w.o.Guides
	}
	return w.o.Decides
}

// advise is what would be advised under the settings c; false: only a model could tell.
func (w *world) advise(s *ralph.State, f ralph.Advised, c policy.Config) (ralph.Advised, bool) {
	fresh, known, err := w.advised(s, f, c)
	if err != nil {
		w.err = errors.Join(w.err, err)
		return f, true
	}
	return fresh, known
}

func (w *world) advised(s *ralph.State, f ralph.Advised, c policy.Config) (ralph.Advised, bool, error) {
	then, err := asked(s, f)
	if err != nil {
		return f, true, err
	}
	w.out.Decisions++
	w.seqs[w.seq] = true
	r, err := recordOf(f)
	if err != nil {
		return f, true, err
	}
	if r != nil {
		w.out.Was.add(r.Usage)
	}
	q, err := ask(s, s.Task(f.Task), c, f.DecidedAt)
	if err != nil {
		return f, true, err
	}
	if err := q.putAs(s, f); err != nil {
		return f, true, err
	}
	d := Decision{Seq: w.seq, Thread: f.Task, Turn: f.Turn, Then: *then.Then}
	fresh, _, err := policy.Advice(s, s.Task(f.Task), c, f.DecidedAt)
	if err != nil {
		return f, true, err
	}
	known := true
	if m := w.models(q.Guides); q.Open && len(m.Names) > 0 {
		var said advice.Record
		if said, d.Model, d.From, known, err = w.answer(q.put, r, m, f.Task, f.Turn); err != nil {
			return f, true, err
		}
		if known {
			a, by, err := advice.Advised(said, &q.State)
			if err != nil {
				return f, true, err
			}
			fresh.By, fresh.Action, fresh.NextInput, fresh.Reason, fresh.Confidence = by, a.Action, a.NextInput, a.Reason, a.Confidence
		}
	}
	if known {
		d.Now = q.word(thread.Advice{Action: fresh.Action, NextInput: fresh.NextInput, Reason: fresh.Reason, Confidence: fresh.Confidence}, fresh.By)
	}
	if d.Now == nil || !same(&d.Then, d.Now) {
		w.out.Threads = append(w.out.Threads, d)
	}
	return fresh, known, nil
}

// look finds the questions that are asked beside what comes after a turn.
func (w *world) look(s *ralph.State, e ralph.Event, c policy.Config) {
	if err := w.beside(s, e, c); err != nil {
		w.err = errors.Join(w.err, err)
	}
}

func (w *world) beside(s *ralph.State, e ralph.Event, c policy.Config) error {
	a, err := asideOf(s, e.Fact, c)
	if err != nil || a == nil {
		return err
	}
	if a.asked != nil {
		w.out.Was.add(a.asked.Usage)
	}
	m := w.models(a.guides)
	if a.closed == nil && len(m.Names) == 0 {
		a.closed = &end{"a person is asked: no model is set", asksPerson}
	}
	if a.closed != nil && a.asked == nil {
		return nil // no model then, and none now
	}
	w.out.Asides++
	d := Aside{Seq: e.Seq, Thread: a.thread, Turn: a.turn, Signature: a.put.Signature, Question: a.what, Then: a.was.words}
	now, known := end{}, true
	if a.closed != nil {
		now = *a.closed
	} else {
		var said advice.Record
		if said, d.Model, d.From, known, err = w.answer(a.put, a.asked, m, a.thread, a.turn); err != nil {
			return err
		}
		if known {
			if now, err = a.comes(said); err != nil {
				return err
			}
		}
	}
	switch d.Now = now.words; {
	case !known:
		w.out.AsidesOpen++
	case now.key == a.was.key:
		return nil
	default:
		w.ends++
	}
	w.out.Questions = append(w.out.Questions, d)
	return nil
}

// answer is what the models of the other settings say to a question: the recorded answer where it
// is theirs, one that was kept, or one that is asked for now. Else it is not known.
func (w *world) answer(q advice.Question, then *advice.Record, m Models, id ralph.TaskID, turn int) (r advice.Record, by, from string, known bool, err error) {
	by = m.Names[0]
	if then != nil && theirs(*then, q.Hash, m.Names) {
		w.out.Would.add(then.Usage)
		return *then, by, "recorded", true, nil
	}
	p, err := q.Prompt(m.Chain)
	if err != nil {
		return r, by, "", false, err
	}
	if k, ok := answerOf(w.kept, by, q.Hash, p.Input); ok {
		w.out.Would.add(k.Usage)
		return k, by, "kept", true, nil
	}
	if !w.o.Ask {
		w.out.Would.guess(len(p.System)+len(p.User), w.o.Price(by))
		return r, by, "", false, nil
	}
	if r, err = q.Ask(w.ctx, m.Chain); err != nil {
		return r, by, "", false, err
	}
	w.out.Would.add(r.Usage)
	if r.By != "" {
		by = r.By
	}
	_, err = Keep(w.o.Root, Kept{At: w.o.Now(), Receipt: w.seq, Thread: id, Turn: turn, Record: r})
	return r, by, "asked", true, err
}

// theirs reports whether a recorded answer is what other models would have come to: all before
// the one that answered were asked then, and could not be.
func theirs(r advice.Record, hash string, models []string) bool {
	failed := func(name string) bool {
		return slices.ContainsFunc(r.Asked, func(a advice.Attempt) bool { return a.Engine == name && a.Error != "" })
	}
	if r.Hash != hash {
		return false
	}
	for _, name := range models {
		switch {
		case name == r.By:
			return true
		case !failed(name):
			return false
		}
	}
	return r.Outcome == advice.Nobody
}

// settle takes the decisions on threads out of the differences: they are told by themselves,
// and another wording is none.
func (w *world) settle() {
	w.out.Differences = slices.DeleteFunc(w.out.Differences, func(d replay.Difference) bool { return w.seqs[d.Seq] })
	w.out.Differ = len(w.out.Differences) + w.ends
	for _, d := range w.out.Threads {
		if d.Now != nil {
			w.out.Differ++
		}
	}
}
