package console

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/workspace"
)

// follow folds facts and shows them to a panel, one a second.
func follow(p *panel, s *ralph.State, facts ...ralph.Fact) time.Time {
	at := s.At
	if at.IsZero() {
		at = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	}
	for _, f := range facts {
		at = at.Add(time.Second)
		e := ralph.Event{Seq: s.Seq + 1, At: at, Fact: f}
		s.Apply(e)
		p.see(e, s)
	}
	return at
}

func twoTasks() *ralph.State {
	s := &ralph.State{}
	for _, id := range []ralph.TaskID{"t-aaaa", "t-bbbb"} {
		s.Plan.Tasks = append(s.Plan.Tasks, &ralph.Task{ID: id, Name: "name of " + string(id), Status: ralph.TaskPending})
	}
	return s
}

// live output. One line for each busy slot, one for the merge queue; who waits for a person
// holds no slot (B-054, B-055).
func TestPanel(t *testing.T) {
	t.Parallel()
	s, p := twoTasks(), newPanel()
	turn := func(id ralph.TaskID) ralph.Fact {
		return ralph.StepStarted{Task: id, Step: ralph.Turn{Stage: ralph.KindBuild, Agent: "me", Iteration: 2}}
	}
	at := follow(p, s, ralph.TaskStarted{ID: "t-aaaa", Slot: 1}, ralph.TaskStarted{ID: "t-bbbb", Slot: 2}, turn("t-aaaa"), turn("t-bbbb"))
	p.said("t-bbbb", "reading\x1b[2J the code")
	want := []string{
		"[1] BUILD · t-aaaa name of t-aaaa · iteration 2 · me · 1s",
		"[2] BUILD · t-bbbb name of t-bbbb · iteration 2 · me · 0s · reading\x1b[2J the code",
	}
	if diff := cmp.Diff(want, p.rows(at, 10)); diff != "" {
		t.Errorf("two agents at work (-want +got):\n%s", diff)
	}
	at = follow(p, s,
		ralph.TurnEnded{Task: "t-aaaa", Signal: ralph.Signal{Kind: ralph.SignalProgress, Percent: 40, Text: "half\nway"}}, turn("t-aaaa"),
		ralph.TaskEnded{ID: "t-bbbb", Status: ralph.TaskDone, BasedOnSeq: 1, Slot: 2}, ralph.MergeQueued{Task: "t-bbbb"})
	want = []string{"[1] BUILD · t-aaaa name of t-aaaa · iteration 2 · me · 2s · 40% half way", "merge queue: 1"}
	if diff := cmp.Diff(want, p.rows(at, 10)); diff != "" {
		t.Errorf("one done, one further (-want +got):\n%s", diff)
	}
	at = follow(p, s, ralph.Asked{Approval: ralph.Approval{ID: "g-1a2b", Kind: "question", Task: "t-aaaa"}}, ralph.TaskStarted{ID: "t-bbbb", Slot: 1})
	want = []string{"[1] START · t-bbbb name of t-bbbb · 0s", "merge queue: 1 · 1 waiting for you: ralph gates"}
	if diff := cmp.Diff(want, p.rows(at, 10)); diff != "" {
		t.Errorf("one asks, the slot goes to another (-want +got):\n%s", diff)
	}
	follow(p, s, ralph.SessionEnded{Reason: ralph.ReasonComplete})
	if rows := p.rows(at, 10); len(rows) != 0 {
		t.Errorf("after the end: %q", rows)
	}
}

// The panel never takes more of the terminal than it may.
func TestPanelIsBounded(t *testing.T) {
	t.Parallel()
	s, p := &ralph.State{}, newPanel()
	for n := 1; n <= 64; n++ {
		id := ralph.TaskID(fmt.Sprintf("t-%04d", n))
		s.Plan.Tasks = append(s.Plan.Tasks, &ralph.Task{ID: id, Status: ralph.TaskPending})
		follow(p, s, ralph.TaskStarted{ID: id, Slot: n})
	}
	rows := p.rows(s.At, 12)
	if len(rows) != 12 || rows[11] != "... and 53 more: ralph status" || !strings.HasPrefix(rows[0], "[1] ") {
		t.Errorf("%d rows, the last is %q", len(rows), rows[len(rows)-1])
	}
	if got := fit("a\x1b[2J\tböse", 6); got != "a[2J…" {
		t.Errorf("fit: %q", got)
	}
}

// A frame goes over the one before it: what a terminal shows after it is the new
// lines and the new panel alone.
func TestDraw(t *testing.T) {
	t.Parallel()
	c := &Console{env: workspace.Env{Terminal: true}, panel: newPanel()}
	var out bytes.Buffer
	now := time.UnixMilli(0)
	drawn := c.draw(&out, nil, []string{"[1] one", "[2] two", "[3] three"}, now, 40, 0)
	drawn = c.draw(&out, []shown{{text: "TASK: t-aaaa done: one (ok)", slot: 1}}, []string{"[2] two"}, now, 40, drawn)
	drawn = c.draw(&out, nil, []string{"[2] a name that is much longer than the terminal is wide"}, now, 40, drawn)
	if want := []string{"[1] ✓ task        t-aaaa done: one (ok)", "⠋ [2] a name that is much longer than…"}; drawn != 1 || !cmp.Equal(want, screen(out.String())) {
		t.Errorf("%d drawn, the terminal shows %q, want %q", drawn, screen(out.String()), want)
	}
	c.draw(&out, nil, nil, now, 40, drawn)
	if got := screen(out.String()); len(got) != 1 {
		t.Errorf("after the end the terminal shows %q", got)
	}
}

// screen is what a terminal shows after a text with the few sequences that draw uses.
func screen(text string) []string {
	lines, row := [][]rune{{}}, 0
	col := 0
	for text != "" {
		var n int
		switch {
		case strings.HasPrefix(text, "\x1b[K"):
			lines[row], text = lines[row][:col], text[3:]
		case strings.HasPrefix(text, "\x1b[J"):
			lines = lines[:row+1]
			lines[row], text = lines[row][:min(col, len(lines[row]))], text[3:]
		case strings.HasPrefix(text, "\x1b["):
			if _, err := fmt.Sscanf(text, "\x1b[%dA", &n); err != nil {
				return []string{"unknown sequence " + text[:4]}
			}
			row, text = row-n, text[strings.IndexByte(text, 'A')+1:]
		case text[0] == '\r':
			col, text = 0, text[1:]
		case text[0] == '\n':
			if row, col, text = row+1, 0, text[1:]; row == len(lines) {
				lines = append(lines, nil)
			}
		default:
			r := []rune(text)[0]
			lines[row] = append(lines[row][:col], append([]rune{r}, lines[row][min(col+1, len(lines[row])):]...)...)
			col, text = col+1, text[len(string(r)):]
		}
	}
	var shown []string
	for _, l := range lines {
		if len(l) > 0 {
			shown = append(shown, string(l))
		}
	}
	return shown
}

// A line says which slot it is about, so that one can be followed in a plain log.
func TestMarked(t *testing.T) {
	t.Parallel()
	if got := marked(shown{text: "SIGNAL: COMPLETE", slot: 3}); got != "[3] SIGNAL: COMPLETE" {
		t.Error(got)
	}
	if got := marked(shown{text: "STOP"}); got != "STOP" {
		t.Error(got)
	}
}
