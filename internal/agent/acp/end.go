package acp

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/agent/wire"
	"github.com/ralph-loop/ralph/internal/text"
)

// conclude settles the turn. A person's stop outweighs all; then what the agent answered,
// which also outweighs our own time limit when it was only slow to leave; the exit code
// counts only where there is no answer.
func (a *turn) conclude(res ralph.TurnResult) (ralph.TurnResult, error) {
	t, l := a.t, a.log
	t.Mu.Lock()
	defer t.Mu.Unlock()
	l.stderr.Close()
	l.close()
	l.declined()
	a.recall()
	halted := a.ended()
	a.mu.Lock()
	askErr := a.askErr
	a.mu.Unlock()
	if askErr != nil {
		return res, askErr
	}
	res.Events, res.Dropped = a.wire.lines.N+l.stderr.N, a.wire.lines.Dropped
	if res.Exit == ralph.ExitSpawn {
		return res, nil
	}
	res.Text, res.Session, res.Denied, res.Context = strings.ToValidUTF8(l.text.String(), "\uFFFD"), l.session, l.denied, l.context
	crashed := res.Exit == ralph.ExitCrashed
	switch {
	case halted != nil && !errors.Is(halted, wire.ErrOverTime):
		res.Exit = ralph.ExitUser
	case l.end.stop != "" && (halted == nil || l.end.stop != "cancelled"):
		a.judge(&res)
	case halted != nil:
		res.Exit = ralph.ExitTimeout
	case l.end.err != nil:
		res.Exit, res.Err = ralph.ExitFailed, l.end.err
		if l.end.lost {
			res.Session = "" // so that the next try does not ask for it again
		}
	case crashed:
	default:
		res.Exit, res.Err = ralph.ExitFailed, wire.Failure(l.errs.String(), l.noise.String())
		if res.Code == 0 {
			res.Err.Class = ralph.ErrClassOutput
		}
		if res.Err.Message == "" {
			res.Err.Message = fmt.Sprintf("%s ended with exit code %d before it answered; does it speak the Agent Client Protocol?",
				strings.Join(a.driver.spec.Command, " "), res.Code)
		}
	}
	res.Usage = a.used()
	t.Emit(ralph.StreamEvent{Kind: ralph.StreamUsage, Thread: l.session, Usage: res.Usage, Context: l.context})
	t.Emit(ralph.StreamEvent{Kind: ralph.StreamTurnDone, Thread: l.session, Status: wire.EndStatus(res.Exit), Err: res.Err})
	return res, nil
}

// recall takes the answer to the prompt that the wire has read and the SDK has not given
// on: its connection ends as soon as the agent reads no more, and an agent that is
// cancelled may answer the prompt and leave without waiting for an answer of ours.
func (a *turn) recall() {
	w, l := &a.wire, a.log
	if !a.prompted || l.end.stop != "" || l.end.err != nil {
		return
	}
	switch {
	case w.answer != nil:
		l.end = answeredPrompt(w.answer)
	case w.failed != nil:
		l.end.err = w.failed.agentError()
	}
}

// judge settles a turn that the agent has answered.
func (a *turn) judge(res *ralph.TurnResult) {
	l := a.log
	fail := func(class ralph.ErrorClass, message string) {
		res.Exit, res.Err = ralph.ExitFailed, &ralph.AgentError{Class: class, Message: message}
	}
	res.Exit = ralph.ExitOK
	switch l.end.stop {
	case "end_turn":
		if l.broken || !a.accounted() {
			res.Exit, res.Err = ralph.ExitFailed, l.hidden(res.Text)
		}
	case "cancelled":
		// Some end a turn whose request was denied; the denial is the turn's result.
		if len(l.refused) == 0 && !l.stopped {
			fail(ralph.ErrClassOther, "the agent says that its turn was cancelled")
		}
	case "refusal":
		fail(ralph.ErrClassRefusal, cmp.Or(strings.TrimSpace(res.Text), "the model refused"))
	case "max_tokens":
		fail(ralph.ErrClassOther, "the model's answer reached its length limit")
	case "max_turn_requests":
		fail(ralph.ErrClassBudget, "the agent reached its own limit of requests in one turn")
	default:
		fail(ralph.ErrClassOutput, "the agent ended its turn with an unknown stopReason: "+l.end.stop)
	}
}

