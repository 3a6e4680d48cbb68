package ui

import (
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/ui/panes"
)

// at is where words stand on the screen: the place of their middle.
func (p *player) at(words string) (x, y int) {
	p.t.Helper()
	for y, line := range strings.Split(p.text(), "\n") {
		if before, _, ok := strings.Cut(line, words); ok {
			return len([]rune(before)) + len([]rune(words))/2, y
		}
	}
	p.t.Fatalf("%q is not on the screen:\n%s", words, p.text())
	return 0, 0
}

// click clicks on words.
func (p *player) click(words string) *player {
	p.t.Helper()
	x, y := p.at(words)
	p.send(tea.MouseClickMsg{X: x, Y: y, Button: tea.MouseLeft})
	return p
}

// turned turns the wheel over words, so many notches down, or up where they are negative.
func (p *player) turned(words string, notches int) *player {
	p.t.Helper()
	x, y := p.at(words)
	button := tea.MouseWheelDown
	if notches < 0 {
		button, notches = tea.MouseWheelUp, -notches
	}
	for range notches {
		p.send(tea.MouseWheelMsg{X: x, Y: y, Button: button})
	}
	return p
}

// A click chooses a row, opens a list, and shows what is chosen in another way; with one panel at a
// time as well.
func TestClicks(t *testing.T) {
	t.Parallel()
	for _, size := range [][2]int{{120, 40}, {80, 24}, {60, 20}} {
		p := play(t, atWork(t), size[0], size[1])
		p.click("2 Plan")
		if p.m.tab != panes.TabPlan {
			t.Fatalf("%v: a click on the list opens %s", size, p.m.tab)
		}
		p.click("Parse dates")
		if r, ok := p.m.chosen(); !ok || r.Task != "t-0003" || p.m.right {
			t.Errorf("%v: a click on a row chooses %q", size, r.Task)
		}
		if p.m.single() {
			p.press("enter")
		}
		p.want("2 retries after: 503 from upstream")
		p.click("Diff")
		if v, _ := p.m.viewNow(); v != panes.ViewDiff {
			t.Errorf("%v: a click on a view shows %s", size, v)
		}
		if !p.m.single() {
			p.click("It has changed nothing")
			if !p.m.right {
				t.Errorf("%v: a click into the right panel does not give it the keys", size)
			}
		}
		before := p.r.story.Seq
		p.send(tea.MouseClickMsg{X: 1, Y: size[1] - 1, Button: tea.MouseLeft})
		p.send(tea.MouseClickMsg{X: 3, Y: 2, Button: tea.MouseRight})
		if p.m.popup != nil || p.r.story.Seq != before {
			t.Errorf("%v: a click on nothing, or with another button, does something", size)
		}
	}
}

// The wheel over an output stops following, what comes then is counted, and the wheel back to the
// end follows again. Over the list it moves on in the list.
func TestWheel(t *testing.T) {
	t.Parallel()
	r := atWork(t)
	write(t, r.root, "t-0002/2/output.log", strings.Repeat("a line of an agent\n", 200))
	p := play(t, r, 100, 30)
	p.want("follows").turned("a line of an agent", -2)
	p.wantNot("follows")
	write(t, r.root, "t-0002/2/output.log", strings.Repeat("a line of an agent\n", 207))
	p.send(tickMsg(time.Now()))
	p.want("7 new lines below: f")
	p.turned("a line of an agent", 5)
	p.want("follows")
	p.wantNot("new lines")

	p.click("2 Plan").turned("t-0001 Read the header", 2)
	if row, _ := p.m.chosen(); row.Task != "t-0003" {
		t.Errorf("the wheel over the list chooses %q", row.Task)
	}
	p.turned("t-0001 Read the header", -1)
	if row, _ := p.m.chosen(); row.Task != "t-0002" {
		t.Errorf("the wheel back chooses %q", row.Task)
	}
}

// The buttons of a question are clicked: no does nothing, yes does it, and a click beside them, or
// outside of it, neither.
func TestClickedButtons(t *testing.T) {
	t.Parallel()
	for _, size := range [][2]int{{120, 40}, {80, 24}, {60, 20}} {
		p := play(t, atWork(t), size[0], size[1]).press("s")
		before := p.r.story.Seq
		p.click("Stop when the current")
		p.send(tea.MouseClickMsg{X: 0, Y: 0, Button: tea.MouseLeft})
		p.send(tea.MouseClickMsg{X: size[0] - 1, Y: size[1] - 1, Button: tea.MouseLeft})
		if p.m.popup == nil || p.r.story.Seq != before {
			t.Fatalf("%v: a click that is on no button ends the question", size)
		}
		p.click("‹ No ›")
		if p.m.popup != nil || p.r.story.Seq != before {
			t.Fatalf("%v: a click on no did something: %v", size, newest(p.r))
		}
		p.press("s").click("Yes, stop")
		if x, ok := newest(p.r).(ralph.Control); !ok || x.Want != ralph.WantStop {
			t.Errorf("%v: a click on yes made %#v", size, newest(p.r))
		}
	}
}

// A click gives the keys to a field of a form, and its button sends what was typed.
func TestClickedFields(t *testing.T) {
	t.Parallel()
	p := play(t, atWork(t), 100, 40).press("2", "G", "e")
	p.click("│ Docs").typed(" and more").click("Notes").typed("typed").click("  Edit  ")
	if task := p.r.State().Task("t-0005"); task.Name != "Docs and more" || task.Notes != "typed" {
		t.Errorf("the task is %+v", task)
	}
}

// In a menu a click chooses, and a click on what is chosen does it; headings do nothing. The wheel
// goes through a list and through what a question is about.
func TestClickedMenu(t *testing.T) {
	t.Parallel()
	p := play(t, atWork(t), 100, 40).press("2", "G", "x")
	before := p.r.story.Seq
	p.click("t-0005")
	p.click("Skip")
	if p.m.popup == nil || p.r.story.Seq != before {
		t.Fatal("the first click on an action does it")
	}
	p.click("Skip")
	p.want("Why", "t-0005")
	p.press("esc", "?")
	c, ok := p.m.popup.(*choice)
	if !ok {
		t.Fatal("there is no help")
	}
	first := c.at
	p.turned("type to filter", 3)
	if c.at != first+3 {
		t.Errorf("three notches of the wheel go from %d to %d", first, c.at)
	}
	p.press("esc", "3", "a")
	f, ok := p.m.popup.(*form)
	if !ok {
		t.Fatal("there is no question")
	}
	f.about = append(f.about, panes.Prose(strings.Repeat("a line\n", 80))...)
	p.turned("Held by", 2)
	if f.top == 0 {
		t.Error("the wheel does not scroll what a question is about")
	}
}
