package claude

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/agent/wire"
	"github.com/ralph-loop/ralph/internal/text"
)

// reader follows the events of one claude process. It must see every line of
// stdout, in order. One process may print several init and result events; the
// last result counts, and the costs of all.
type reader struct {
	turn    *wire.Turn
	control func([]byte) // takes lines of the control channel; nil: a recording is read
	session string
	open    bool // claude works: an init or words since the last result
	settled bool // the turn is over: what claude says while it is ended is not heard
	results int
	last    result
	words   string // last text of the main loop
	usage   usage
	denied  []string
	fill    fill

	apiErr      string    // `error` of the last synthetic assistant event
	retried     bool      // there was an api_retry since the model last spoke
	retryStatus int       // error_status of the last api_retry since the model last spoke
	resetAt     time.Time // of the last plan limit that was rejected
	limit       string    // which one: five_hour, seven_day, ...

	blocks   int                   // of words and thinking
	calls    map[string]ralph.Item // tool calls that have no result yet
	refused  map[string]bool       // tool calls that ralph denied, by id
	answered map[string]bool       // those that somebody denied who was asked
	tasks    []task                // claude's own list
	creating map[string]string     // subjects of TaskCreate calls without a result

	errs  wire.Tail // stderr
	noise wire.Tail // lines of stdout that are no event
}

// result is what counts of a result event.
type result struct {
	Subtype    string          `json:"subtype"`
	IsError    bool            `json:"is_error"`
	Result     string          `json:"result"`
	Session    string          `json:"session_id"`
	Terminal   string          `json:"terminal_reason"`
	Stop       string          `json:"stop_reason"`
	Status     int             `json:"api_error_status"`
	Kind       string          `json:"api_error_type"`
	Errors     []string        `json:"errors"`
	Structured json.RawMessage `json:"structured_output"`
	Denials    []struct {
		ID    string          `json:"tool_use_id"`
		Tool  string          `json:"tool_name"`
		Input json.RawMessage `json:"tool_input"`
	} `json:"permission_denials"`
	Cost  *float64         `json:"total_cost_usd"`
	All   map[string]model `json:"modelUsage"`
	Since map[string]model `json:"model_usage_since_last_result"`
}

type model struct {
	Input      int64   `json:"inputTokens"`
	Output     int64   `json:"outputTokens"`
	CacheRead  int64   `json:"cacheReadInputTokens"`
	CacheWrite int64   `json:"cacheCreationInputTokens"`
	Cost       float64 `json:"costUSD"`
	Window     int64   `json:"contextWindow"`
}

// usage adds up what the results of one process say. total_cost_usd goes
// on from result to result; on resume 2.1.197 starts it at zero again, but
// 2.1.329 goes on from the session's earlier total, which is already paid for.
// That one adds model_usage_since_last_result, so: the sum of those where there
// are any, else the total of the last result.
type usage struct {
	since  ralph.Usage
	summed bool
	all    ralph.Usage
}

func (u *usage) add(r *result) {
	if r.Since != nil {
		u.summed = true
		u.since = u.since.Add(sumModels(r.Since))
	}
	u.all = sumModels(r.All)
	u.all.Known = r.Cost != nil
	if r.Cost != nil {
		u.all.Cost = *r.Cost
	}
}

// total returns the turn's usage; partial says that claude had more to report.
func (u *usage) total(partial bool) ralph.Usage {
	out := u.all
	if u.summed {
		out = u.since
	}
	out.Known = out.Known && !partial
	return out
}

func sumModels(models map[string]model) ralph.Usage {
	sum := ralph.Usage{Known: true}
	for _, name := range slices.Sorted(maps.Keys(models)) { // sorted: float sums must not differ from run to run
		m := models[name]
		sum.Input += m.Input
		sum.Output += m.Output
		sum.CacheRead += m.CacheRead
		sum.CacheWrite += m.CacheWrite
		sum.Cost += m.Cost
	}
	return sum
}

func newReader(t *wire.Turn) *reader {
	c := &reader{
		turn: t, calls: map[string]ralph.Item{}, refused: map[string]bool{}, answered: map[string]bool{}, creating: map[string]string{},
		errs: wire.Tail{Max: wire.MaxErrors}, noise: wire.Tail{Max: wire.MaxErrors},
	}
	c.fill.told = func(use ralph.ContextUse) { t.Emit(ralph.StreamEvent{Kind: ralph.StreamUsage, Context: use}) }
	return c
}

// event is the top level of an event, as spans of its line. Members come
// in any order, and the last of the same name counts.
type event struct {
	kind, subtype, message, parent, err, meta []byte
}

func sniff(line []byte) (e event, ok bool) {
	ok = wire.EachMember(line, func(key, value []byte) {
		switch string(key) {
		case "type":
			e.kind = value
		case "subtype":
			e.subtype = value
		case "message":
			e.message = value
		case "parent_tool_use_id":
			e.parent = value
		case "error":
			e.err = value
		case "tool_result_meta":
			e.meta = value
		}
	})
	return e, ok
}