// hidden is the error of a turn that says end_turn and has failed. Its words are the
// agent's last message; the status may only have been told when it was tried again.
func (l *log) hidden(said string) *ralph.AgentError {
	message := cmp.Or(strings.TrimSpace(said), l.failure)
	e := &ralph.AgentError{Status: wire.StatusIn(message), Message: text.Tail(strings.TrimSpace(message), wire.MaxMessage)}
	if e.Status == 0 {
		e.Status = l.status
	}
	e.Class = wire.ClassOf(e.Status, message)
	if e.Class == ralph.ErrClassOther && l.failure != "" {
		e.Class = ralph.ErrClassServer // it had tried to connect again
	}
	if e.Message == "" {
		e.Message = "the agent ended its turn without saying what it used: it has failed, and does not say why"
	}
	return e
}

// counts is what the response to a prompt says of tokens.
type counts struct {
	Usage *struct {
		Input      int64 `json:"inputTokens"`
		Output     int64 `json:"outputTokens"`
		CacheRead  int64 `json:"cachedReadTokens"`
		CacheWrite int64 `json:"cachedWriteTokens"`
	} `json:"usage"`
	Meta struct {
		Quota struct {
			Count *struct {
				Input  int64 `json:"input_tokens"`
				Output int64 `json:"output_tokens"`
			} `json:"token_count"`
		} `json:"quota"`
	} `json:"_meta"`
}

func (l *log) counts() (c counts) {
	tolerant(l.end.result, &c)
	return c
}

// accounted reports whether the turn says what it used, as its agent does otherwise.
func (a *turn) accounted() bool {
	d, l := a.driver, a.log
	c := l.counts()
	d.mu.Lock()
	defer d.mu.Unlock()
	if c.Usage != nil || c.Meta.Quota.Count != nil {
		d.usage[l.agent] = true
		return true
	}
	return !d.usage[l.agent] && !reportsUsage(l.agent)
}

// used is what the turn used. Costs are told for the whole session so far; Claude's
// begin anew in each process. A session that goes on whose earlier cost nobody knows
// (ralph has started since) has an unknown cost.
func (a *turn) used() ralph.Usage {
	d, l := a.driver, a.log
	if !l.live {
		return ralph.Usage{Known: true} // the model was not asked
	}
	c := l.counts()
	var u ralph.Usage
	switch {
	case c.Usage != nil:
		u = ralph.Usage{Input: c.Usage.Input, Output: c.Usage.Output, CacheRead: c.Usage.CacheRead, CacheWrite: c.Usage.CacheWrite}
		if l.agent == copilotACP || strings.HasSuffix(l.agent, codexACP) {
			u.Input = max(0, u.Input-u.CacheRead) // theirs includes what was cached
		}
	case c.Meta.Quota.Count != nil:
		u = ralph.Usage{Input: c.Meta.Quota.Count.Input, Output: c.Meta.Quota.Count.Output}
	}
	if l.cost == nil {
		return u
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	before, known := d.spent[l.session]
	switch {
	case l.before != nil:
		before, known = *l.before, true
	case a.t.In.Resume == "", strings.HasSuffix(l.agent, claudeACP):
		before, known = 0, true
	}
	d.spent[l.session] = *l.cost
	if known {
		u.Cost = max(0, *l.cost-before)
		// opencode says 0 where it has no price, and of a turn that was cut short.
		u.Known = u.Cost > 0 || l.end.err != nil
	}
	return u
}
