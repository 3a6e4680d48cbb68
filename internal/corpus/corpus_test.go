//go:build corpus

package corpus

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// The tasks: one of a spec, in place, and three for as many agents at a time.
const inPlace = "alpha"

func besides() []string { return []string{"beta", "gamma", "delta"} }

// repository is one of the corpus.
type repository struct {
	name  string
	needs []string // programs that a machine may lack
	make  func(*lab)
	chore func(name string) chore
	// only is the one of agent and autopilot that works here, where its checks take long; "" for both.
	only string
	// settings are what a person sets here, beside the agent; each says why.
	settings []string
	// follow does what a line of ralph's told the person to do.
	follow func(l *lab, out string)
	// after looks at what this kind of repository is about, once all is done.
	after func(*lab)
	// more are files in the commits that are not the agent's.
	more []string
	// refused is the one file that the sandbox keeps the agent from here; "": nothing is in its way.
	refused string
	// large takes minutes: with -short, as each change is checked, it is left out.
	large bool
}

func corpus() []repository {
	return slices.Concat(goRepositories(), nodeRepositories(), debianRepositories(), shapes())
}

// Each repository is worked on whole: a spec in place, then three tasks at a time, each
// with a test that is red first. It ends landed and green, with a history that proves
// itself and nothing in the work tree that nobody has told (issue 14, Proof; R-H1, R-H2,
// R-H3, R-H7).
func TestCorpus(t *testing.T) {
	for _, r := range corpus() {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			if r.large && testing.Short() {
				t.Skip("large: `make corpus` works on it")
			}
			for _, program := range r.needs {
				if _, err := exec.LookPath(program); err != nil {
					t.Skipf("there is no %s here", program)
				}
			}
			l := newLab(t)
			r.make(l)
			l.work(r)
		})
	}
}

func (l *lab) work(r repository) {
	l.Helper()
	l.setUp(r)
	start := l.git("rev-parse", "HEAD")
	before := l.git("status", "--porcelain", "--untracked-files=all")
	var out, said string
	times := [4]string{"-", "-", "-", "-"}
	var used time.Duration
	if r.only != "autopilot" {
		l.must(l.ralph, "inbox", "add", inPlace+".md")
		var s spent
		out, s = l.timed("agent")
		said = out
		used += s.used
		l.finished([]string{inPlace}, "agent", out)
		times[0], times[2] = fmt.Sprintf("%.1f s", s.took.Seconds()), fmt.Sprintf("%.2f s", s.own.Seconds())
	}
	if r.only != "agent" {
		for _, name := range besides() {
			l.must(l.ralph, "task", "add", name)
		}
		var s spent
		out, s = l.timed("autopilot", "--parallel", "3")
		said += out
		used += s.used
		l.finished(besides(), "autopilot", out)
		times[1] = fmt.Sprintf("%.1f s", s.took.Seconds())
	}
	times[3] = fmt.Sprintf("%.1f s", used.Seconds())
	if r.follow != nil {
		r.follow(l, out)
	}
	l.nothingUntold(before, said)
	l.holds(r, start)
	if l.Failed() {
		l.Log(out)
		l.Log(l.must(l.ralph, "log"))
		return
	}
	// What docs/corpus.md has of it.
	l.Logf("ROW | %s | %s | %s |", r.name, strings.Join(l.checks(), ", "), strings.Join(times[:], " | "))
}

// nothingUntold wants a work tree as it was before, but for files that checks have made
// and that a line has named.
func (l *lab) nothingUntold(before, said string) {
	l.Helper()
	for line := range strings.SplitSeq(l.git("status", "--porcelain", "--untracked-files=all"), "\n") {
		if line == "" || slices.Contains(strings.Split(before, "\n"), line) {
			continue
		}
		name, made := strings.CutPrefix(line, "?? ")
		if !made || !strings.Contains(said, name) {
			l.Errorf("git status has %q, of which nothing was told", line)
		}
	}
}

// setUp is what a person does first.
func (l *lab) setUp(r repository) {
	l.Helper()
	all := orders{}
	for _, name := range append(besides(), inPlace) {
		all[name] = r.chore(name)
	}
	text, err := json.Marshal(all)
	l.check(err)
	file := filepath.Join(l.base, "orders.json")
	l.check(os.WriteFile(file, text, 0o644))
	l.must(l.ralph, "init")
	// The agent of the tests in place of a real one, and no other after it.
	settings := []string{
		"agents.robo.driver=exec", fmt.Sprintf("agents.robo.command=[%q, agent, %q]", l.self, file), "agent.primary=robo", "agent.fallback=[]",
	}
	l.must(append([]string{l.ralph, "config", "edit"}, append(settings, r.settings...)...)...)
	l.write(map[string]string{"ralph/specs/" + inPlace + ".md": "# Alpha\n\nThe function alpha answers 1.\n"})
	l.git("add", "-A", "--sparse", "ralph")
	l.git("commit", "-q", "-m", r.subject("Set up ralph"))
}

// tasks are all that are done here.
func (r repository) tasks() []string {
	switch r.only {
	case "agent":
		return []string{inPlace}
	case "autopilot":
		return besides()
	}
	return append(besides(), inPlace)
}

