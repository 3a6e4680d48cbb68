package journal_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/journal"
)

// childEngine is an engine on a file system whose locks other hosts do not hear of.
// It takes the lock as the host that its first line names, so many minutes later
// than now, and appends a fact for each further line. It says how each went.
func childEngine(root string) error {
	in := bufio.NewScanner(os.Stdin)
	in.Scan()
	var host string
	var minutes int
	if _, err := fmt.Sscan(in.Text(), &host, &minutes); err != nil {
		return err
	}
	now := func() time.Time { return time.Now().Add(time.Duration(minutes) * time.Minute) }
	opt := options(root)
	opt.Now = now
	j, err := journal.Open(opt)
	if err != nil {
		return err
	}
	journal.WithoutFlock(j)
	me := journal.Owner{SessionID: "s-1", Pid: os.Getpid(), Host: host, Boot: "boot-" + host, StartedAt: now(), HeartbeatAt: now()}
	lock, took, err := j.Lock(me, alive)
	if err != nil {
		return err
	}
	fmt.Println("locked, took over:", took != nil)
	for in.Scan() {
		if err := update(j, note(in.Text())); err != nil {
			fmt.Println(errors.Is(err, ralph.ErrLocked), err)
			continue
		}
		fmt.Println("wrote", j.State().Seq)
	}
	return errors.Join(lock.Unlock(), j.Close())
}

// say gives the child a line and wants an answer.
func (c *child) say(line, want string) {
	c.t.Helper()
	must(c.t, writeLine(c, line))
	if got := c.line(); !strings.Contains(got, want) {
		c.t.Fatalf("%q: %q, want %q", line, got, want)
	}
}

// a laptop sleeps for more than half an hour in the middle of its work, an
// engine on another host takes over and works, the laptop wakes up: it stops before
// its next write, and every fact of both is there, once, in one chain.
func TestSleeperStopsWhenItWakesUp(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	laptop := startChild(t, "engine", root)
	laptop.say("laptop 0", "took over: false")
	laptop.say("one", "wrote 1")
	must(t, laptop.p.Signal(syscall.SIGSTOP))
	var stopped syscall.WaitStatus // the signal takes a moment: until then the laptop reads on
	if _, err := syscall.Wait4(laptop.p.Pid, &stopped, syscall.WUNTRACED, nil); err != nil || !stopped.Stopped() {
		t.Fatalf("the laptop does not sleep: %v, %v", stopped, err)
	}
	must(t, writeLine(laptop, "in its sleep")) // what it was about to do

	early := startChild(t, "engine", root)
	must(t, writeLine(early, "desk 29"))
	if got := early.line(); !strings.Contains(got, "another engine works in this repository: pid "+fmt.Sprint(laptop.p.Pid)+" on laptop") {
		t.Fatalf("after 29 minutes: %s", got)
	}
	desk := startChild(t, "engine", root)
	desk.say("desk 31", "took over: true")
	desk.say("two", "wrote 2")

	must(t, laptop.p.Signal(syscall.SIGCONT))
	if got := laptop.line(); !strings.Contains(got, "true another engine (pid "+fmt.Sprint(desk.p.Pid)+" on desk) took over") {
		t.Fatalf("the laptop woke up and: %s", got)
	}
	laptop.say("again", "took over")
	desk.say("three", "wrote 3")
	laptop.finish()
	if !exists(root, lockPath) {
		t.Fatal("the laptop removed the lock of the desk")
	}
	desk.say("four", "wrote 4")
	desk.finish()

	var texts []string
	for _, e := range checkChain(t, open(t, options(root))) {
		texts = append(texts, e.Fact.(ralph.Noted).Text)
	}
	if got := strings.Join(texts, " "); got != "one two three four" {
		t.Fatalf("facts: %s", got)
	}
}

// a sleep between the look at the lock and the write is noticed as well.
func TestFencedRightBeforeTheWrite(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	j := open(t, options(root))
	_, _, err := j.Lock(owner(), alive)
	must(t, err)
	must(t, update(j, note("ours")))
	before := read(t, root, journalPath)
	err = j.Update(t.Context(), "engine", func(*ralph.State) ([]ralph.Fact, error) {
		sign(t, root, journal.Owner{Pid: 1, Host: "elsewhere", HeartbeatAt: time.Now()}) // while it decided
		return []ralph.Fact{note("not ours")}, nil
	})
	if !errors.Is(err, ralph.ErrLocked) || read(t, root, journalPath) != before {
		t.Fatalf("err = %v", err)
	}
}

