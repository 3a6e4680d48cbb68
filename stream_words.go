package ralph

import "strings"

// WordsKind classes what people read of an agent's turn.
type WordsKind string

// The kinds of words.
const (
	WordsOutput    WordsKind = "output"    // a line of stdout, of an agent without a protocol
	WordsStderr    WordsKind = "stderr"    // a line of stderr
	WordsMessage   WordsKind = "message"   // the agent's text
	WordsReasoning WordsKind = "reasoning" // its thinking
	WordsTool      WordsKind = "tool"      // a call of a tool, or a command, in one line
	WordsResult    WordsKind = "result"    // what a tool returned; never read for signals
	WordsError     WordsKind = "error"     // an error, also one that is tried again
)

const (
	maxToolWords   = 200     // of a call, in bytes
	maxResultWords = 2 << 10 // of what a tool returned
)

// Words is what people read of one event of an agent's turn.
type Words struct {
	Kind WordsKind
	Text string
	More bool // Text is a piece of a line that goes on
}

// Words is what the event says to people; false when it says nothing. Items speak once,
// when they are whole: an agent's words are read for signals by line. What a subagent
// says is not the agent's word.
func (e StreamEvent) Words() (Words, bool) {
	i := e.Item
	switch e.Kind {
	case StreamOutput:
		if e.Stderr {
			return Words{WordsStderr, e.Delta, e.More}, true
		}
		return Words{WordsOutput, e.Delta, e.More}, true
	case StreamItem:
		if i.Kind == ItemCommand || i.Kind == ItemTool || i.Kind == ItemEdit {
			return Words{Kind: WordsTool, Text: i.Line()}, true
		}
	case StreamItemDone:
		switch {
		case i.Parent != "":
		case i.Kind == ItemMessage && i.Text != "":
			return Words{Kind: WordsMessage, Text: i.Text}, true
		case i.Kind == ItemReasoning && i.Text != "":
			return Words{Kind: WordsReasoning, Text: i.Text}, true
		case i.Output != "":
			return Words{Kind: WordsResult, Text: startOf(i.Output, maxResultWords)}, true
		}
	case StreamError:
		if e.Err != nil {
			return Words{Kind: WordsError, Text: e.Err.Message}, true
		}
	}
	return Words{}, false
}

// HearWords returns a hook of events for who only wants the words.
func HearWords(hear func(Words)) func(StreamEvent) {
	return func(e StreamEvent) {
		if w, ok := e.Words(); ok {
			hear(w)
		}
	}
}

// Line is a command, edit or call of a tool in one line.
func (i Item) Line() string {
	text := i.Text
	if text == "" {
		text = strings.Join(i.Files, ", ")
	}
	if i.Type != "" && i.Kind != ItemCommand {
		text = strings.TrimSpace(i.Type + " " + text)
	}
	return startOf(strings.Join(strings.Fields(text), " "), maxToolWords)
}

// startOf returns the first max bytes of s, whole runes only, marked when cut.
func startOf(s string, max int) string {
	if len(s) <= max {
		return s
	}
	return strings.ToValidUTF8(s[:max], "") + "…"
}
