package prompt

import (
	"strconv"
	"strings"

	"github.com/ralph-loop/ralph"
)

// maxLine is how much of a line is looked at, in bytes. A longer line can be no
// signal, and two lines that agree this far count as the same neighbour.
const maxLine = 4 << 10

// ReadSignal reads the signal of a final message. prompt
// is what the agent was told, so that an echo of it is not taken for its word.
//
// The last of COMPLETE, BLOCKED and NEEDS_HUMAN wins. PROGRESS only counts when
// there is none of these: it says how far the work is and ends nothing, so it
// must not undo a word that does.
func ReadSignal(text, prompt string) ralph.Signal {
	s := NewScanner(prompt)
	for line := range strings.SplitSeq(text, "\n") {
		s.Line(line, false)
	}
	return s.Signal()
}

// Scanner reads the signal of an output that arrives line by line. It keeps at
// most a few lines of it and says the same as ReadSignal.
type Scanner struct {
	told  []quote // the signal lines of the prompt
	fence fence

	line []byte // the line that is not complete yet, at most maxLine+1 bytes
	prev string // the last line that was not empty
	held *claim // a signal whose next line is not known yet

	ending   ralph.Signal
	progress ralph.Signal
}

// quote is a signal line of the prompt, or one of the output, with the
// non-empty lines around it; "" at the edge of the text.
type quote struct{ text, prev, next string }

// claim is a signal of the output that the next line may show to be an echo.
type claim struct {
	quote  quote
	signal ralph.Signal
}

// NewScanner returns a scanner for the output of an agent that got prompt.
func NewScanner(prompt string) *Scanner {
	s := &Scanner{}
	prev, open := "", false // open: the last quote waits for its next line
	for line := range strings.SplitSeq(prompt, "\n") {
		text := clean(line)
		if text == "" {
			continue
		}
		if open {
			s.told[len(s.told)-1].next = text
		}
		// Fences and indents do not matter here: an echo may have lost them.
		if open = parseSignal(text).Kind != ralph.SignalNone; open {
			s.told = append(s.told, quote{text: text, prev: prev})
		}
		prev = text
	}
	return s
}

// Line takes the next line, without its newline; more is true when text is only
// a piece of the line and the rest follows.
func (s *Scanner) Line(text string, more bool) {
	room := maxLine + 1 - len(s.line)
	s.line = append(s.line, text[:min(len(text), room)]...)
	if !more {
		s.end()
	}
}

// Signal returns the signal of all lines so far, as if the output ended here. A
// line whose end has not come counts as it stands.
func (s *Scanner) Signal() ralph.Signal {
	c := *s // what the end of the output settles must not stick if it goes on
	c.end()
	c.settle("")
	if c.ending.Kind != ralph.SignalNone {
		return c.ending
	}
	return c.progress
}

// end works on the line that is now complete.
func (s *Scanner) end() {
	line := string(s.line)
	s.line = s.line[:0]
	text := clean(line)
	if text == "" {
		return
	}
	s.settle(text)
	if at, _ := s.fence.next(line); at == outside && len(line) <= maxLine && !isCode(line) {
		if signal := parseSignal(text); signal.Kind != ralph.SignalNone {
			s.held = &claim{quote{text: text, prev: s.prev}, signal}
		}
	}
	s.prev = text
}

// settle decides on the held signal now that the line after it is known; "" is
// the end of the output.
func (s *Scanner) settle(next string) {
	if s.held == nil {
		return
	}
	c := *s.held
	s.held = nil
	c.quote.next = next
	for _, q := range s.told {
		if c.quote.echoes(q) {
			return
		}
	}
	if c.signal.Kind == ralph.SignalProgress {
		s.progress = c.signal
	} else {
		s.ending = c.signal
	}
}

// echoes reports whether a line of the output repeats the line q of the prompt:
// one neighbour is the same. The agent's own word stands among its own words.
func (o quote) echoes(q quote) bool {
	if o.text != q.text {
		return false
	}
	alone := o.prev == "" && o.next == "" && q.prev == "" && q.next == ""
	return alone || (o.prev != "" && o.prev == q.prev) || (o.next != "" && o.next == q.next)
}

// clean returns what lines are compared by.
func clean(line string) string {
	return strings.TrimSpace(line[:min(len(line), maxLine)])
}

// isCode reports an indented code block: four spaces, or a tab, before the text.
func isCode(line string) bool {
	text := strings.TrimLeft(line, " ")
	return len(line)-len(text) > 3 || strings.HasPrefix(text, "\t")
}

// parseSignal reads a line without its blanks. Whatever is not exactly one of
// the known forms is no signal: an empty promise once matched everything
// elsewhere. COMPLETE takes no text, so that "COMPLETE: except the tests" is
// none; BLOCKED and NEEDS_HUMAN without words still mean what they say.
func parseSignal(line string) ralph.Signal {
	if body, ok := tagged(line, "promise"); ok && body == string(ralph.SignalComplete) {
		return ralph.Signal{Kind: ralph.SignalComplete}
	}
	body, ok := tagged(line, "ralph")
	if !ok {
		return ralph.Signal{}
	}
	word, text, colon := strings.Cut(body, ":")
	text = strings.TrimSpace(strings.ToValidUTF8(text, "\uFFFD"))
	switch kind := ralph.SignalKind(strings.TrimSpace(word)); kind {
	case ralph.SignalComplete:
		if !colon {
			return ralph.Signal{Kind: kind}
		}
	case ralph.SignalBlocked, ralph.SignalHuman:
		return ralph.Signal{Kind: kind, Text: text}
	case ralph.SignalProgress:
		number, what, _ := strings.Cut(text, " ")
		n, err := strconv.ParseUint(strings.TrimSuffix(number, "%"), 10, 8)
		if err == nil && n <= 100 {
			return ralph.Signal{Kind: kind, Percent: int(n), Text: strings.TrimSpace(what)}
		}
	}
	return ralph.Signal{}
}

// tagged returns what stands between <tag> and </tag> when that is the whole line.
func tagged(line, tag string) (string, bool) {
	body, ok := strings.CutPrefix(line, "<"+tag+">")
	if !ok {
		return "", false
	}
	body, ok = strings.CutSuffix(body, "</"+tag+">")
	if !ok || strings.Contains(body, "<"+tag+">") || strings.Contains(body, "</"+tag+">") || strings.Contains(body, "\n") {
		return "", false
	}
	return strings.TrimSpace(body), true
}
