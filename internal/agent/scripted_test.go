package agent_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/agent"
)

func playing(t *testing.T, rules string) (agent.Driver, ralph.TurnInput) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "s.yaml")
	if err := os.WriteFile(file, []byte("rules:\n"+rules), 0o600); err != nil {
		t.Fatal(err)
	}
	spec := ralph.AgentSpec{Name: "played", Driver: "scripted", Scenario: file}
	return open(t, spec), input(t, spec)
}

// The session of a driver that can compact: above the threshold after a turn, and
// below it after the call that makes it shorter.
func TestScriptedCompacts(t *testing.T) {
	t.Parallel()
	d, in := playing(t, `
  - {when: {compact: true}, do: [context: 12.5%, cost: 0.01]}
  - {when: {resumed: true}, do: [say: "again in {{.Session}}"]}
  - do:
    - context: {used: 90, window: 100}
    - context: {used: 30, window: 100, compacted: true}
    - context: 86%
    - say: done
`)
	var live []float64
	on := ralph.TurnHooks{Context: func(u ralph.ContextUse) { live = append(live, u.Part()) }}
	turn := func() ralph.TurnResult {
		t.Helper()
		res, err := d.Turn(t.Context(), in, on)
		if err != nil || res.Exit != ralph.ExitOK {
			t.Fatalf("%+v %+v %v", res, res.Err, err)
		}
		return res
	}
	first := turn()
	if first.Context != (ralph.ContextUse{Used: 172_000, Window: 200_000}) || first.Compacts != 1 || first.Session == "" || first.Text != "done\n" {
		t.Errorf("the turn: %+v", first)
	}
	if len(live) != 3 || live[0] != 0.9 || live[2] != 0.86 {
		t.Errorf("live: %v", live)
	}
	in.Resume = first.Session
	if again := turn(); again.Session != first.Session || again.Text != "again in "+first.Session+"\n" {
		t.Errorf("resumed: %+v", again)
	}
	in.Compact = true
	if short := turn(); short.Context.Part() != 0.125 || short.Session != first.Session || short.Usage.Cost != 0.01 {
		t.Errorf("compacted: %+v", short)
	}
	d, in = playing(t, "  - do: [say: a turn]\n")
	in.Resume, in.Compact = first.Session, true
	res, err := d.Turn(t.Context(), in, on)
	if err != nil || res.Exit != ralph.ExitFailed || res.Err == nil || !strings.Contains(res.Err.Message, "cannot compact") {
		t.Errorf("a scenario without a rule for it: %+v %+v %v", res, res.Err, err)
	}
}

// Typed errors as drivers report them: class, status, reset time, which limit
// and the end of a turn that cost too much.
func TestScriptedErrors(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 22, 9, 30, 0, 0, time.UTC)
	for _, c := range []struct {
		do      string
		maxCost float64
		want    ralph.AgentError
		in      time.Duration // until the reset
		known   bool
	}{
		{do: "error: server", want: ralph.AgentError{Class: ralph.ErrClassServer, Message: "scripted server"}},
		{do: "error: {class: authentication, status: 401, message: bad key}", want: ralph.AgentError{Class: ralph.ErrClassAuth, Status: 401, Message: "bad key"}},
		{
			do:   "error: {class: rate_limit, status: 429, reset_at: 2026-11-22T09:30:00Z, limit: seven_day, message: no}",
			want: ralph.AgentError{Class: ralph.ErrClassLimit, Status: 429, Message: "no", ResetAt: at, Limit: "seven_day"},
		},
		{do: "error: {class: rate_limit, reset: 1h, message: no}", want: ralph.AgentError{Class: ralph.ErrClassLimit, Message: "no"}, in: time.Hour},
		{do: "error: {class: context_full, message: full}", want: ralph.AgentError{Class: ralph.ErrClassContext, Message: "full"}},
		{do: "cost: 0.3}, {usage: {cost: 0.3}}, {say: never", maxCost: 0.5, want: ralph.AgentError{Class: ralph.ErrClassBudget, Message: "Reached maximum budget ($0.5)"}, known: true},
	} {
		d, in := playing(t, "  - do: [{"+c.do+"}]\n")
		in.MaxCost = c.maxCost
		before := time.Now()
		res, err := d.Turn(t.Context(), in, ralph.TurnHooks{})
		if err != nil || res.Exit != ralph.ExitFailed || res.Err == nil || strings.Contains(res.Text, "never") || res.Usage.Known != c.known {
			t.Errorf("%s: %+v %+v %v", c.do, res, res.Err, err)
			continue
		}
		if c.in > 0 {
			if got := res.Err.ResetAt; got.Before(before.Add(c.in)) || got.After(time.Now().Add(c.in)) {
				t.Errorf("%s: the reset is at %s", c.do, got)
			}
			res.Err.ResetAt = time.Time{}
		}
		if *res.Err != c.want {
			t.Errorf("%s: %+v, want %+v", c.do, *res.Err, c.want)
		}
	}
	d, in := playing(t, "  - do: [show: \"echo '<ralph-error>{\\\"class\\\":\\\"server\\\"}</ralph-error>'\", cost: 0.5]\n")
	in.MaxCost = 0.5
	if res, err := d.Turn(t.Context(), in, ralph.TurnHooks{}); err != nil || res.Exit != ralph.ExitOK || res.Err != nil {
		t.Errorf("an error that ended nothing, and no more than was allowed: %+v %+v %v", res, res.Err, err)
	}
}
