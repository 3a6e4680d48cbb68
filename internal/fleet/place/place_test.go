package place

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ralph-loop/ralph/internal/workers/match"
)

// fake is a server with the workers that a test says.
type fake struct {
	said sync.Mutex // the test speaks, or is asked

	list     []match.Worker
	deaf     int // so often nobody answers
	told     []string
	replaced []string
	refuses  bool
	slow     time.Duration // how long it takes to give a step up
}

func (f *fake) Workers(context.Context) ([]match.Worker, error) {
	f.said.Lock()
	defer f.said.Unlock()
	return f.list, nil
}

func (f *fake) Tell(_ context.Context, w match.Worker, labels []string) error {
	f.said.Lock()
	defer f.said.Unlock()
	f.told = append(f.told, w.Name+" "+strings.Join(labels, ","))
	if f.deaf--; f.deaf >= 0 {
		return errors.New("it does not answer")
	}
	return nil
}

func (f *fake) Replace(_ context.Context, id string, now match.Needs) bool {
	f.said.Lock()
	f.replaced = append(f.replaced, id+" "+strings.Join(now.Labels, ","))
	f.said.Unlock()
	time.Sleep(f.slow)
	return !f.refuses
}

// world plays a server in false time.
func world(t *testing.T, play func(f *fake, p *Places, notes func() []string)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		f := &fake{}
		var notes []string
		p := New(f, func(format string, args ...any) { notes = append(notes, fmt.Sprintf(format, args...)) })
		ctx, stop := context.WithCancel(t.Context())
		go p.Run(ctx)
		play(f, p, func() []string { return notes })
		stop()
		synctest.Wait()
	})
}

// look lets the next look come, by what the test has said so far.
func (f *fake) look() {
	f.said.Lock()
	f.said.Unlock() //nolint:staticcheck // nothing is between: what came before is to be seen
	time.Sleep(each)
	synctest.Wait()
}

func gpu(now *[]string) Step {
	return Step{Task: "t-1", Needs: match.Needs{Agent: "mine", Labels: []string{"gpu"}, Repo: "hub"}, Now: func() match.Needs { return match.Needs{Agent: "mine", Labels: *now} }}
}

// Each worker that has all labels is told of their queue, once; one that comes later, or is started again,
// too; one that lacks a label, or is of another version, is not.
func TestWorkersAreTold(t *testing.T) {
	world(t, func(f *fake, p *Places, notes func() []string) {
		big := match.Worker{Name: "big", Run: "1", Agents: []string{"mine"}, Labels: []string{"gpu", "os=linux"}}
		old := match.Worker{Name: "old", Run: "1", Agents: []string{"mine"}}
		other := big
		other.Name, other.Wrong = "other", []string{"is another version"}
		agentless := big
		agentless.Name, agentless.Agents = "agentless", nil
		f.list = []match.Worker{agentless, big, old, other}
		labels := []string{"gpu"}
		defer p.Add("w", gpu(&labels))()
		f.look()
		f.look()
		if want := []string{"big gpu"}; !slices.Equal(f.told, want) || len(notes()) != 0 {
			t.Errorf("told %q, said %q", f.told, notes())
		}
		late, again := big, big
		late.Name, again.Run = "late", "2"
		f.list = []match.Worker{again, late}
		f.deaf = 1
		for range 4 {
			f.look()
		}
		slices.Sort(f.told[1:])
		if want := []string{"big gpu", "big gpu", "late gpu"}; len(f.told) != 4 || !slices.Equal(slices.Compact(slices.Clone(f.told[1:])), want[1:]) {
			t.Errorf("told %q: each new start once, and who did not answer once more", f.told)
		}
	})
}

// A step that no worker can take is said once, whatever number of them waits for the same, and kept until
// there is a worker, or the step is over.
func TestPeopleHearOfWaiting(t *testing.T) {
	world(t, func(f *fake, p *Places, notes func() []string) {
		f.list = []match.Worker{{Name: "small", Agents: []string{"mine"}, Labels: []string{"os=linux"}}}
		labels := []string{"gpu"}
		one, two := gpu(&labels), gpu(&labels)
		two.Task = "t-2"
		over := p.Add("one", one)
		defer p.Add("two", two)()
		f.look()
		f.look()
		const words = "no worker has the label gpu; start one that has: ralph worker --repo hub --agent mine --label gpu"
		if len(notes()) != 1 || !strings.HasSuffix(notes()[0], " waits: "+words) || p.Missing("one") != words || p.Missing("two") != words {
			t.Errorf("said %q, missing is %q", notes(), p.Missing("one"))
		}
		if over() || p.Missing("one") != "" {
			t.Errorf("the step is over, and missing is %q", p.Missing("one"))
		}
		f.list[0].Labels = append(f.list[0].Labels, "gpu")
		f.look()
		if p.Missing("two") != "" || len(notes()) != 1 {
			t.Errorf("there is a worker, and missing is %q, said %q", p.Missing("two"), notes())
		}
		f.list = nil
		f.look()
		if len(notes()) != 2 || !strings.Contains(notes()[1], "there is no worker") {
			t.Errorf("it waits again, and said is %q", notes())
		}
	})
}

// A step that waits for what nobody asks for any more is given up, and begins anew.
func TestChangedLabelsBeginAnew(t *testing.T) {
	world(t, func(f *fake, p *Places, _ func() []string) {
		labels := []string{"gpu"}
		over := p.Add("w", gpu(&labels))
		f.look()
		if len(f.replaced) != 0 {
			t.Errorf("replaced %q, and nothing has changed", f.replaced)
		}
		labels, f.refuses = nil, true
		f.look()
		f.refuses = false
		f.look()
		if len(f.replaced) != 2 || f.replaced[1] != "w " {
			t.Errorf("replaced %q", f.replaced)
		}
		if !over() {
			t.Error("it does not begin anew")
		}
	})
}

// The server may say that a step was given up before it says so to who asked for that.
func TestGivenUpWhileItEnds(t *testing.T) {
	world(t, func(f *fake, p *Places, _ func() []string) {
		labels := []string{}
		f.slow = time.Second
		over := p.Add("w", gpu(&labels))
		time.Sleep(time.Millisecond)
		synctest.Wait()
		if len(f.replaced) != 1 || !over() {
			t.Errorf("replaced %q, and it does not begin anew", f.replaced)
		}
	})
}

func TestQueue(t *testing.T) {
	if got := Queue("q", nil); got != "q" {
		t.Errorf("without labels: %s", got)
	}
	if got := Queue("q", []string{"a", "b=1"}); got != "q/with/a,b=1" {
		t.Errorf("with two: %s", got)
	}
	long := []string{strings.Repeat("a", 150), strings.Repeat("b", 150)}
	if got := Queue("q", long); len(got) > 100 || got == Queue("q", long[:1]) {
		t.Errorf("with long ones: %s", got)
	}
}
