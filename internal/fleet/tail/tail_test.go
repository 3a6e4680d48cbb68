package tail

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/ralph-loop/ralph/internal/step"
)

// machines are a worker with the turn 5 of t-1 under way, and a coordinator.
type machines struct {
	t        *testing.T
	from, to string // folders of the turn
	sources  Sources
	copy     *Copy
	state    string
	root     string
}

const folder = "ralph/.state/tasks/t-1/5"

func newMachines(t *testing.T) *machines {
	t.Helper()
	work, root := t.TempDir(), t.TempDir()
	m := &machines{t: t, from: filepath.Join(work, folder), to: filepath.Join(root, folder), root: root, state: filepath.Join(root, "state.json")}
	m.sources.Show("ref", Source{Attempt: "a1", Repo: "hub", Root: work, Task: "t-1", Iteration: 5})
	must(t, os.MkdirAll(m.from, 0o700))
	m.open()
	return m
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// open begins the copy, or is the coordinator that goes on.
func (m *machines) open() {
	m.t.Helper()
	var err error
	m.copy, err = OpenCopy(m.root, folder, "ref", m.state)
	must(m.t, err)
	m.t.Cleanup(func() { _ = m.copy.Close() })
}

func (m *machines) prints(words string) {
	m.t.Helper()
	f, err := os.OpenFile(filepath.Join(m.from, step.OutputName), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	must(m.t, err)
	_, err = f.WriteString(words)
	must(m.t, err)
	must(m.t, f.Close())
}

// ask asks once, and says whether there is more.
func (m *machines) ask() (more bool) {
	m.t.Helper()
	parts := m.sources.Read(m.t.Context(), 0, "hub", []Want{m.copy.Want()})
	for _, p := range parts {
		must(m.t, m.copy.Add(p))
		more = p.More
	}
	return more
}

func (m *machines) shows(words string) os.FileInfo {
	m.t.Helper()
	name := filepath.Join(m.to, step.OutputName)
	b, err := os.ReadFile(name)
	must(m.t, err)
	if string(b) != words {
		m.t.Fatalf("the copy is %q, want %q", b, words)
	}
	info, err := os.Stat(name)
	must(m.t, err)
	return info
}

// The copy grows with the output, byte for byte; where nothing new is printed nothing comes.
func TestCopyGrows(t *testing.T) {
	t.Parallel()
	m := newMachines(t)
	begun := m.shows("")
	m.ask()
	m.prints("one\ntw\xc3")
	m.ask()
	m.shows("one\ntw\xc3")
	m.prints("\xb6\n")
	must(t, os.WriteFile(filepath.Join(m.from, step.FeedName), []byte(`{"more":1}`), 0o600))
	m.ask()
	if b, err := os.ReadFile(filepath.Join(m.to, step.FeedName)); err != nil || string(b) != `{"more":1}` {
		t.Errorf("what the agent does: %q, %v", b, err)
	}
	for _, p := range m.sources.Read(t.Context(), 0, "hub", []Want{m.copy.Want()}) {
		if len(p.Output)+len(p.Doing) > 0 || p.More {
			t.Errorf("it came once more: %+v", p)
		}
	}
	if now := m.shows("one\ntw\xc3\xb6\n"); !os.SameFile(begun, now) {
		t.Error("who followed the output reads another file by now")
	}
}

// Another attempt at the turn, and an output that is shorter than what has come, begin anew in a file
// of their own; a copy that somebody cut comes anew; a coordinator that comes back goes on.
func TestCopyOfWhatIsNot(t *testing.T) {
	t.Parallel()
	m := newMachines(t)
	m.prints("one\n")
	m.ask()
	first := m.shows("one\n")

	must(t, m.copy.Close())
	m.open()
	m.prints("two\n")
	m.ask()
	if now := m.shows("one\ntwo\n"); !os.SameFile(first, now) {
		t.Error("after a coordinator that was killed the output begins anew")
	}

	must(t, os.WriteFile(filepath.Join(m.from, step.OutputName), []byte("cut\n"), 0o600))
	m.ask()
	second := m.shows("cut\n")
	if os.SameFile(first, second) {
		t.Error("readers of the longer output cannot know that it was cut")
	}

	must(t, os.WriteFile(filepath.Join(m.to, step.OutputName), []byte("c"), 0o600))
	m.prints("on\n")
	m.ask()
	m.ask()
	second = m.shows("cut\non\n")

	lost := m.copy.Want()
	m.sources.Show("ref", Source{Attempt: "a2", Repo: "hub", Root: m.sources.open["ref"].Root, Task: "t-1", Iteration: 5})
	must(t, os.WriteFile(filepath.Join(m.from, step.OutputName), []byte("cut\non\nagain\n"), 0o600))
	m.ask()
	third := m.shows("cut\non\nagain\n")
	if lost.Attempt != "a1" || os.SameFile(second, third) {
		t.Errorf("another attempt goes on in the file of the one that was lost (%+v)", lost)
	}

	must(t, m.copy.Close())
	var err error
	m.copy, err = OpenCopy(m.root, folder, "another", m.state)
	must(t, err)
	if w := m.copy.Want(); w.Attempt != "" || w.From != 0 {
		t.Errorf("the next step goes on with the copy of this one: %+v", w)
	}
}

// However much there is, an answer for any number of turns is below what may be put into Temporal, and
// all comes in the end.
func TestAnswersAreBounded(t *testing.T) {
	t.Parallel()
	noise := make([]byte, 700<<10)
	random := rand.New(rand.NewPCG(20261126, 0))
	for i := range noise {
		noise[i] = byte(random.Uint32())
	}
	for name, words := range map[string]string{"noise": string(noise), "words": strings.Repeat("all work and no play\n", 1<<19), "nothing": ""} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMachines(t)
			m.prints(words)
			must(t, os.WriteFile(filepath.Join(m.from, step.FeedName), noise[:100<<10], 0o600))
			source := m.sources.open["ref"]
			for _, turns := range []int{1, 2, 8, 100} {
				var wants []Want
				for i := range turns {
					ref := fmt.Sprint("refs/ralph/fleet/0123456789abcdef0123456789abcdef/0123456789abcdef/in-", i)
					m.sources.Show(ref, source)
					wants = append(wants, Want{Ref: ref})
				}
				b, err := json.Marshal(m.sources.Read(t.Context(), 0, "hub", wants))
				if err != nil || len(b) > 255<<10 {
					t.Errorf("%d turns: an answer of %d bytes, %v", turns, len(b), err)
				}
			}
			asked := 1
			for m.ask() {
				asked++
			}
			m.shows(words)
			if name == "words" && asked > 3 {
				t.Errorf("%d bytes of words took %d questions", len(words), asked)
			}
		})
	}
}

