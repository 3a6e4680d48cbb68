package ralph

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

// HearWords returns a hook of events for who only wants the words.
func HearWords(hear func(Words)) func(StreamEvent) {
	return func(e StreamEvent) {
		if w, ok := e.Words(); ok {
			hear(w)
		}
	}
}
