package engine_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/engine"
	"github.com/ralph-loop/ralph/internal/journal"
	"github.com/ralph-loop/ralph/internal/ralphtest/enginetest"
	"github.com/ralph-loop/ralph/internal/step"
)

// night is an unattended run in which things go wrong. The loop, the policy, the host, the
// clock and step.Executor's turns are the real ones, with agents that tell as programs do.
// Git, checks and the lock are where the line is: they are processes, which do not wait by a
// clock of the test, so they are enginetest.Script and Git here, and real in internal/soak.
type night struct {
	w      *world
	root   string
	clock  wall
	steady *journal.Clock
	began  time.Time
	ills   []ill
	every  time.Duration // between two starts by whoever keeps it running
	tasks  int

	mu     sync.Mutex
	places map[string]*place
	n      int
	turns  []string    // turns that agents worked in, to their end
	starts int         // engines
	down   []time.Time // when an engine died or broke
}

// ill is one thing that goes wrong, for a time.
type ill struct {
	Kind  string // limit, limit untold, network, login, overloaded, disk, disk whole, sleep, crash
	Agent string // "": every one
	From  time.Duration
	For   time.Duration
}

func (i ill) String() string {
	return fmt.Sprintf("%s %s at %s for %s", i.Kind, i.Agent, i.From, i.For)
}

// place is a checkout or worktree: what is in it.
type place struct {
	step.Trees
	tree, head string
}

func (p *place) Snapshot(context.Context) (tree, head string, err error) { return p.tree, p.head, nil }

func (p *place) Diff(context.Context, string, string, int64) ([]byte, error) { return nil, nil }

// places are the worktrees.
type places struct {
	step.Worktrees
	n *night
}

func (p places) Open(dir string) (step.Trees, error) { return p.n.place(dir), nil }

func (n *night) place(dir string) *place {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.places[dir] == nil {
		n.places[dir] = &place{}
	}
	return n.places[dir]
}

// newNight is `ralph autopilot` on a plan, or `ralph agent` on specs; both with three agents
// at most and codex behind claude.
func newNight(t *testing.T, root, session string, tasks int, ills ...ill) *night {
	c := enginetest.Settings()
	c.Patience, c.NetworkRetry, c.LimitWait = 30*time.Second, time.Minute, "auto"
	c.MaxConsecutive, c.ConflictRetries, c.Resolver = 3, 3, "agent"
	if c.Session = session; session == "autopilot" {
		c.Isolated, c.Commit, c.Parallel = true, false, 3
	}
	n := &night{root: root, ills: ills, every: 10 * time.Minute, tasks: tasks, began: time.Now(), places: map[string]*place{}}
	n.steady = journal.NewClock(n.clock.now)
	n.w = newWorld(t, c)
	n.w.now, n.w.mem, n.w.script.Now = n.steady.Now, enginetest.NewMem(n.steady.Now), n.steady.Now
	if session == "agent" {
		for i := range tasks {
			n.w.add(fmt.Sprintf("q-%d", i), fmt.Sprintf("%s.md", n.name(i)))
			n.spec(t, n.name(i)+".md")
		}
		return n
	}
	n.spec(t, "night.md")
	n.w.script.Git = enginetest.NewForest()
	n.w.script.Git.Took = 5 * time.Second
	plan := []ralph.Fact{ralph.PlanStarted{File: "night.md"}}
	for i := range tasks {
		task := enginetest.Task("night.md", n.name(i))
		if i%4 == 3 {
			task.Deps = []ralph.TaskID{enginetest.Task("night.md", n.name(i-1)).ID}
		}
		plan = append(plan, ralph.TaskAdded{Task: task})
	}
	n.w.record(plan...)
	return n
}

// name says what a task is: the second one is hopeless, and so is what hangs each time.
func (n *night) name(i int) string {
	switch i {
	case 1:
		return "loops"
	case 5:
		return "hangs"
	}
	return fmt.Sprintf("good-%d", i)
}

func (n *night) spec(t *testing.T, file string) {
	path := filepath.Join(n.root, "ralph/specs", file)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("# A night\n\nWork.\n"), 0o600); err != nil {
		t.Fatal(err)
	}
}

// is returns what is wrong now, of one kind.
func (n *night) is(kind, agent string) *ill {
	at := n.steady.Now().Sub(n.began)
	for i := range n.ills {
		x := &n.ills[i]
		if x.Kind == kind && (x.Agent == "" || x.Agent == agent) && at >= x.From && at < x.From+x.For {
			return x
		}
	}
	return nil
}

// room is what the disk says: with less than 1 MiB it counts as full.
func (n *night) room() error {
	if n.is("disk", "") != nil {
		return syscall.ENOSPC
	}
	return n.whole()
}

// whole is the error of a disk to which nothing at all can be written.
func (n *night) whole() error {
	if n.is("disk whole", "") != nil {
		return syscall.ENOSPC
	}
	return nil
}

// disk is the journal on a disk that is full at times.
type disk struct {
	*enginetest.Mem
	n *night
}

