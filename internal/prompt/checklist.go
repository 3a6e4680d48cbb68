package prompt

import (
	"strings"

	"github.com/ralph-loop/ralph/internal/lazyregexp"
	"github.com/ralph-loop/ralph/internal/text"
)

// listItem is a list item: its marker, its box where it has one, its text. Only
// a blank or an x makes a box: "- [2024-01-01] ..." is text.
var listItem = lazyregexp.New(`^ *(?:[-*+]|\d{1,9}[.)])(?: +\[([ xX])\](?: +|$)| +|$)(.*)$`)

// blockStart is a line that cannot go on with a paragraph before it.
var blockStart = lazyregexp.New(`^(?:#{1,6}(?:\s|$)|>|\||(?:[-*_] *){3,}$)`)

// Checklist makes one task of each open item of a spec's markdown checklist:
// of each "- [ ]" that does not stand under another open item.
// Below such an item, open boxes become its acceptance criteria, ticked ones
// are left out and any other text becomes its notes. An open item under a
// ticked one is work that is left, so it is a task. Items in code blocks and in
// HTML comments do not count.
func Checklist(spec string) []PlannedTask {
	c := checklist{skip: -1}
	for line := range strings.SplitSeq(spec, "\n") {
		c.next(strings.TrimRight(expandTabs(line), " \r"))
	}
	c.finish()
	return c.done
}

// checklist is the state of a reading.
type checklist struct {
	fence   fence
	comment bool // inside <!-- -->
	inList  bool // so four blanks of indent are no code

	task   *PlannedTask // the open item that lines belong to
	indent int          // of its marker
	skip   int          // indent of a ticked item below it, whose text is left out; -1 for none
	tail   *string      // the paragraph that the next line may go on with
	loose  bool         // no paragraph goes on in the next line
	done   []PlannedTask
}

// next takes the next line, without tabs before and blanks after its text.
func (c *checklist) next(line string) {
	text := strings.TrimLeft(line, " ")
	indent := len(line) - len(text)
	if c.literal(line, text, indent) || text == "" {
		c.loose, c.tail = true, nil
		return
	}
	item := listItem.FindStringSubmatch(line)
	switch {
	case indent > 3 && !c.inList: // an indented code block
	case item != nil:
		c.item(line, indent, item[1], item[2])
	default:
		c.text(line, indent)
	}
	c.loose = false
}

// literal handles what is not read for items: code fences and comments.
func (c *checklist) literal(line, text string, indent int) bool {
	if c.comment || (c.fence.char == 0 && strings.HasPrefix(text, "<!--")) {
		c.comment = !strings.Contains(text, "-->")
		return true
	}
	mark := line
	if c.inList { // a fence stands as deep as the item it belongs to
		mark = text
	}
	at, _ := c.fence.next(mark)
	if at == outside {
		return false
	}
	if at == opens {
		c.leave(indent)
	}
	c.note(line)
	return true
}

// item takes a list item; box is " ", "x", "X", or "" for an item without one.
func (c *checklist) item(line string, indent int, box, words string) {
	c.inList, c.tail = true, nil
	c.leave(indent)
	if indent <= c.skip {
		c.skip = -1
	}
	switch {
	case box == " " && words == "":
	case box == " " && c.task == nil:
		c.task, c.indent, c.skip = &PlannedTask{Name: words}, indent, -1
		c.tail = &c.task.Name
	case box == " ":
		c.task.Accept += "\n- " + words
		c.tail = &c.task.Accept
	case box == "":
		c.note(line)
	case c.skip < 0:
		c.skip = indent
	}
}

// text takes a line that is no list item.
func (c *checklist) text(line string, indent int) {
	text := strings.TrimSpace(line)
	goesOn := !c.loose && !blockStart.MatchString(text)
	if goesOn && c.tail != nil {
		*c.tail += " " + text
		return
	}
	c.tail = nil
	if !goesOn {
		c.leave(indent)
		if indent <= c.skip {
			c.skip = -1
		}
		c.inList = c.inList && indent > 0
	}
	c.note(line)
}

// leave ends the task when a line is not indented below its item.
func (c *checklist) leave(indent int) {
	if c.task != nil && indent <= c.indent {
		c.finish()
	}
}

// note adds a line to the notes of the task, without the indent of its item.
func (c *checklist) note(line string) {
	if c.task == nil || c.skip >= 0 {
		return
	}
	text := strings.TrimLeft(line, " ")
	c.task.Notes += strings.Repeat(" ", max(0, len(line)-len(text)-c.indent-2)) + text + "\n"
}

// finish puts the task away. A name that is too long for a plan is cut; the
// notes then hold it whole.
func (c *checklist) finish() {
	if c.task == nil {
		return
	}
	t := *c.task
	c.task, c.tail, c.skip = nil, nil, -1
	if short := text.Clip(t.Name, maxName); short != t.Name {
		t.Name, t.Notes = short, t.Name+"\n"+t.Notes
	}
	t.Notes, t.Accept = strings.TrimSpace(t.Notes), strings.TrimSpace(t.Accept)
	c.done = append(c.done, t)
}

// expandTabs puts blanks in the place of leading tabs, to the next stop of four.
func expandTabs(line string) string {
	col := 0
	for i := range len(line) {
		switch line[i] {
		case ' ':
			col++
		case '\t':
			col += 4 - col%4
		default:
			return strings.Repeat(" ", col) + line[i:]
		}
	}
	return ""
}
