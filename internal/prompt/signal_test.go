package prompt

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/ralph-loop/ralph"
	"pgregory.net/rapid"
)

func signal(kind ralph.SignalKind, text string, percent int) ralph.Signal {
	return ralph.Signal{Kind: kind, Text: text, Percent: percent}
}

// product.md 4: which lines are signals, and which one of them counts.
func TestReadSignal(t *testing.T) {
	t.Parallel()
	var none ralph.Signal
	complete := signal(ralph.SignalComplete, "", 0)
	tests := []struct {
		name, text string
		want       ralph.Signal
	}{
		{"complete", "All done.\n<ralph>COMPLETE</ralph>\n", complete},
		{"promise", "<promise>COMPLETE</promise>", complete},
		{"blanks around and CRLF", "x\r\n   <ralph>COMPLETE</ralph> \t\r\n", complete},
		{"blanks inside", "<ralph> COMPLETE </ralph>", complete},
		{"blocked", "<ralph>BLOCKED: no key: see a.go</ralph>", signal(ralph.SignalBlocked, "no key: see a.go", 0)},
		{"blocked without words", "<ralph>BLOCKED</ralph>", signal(ralph.SignalBlocked, "", 0)},
		{"needs human", "<ralph>NEEDS_HUMAN: which port?</ralph>", signal(ralph.SignalHuman, "which port?", 0)},
		{"progress", "<ralph>PROGRESS: 40 parser written</ralph>", signal(ralph.SignalProgress, "parser written", 40)},
		{"progress with percent sign", "<ralph>PROGRESS: 100%</ralph>", signal(ralph.SignalProgress, "", 100)},
		{"progress over 100", "<ralph>PROGRESS: 101 x</ralph>", none},
		{"progress below 0", "<ralph>PROGRESS: -1 x</ralph>", none},
		{"progress without number", "<ralph>PROGRESS: half</ralph>", none},
		{"last one wins", "<ralph>COMPLETE</ralph>\n\n<ralph>BLOCKED: no</ralph>", signal(ralph.SignalBlocked, "no", 0)},
		{"last progress", "<ralph>PROGRESS: 1 a</ralph>\n<ralph>PROGRESS: 2 b</ralph>", signal(ralph.SignalProgress, "b", 2)},
		{"progress never overrides", "<ralph>COMPLETE</ralph>\n<ralph>PROGRESS: 99 x</ralph>", complete},
		{"complete after progress", "<ralph>PROGRESS: 99 x</ralph>\n<ralph>COMPLETE</ralph>", complete},

		{"empty text", "", none},
		{"empty signal", "<ralph></ralph>\n<ralph>  </ralph>\n<promise></promise>", none},
		{"unknown word", "<ralph>DONE</ralph>", none},
		{"lower case", "<ralph>complete</ralph>", none},
		{"complete with a reservation", "<ralph>COMPLETE: but the tests fail</ralph>", none},
		{"promise of something else", "<promise>BLOCKED: x</promise>", none},
		{"mixed tags", "<ralph>COMPLETE</promise>", none},
		{"words before", "I say <ralph>COMPLETE</ralph>", none},
		{"words after", "<ralph>COMPLETE</ralph>.", none},
		{"two on a line", "<ralph>BLOCKED: a</ralph> <ralph>COMPLETE</ralph>", none},
		{"in backticks", "`<ralph>COMPLETE</ralph>`", none},
		{"quote", "> <ralph>COMPLETE</ralph>", none},
		{"list", "- <ralph>COMPLETE</ralph>\n* <ralph>COMPLETE</ralph>\n1. <ralph>COMPLETE</ralph>", none},
		{"over two lines", "<ralph>BLOCKED: a\nb</ralph>", none},

		{"indent of four", "    <ralph>COMPLETE</ralph>", none},
		{"tab", "\t<ralph>COMPLETE</ralph>", none},
		{"blank and tab", "  \t<ralph>COMPLETE</ralph>", none},
		{"fence", "```\n<ralph>COMPLETE</ralph>\n```", none},
		{"tilde fence", "~~~text\n<ralph>COMPLETE</ralph>\n~~~", none},
		{"after a fence", "```\nx\n```\n<ralph>COMPLETE</ralph>", complete},
		{"shorter fence does not close", "````\n```\n<ralph>COMPLETE</ralph>\n````", none},
		{"longer fence closes", "```\nx\n`````  \n<ralph>COMPLETE</ralph>", complete},
		{"other kind does not close", "```\n~~~\n<ralph>COMPLETE</ralph>", none},
		{"words after the mark do not close", "```\nx\n``` go\n<ralph>COMPLETE</ralph>", none},
		{"unclosed fence swallows", "```sh\nls\n\n<ralph>COMPLETE</ralph>\n", none},
		{"indented mark is no fence", "    ```\n<ralph>COMPLETE</ralph>", complete},
		{"inline code is no fence", "```x``` is code\n<ralph>COMPLETE</ralph>", complete},
		{"blanks up to the limit", "<ralph>COMPLETE</ralph>" + strings.Repeat(" ", maxLine-23), complete},
		{"blanks over the limit", "<ralph>COMPLETE</ralph>" + strings.Repeat(" ", maxLine-22), none},
		{"words behind the limit", "<ralph>COMPLETE</ralph>" + strings.Repeat(" ", maxLine) + "not yet", none},
		{"too long", "<ralph>BLOCKED: " + strings.Repeat("x", maxLine) + "</ralph>", none},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tt.want, ReadSignal(tt.text, "do the work")); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// lessons.md 5, completion signals: an echo of the prompt is no signal.
func TestReadSignalEcho(t *testing.T) {
	t.Parallel()
	const mark = "<ralph>COMPLETE</ralph>"
	prompt := "Do it.\nWhen done say:\n\n" + mark + "\n\nThen stop.\nBye"
	tests := []struct {
		name, prompt, text string
		want               ralph.SignalKind
	}{
		{"whole prompt", prompt, prompt, ""},
		{"whole prompt, then the agent's own", prompt, prompt + "\nI did it.\n" + mark, ralph.SignalComplete},
		{"line before is the prompt's", prompt, "When done say:\n" + mark + "\nother", ""},
		{"line after is the prompt's", prompt, "other\n" + mark + "\n\n  Then stop.  ", ""},
		{"indent was lost", "Say:\n    " + mark + "\nnow", "Say:\n" + mark + "\nnow", ""},
		{"fence was lost", "Say:\n```\n" + mark + "\n```", mark + "\n```\nx\n```", ""},
		{"other neighbours", prompt, "All tests pass.\n" + mark + "\n", ralph.SignalComplete},
		{"no neighbours", prompt, mark, ralph.SignalComplete},
		{"prompt is nothing else", mark + "\n", "\n" + mark, ""},
		{"another signal between the same lines", prompt, "When done say:\n<ralph>BLOCKED: x</ralph>\nThen stop.", ralph.SignalBlocked},
		{"echo after the agent's own", prompt, "Fine.\n" + mark + "\nprompt was:\n" + prompt, ralph.SignalComplete},
		{"twice in the prompt", "a\n" + mark + "\nb\nc\n" + mark + "\nd", "x\n" + mark + "\nd", ""},
		{"signals in a row", "a\n" + mark + "\n<promise>COMPLETE</promise>", mark + "\n<promise>COMPLETE</promise>", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := ReadSignal(tt.text, tt.prompt); got.Kind != tt.want {
				t.Errorf("got %+v, want %q", got, tt.want)
			}
		})
	}
}