// The heartbeat of a host whose clock is ahead: respected at first, but only until
// it has stood still for 30 minutes of our own clock; one that moves is alive.
func TestHeartbeatOfTheFuture(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	start := time.Now()
	now := start
	opt := options(root)
	opt.Now = func() time.Time { return now }
	j := open(t, opt)
	far := journal.Owner{SessionID: "s-far", Pid: 4711, Host: "far", StartedAt: start, HeartbeatAt: start.Add(10 * 365 * 24 * time.Hour)}
	sign(t, root, far)
	refused := func(after time.Duration, want string) {
		t.Helper()
		now = start.Add(after)
		if _, _, err := j.Lock(owner(), alive); !errors.Is(err, ralph.ErrLocked) || !strings.Contains(err.Error(), want) {
			t.Fatalf("after %s: %v", after, err)
		}
	}
	refused(0, "its clock is 87600h0m0s ahead")
	refused(29*time.Minute, "ahead")
	far.HeartbeatAt = far.HeartbeatAt.Add(time.Minute) // it lives
	sign(t, root, far)
	refused(31*time.Minute, "ahead")
	refused(60*time.Minute, "ahead")
	now = start.Add(time.Minute) // our own clock goes back: counted anew, not for ever
	refused(time.Minute, "ahead")
	now = start.Add(32 * time.Minute)
	lock, took, err := j.Lock(owner(), alive)
	must(t, err)
	if took == nil || took.SessionID != "s-far" {
		t.Fatalf("took = %+v", took)
	}
	must(t, lock.Unlock())
	if exists(root, lockPath+".ahead") {
		t.Fatal("the note of the old heartbeat stays")
	}
}

// Who is an owner, and does it live? Containers share the kernel and its locks but
// not its pids, and often their host names; machines are told apart by the kernel's
// boot first (X-01, C-028).
func TestWhereAnOwnerIs(t *testing.T) {
	t.Parallel()
	now := time.Now()
	me := journal.Owner{Pid: 7, Start: "b1/7", Boot: "b1", PidSpace: "pid:[1]", Host: "box"}
	running := func(pid int, start string) bool { return pid == 4711 && start == "b1/4711" }
	for name, tt := range map[string]struct {
		owner journal.Owner
		age   time.Duration
		place journal.Locality
		live  bool
	}{
		"it runs, and the file system has no locks": {journal.Owner{Pid: 4711, Start: "b1/4711", Boot: "b1", PidSpace: "pid:[1]", Host: "box"}, time.Hour, journal.Here, true},
		"its pid is another process now":            {journal.Owner{Pid: 4711, Start: "b1/99", Boot: "b1", PidSpace: "pid:[1]", Host: "box"}, 0, journal.Here, false},
		"killed, and the host got another name":     {journal.Owner{Pid: 5, Start: "b1/5", Boot: "b1", PidSpace: "pid:[1]", Host: "box.lan"}, 0, journal.Here, false},
		"the machine was started again":             {journal.Owner{Pid: 4711, Start: "b0/4711", Boot: "b0", PidSpace: "pid:[1]", Host: "box"}, 0, journal.Here, false},
		"another container, same pid as a process here": {
			journal.Owner{Pid: 4711, Start: "b1/4711", Boot: "b1", PidSpace: "pid:[2]", Host: "box"}, 0, journal.Container, false,
		},
		"another machine":                   {journal.Owner{Pid: 4711, Start: "b9/1", Boot: "b9", PidSpace: "pid:[1]", Host: "far"}, time.Minute, journal.Elsewhere, true},
		"another machine, silent too long":  {journal.Owner{Pid: 4711, Start: "b9/1", Boot: "b9", PidSpace: "pid:[1]", Host: "far"}, 31 * time.Minute, journal.Elsewhere, false},
		"a lock without a heartbeat":        {journal.Owner{Pid: 4711, Host: "far"}, 100 * 365 * 24 * time.Hour, journal.Elsewhere, false},
		"a lock of before there were boots": {journal.Owner{Pid: 4711, Start: "b1/4711", Host: "box"}, time.Minute, journal.Here, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root := t.TempDir()
			opt := options(root)
			opt.Me, opt.Alive, opt.Now = me, running, func() time.Time { return now }
			j := open(t, opt)
			o := tt.owner
			o.HeartbeatAt = now.Add(-tt.age)
			sign(t, root, o)
			info, err := j.Look()
			must(t, err)
			if info.Place != tt.place || info.Live != tt.live || info.Owner.Pid != o.Pid {
				t.Errorf("%+v, want %s, live %v", info, tt.place, tt.live)
			}
			if (j.Holder() != nil) != tt.live {
				t.Errorf("Holder = %+v", j.Holder())
			}
			lock, took, err := j.Lock(me, running)
			if tt.live != errors.Is(err, ralph.ErrLocked) || !tt.live && (err != nil || took == nil) {
				t.Fatalf("Lock: took %+v, %v", took, err)
			}
			if lock != nil {
				must(t, lock.Unlock())
			}
		})
	}
}

