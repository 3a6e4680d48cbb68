package hook

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/proc"
)

func runner(t *testing.T, root string) *Runner {
	t.Helper()
	return &Runner{Proc: proc.NewRunner(filepath.Join(root, "procs")), Root: root, Env: []string{"PATH=" + os.Getenv("PATH"), "RALPH=1"}}
}

// A hook gets its input, its environment and nothing else, in the repository's
// root; what is wrong with it is in the fact.
func TestRun(t *testing.T) {
	t.Parallel()
	root := box(t)
	for _, tt := range []struct {
		name, script string
		want         ralph.HookRan
	}{
		{"fine", `cat; pwd; echo "$RALPH $RALPH_TASK [$HOME]"`, ralph.HookRan{Output: "{\"t\":1}\n" + root + "\n1 t-1 []"}},
		{"quiet", "cat > /dev/null", ralph.HookRan{}},
		{"input not read", "exec 0<&-", ralph.HookRan{}},
		{"fails", "echo first; echo why >&2; exit 7", ralph.HookRan{Exit: 7, Error: "exit code 7", Output: "first\nwhy"}},
		{"killed", "kill -9 $$", ralph.HookRan{Exit: -1, Error: "ended by SIGKILL"}},
		{"floods", `i=0; while [ $i -lt 3000 ]; do echo "line $i"; i=$((i+1)); done`, ralph.HookRan{Output: "line 2999"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			h := put(t, root, strings.ReplaceAll(tt.name, " ", "-"), tt.script)
			got, err := runner(t, root).run(t.Context(), Call{Hook: h, Seq: 5, Task: "t-1", Env: []string{"RALPH_TASK=t-1"}, Input: []byte(`{"t":1}`)})
			if err != nil {
				t.Fatal(err)
			}
			if tt.name == "floods" {
				if len(got.Output) > maxOutput || !strings.HasSuffix(got.Output, tt.want.Output) {
					t.Fatalf("%d bytes are kept, to %q", len(got.Output), lastLine(got.Output))
				}
				got.Output = tt.want.Output
			}
			tt.want.Hook, tt.want.Seq, tt.want.Task, tt.want.Took = h.Name, 5, "t-1", got.Took
			if got != tt.want || got.Took <= 0 {
				t.Errorf("got  %+v\nwant %+v", got, tt.want)
			}
		})
	}
	for name, text := range map[string]string{"no interpreter": "#!/none/sh\n", "no program": "no program"} {
		path := filepath.Join(root, Dir, File(strings.ReplaceAll(name, " ", "-")))
		if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
		got, err := runner(t, root).run(t.Context(), Call{Hook: Hook{Name: name, Path: path}})
		if err != nil || !strings.Contains(got.Error, "could not be started") {
			t.Errorf("%s: %+v %v", name, got, err)
		}
	}
}

// A hook that takes too long is ended with all that it started; exit code 2 by the
// way out is no wish to stop.
func TestRunEndsInTime(t *testing.T) {
	t.Parallel()
	root := box(t)
	h := put(t, root, "pre-turn", "trap 'exit 2' TERM; sleep 1000 & echo $! > child; echo up > up; while :; do wait; done")
	r := runner(t, root)
	var text []byte
	// A busy machine may not even have started it within the limit: then a longer one shows what is to be seen.
	for r.Limit = 300 * time.Millisecond; len(text) == 0 && r.Limit < time.Minute; r.Limit *= 3 {
		var noted []ralph.Fact
		pre := NewPre(r, Set{Hooks: []Hook{h}}, func(_ context.Context, f ralph.Fact) error {
			noted = append(noted, f)
			return nil
		}, nil)
		ran, err := pre.Before(t.Context(), "pre-turn", Call{})
		if ran != nil || err != nil {
			t.Fatalf("%+v %v", ran, err)
		}
		if len(noted) != 1 || noted[0].(ralph.HookRan).Error != fmt.Sprintf("it took longer than %s and was ended", r.Limit) || noted[0].(ralph.HookRan).Stop {
			t.Errorf("noted: %+v", noted)
		}
		text, _ = os.ReadFile(filepath.Join(root, "child"))
	}
	child, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(child, 0); !errors.Is(err, syscall.ESRCH) {
		t.Errorf("what the hook started is still there: %v", err)
	}
}

// Whoever ends the engine at once does not wait for a pre- hook.
func TestRunIsCancelled(t *testing.T) {
	t.Parallel()
	root := box(t)
	h := put(t, root, "pre-turn", "echo > up; exec sleep 1000")
	why := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	up := filepath.Join(root, "up")
	if err := syscall.Mkfifo(up, 0o600); err != nil {
		t.Fatal(err)
	}
	go func() {
		_, _ = os.ReadFile(up) // until the hook has written: it runs
		cancel(why)
	}()
	pre := NewPre(runner(t, root), Set{Hooks: []Hook{h}}, nil, nil)
	if ran, err := pre.Before(ctx, "pre-turn", Call{}); ran != nil || !errors.Is(err, why) {
		t.Errorf("%+v %v", ran, err)
	}
}

// bench is a teller of events whose hooks do what a function says.
type bench struct {
	noted []ralph.HookRan
	said  []string
	late  []int
}