// The scanner decides with the next line, and what it said before may change.
func TestScannerGoesOn(t *testing.T) {
	t.Parallel()
	s := NewScanner("Say\n<ralph>COMPLETE</ralph>\nthen stop")
	say := func(text string, more bool, want ralph.SignalKind) {
		t.Helper()
		s.Line(text, more)
		if got := s.Signal(); got.Kind != want {
			t.Fatalf("after %q: got %q, want %q", text, got.Kind, want)
		}
	}
	say("<ralph>COMPLETE</ralph>", false, ralph.SignalComplete)
	say("", false, ralph.SignalComplete)
	say("then stop", false, "") // it was an echo
	say("own words", false, "")
	say("<ralph>BLOCKED: ", true, "")
	say("no key</ralph>", true, ralph.SignalBlocked) // the output may end without a newline
	say(" and more", false, "")
	say(strings.Repeat(" ", maxLine), true, "")
	say("<ralph>COMPLETE</ralph>", false, "")
	say("<ralph>COMPLETE</ralph>", false, ralph.SignalComplete)
}

// A flood without newlines must not grow the scanner.
func TestScannerMemory(t *testing.T) {
	t.Parallel()
	s := NewScanner("")
	for range 1000 {
		s.Line(strings.Repeat("x", 8<<10), true)
	}
	if got := cap(s.line); got > 4*maxLine {
		t.Errorf("the scanner keeps %d bytes", got)
	}
}