// Two containers with the repository mounted into both: the kernel's lock holds
// between them, and nobody is told to kill a pid that is somebody else's.
func TestOwnerInAnotherContainer(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	there := open(t, options(root))
	o := journal.Owner{Pid: 1, Start: "b1/1", Boot: "b1", PidSpace: "pid:[1]", Host: "box", StartedAt: time.Now(), HeartbeatAt: time.Now()}
	lock, _, err := there.Lock(o, dead)
	must(t, err)
	me := o
	me.Start, me.PidSpace = "b1/2", "pid:[2]" // pid 1 as well
	opt := options(root)
	opt.Me, opt.Alive = me, alive
	here := open(t, opt)
	_, _, err = here.Lock(me, alive)
	locked, ok := errors.AsType[*journal.LockedError](err)
	if !ok || locked.Place != journal.Container || !strings.Contains(err.Error(), "in another container of this machine, where it is pid 1 on box") {
		t.Fatalf("err = %v", err)
	}
	if info, err := here.Look(); err != nil || !info.Live || info.Place != journal.Container {
		t.Fatalf("%+v, %v", info, err)
	}
	must(t, lock.Unlock())
}

// A file system without locks is refused with what it is, not with a number.
func TestFileSystemWithoutLocks(t *testing.T) {
	t.Parallel()
	j := open(t, options(t.TempDir()))
	journal.WithFlock(j, syscall.ENOLCK)
	_, _, err := j.Lock(owner(), alive)
	if r, ok := errors.AsType[*ralph.Refusal](err); !ok || !strings.Contains(r.Why, "has no file locks") {
		t.Fatalf("err = %v", err)
	}
}

// `ralph unlock`: what is left behind goes; who lives here stays; another host's
// lock goes by force alone, and its engine then stops before its next write.
func TestTakeAway(t *testing.T) {
	t.Parallel()
	me := owner()
	here := func(t *testing.T, root string) *journal.File {
		opt := options(root)
		opt.Me, opt.Alive = me, alive
		return open(t, opt)
	}
	t.Run("none", func(t *testing.T) {
		t.Parallel()
		if info, err := here(t, t.TempDir()).TakeAway(true); info != nil || err != nil {
			t.Fatalf("%+v, %v", info, err)
		}
	})
	t.Run("left behind", func(t *testing.T) {
		t.Parallel()
		root := t.TempDir()
		c := startChild(t, "lock", root)
		c.line()
		j := here(t, root)
		for _, force := range []bool{false, true} {
			if _, err := j.TakeAway(force); !errors.Is(err, ralph.ErrLocked) || !exists(root, lockPath) {
				t.Fatalf("it lives, force %v: %v", force, err)
			}
		}
		c.kill()
		if info, err := j.TakeAway(false); err != nil || info.Live || info.Owner.Pid != c.p.Pid || exists(root, lockPath) {
			t.Fatalf("%+v, %v", info, err)
		}
	})
	t.Run("of another host", func(t *testing.T) {
		t.Parallel()
		root := t.TempDir()
		far := open(t, options(root))
		journal.WithoutFlock(far)
		_, _, err := far.Lock(journal.Owner{Pid: 1, Boot: "b9", Host: "far", HeartbeatAt: time.Now()}, dead)
		must(t, err)
		must(t, update(far, note("ours")))
		j := here(t, root)
		_, err = j.TakeAway(false)
		locked, ok := errors.AsType[*journal.LockedError](err)
		if !ok || locked.Frees < 29*time.Minute || locked.Frees > 30*time.Minute {
			t.Fatalf("err = %v", err)
		}
		if info, err := j.TakeAway(true); err != nil || !info.Live || exists(root, lockPath) {
			t.Fatalf("%+v, %v", info, err)
		}
		if err := update(far, note("too late")); !errors.Is(err, ralph.ErrLocked) {
			t.Fatalf("the other engine goes on: %v", err)
		}
	})
}

// C-026: the lock names the session, which is known only after it was taken; the
// new text is still this engine's.
func TestLockNamesItsSession(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	j := open(t, options(root))
	me := owner()
	me.SessionID = ""
	lock, _, err := j.Lock(me, alive)
	must(t, err)
	must(t, update(j, note("before")))
	must(t, lock.Name("s-new", time.Now()))
	var o journal.Owner
	must(t, json.Unmarshal([]byte(read(t, root, lockPath)), &o))
	if o.SessionID != "s-new" || o.Pid != os.Getpid() || o.StartedAt.IsZero() {
		t.Fatalf("%+v", o)
	}
	must(t, update(j, note("after")))
	must(t, lock.Unlock())
}

func sign(t *testing.T, root string, o journal.Owner) {
	t.Helper()
	b, err := json.Marshal(o)
	must(t, err)
	must(t, os.WriteFile(filepath.Join(root, lockPath), b, 0o600))
}
