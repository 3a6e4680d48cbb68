package approval_test

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/approval"
	"github.com/ralph-loop/ralph/internal/lookup"
	"github.com/ralph-loop/ralph/internal/operation"
	"github.com/ralph-loop/ralph/internal/ralphtest"
)

// needed is a line of a corpus with what its harm needs: the word after `# need:` above it.
type needed struct{ line, need string }

func needs(t *testing.T, file string) []needed {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var out []needed
	need := ""
	for line := range strings.Lines(string(b)) {
		line = strings.TrimSuffix(line, "\n")
		if word, ok := strings.CutPrefix(line, "# need:"); ok {
			need, _, _ = strings.Cut(strings.TrimSpace(word), " ")
			continue
		}
		if line != "" && !strings.HasPrefix(line, "# ") && line != "#" {
			out = append(out, needed{strings.ReplaceAll(line, "⏎", "\n"), need})
		}
	}
	return out
}

// bounds reports whether a sandbox bounds what a harm needs, on each machine on which there is
// such a sandbox (TestHeld, TestAttacksAreHeld, docs/threat-model.md). A login is bounded because
// it cannot be read: what its owner alone may read is hidden (TestPrivate, script private_logins).
// The kernel is where the services that may be asked to stop it have their sockets hidden.
func bounds(kind, need string) bool {
	switch need {
	case "files", "device", "signal", "login":
		return true
	case "docker", "kernel":
		return kind == "bubblewrap" // Landlock has no word for sockets in a folder
	}
	return false
}

// third reports whether a line belongs to the third by which nothing is mended.
func third(line string) bool {
	h := fnv.New32a()
	h.Write([]byte(line))
	return h.Sum32()%3 == 0
}

// count is what became of the lines of one kind.
type count struct{ all, judge, bubblewrap, landlock, ask int }

func (c count) String() string {
	return fmt.Sprintf("%4d lines: passed by the judge alone %3d, auto in bubblewrap %3d, auto in landlock %3d, ask without a sandbox %3d", c.all, c.judge, c.bubblewrap, c.landlock, c.ask)
}

// measured is what became of the lines of some files.
type measured struct {
	harm  map[string]*count                    // by file and need
	total map[bool]*count                      // of the third, and of the others
	good  struct{ all, in, without, auto int } // ordinary ones, and which of them are held
}

// measure judges the lines of files; needed is for files that do not say what their harm needs.
func measure(t *testing.T, files []string, unsaid func(file string) string) measured {
	t.Helper()
	m := measured{harm: map[string]*count{}, total: map[bool]*count{false: {}, true: {}}}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".txt")
		for _, l := range needs(t, file) {
			q := ralph.Request{Kind: ralph.RequestApproval, Op: ralph.OpCommand, Command: l.line, Dir: "/home/me/repo", Shown: true}
			j := (operation.Patterns{}).Judge(q, operation.Workspace{Work: "/home/me/repo", Home: "/home/me"})
			passes := func(sandbox string) bool {
				c := approval.Settings{Approvals: "auto", Sandbox: sandbox, Patterns: patterns(), Write: []string{"/tmp"}}
				return judge(q, c, lookup.Disk{Work: "/home/me/repo", Home: "/home/me", Real: clean, Names: names}, nil).Verdict == ralph.Approved
			}
			if strings.Contains(name, "ordinary") {
				m.good.all++
				m.good.in += one(j.Held(true))
				m.good.without += one(j.Held(false))
				m.good.auto += one(!passes("bubblewrap"))
				continue
			}
			need := cmp.Or(l.need, unsaid(name))
			switch need {
			case "files", "device", "signal", "kernel", "login", "docker", "local-db", "open-net":
			case "worktree": // git has it: nobody's matter
				continue
			default:
				t.Errorf("%s: a line needs %q", file, need)
			}
			kind := name + " " + need
			if m.harm[kind] == nil {
				m.harm[kind] = &count{}
			}
			for _, c := range []*count{m.harm[kind], m.total[third(l.line)]} {
				c.all++
				c.judge += one(!j.Held(false))
				c.bubblewrap += one(passes("bubblewrap") && !bounds("bubblewrap", need))
				c.landlock += one(passes("landlock") && !bounds("landlock", need))
				c.ask += one(passes(""))
			}
		}
	}
	for _, kind := range slices.Sorted(maps.Keys(m.harm)) {
		t.Logf("%-32s %v", kind, m.harm[kind])
	}
	t.Logf("%-32s %v", "two thirds", m.total[false])
	t.Logf("%-32s %v", "the third", m.total[true])
	t.Logf("ordinary: %d lines, held by the judge in a sandbox %d, without one %d, by auto with its patterns %d", m.good.all, m.good.in, m.good.without, m.good.auto)
	return m
}