func (b *bench) after(run func(context.Context, Call) (ralph.HookRan, error)) *After {
	return &After{run: run, record: func(f ralph.Fact) error {
		b.noted = append(b.noted, f.(ralph.HookRan))
		return nil
	}, said: func(hook, words string) {
		b.said = append(b.said, hook+": "+words)
	}, late: func(calls int) {
		b.late = append(b.late, calls)
	}}
}

func named(n int) Call { return Call{Hook: Hook{Name: strconv.Itoa(n)}, Seq: int64(n)} }

// Hooks run one at a time and in order; only what fails is noted, and has run; only what is said is shown.
func TestAfterKeepsOrder(t *testing.T) {
	t.Parallel()
	var b bench
	var ran []int64
	a := b.after(func(_ context.Context, c Call) (ralph.HookRan, error) {
		ran = append(ran, c.Seq)
		out := ralph.HookRan{Hook: c.Hook.Name, Seq: c.Seq}
		switch c.Seq % 4 {
		case 1:
			out.Exit, out.Error = 1, "exit code 1"
		case 2:
			out.Output = "one\n\x1b[1mtwo\n"
		}
		return out, nil
	})
	var waiting []Call
	for n := range 8 {
		waiting = append(waiting, named(n))
	}
	for len(waiting) > 0 {
		n, err := a.Deliver(t.Context(), waiting)
		if n != 1 || err != nil {
			t.Fatal(n, err)
		}
		waiting = waiting[n:]
	}
	if want := []int64{0, 1, 2, 3, 4, 5, 6, 7}; !slices.Equal(ran, want) {
		t.Errorf("ran %v", ran)
	}
	if len(b.noted) != 2 || b.noted[0].Seq != 1 || b.noted[1].Seq != 5 {
		t.Errorf("noted %+v", b.noted)
	}
	if want := []string{"2: [1mtwo", "6: [1mtwo"}; !slices.Equal(b.said, want) {
		t.Errorf("said %q", b.said)
	}
}

// Hooks that are slower than the work are told of, once until they have caught up.
func TestAfterIsLate(t *testing.T) {
	t.Parallel()
	var b bench
	a := b.after(func(context.Context, Call) (ralph.HookRan, error) { return ralph.HookRan{}, nil })
	for _, n := range []int{99, 100, 150, 40, 120, 1, 99, 101} {
		if done, err := a.Deliver(t.Context(), make([]Call, n)); done != 1 || err != nil {
			t.Fatal(done, err)
		}
	}
	if want := []int{100, 101}; !slices.Equal(b.late, want) {
		t.Errorf("late %v, want %v", b.late, want)
	}
}

// The engine's end ends a hook that goes on too long, in a moment; it counts as not called.
func TestAfterEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var b bench
		a := b.after(func(ctx context.Context, c Call) (ralph.HookRan, error) {
			<-ctx.Done()
			var short interface{ Grace() time.Duration }
			if !errors.As(context.Cause(ctx), &short) || short.Grace() > time.Second {
				t.Errorf("it is ended with %v", context.Cause(ctx))
			}
			return ralph.HookRan{Hook: c.Hook.Name}, context.Cause(ctx)
		})
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		if n, err := a.Deliver(ctx, []Call{named(0), named(1)}); n != 0 || err == nil {
			t.Errorf("done %d, %v", n, err)
		}
		if len(b.noted) != 1 || b.noted[0].Error != "it was ended with the engine; the next start runs it again" {
			t.Errorf("noted %+v", b.noted)
		}
	})
}

// agent makes of the file later is not run, and a guard that it takes away still holds.
func TestAChangedHookIsNotRun(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(path string) error{
		"other text":   func(p string) error { return os.WriteFile(p, []byte("#!/bin/sh\necho evil > evil\n"), 0o755) },
		"another file": func(p string) error { return errors.Join(os.Remove(p), os.Symlink("/bin/true", p)) },
		"taken away":   os.Remove,
	} {
		root := box(t)
		put(t, root, "pre-turn", "exit 0")
		put(t, root, "turn.ended", "exit 0")
		set, err := Look(root)
		if err != nil || len(set.Hooks) != 2 {
			t.Fatal(set, err)
		}
		pre := NewPre(runner(t, root), set, func(_ context.Context, f ralph.Fact) error { return fmt.Errorf("recorded %v", f) }, nil)
		if ran, err := pre.Before(t.Context(), "pre-turn", Call{}); ran != nil || err != nil {
			t.Fatalf("%s: before the change: %+v %v", name, ran, err)
		}
		for _, h := range set.Hooks {
			if err := change(h.Path); err != nil {
				t.Fatal(err)
			}
		}
		ran, err := pre.Before(t.Context(), "pre-turn", Call{})
		if err != nil || ran == nil || !ran.Stop || !strings.Contains(Cause(*ran), "since the session began") {
			t.Errorf("%s: %+v %v", name, ran, err)
		}
		event, err := runner(t, root).run(t.Context(), Call{Hook: set.Hooks[1]})
		if err != nil || event.Error == "" {
			t.Errorf("%s: %+v %v", name, event, err)
		}
		if _, err := os.Stat(filepath.Join(root, "evil")); err == nil {
			t.Errorf("%s: it ran", name)
		}
	}
}