// line takes one line of stdout. New versions bring new events: those that are not
// known here are kept as they are, and never an error.
func (c *reader) line(line []byte) {
	e, ok := sniff(line)
	if !ok {
		c.stray(line)
		return
	}
	parent := wire.Text(e.parent) // a subagent speaks
	switch string(e.kind) {
	case `"assistant"`:
		c.assistant(e, parent)
	case `"user"`:
		c.user(e, parent)
	case `"system"`:
		c.system(e.subtype, line, parent != "")
	case `"rate_limit_event"`:
		c.planLimit(line)
	case `"result"`:
		c.result(line)
	case `"control_request"`, `"control_response"`, `"control_cancel_request"`:
		if c.control != nil {
			c.control(line)
		}
	case `"stream_event"`, `"tool_progress"`, `"command_lifecycle"`, `"keep_alive"`: // nothing that does not come whole
	default:
		c.unknown(wire.Text(e.kind), line)
	}
}

// stray takes a line that is no event: a program in front of claude, or an
// error text. It is kept for the case that no result comes.
func (c *reader) stray(line []byte) {
	s := wire.StartLine(wire.Valid(line[:min(len(line), wire.MaxSaidResult)]), wire.MaxSaidResult)
	c.noise.Add(s + "\n")
	c.turn.PrintError(s, false)
}

func (c *reader) stderr(s string, more bool) {
	c.errs.Add(s)
	if !more {
		c.errs.Add("\n")
	}
	c.turn.PrintError(s, more)
}

func (c *reader) assistant(e event, parent string) {
	c.open = true
	sub := parent != ""
	if !sub {
		if c.apiErr = wire.Text(e.err); c.apiErr == "" {
			c.retried, c.retryStatus = false, 0
		}
	}
	m := readMessage(e.message)
	if !sub {
		c.fill.message(m)
	}
	var words []string
	wire.Elements(m.content, func(block []byte) {
		b := readBlock(block)
		switch string(b.kind) {
		case `"text"`:
			s := wire.Text(b.text)
			if s == "" {
				return
			}
			if !sub {
				words = append(words, s)
			}
			if !sub && c.apiErr != "" {
				// claude's words about an error, not the model's; the result types it
				c.problem(ralph.AgentError{Class: ralph.ErrClassOther, Message: s}, false)
				return
			}
			c.block(ralph.ItemMessage, s, parent)
		case `"thinking"`:
			if s := wire.Text(b.thinking); s != "" {
				c.block(ralph.ItemReasoning, s, parent)
			}
		case `"tool_use"`:
			c.call(b, parent)
		}
	})
	if len(words) > 0 {
		c.words = strings.Join(words, "\n")
	}
}

func (c *reader) problem(e ralph.AgentError, retries bool) {
	c.turn.Emit(ralph.StreamEvent{Kind: ralph.StreamError, Err: &e, WillRetry: retries})
}

// user takes the results of tools; prompts, echoes and injected text are nobody's
// words.
func (c *reader) user(e event, parent string) {
	wire.Elements(readMessage(e.message).content, func(block []byte) {
		if b := readBlock(block); string(b.kind) == `"tool_result"` {
			c.returned(b, parent, e.meta)
		}
	})
}

// block is one content block, as spans.
type block struct {
	kind, text, thinking, id, name, input, use, failed, content []byte
}

// message is the message of an event, as spans.
type message struct {
	content, model, usage []byte
}

func readMessage(message []byte) (m message) {
	wire.Members(message, func(key, value []byte) {
		switch string(key) {
		case "content":
			m.content = value
		case "model":
			m.model = value
		case "usage":
			m.usage = value
		}
	})
	return m
}

func readBlock(block []byte) (b block) {
	wire.Members(block, func(key, value []byte) {
		switch string(key) {
		case "type":
			b.kind = value
		case "text":
			b.text = value
		case "thinking":
			b.thinking = value
		case "id":
			b.id = value
		case "tool_use_id":
			b.use = value
		case "is_error":
			b.failed = value
		case "name":
			b.name = value
		case "input":
			b.input = value
		case "content":
			b.content = value
		}
	})
	return b
}

// toolResult shortens the content of a tool result: a string, or text blocks.
func toolResult(content []byte) string {
	if len(content) > 0 && content[0] == '"' {
		return wire.StartOf(content, maxOutput)
	}
	var parts []string
	wire.Elements(content, func(block []byte) {
		if b := readBlock(block); len(b.text) > 0 && len(parts) < 8 {
			parts = append(parts, wire.StartOf(b.text, maxOutput/4))
		}
	})
	return strings.Join(parts, "\n")
}

// toolCall is a tool call on one line: the tool and what it is about.
func toolCall(name string, input []byte) string {
	return name + ": " + wire.StartLine(callText(input), wire.MaxSaidTool)
}