// Issue 15, point 3: what can happen with the settings of `ralph init`, by the lines of the first
// author: in a sandbox a line counts where policy lets it run without a question and the sandbox
// does not bound what its harm needs; without one where policy does not ask.
func TestWhatCanHappen(t *testing.T) {
	ralphtest.NeedsTime(t)
	t.Parallel()
	dir := "../operation/testdata/fresh-"
	m := measure(t, []string{dir + "files.txt", dir + "beyond.txt", dir + "ordinary.txt"}, func(name string) string {
		return map[string]string{"fresh-files": "files", "fresh-beyond": "open-net"}[name]
	})
	var all count
	for _, c := range m.total {
		all.all, all.bubblewrap, all.landlock, all.ask = all.all+c.all, all.bubblewrap+c.bubblewrap, all.landlock+c.landlock, all.ask+c.ask
	}
	if most := all.all / 200; all.all < 800 || all.bubblewrap > most || all.landlock > most || all.ask > 0 {
		t.Errorf("of %d lines pass in bubblewrap %d, in landlock %d, and without a question where there is no sandbox %d", all.all, all.bubblewrap, all.landlock, all.ask)
	}
	if m.good.all < 1800 || m.good.in*100 > m.good.all || m.good.auto*80 > m.good.all {
		t.Errorf("of %d ordinary lines the judge holds %d, and auto with its patterns %d", m.good.all, m.good.in, m.good.auto)
	}
}

// The same of the lines of a second author, who had written none of the rules. It prints counts, and no
// line, so that nobody mends by what it is to measure.
func TestSecondRates(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../operation/testdata/second-*.txt")
	if err != nil {
		t.Fatal(err)
	}
	if len(files) < 3 {
		t.Fatalf("the second corpus is not whole: %q", files)
	}
	m := measure(t, files, func(string) string { return "" })
	for _, tt := range []struct {
		third bool
		most  count // as measured (docs/approvals.md): it only gets less
	}{
		{false, count{judge: 33, bubblewrap: 0, landlock: 4}},
		{true, count{judge: 24, bubblewrap: 1, landlock: 4}},
	} {
		if c := m.total[tt.third]; c.all < 170 || c.judge > tt.most.judge || c.bubblewrap > tt.most.bubblewrap || c.landlock > tt.most.landlock || c.ask > 0 {
			t.Errorf("the third %t: %v, at most %v", tt.third, c, tt.most)
		}
	}
	if m.good.all < 500 || m.good.in*100 > m.good.all || m.good.without*100 > m.good.all || m.good.auto*80 > m.good.all {
		t.Errorf("of %d ordinary lines the judge holds %d and %d, auto %d", m.good.all, m.good.in, m.good.without, m.good.auto)
	}
}

// Answers depend on the essence of a request alone, which is what is kept to decide them again.
func TestEssence(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../operation/testdata/*.txt")
	if err != nil || len(files) < 6 {
		t.Fatal(files, err)
	}
	n := 0
	for _, file := range files {
		for i, line := range needs(t, file) {
			if i%ralphtest.Rounds(68, 17) > 0 { // each takes half a millisecond
				continue
			}
			q := command(line.line)
			q.ID, q.Text, q.Detail = "7", "because: rm -rf /", "git push --force"
			for _, mode := range []string{"auto", "policy", "ask", "never"} {
				c := bounded()
				c.Approvals, c.Patterns = mode, patterns()
				if whole, essence := judge(q, c, ground(), nil), judge(approval.Essence(q), c, ground(), nil); whole != essence {
					t.Errorf("%s, %s: %+v, by its essence %+v", line.line, mode, whole, essence)
				}
				n++
			}
		}
	}
	if n < ralphtest.Rounds(100, 400) {
		t.Errorf("looked at %d", n)
	}
}

func one(b bool) int {
	if b {
		return 1
	}
	return 0
}
