package execagent

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/agent/wire"
)

// TextOutput gathers what an agent prints that speaks no protocol: stdout is what it says.
//
// An agent that knows its cost prints it on lines of their own, which add up
// and are not part of what it said:
//
//	<ralph-usage>{"input":1200,"output":80,"cache_read":0,"cache_write":0,"cost":0.82}</ralph-usage>
//
// Tokens may be left out; without "cost" in each line the cost is unknown, as it
// is without any line.
type TextOutput struct {
	turn  *wire.Turn
	own   func(line string) bool // takes a line that is none of the agent's words; may be nil
	out   wire.Pieces
	errs  wire.Pieces
	text  wire.Tail
	wrong wire.Tail // stderr
	usage ralph.Usage
	inner bool // within a line that is handed on in pieces
}

// NewTextOutput gathers the output of a turn. own, which may be nil, takes whole lines of
// stdout that are none of the agent's words, and says so.
func NewTextOutput(t *wire.Turn, own func(line string) bool) *TextOutput {
	o := &TextOutput{turn: t, own: own, text: wire.Tail{Max: wire.MaxText}, wrong: wire.Tail{Max: wire.MaxErrors}}
	o.out.Emit, o.errs.Emit = o.line, o.errLine
	return o
}

// Stdout and stderr take what the process prints, in whatever chunks.
func (o *TextOutput) Stdout(p []byte) { o.out.Write(p) }
func (o *TextOutput) Stderr(p []byte) { o.errs.Write(p) }

func (o *TextOutput) line(text string, more bool) {
	if !o.inner && !more {
		if u, ok := readUsage(text); ok {
			o.usage = o.usage.Add(u)
			return
		}
		if o.own != nil && o.own(text) {
			return
		}
	}
	o.inner = more
	o.text.Add(text)
	if !more {
		o.text.Add("\n")
	}
	o.turn.Print(text, more)
}

func (o *TextOutput) errLine(text string, more bool) {
	o.wrong.Add(text)
	if !more {
		o.wrong.Add("\n")
	}
	o.turn.PrintError(text, more)
}

// Conclude adds what was said to the result of a program that has ended.
func (o *TextOutput) Conclude(res *ralph.TurnResult, program string) {
	cut := o.out.Close()
	o.errs.Close()
	res.Text, res.Dropped = o.text.String(), o.text.Dropped
	if cut { // the line had no end, nor has the text
		res.Text = strings.TrimSuffix(res.Text, "\n")
	}
	res.Usage, res.Events = o.usage, o.out.N+o.errs.N
	if res.Exit == ralph.ExitFailed {
		res.Err = wire.Failure(o.wrong.String(), res.Text)
		if res.Err.Message == "" {
			res.Err.Message = fmt.Sprintf("%s ended with exit code %d and said nothing", program, res.Code)
		}
	}
}

// readUsage reads a usage line; a line that is not exactly one is output.
func readUsage(line string) (ralph.Usage, bool) {
	body, ok := strings.CutPrefix(strings.TrimSpace(line), "<ralph-usage>")
	if !ok {
		return ralph.Usage{}, false
	}
	body, ok = strings.CutSuffix(body, "</ralph-usage>")
	var u struct {
		Input      int64    `json:"input"`
		Output     int64    `json:"output"`
		CacheRead  int64    `json:"cache_read"`
		CacheWrite int64    `json:"cache_write"`
		Cost       *float64 `json:"cost"`
	}
	if !ok || json.Unmarshal([]byte(body), &u) != nil || min(u.Input, u.Output, u.CacheRead, u.CacheWrite) < 0 {
		return ralph.Usage{}, false
	}
	out := ralph.Usage{Input: u.Input, Output: u.Output, CacheRead: u.CacheRead, CacheWrite: u.CacheWrite}
	if u.Cost != nil {
		if *u.Cost < 0 {
			return ralph.Usage{}, false
		}
		out.Cost, out.Known = *u.Cost, true
	}
	return out, true
}