func (d disk) Update(ctx context.Context, by string, decide func(*ralph.State) ([]ralph.Fact, error)) error {
	if err := d.n.whole(); err != nil {
		return fmt.Errorf("append facts: %w", err)
	}
	return d.Mem.Update(ctx, by, decide)
}

// doer has turns carried out by the real executor, and all else by the script.
type doer struct {
	n *night
	x *step.Executor
}

func (d doer) Do(ctx context.Context, s *ralph.State, id ralph.TaskID, what ralph.Step) ([]ralph.Fact, error) {
	t := s.Task(id)
	if _, turn := what.(ralph.Turn); turn && t != nil {
		dir, p := d.n.root, (*place)(nil)
		if t.Run.Worktree.Dir != "" {
			dir = filepath.Join(d.n.root, filepath.FromSlash(t.Run.Worktree.Dir))
		}
		p = d.n.place(dir)
		p.tree, p.head = t.Run.Tree, s.Job.Head
		switch {
		case t.Run.Worktree.Dir != "":
			p.head = t.Run.Worktree.Head
		case p.tree == "":
			p.tree = s.Job.Tree
		}
		began := time.Now()
		facts, err := d.x.Do(ctx, s, id, what)
		if len(facts) > 0 { // a duration leaves a sleep out: the bubble's own time is such a clock
			f := facts[0].(ralph.TurnEnded)
			f.Took = time.Since(began)
			facts[0] = f
		}
		return facts, err
	}
	if err := d.n.room(); err != nil {
		return nil, fmt.Errorf("step %s of %s: %w", what.StepName(), id, err)
	}
	facts, err := d.n.w.script.Do(ctx, s, id, what)
	if err == nil {
		err = d.n.room()
	}
	return facts, err
}

// engine is one start of the program: it works until it ends, breaks or is killed.
func (n *night) engine() (ralph.Reason, error) {
	w := n.w
	d := disk{w.mem, n}
	x := &step.Executor{
		Root: n.root, Config: w.c, Trees: n.place(n.root), Worktrees: places{n: n}, Now: n.steady.Now, SkipDiffs: true, Journal: d, DiskSpace: n.room,
		Agents: map[string]step.ConfiguredAgent{},
		NewID: func(p string) string {
			n.mu.Lock()
			defer n.mu.Unlock()
			n.n++
			return fmt.Sprintf("%s-%d", p, n.n)
		},
	}
	for _, name := range w.c.Agents {
		x.Agents[name] = step.ConfiguredAgent{Agent: worker{n, name}, Spec: ralph.AgentSpec{Name: name}}
	}
	ctx, die := context.WithCancelCause(context.Background())
	defer die(nil)
	for _, i := range n.ills {
		switch left := i.From - n.steady.Now().Sub(n.began); {
		case left <= 0:
		case i.Kind == "crash":
			defer time.AfterFunc(left, func() { die(errDied) }).Stop()
		}
	}
	host := engine.NewLocal(ctx, d, doer{n, x}, n.steady.Now)
	reason, err := engine.Run(host, w.c)
	if closed := host.Close(); err == nil {
		err = closed
	}
	return reason, err
}

// start opens a session as cli does: one that broke is gone on with.
func (n *night) start() {
	raw, err := n.w.c.Encode()
	if err != nil {
		n.w.t.Fatal(err)
	}
	f := ralph.SessionStarted{ID: "s-1", Mode: n.w.c.Session, Config: raw, Resumed: n.w.mem.State().Session.ID != ""}
	n.w.record(append(n.w.mem.State().Lost(ralph.LostCrash, ""), f)...)
}

// begin starts a session as `ralph autopilot` does; a full disk refuses it.
func (n *night) begin() error {
	if err := n.room(); err != nil {
		return err
	}
	n.start()
	n.starts++
	return nil
}

// pass lets the time pass until at since the beginning, or the work is done, with somebody
// who starts ralph again when it has ended with work left: a loop in a shell.
func (n *night) pass(at time.Duration) (ralph.Reason, error) {
	for _, i := range n.ills {
		if i.Kind == "sleep" {
			defer time.AfterFunc(i.From, func() { n.clock.jump(i.For) }).Stop()
		}
	}
	for n.steady.Now().Sub(n.began) < at {
		if err := n.begin(); err == nil {
			reason, err := n.engine()
			switch {
			case err == nil && reason != ralph.ReasonInterrupted:
				return reason, nil
			case errors.Is(err, syscall.ENOSPC): // it says so, if there is room for that
				_ = disk{n.w.mem, n}.Update(context.Background(), "engine", func(*ralph.State) ([]ralph.Fact, error) {
					return []ralph.Fact{ralph.SessionEnded{Reason: ralph.ReasonError, Detail: err.Error()}}, nil
				})
			case err != nil && !errors.Is(err, errDied):
				return "", err
			}
			n.down = append(n.down, n.steady.Now())
			ends := n.w.mem.Ends() // what is in the file is all that is left
			after, err := enginetest.Load(n.w.mem.Lines()[:ends[len(ends)-1]], n.steady.Now)
			if err != nil {
				return "", err
			}
			n.w.mem = after
		}
		time.Sleep(n.every)
	}
	return "", errors.New("the night is over, and the work is not")
}