// Turns of another repository, turns that are over, and what a link leads to are told to nobody.
func TestOnlyWhatIsUnderWay(t *testing.T) {
	t.Parallel()
	m := newMachines(t)
	m.prints("one\n")
	if got := m.sources.Read(t.Context(), 0, "another", []Want{m.copy.Want()}); len(got) > 0 {
		t.Errorf("another repository is told %+v", got)
	}
	secret := filepath.Join(t.TempDir(), "secret")
	must(t, os.WriteFile(secret, []byte("secret"), 0o600))
	for _, name := range []string{step.OutputName, step.FeedName} {
		_ = os.Remove(filepath.Join(m.from, name))
		must(t, os.Symlink(secret, filepath.Join(m.from, name)))
	}
	m.ask()
	m.shows("")
	before := m.sources.Show("ref", Source{Attempt: "a1", Repo: "hub"})
	now := m.sources.Show("ref", Source{Attempt: "a2", Repo: "hub"})
	before()
	if got := m.sources.Read(t.Context(), 0, "hub", []Want{{Ref: "ref"}}); len(got) != 1 || got[0].Attempt != "a2" {
		t.Errorf("the end of an attempt that was lost hides the one that goes on: %+v", got)
	}
	now()
	synctest.Test(t, func(t *testing.T) { // it does not wait for what is not there
		if got := m.sources.Read(t.Context(), Wait, "hub", []Want{{Ref: "ref"}}); len(got) > 0 {
			t.Errorf("a turn that is over: %+v", got)
		}
	})
}

// What a worker sends that was taken over fills neither memory nor disk, and no other file.
func TestAnswersOfAnEnemy(t *testing.T) {
	t.Parallel()
	m := newMachines(t)
	var bomb bytes.Buffer
	for range 3 {
		b, _, err := squeeze(bytes.NewReader(make([]byte, maxPiece)), 1<<20)
		must(t, err)
		bomb.Write(b)
	}
	for name, p := range map[string]Part{
		"a bomb":     {Ref: "ref", Attempt: "a", Output: bomb.Bytes()},
		"no gzip":    {Ref: "ref", Attempt: "a", Output: []byte("x")},
		"too far":    {Ref: "ref", Attempt: "a", From: maxOutput + 1},
		"a big feed": {Ref: "ref", Attempt: "a", Feed: "f", Doing: bomb.Bytes()},
	} {
		if err := m.copy.Add(p); err == nil {
			t.Errorf("%s was taken", name)
		}
	}
	must(t, m.copy.Add(Part{Ref: "ref", Attempt: "a", From: 7}))
	m.shows("")
}