// lines draws texts in which signals, fences and repeated lines are frequent.
func lines() *rapid.Generator[[]string] {
	return rapid.SliceOfN(rapid.SampledFrom([]string{
		"", "  ", "a", "b", "\tc", "```", "````", "~~~", "``` sh", "    ```", "> q",
		"<ralph>COMPLETE</ralph>", "  <ralph>COMPLETE</ralph>\r", "    <ralph>COMPLETE</ralph>", "<promise>COMPLETE</promise>",
		"<ralph>COMPLETE</ralph>" + strings.Repeat(" ", maxLine) + "not yet",
		"<ralph>BLOCKED: a</ralph>", "<ralph>PROGRESS: 7 x</ralph>", "<ralph></ralph>", "<ralph>COMPLETE</ralph",
		strings.Repeat("long ", 2000), strings.Repeat(" ", maxLine+1) + "x",
	}), 0, 12)
}

// Cut anywhere, a stream says the same as the whole text.
func TestScannerAgreesWithReadSignal(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		prompt := strings.Join(lines().Draw(t, "prompt"), "\n")
		output := lines().Draw(t, "output")
		s := NewScanner(prompt)
		for _, line := range output {
			for rest := line; ; {
				n := rapid.IntRange(0, len(rest)).Draw(t, "piece")
				if rapid.Bool().Draw(t, "look") {
					s.Signal()
				}
				s.Line(rest[:n], n < len(rest))
				if rest = rest[n:]; rest == "" {
					break
				}
			}
		}
		if got, want := s.Signal(), ReadSignal(strings.Join(output, "\n"), prompt); got != want {
			t.Fatalf("scanner %+v, whole text %+v", got, want)
		}
	})
}

// Whatever the prompt is, the same text coming back says nothing.
func TestEchoNeverCounts(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		prompt := strings.Join(lines().Draw(t, "prompt"), "\n")
		if got := ReadSignal(prompt, prompt); got.Kind != ralph.SignalNone {
			t.Fatalf("echo of %q says %+v", prompt, got)
		}
	})
}

func FuzzReadSignal(f *testing.F) {
	f.Add("<ralph>COMPLETE</ralph>", "prompt")
	f.Add("```\n<ralph>BLOCKED: x</ralph>", "<ralph>BLOCKED: x</ralph>\nx")
	f.Add("<ralph>PROGRESS: 12% \xff</ralph>\r\n", "")
	f.Fuzz(func(t *testing.T, text, prompt string) {
		got := ReadSignal(text, prompt)
		s := NewScanner(prompt)
		for line := range strings.SplitSeq(text, "\n") {
			for i := range len(line) {
				s.Line(line[i:i+1], true)
			}
			s.Line("", false)
		}
		if s.Signal() != got {
			t.Errorf("byte by byte %+v, whole %+v", s.Signal(), got)
		}
		if got.Kind != "" && !strings.Contains(text, string(got.Kind)) {
			t.Errorf("%+v is not in the text", got)
		}
		if echo := ReadSignal(prompt, prompt); echo.Kind != "" {
			t.Errorf("echo says %+v", echo)
		}
	})
}
