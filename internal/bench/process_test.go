package bench

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ralph-loop/ralph/internal/measure"
	"github.com/ralph-loop/ralph/internal/proc"
)

// cost is what a process and all that it waited for have used.
type cost struct {
	wall, cpu time.Duration
}

// sandboxRepo is a folder to measure in, and the environment of all that runs there.
// It lies in memory where the system has such a place, so that a figure is
// about programs and not about a disk that others use too.
type sandboxRepo struct {
	tb   testing.TB
	dir  string
	env  []string
	bin  string // the ralph program
	tool string // folder of the scripts beside the repository
}

func newBox(tb testing.TB, bin string) *sandboxRepo {
	tb.Helper()
	top, err := os.MkdirTemp(memory(), "ralph-bench-")
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = os.RemoveAll(top) })
	b := &sandboxRepo{tb: tb, bin: bin, dir: filepath.Join(top, "repo"), tool: filepath.Join(top, "tool"), env: []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + top, "XDG_CONFIG_HOME=" + top, "LC_ALL=C",
		"GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=Ada", "GIT_AUTHOR_EMAIL=ada@example.com",
		"GIT_COMMITTER_NAME=Ada", "GIT_COMMITTER_EMAIL=ada@example.com",
		"TMPDIR=" + filepath.Join(top, "tool"), // where agents leave their marks: the sandbox lets them write there
	}}
	for _, dir := range []string{b.dir, b.tool} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			tb.Fatal(err)
		}
	}
	return b
}

// memory is a place for files that is no disk, "" where the system has none.
func memory() string {
	if info, err := os.Stat("/dev/shm"); err == nil && info.IsDir() {
		return "/dev/shm"
	}
	return ""
}

// write writes a file of the repository, or of the tool folder with an absolute name.
func (b *sandboxRepo) write(name, text string, mode os.FileMode) {
	b.tb.Helper()
	if !filepath.IsAbs(name) {
		name = filepath.Join(b.dir, name)
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		b.tb.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), mode); err != nil {
		b.tb.Fatal(err)
	}
}

// start starts a program. Its output goes into a file: a pipe would need a
// reader, whose time would count.
func (b *sandboxRepo) start(args ...string) (*os.Process, *os.File) {
	b.tb.Helper()
	path, err := proc.LookPath(args[0], b.dir, b.env)
	if err != nil {
		b.tb.Fatal(err)
	}
	out, err := os.CreateTemp(b.tool, "out-*")
	if err != nil {
		b.tb.Fatal(err)
	}
	null, err := os.Open(os.DevNull)
	if err != nil {
		b.tb.Fatal(err)
	}
	defer null.Close()
	p, err := os.StartProcess(path, args, &os.ProcAttr{Dir: b.dir, Env: b.env, Files: []*os.File{null, out, out}})
	if err != nil {
		b.tb.Fatal(err)
	}
	limit := time.AfterFunc(patience(), func() { _ = p.Kill() }) // one that has ended is not there to be killed
	b.tb.Cleanup(func() { limit.Stop() })
	return p, out
}

// patience is how long a program may take. One that waits for a person (a gate, say)
// would wait for longer than anyone looks at a benchmark.
func patience() time.Duration {
	if small() {
		return time.Minute
	}
	return 10 * time.Minute
}

// small asks for the smallest sizes: they prove that a benchmark still does what it
// measures, and are no figures. .ci/run has them all run so.
func small() bool { return testing.Short() }

// size is what a benchmark works on: full for figures, least where it only has to run.
func size[T any](full, least T) T {
	if small() {
		return least
	}
	return full
}

// run runs a program to its end, which has to be a good one.
func (b *sandboxRepo) run(args ...string) (cost, string) {
	b.tb.Helper()
	begin := time.Now()
	p, out := b.start(args...)
	state, err := p.Wait()
	c := cost{wall: time.Since(begin)}
	defer out.Close()
	text, readErr := os.ReadFile(out.Name())
	if err != nil || readErr != nil || !state.Success() {
		late := ""
		if c.wall >= patience() {
			late = fmt.Sprintf(" (not at its end after %s: does it wait for a person?)", patience())
		}
		b.tb.Fatalf("%s%s: %v %v %v\n%s", strings.Join(args, " "), late, state, err, readErr, text)
	}
	_ = os.Remove(out.Name())
	c.cpu = state.UserTime() + state.SystemTime()
	return c, string(text)
}

// git runs git as a person would, outside any measurement.
func (b *sandboxRepo) git(args ...string) string {
	b.tb.Helper()
	_, out := b.run(append([]string{"git"}, args...)...)
	return strings.TrimSpace(out)
}

// spread is the middle of some measurements, and the smallest and largest.
type spread = measure.Spread

func spreadOf[T any](list []T, value func(T) float64) spread { return measure.SpreadOf(list, value) }

func ms(d time.Duration) float64 { return measure.Milliseconds(d) }

func wallOf(c cost) float64 { return ms(c.wall) }
func cpuOf(c cost) float64  { return ms(c.cpu) }

// peak runs a program and returns the most memory it had, in MiB, without its
// children. It is asked while the program runs, in a run of its own: what the
// kernel reports at the end includes the memory of this process, which it shared
// until its exec.
func (b *sandboxRepo) peak(args ...string) float64 {
	b.tb.Helper()
	p, out := b.start(args...)
	defer out.Close()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = p.Wait()
	}()
	most := 0.0
	tick := time.NewTicker(200 * time.Microsecond)
	defer tick.Stop()
	for {
		select {
		case <-ended:
			return most
		case <-tick.C:
			most = max(most, highWater(p.Pid))
		}
	}
}

// highWater is a living process's peak so far in MiB, 0 when that cannot be read.
func highWater(pid int) float64 {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	var kib float64
	if _, rest, ok := strings.Cut(string(b), "VmHWM:"); ok {
		_, _ = fmt.Sscan(rest, &kib)
	}
	return kib / 1024
}
