package ui

import (
	"bufio"
	"encoding/json"
	"io"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/charmbracelet/x/vt"

	"github.com/ralph-loop/ralph/internal/ralphtest"
	"github.com/ralph-loop/ralph/internal/ui/draw"
	"github.com/ralph-loop/ralph/internal/ui/panes"
)

// cast is a recording as asciinema has it, played on a terminal in memory.
type cast struct {
	columns, rows int
	raw           strings.Builder
	screens       []string // after each piece
	second        []bool   // whether that was on the second screen
}

func playCast(t *testing.T, file string) *cast {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	lines.Scan()
	var head struct{ Version, Width, Height int }
	if err := json.Unmarshal(lines.Bytes(), &head); err != nil || head.Version != 2 || head.Width < wholeWide || head.Height < wholeHigh {
		t.Fatalf("the recording begins with %s (%v)", lines.Bytes(), err)
	}
	c := &cast{columns: head.Width, rows: head.Height}
	e := vt.NewEmulator(c.columns, c.rows)
	answers, _ := e.InputPipe().(io.Closer) // closing all of the emulator would race with its reader
	var read sync.WaitGroup
	read.Go(func() { _, _ = io.Copy(io.Discard, e) }) // what the terminal answers is for nobody
	defer read.Wait()
	defer answers.Close()
	last := 0.0
	for lines.Scan() {
		var event []any
		if err := json.Unmarshal(lines.Bytes(), &event); err != nil || len(event) != 3 {
			t.Fatalf("no event: %.80s (%v)", lines.Bytes(), err)
		}
		at, _ := event[0].(float64)
		words, _ := event[2].(string)
		if at < last || event[1] != "o" || words == "" || strings.ContainsRune(words, '\ufffd') {
			t.Errorf("a broken event behind %.3f s: %.80s", last, lines.Bytes())
		}
		last = at
		if _, err := e.WriteString(words); err != nil {
			t.Fatal(err)
		}
		c.raw.WriteString(words)
		c.screens = append(c.screens, e.String())
		c.second = append(c.second, e.IsAltScreen())
	}
	if lines.Err() != nil {
		t.Fatal(lines.Err())
	}
	return c
}

var (
	wholeSequence = regexp.MustCompile(`\x1b(\[[0-9;?]*\$?[A-Za-z]|\][0-9]+;[^\x07\x1b]*\x07)`)
	placeSequence = regexp.MustCompile(`\x1b\[(\d+);(\d+)H`)
)

// docs/ui.cast is whole, and shows the screen as it is: each moment of the story comes, in its order; no
// sequence is cut, nothing is written beside the terminal, and that is given back. The lists, the
// keys and the words are those of today. When it fails the recording is old or broken: TestCast of cmd/ralph
// makes it anew.
func TestRecordingShowsTheScreen(t *testing.T) {
	t.Parallel()
	c := playCast(t, "../../docs/ui.cast")
	raw := c.raw.String()
	if rest := wholeSequence.ReplaceAllString(raw, ""); strings.ContainsAny(rest, "\x1b\x07\x00") {
		t.Errorf("a broken sequence: %.60q", rest[max(0, strings.IndexAny(rest, "\x1b\x07\x00")-20):])
	}
	for _, m := range placeSequence.FindAllStringSubmatch(raw, -1) {
		row, _ := strconv.Atoi(m[1])
		column, _ := strconv.Atoi(m[2])
		if row < 1 || row > c.rows || column < 1 || column > c.columns {
			t.Errorf("it writes at %d;%d on a terminal of %d by %d", row, column, c.columns, c.rows)
		}
	}
	for on, off := range ralphtest.Taken() {
		if at := strings.LastIndex(raw, on); at < 0 || strings.LastIndex(raw, off) < at {
			t.Errorf("%q is not taken back", on)
		}
	}
	if n := len(c.screens); !strings.Contains(c.screens[n-1], "The demo's repository is kept") || c.second[n-1] {
		t.Errorf("it ends with:\n%s", c.screens[n-1])
	}

	from := 0
	for _, moment := range [][]string{ // each within one picture
		{"Autopilot Running", "1 Slots 3", "follows"},
		{"Pausing", "✓ Pausing at the end of the current iterations   u undo"},
		{"Autopilot Running", "✓ Going on"},
		{"+echo 'till 1'"},
		{"╭─ Keys, 1 to ", "type to filter"},
		{"1 needs you"},
		{"This waits for you: read it first.", "a approve", "d deny", "git push origin HEAD:refs/heads/preview", "Yes:     It is done at once."},
		{"new file, which git does not know yet"},
		{"╭─ Approve ─", "‹ Cancel ›"},
		{"✓ Approved"},
		{"Which comes first?", "Conflicts in commands.txt", "a answer"},
		{"<<<<<<<", ">>>>>>>"},
		{"╭─ Answer ─", "Answers to choose from"},
		{"✓ Answered"},
		{"7/7", "ended: complete"},
		{"AS IT WAS", "esc now"},
		{"7/7", "ended: complete", "q leave"},
	} {
		i := slices.IndexFunc(c.screens[from:], func(screen string) bool {
			return !slices.ContainsFunc(moment, func(w string) bool { return !strings.Contains(screen, w) })
		})
		if i < 0 {
			t.Fatalf("%q does not come behind piece %d, where there is:\n%s", moment, from, c.screens[from])
		}
		from += i
	}
	c.isOfToday(t)
}

// isOfToday compares what a recording shows of lists and keys with what the screen has.
func (c *cast) isOfToday(t *testing.T) {
	t.Helper()
	p := play(t, atWork(t), c.columns, c.rows)
	var keys []string // the beginning of the help behind what can be done: all of it has no room
	for _, b := range bindings() {
		if show := p.m.shown(b); show != "" && b.can == nil && len(keys) < 12 {
			keys = append(keys, draw.Of(draw.Key, show).Fit(10).Add(draw.Plain, b.what).String()+" ")
		}
	}
	lists, helps := 0, 0
	for i, screen := range c.screens {
		if !c.second[i] {
			continue
		}
		if strings.Contains(screen, "╭─ Keys") && strings.Contains(screen, "type to filter") {
			helps++
			for _, k := range keys {
				if !strings.Contains(screen, "│ "+k) {
					t.Fatalf("the help does not have %q:\n%s", k, screen)
				}
			}
		}
		for line := range strings.Lines(screen) {
			if !strings.HasPrefix(line, " 1 Slots ") || strings.ContainsAny(line, "│╭") { // something is open above it
				continue
			}
			lists++
			for tab := range panes.Tabs {
				if name := strconv.Itoa(int(tab)+1) + " " + tab.String(); !strings.Contains(line, name) {
					t.Fatalf("the lists are not those of today, without %q: %s", name, line)
				}
			}
		}
	}
	if lists < 20 || helps == 0 {
		t.Errorf("it shows the lists %d times and the help %d times", lists, helps)
	}
}