const hour = time.Hour

// badNight is twelve hours with one of everything.
func badNight() []ill {
	return []ill{
		{"limit", "claude", hour / 2, 2 * hour},             // tells when it is over: codex does it meanwhile
		{"limit", "codex", hour, hour},                      // both: until half past two
		{"network", "", 3 * hour, 40 * time.Minute},         // nothing answers
		{"crash", "", 4 * hour, 0},                          // the engine is killed
		{"overloaded", "claude", 4*hour + hour/4, hour / 2}, // 529
		{"disk", "", 5 * hour, 25 * time.Minute},            // as good as full
		{"disk whole", "", 5*hour + hour/2, hour / 4},       // not a byte
		{"sleep", "", 6 * hour, 90 * time.Minute},           // the lid is shut
		{"login", "claude", 8 * hour, 4 * hour},             // expires, and nobody is there
		{"limit untold", "codex", 8*hour + hour/4, hour},    // so nobody can work for an hour
	}
}

// badNights are the sessions that live through it, with as many tasks or specs as fill it.
func badNights() map[string]int { return map[string]int{"autopilot": 50, "agent": 16} }

// Issue 14, Proof: a night in which everything goes wrong that goes wrong at night. In the
// morning all that is not hopeless has landed, each standstill is told with its reason, nothing
// was done twice, no limit cost money or a retry, and every decision replays (R-H4, R-H8).
func TestNight(t *testing.T) {
	t.Parallel()
	for session, tasks := range badNights() {
		t.Run(session, func(t *testing.T) {
			t.Parallel()
			root := t.TempDir()
			synctest.Test(t, func(t *testing.T) {
				n := newNight(t, root, session, tasks, badNight()...)
				reason, err := n.pass(12 * hour)
				if err != nil {
					t.Fatalf("%v\n%s", err, lastLines(n.w.mem, 10))
				}
				for _, problem := range n.laws(reason) {
					t.Error(problem)
				}
				for kind, told := range n.told() {
					if !told {
						t.Errorf("the record does not tell of %s", kind)
					}
				}
				t.Logf("%s after %s, %d starts, %d turns, %d facts", reason, n.steady.Now().Sub(n.began), n.starts, len(n.turns), n.w.mem.State().Seq)
			})
		})
	}
}

// told says of each kind of trouble whether the record tells of it.
func (n *night) told() map[string]bool {
	told := map[string]bool{"a limit with its end": false, "the network": false, "the login": false, "an overload": false, "a pause and its end": false, "new starts": n.starts > 2}
	for _, e := range n.w.mem.Events() {
		switch f := e.Fact.(type) {
		case ralph.AgentLimited:
			told["a limit with its end"] = told["a limit with its end"] || f.Until.Equal(n.began.Add(n.ills[0].From+n.ills[0].For))
			told["the login"] = told["the login"] || f.Class == ralph.ErrClassAuth
			told["the network"] = told["the network"] || f.Class == ralph.ErrClassNetwork
		case ralph.AgentRetries:
			told["an overload"] = told["an overload"] || f.Class == ralph.ErrClassBusy
		case ralph.AllLimited:
			told["a pause and its end"] = told["a pause and its end"] || !f.Until.IsZero()
		}
	}
	return told
}

// drawNight is a night with other troubles, in another order and for other times.
func drawNight(rt *rapid.T) (session string, ills []ill) {
	session = rapid.SampledFrom([]string{"autopilot", "agent"}).Draw(rt, "session")
	for range rapid.IntRange(0, 9).Draw(rt, "ills") {
		i := ill{
			Kind:  rapid.SampledFrom([]string{"limit", "limit untold", "network", "overloaded", "disk", "disk whole", "sleep", "crash", "login"}).Draw(rt, "kind"),
			Agent: rapid.SampledFrom([]string{"", "claude", "codex"}).Draw(rt, "agent"),
			From:  time.Duration(rapid.IntRange(1, 8*3600).Draw(rt, "from")) * time.Second,
			For:   time.Duration(rapid.IntRange(1, 3*3600).Draw(rt, "for")) * time.Second,
		}
		if i.Kind == "login" {
			i.Agent = "claude" // without any login only a person helps: TestHourWithoutLogin
		}
		ills = append(ills, i)
	}
	return session, ills
}

// The same laws, whatever goes wrong, in whatever order and for however long.
func TestEveryNight(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		session, ills := drawNight(rt)
		root, err := os.MkdirTemp(t.TempDir(), "night-")
		if err != nil {
			rt.Fatal(err)
		}
		defer os.RemoveAll(root)
		synctest.Test(t, func(t *testing.T) {
			n := newNight(t, root, session, 7, ills...)
			reason, err := n.pass(48 * hour)
			if err != nil {
				rt.Fatalf("%v: %v\n%s", ills, err, lastLines(n.w.mem, 10))
			}
			for _, problem := range n.laws(reason) {
				rt.Errorf("%s\n%s", problem, lastLines(n.w.mem, 20))
			}
		})
	})
}