// callText is the member of a call's input that says best what it is about.
func callText(input []byte) string {
	best, rank := "", len(inputNames())
	wire.Members(input, func(key, value []byte) {
		if r := slices.Index(inputNames(), string(key)); r >= 0 && r < rank && value[0] == '"' {
			best, rank = wire.StartOf(value, 4*wire.MaxSaidTool), r
		}
	})
	if best == "" {
		best = wire.Compact(input, wire.MaxSaidTool)
	}
	return best
}

// inputNames are the members that say best what a tool call is about, best first.
func inputNames() []string {
	return []string{"command", "file_path", "notebook_path", "pattern", "path", "url", "query", "description", "prompt"}
}

func (c *reader) system(subtype, line []byte, sub bool) {
	switch string(subtype) {
	case `"init"`:
		c.open = true
		first := c.session == ""
		wire.EachMember(line, func(key, value []byte) {
			switch string(key) {
			case "session_id":
				c.session = wire.Text(value)
			case "model":
				c.fill.begin(wire.Text(value))
			}
		})
		if first {
			c.turn.Emit(ralph.StreamEvent{Kind: ralph.StreamSession, Thread: c.session})
			c.turn.Emit(ralph.StreamEvent{Kind: ralph.StreamTurn, Thread: c.session})
		}
	case `"compact_boundary"`:
		if !sub {
			c.fill.boundary(line)
			c.turn.Emit(ralph.StreamEvent{Kind: ralph.StreamCompacted})
		}
	case `"api_retry"`:
		var r struct {
			Status int     `json:"error_status"`
			Error  string  `json:"error"`
			Delay  float64 `json:"retry_delay_ms"`
		}
		if json.Unmarshal(line, &r) != nil {
			return
		}
		c.retried, c.retryStatus = true, r.Status
		wait := time.Duration(r.Delay * float64(time.Millisecond)).Round(100 * time.Millisecond)
		class := ralph.ErrClassServer
		switch {
		case r.Status == 429 || r.Error == "rate_limit":
			class = ralph.ErrClassLimit
		case r.Status == 529 || r.Error == "overloaded":
			class = ralph.ErrClassBusy
		case r.Status == 401 || r.Error == "authentication_failed":
			class = ralph.ErrClassAuth
		case r.Status == 0: // no HTTP answer at all
			class = ralph.ErrClassNetwork
		}
		c.problem(ralph.AgentError{Class: class, Status: r.Status, Message: "retry in " + wait.String() + ": " + r.Error, Wait: wait}, true)
	case `"status"`, `"hook_started"`, `"hook_response"`, `"hook_progress"`, `"task_started"`, `"task_updated"`, `"task_progress"`,
		`"task_notification"`, `"background_tasks_changed"`, `"notification"`, `"informational"`, `"session_state_changed"`,
		`"permission_denied"`, `"thinking_tokens"`, `"model_fallback"`, `"model_refusal_no_fallback"`: // known, and told better by other events
	default:
		c.unknown("system/"+wire.Text(subtype), line)
	}
}

func (c *reader) planLimit(line []byte) {
	var e struct {
		Info struct {
			Status string `json:"status"`
			Resets int64  `json:"resetsAt"` // unix seconds
			Kind   string `json:"rateLimitType"`
		} `json:"rate_limit_info"`
	}
	if json.Unmarshal(line, &e) != nil {
		return
	}
	if e.Info.Status != "rejected" {
		c.resetAt, c.limit = time.Time{}, "" // allowed again, or only a warning
		return
	}
	c.limit = e.Info.Kind
	if e.Info.Resets > 0 {
		c.resetAt = time.Unix(e.Info.Resets, 0).UTC()
	}
	c.problem(ralph.AgentError{Class: ralph.ErrClassLimit, Message: "plan limit reached: " + e.Info.Kind, ResetAt: c.resetAt, Limit: c.limit}, false)
}

func (c *reader) result(line []byte) {
	var r result
	err := json.Unmarshal(line, &r)
	if odd := (*json.UnmarshalTypeError)(nil); err != nil && !errors.As(err, &odd) {
		c.stray(line)
		return
	} // a member of another type than known is left out, the result still counts
	c.results++
	c.open = false
	c.usage.add(&r)
	c.fill.result(r.All)
	c.turn.Emit(ralph.StreamEvent{Kind: ralph.StreamUsage, Usage: c.usage.total(false)})
	if r.Session != "" {
		c.session = r.Session
	}
	for _, d := range r.Denials {
		if !c.answered[d.ID] && len(c.denied) < wire.MaxDenied {
			c.denied = append(c.denied, toolCall(d.Tool, bytes.TrimSpace(d.Input)))
		}
	}
	c.last = r
}

// answerText is the final message: the last result's, or the main loop's last
// words when that is empty or there is none.
func (c *reader) answerText() string {
	s := c.last.Result
	if s == "" || c.open && c.words != "" {
		s = c.words
	}
	return text.Tail(strings.ToValidUTF8(s, "\uFFFD"), wire.MaxText)
}
