package claude

import (
	"encoding/json"
	"strconv"
	"strings"
	"sync"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/agent/wire"
	"github.com/ralph-loop/ralph/internal/text"
)

// compactPrompt makes claude summarize its session; as the prompt of a resumed
// session it works without a terminal (seen in 2.1.197 and 2.1.329).
const compactPrompt = "/compact"

// fill follows how full the context window of claude's main loop is. Subagents
// have windows of their own.
//
// Used is what the newest request sent: its input with all that came from the
// cache or went into it. The words that the model answered are missing until the
// next request has them as input: events carry no final number of output tokens.
type fill struct {
	told    func(ralph.ContextUse)
	windows *windows // may be nil
	model   string   // of the last init, the name that results use too
	use     ralph.ContextUse
	own     int // compactions that claude began by itself
	asked   int // compactions by /compact
}

// begin takes the model of a turn of claude's: before its first result, the
// window is known from earlier turns, or from the list of what was recorded.
func (f *fill) begin(model string) {
	f.model = model
	if f.windows != nil {
		f.use.Window = f.windows.of(model)
	}
}

func (f *fill) message(m message) {
	var used int64
	wire.Members(m.usage, func(key, value []byte) {
		switch string(key) {
		case "input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens":
			if n, err := strconv.ParseInt(string(value), 10, 64); err == nil && n > 0 {
				used += n
			}
		}
	})
	if used > 0 { // 0: claude's own words, not the model's
		f.set(used)
	}
}

func (f *fill) set(used int64) {
	if used == f.use.Used {
		return // the next block of the same message
	}
	f.use.Used = used
	if used > f.use.Window {
		f.use.Window = 0 // what was believed of it is wrong
	}
	f.tell()
}

func (f *fill) tell() {
	f.told(f.use)
}

// boundary takes the event that follows a compaction. post_tokens is claude's
// estimate; the next message tells more.
func (f *fill) boundary(line []byte) {
	var e struct {
		Meta struct {
			Trigger string `json:"trigger"`
			After   int64  `json:"post_tokens"`
		} `json:"compact_metadata"`
	}
	if json.Unmarshal(line, &e) != nil {
		return
	}
	if e.Meta.Trigger == "manual" {
		f.asked++
	} else {
		f.own++
	}
	if e.Meta.After > 0 {
		f.set(e.Meta.After)
	}
}

// result takes modelUsage, which has the window of each model that took part.
func (f *fill) result(models map[string]model) {
	for name, m := range models {
		if m.Window > 0 && f.windows != nil {
			f.windows.learn(name, m.Window)
		}
	}
	if m := models[f.model]; m.Window > 0 && m.Window != f.use.Window {
		f.use.Window = m.Window
		if f.use.Used > 0 {
			f.tell()
		}
	}
}

// concludeCompact settles a turn that was to compact. claude also says success
// when there was nothing to compact, or when it does not know the command.
func (c *reader) concludeCompact(res *ralph.TurnResult) {
	if res.Exit != ralph.ExitOK || c.fill.asked > 0 {
		return
	}
	why := strings.TrimSpace(res.Text)
	if why == "" {
		why = "it did not say why"
	}
	res.Exit = ralph.ExitFailed
	res.Err = &ralph.AgentError{Class: ralph.ErrClassOther, Message: text.Cut("claude did not compact its session: "+why, wire.MaxMessage)}
}

// windows are the sizes of context windows in tokens, by model. It is all that a
// driver remembers: results tell them, but only when a turn is over, and the next
// turn needs them from its start. The zero value is ready.
type windows struct {
	mu    sync.Mutex
	known map[string]int64
}

func (w *windows) learn(model string, size int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.known == nil {
		w.known = map[string]int64{}
	}
	w.known[model] = size
}

// of returns the window of a model, 0 when it is not known.
func (w *windows) of(model string) int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	if size := w.known[model]; size > 0 {
		return size
	}
	return recordedWindow(model)
}

// recordedWindow is what results of 2.1.197 and 2.1.329 said of models, for the
// first turn of a run. A model that is not here is better not known than guessed
// at: the turn of a window that is larger than believed would be ended for nothing.
func recordedWindow(model string) int64 {
	if strings.HasSuffix(model, "[1m]") {
		return 1_000_000
	}
	for _, m := range []struct {
		name   string
		window int64
	}{
		{"claude-opus-5-5", 1_000_000},
		{"claude-sonnet-5-5", 1_000_000},
		{"claude-sonnet-4-5", 200_000},
		{"claude-haiku-4-5", 200_000},
	} {
		if model == m.name || strings.HasPrefix(model, m.name+"-20") { // with a date
			return m.window
		}
	}
	return 0
}
