package web

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/status"
	"github.com/ralph-loop/ralph/internal/web/live"
)

// busy is a session with n agents at work, one in a slot each.
func busy(n int) *pastSource {
	p := &pastSource{state: &ralph.State{}, at: time.Date(2026, 11, 25, 9, 0, 0, 0, time.UTC)}
	config, _ := json.Marshal(map[string]any{"session": "autopilot", "parallel": n, "isolated": true})
	facts := []ralph.Fact{ralph.SessionStarted{ID: "s-1", Mode: "autopilot", Config: config}, ralph.PlanStarted{File: "a.md"}}
	for i := range n {
		id := ralph.TaskID(fmt.Sprintf("t-%04d", i))
		facts = append(facts, ralph.TaskAdded{Task: ralph.Task{ID: id, Name: fmt.Sprintf("Work %d", i), Status: ralph.TaskPending}}, ralph.TaskStarted{ID: id, Slot: i + 1},
			ralph.StepStarted{Task: id, Step: ralph.Turn{Stage: ralph.KindBuild, Agent: "claude", Iteration: 1}, DecidedAt: p.at})
	}
	for _, f := range facts {
		p.tell(f)
	}
	return p
}

// tell records a fact.
func (p *pastSource) tell(f ralph.Fact) {
	p.mu.Lock()
	defer p.mu.Unlock()
	e := ralph.Event{Seq: p.state.Seq + 1, At: p.at, By: "engine", Fact: f, Prev: fmt.Sprintf("%064x", p.state.Seq), Hash: fmt.Sprintf("%064x", p.state.Seq+1)}
	next := p.state.Clone()
	next.Apply(e)
	p.facts, p.state = append(p.facts, e), next
}

// partsAt are the parts of a page, of an engine whose agents say these words.
func partsAt(t testing.TB, x *Server, address string, words map[ralph.TaskID]string) []live.Part {
	t.Helper()
	l := x.watch.Look()
	l.Engine = status.Engine{Alive: true, Words: words}
	page, err := x.page(t.Context(), address, l)
	if err != nil {
		t.Fatal(err)
	}
	parts, err := partsOf(t.Context(), address, l, page)
	if err != nil {
		t.Fatal(err)
	}
	return parts
}

// differ are the names of the parts that are other ones, or new.
func differ(old, now []live.Part) []string {
	var out []string
	for _, p := range now {
		if !slices.ContainsFunc(old, func(o live.Part) bool { return o.ID == p.ID && bytes.Equal(o.HTML, p.HTML) }) {
			out = append(out, p.ID)
		}
	}
	return out
}

// Under a hundred slots each has a part of its own: what one agent says sends that one alone, and a slot that becomes
// free, or busy, leaves the others alone.
func TestSlotsAreSentAlone(t *testing.T) {
	t.Parallel()
	p := busy(100)
	x := boardOf(t, p, "shop")
	before := partsAt(t, x, "/", nil)
	at := slices.IndexFunc(before, func(l live.Part) bool { return l.ID == "slots" })
	if at < 0 || before[at+1].ID != "at-slot-1" || before[at+100].ID != "at-slot-100" {
		t.Fatal("the slots are not sent after where they stand")
	}
	if bytes.Contains(before[at].HTML, []byte("Work 7")) || !bytes.Contains(before[at].HTML, []byte(`id="at-slot-8" class="contents" data-own`)) {
		t.Errorf("what is sent of all slots has what one does, or no place for it: %.400s", before[at].HTML)
	}
	said := partsAt(t, x, "/", map[ralph.TaskID]string{"t-0041": "I look at the parser"})
	if got := differ(before, said); !slices.Equal(got, []string{"at-slot-42"}) {
		t.Errorf("words of one agent send %v", got)
	}
	if one := sizeOf(said, "at-slot-42"); one > mostSent {
		t.Errorf("words of one agent send %d bytes", one)
	}
	p.tell(ralph.TaskEnded{ID: "t-0041", Status: ralph.TaskFailed, Slot: 42})
	ended := differ(before, partsAt(t, x, "/", nil))
	if slices.ContainsFunc(ended, func(id string) bool { return strings.HasPrefix(id, "at-slot-") }) || !slices.Contains(ended, "slots") {
		t.Errorf("an agent that ends sends %v", ended)
	}
	page := lookAt(x, "/").Body.String()
	if strings.Contains(page, "data-own") {
		t.Error("a whole page has places instead of what stands there")
	}
}

// mostSent is how many bytes words of one agent may send to a page, however many others are at work.
const mostSent = 4 << 10

// sizeOf is how many bytes a part has.
func sizeOf(parts []live.Part, id string) int {
	return len(parts[slices.IndexFunc(parts, func(l live.Part) bool { return l.ID == id })].HTML)
}