// subject is one that the hooks of all repositories take.
func (r repository) subject(words string) string {
	if r.name == "commit hooks" {
		return "PROJ-1 " + words
	}
	return words
}

// spent is a run's time, what of it was neither the agent's nor the checks', and the time
// of processors that it and all that it started have used.
type spent struct{ took, own, used time.Duration }

func (l *lab) timed(args ...string) (string, spent) {
	l.Helper()
	from := 0
	if _, err := os.Stat(filepath.Join(l.dir, "ralph/.state/journal.jsonl")); err == nil {
		from = len(l.facts())
	}
	begin, before := time.Now(), l.used
	out, code := l.run(append([]string{l.ralph}, args...)...)
	took := time.Since(begin)
	if code != 0 {
		log, _ := l.run(l.ralph, "log")
		l.Fatalf("ralph %v: exit code %d\n%s\n\n%s", args, code, out, log)
	}
	own := took
	for _, f := range l.facts()[from:] {
		switch f.T {
		case "turn.ended":
			own -= f.Fact.Took
		case "checks.ran", "baseline.ran":
			for _, result := range f.Fact.Results {
				if !result.Reused {
					own -= result.Took
				}
			}
		}
	}
	return out, spent{took, own, l.used - before}
}

// finished wants every task done by a test that was red and is green.
func (l *lab) finished(tasks []string, how, out string) {
	l.Helper()
	for _, name := range tasks {
		if !strings.Contains(out, " done: "+name+" (") {
			l.Errorf("%s: %s is not done:\n%s", how, name, out)
		}
	}
	if red := strings.Count(out, "CHECK: failed"); red < len(tasks) {
		l.Errorf("%s: %d tasks and %d red checks:\n%s", how, len(tasks), red, out)
	}
	if head := l.git("rev-parse", "--abbrev-ref", "HEAD"); head != "main" {
		l.Errorf("%s: HEAD is %s", how, head)
	}
}

// holds wants a history that proves itself, all work in it and nothing else, and nothing left over.
func (l *lab) holds(r repository, start string) {
	l.Helper()
	l.git("fsck", "--full", "--strict")
	if proof := l.must(l.ralph, "verify"); !strings.Contains(proof, "The history holds.") {
		l.Errorf("ralph verify: %s", proof)
	}
	if replay := l.must(l.ralph, "replay"); !strings.Contains(replay, " 0 differ") {
		l.Errorf("ralph replay: %s", replay)
	}
	if branches := l.git("for-each-ref", "--format=%(refname)", "refs/heads"); branches != "refs/heads/main" {
		l.Errorf("branches are left over:\n%s", branches)
	}
	if trees := l.git("worktree", "list"); strings.Contains(trees, "\n") {
		l.Errorf("worktrees are left over:\n%s", trees)
	}
	if stashes := l.git("stash", "list"); stashes != "" {
		l.Errorf("stashes are left over:\n%s", stashes)
	}
	want := map[string]bool{}
	for _, name := range r.tasks() {
		c := r.chore(name)
		for _, e := range slices.Concat(c.Red, c.Green) {
			want[e.Path] = true
		}
	}
	for _, name := range r.more {
		want[name] = true
	}
	got := map[string]bool{}
	for name := range strings.SplitSeq(l.git("diff", "--name-only", "-z", start, "HEAD"), "\x00") {
		if name != "" {
			got[name] = true
		}
	}
	if !maps.Equal(want, got) {
		l.Errorf("the commits hold %q, the agent wrote %q", slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(want)))
	}
	for _, name := range r.tasks() {
		for _, e := range r.chore(name).Green {
			if text := l.git("show", "HEAD:"+e.Path); !strings.Contains(text, strings.TrimSpace(e.Text)) && !strings.HasPrefix(text, "version https://git-lfs") {
				l.Errorf("main lacks the work of %s in %s:\n%.2000s", name, e.Path, text)
			}
		}
	}
	l.unasked(r)
	if r.after != nil {
		r.after(l)
	}
}

// unasked wants that nobody was asked, and that the sandbox was in nobody's way: what
// users have is gate.approvals auto (issue 15, point 4).
func (l *lab) unasked(r repository) {
	l.Helper()
	told := r.refused == ""
	for _, f := range l.facts() {
		switch {
		case f.T == "asked":
			l.Errorf("a person was asked: %s", f.Fact.Gate.Question)
		case f.T == "sandbox.refused" && f.Fact.Path == r.refused:
			told = true
		case f.T == "sandbox.refused":
			l.Errorf("the sandbox refused to write %s", f.Fact.Path)
		}
	}
	if !told {
		l.Errorf("nothing says that a write to %s was refused", r.refused)
	}
}

// checks are the commands that ran, as ralph found them or a person set them.
func (l *lab) checks() []string {
	l.Helper()
	for _, f := range l.facts() {
		if f.T == "baseline.ran" {
			var list []string
			for _, result := range f.Fact.Results {
				if result.Command != "" {
					list = append(list, "`"+result.Command+"`")
				}
			}
			return list
		}
	}
	l.Error("no baseline ran")
	return nil
}