// On the plan's board each task is a part of its own: what one agent says sends its card alone, and
// so does a task that goes to another column.
func TestCardsAreSentAlone(t *testing.T) {
	t.Parallel()
	p := busy(100)
	x := boardOf(t, p, "shop")
	words := map[ralph.TaskID]string{"t-0003": "I read the grammar"}
	before := partsAt(t, x, "/plan", words)
	words = map[ralph.TaskID]string{"t-0003": "I look at the parser"}
	said := partsAt(t, x, "/plan", words)
	if got := differ(before, said); !slices.Equal(got, []string{"at-card-t-0003"}) {
		t.Errorf("words of one agent send %v", got)
	}
	if one := sizeOf(said, "at-card-t-0003"); one > mostSent {
		t.Errorf("words of one agent send %d bytes", one)
	}
	p.tell(ralph.TaskEnded{ID: "t-0003", Status: ralph.TaskFailed, Slot: 4})
	after := partsAt(t, x, "/plan", words)
	ended := slices.DeleteFunc(differ(said, after), func(id string) bool { return !strings.HasPrefix(id, "at-card-") })
	came := slices.DeleteFunc(ended, func(id string) bool { return !slices.ContainsFunc(said, func(l live.Part) bool { return l.ID == id }) })
	if !slices.Contains(came, "at-card-t-0003") || len(came) > 2 { // another one now is among the first, which have buttons
		t.Errorf("a task that ends sends the cards %v", came)
	}
	if body := sizeOf(after, "plan-body"); body > sizeOf(after, "at-card-t-0003")*20 {
		t.Errorf("what is sent of all cards has %d bytes", body)
	}
	page := lookAt(x, "/plan").Body.String()
	if strings.Contains(page, "data-own") || !strings.Contains(page, `id="card-t-0003"`) {
		t.Error("a whole page has places instead of the cards")
	}
}

// In the plan's table each task is a part of its own, too: what one agent says sends its row alone.
func TestRowsAreSentAlone(t *testing.T) {
	t.Parallel()
	const address = "/plan?view=table"
	p := busy(100)
	x := boardOf(t, p, "shop")
	words := map[ralph.TaskID]string{"t-0003": "I read the grammar"}
	before := partsAt(t, x, address, words)
	words = map[ralph.TaskID]string{"t-0003": "I look at the parser"}
	said := partsAt(t, x, address, words)
	if got := differ(before, said); !slices.Equal(got, []string{"row-t-0003"}) {
		t.Errorf("words of one agent send %v", got)
	}
	if one := sizeOf(said, "row-t-0003"); one > mostSent/4 {
		t.Errorf("words of one agent send %d bytes", one)
	}
	p.tell(ralph.TaskEnded{ID: "t-0003", Status: ralph.TaskFailed, Slot: 4})
	after := partsAt(t, x, address, words)
	if ended := differ(said, after); !slices.Contains(ended, "row-t-0003") || slices.Contains(ended, "plan-body") {
		t.Errorf("a task that ends sends %v", ended)
	}
	if page := lookAt(x, address).Body.String(); strings.Contains(page, "data-own") || !strings.Contains(page, `<tr id="row-t-0003" data-row`) {
		t.Error("a whole page has places instead of the rows")
	}
}

// A decision sends its own line of the feed, and of the others only where they stand.
func TestLinesOfTheFeedAreSentAlone(t *testing.T) {
	t.Parallel()
	p := busy(100)
	x := boardOf(t, p, "shop")
	step := func(i int) {
		p.tell(ralph.StepStarted{Task: "t-0041", Step: ralph.Turn{Stage: ralph.KindBuild, Agent: "claude", Iteration: i}, DecidedAt: p.at, Why: ralph.Why{Rule: "B-026", Text: strings.Repeat("no signal yet ", 20)}})
	}
	for i := range 100 { // as many lines as there is room for
		step(i)
	}
	before := partsAt(t, x, "/", nil)
	step(100)
	after := partsAt(t, x, "/", nil)
	sent, all := 0, 0
	lines := slices.DeleteFunc(differ(before, after), func(id string) bool {
		if id == "feed" || id[0] == 'f' && id[1] <= '9' {
			sent += sizeOf(after, id)
		}
		return id == "feed" || id[0] != 'f'
	})
	for _, l := range after {
		if l.ID[0] == 'f' {
			all += len(l.HTML)
		}
	}
	if len(lines) != 1 || sent > all/5 {
		t.Errorf("a decision sends the lines %v, %d bytes of %d", lines, sent, all)
	}
	t.Logf("%d bytes of %d", sent, all)
}

// A journal whose facts do not follow each other is shown as it is; it used to be read again without end.
func TestBrokenChainIsShown(t *testing.T) {
	t.Parallel()
	p := busy(3)
	p.facts[4].Prev = strings.Repeat("f", 64)
	x := boardOf(t, p, "shop")
	if body := lookAt(x, "/log").Body.String(); !strings.Contains(body, "Work 2") {
		t.Errorf("the log is %.400s", body)
	}
	if body := lookAt(x, "/").Body.String(); !strings.Contains(body, "Work 2") {
		t.Errorf("the overview is %.400s", body)
	}
}

// BenchmarkHundredSlots is what the overview costs under a hundred slots each time that something happens, and how
// much of it is sent when one agent says something.
func BenchmarkHundredSlots(b *testing.B) {
	p := busy(100)
	x := New(Options{Source: p, Backend: p, Root: "shop"})
	b.Cleanup(x.Close)
	before, n := partsAt(b, x, "/", nil), 0
	var sent int
	for b.Loop() {
		n++
		now := partsAt(b, x, "/", map[ralph.TaskID]string{"t-0041": fmt.Sprint("line ", n)})
		sent = 0
		for _, id := range differ(before, now) {
			sent += len(now[slices.IndexFunc(now, func(l live.Part) bool { return l.ID == id })].HTML)
		}
	}
	all := 0
	for _, l := range before {
		all += len(l.HTML)
	}
	b.ReportMetric(float64(sent), "sent-B")
	b.ReportMetric(float64(all), "page-B")
}
