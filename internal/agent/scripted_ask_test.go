package agent_test

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/ralphtest"
)

const asks = `
  - do:
    - event: {kind: plan.updated, plan: [{text: look, status: pending}]}
    - ask: {command: make dist, dir: sub, allow: [{say: made}], deny: [{say: "denied: {{.Answer}}"}]}
    - ask: {question: "Which?", options: [red, blue], answers: {red: [{say: red}], "b*": [{say: "it is {{.Answer}}"}]}}
    - signal: COMPLETE
`

// E-025, E-027: the scripted agent asks, the answers decide what it does next, and the
// time limit of the turn stands still meanwhile; nothing is left in its folder.
func TestScriptedAsks(t *testing.T) {
	t.Parallel()
	d, in := playing(t, asks)
	in.Timeout = time.Duration(ralphtest.Rounds(3, 5)) * time.Second // with many others beside it a start takes a while
	var kinds []string
	on := ralph.TurnHooks{
		Event: func(e ralph.StreamEvent) {
			if e.Kind != ralph.StreamOutput { // the agent prints on before we have noted its answer
				kinds = append(kinds, string(e.Kind))
			}
		},
		Ask: func(ctx context.Context, q ralph.Request) (ralph.Reply, error) {
			switch {
			case q.Op == ralph.OpCommand && q.Command == "make dist" && q.Dir == "sub":
				over := time.NewTimer(in.Timeout + in.Timeout/10) // longer than the turn may take
				defer over.Stop()
				<-over.C
				return ralph.Reply{Allow: true}, nil
			case q.Kind == ralph.RequestQuestion && slices.Equal(q.Options, []string{"red", "blue"}):
				return ralph.Reply{Text: "blue"}, nil
			}
			return ralph.Reply{}, errors.New("what is " + q.Text)
		},
	}
	res, err := d.Turn(t.Context(), in, on)
	if err != nil || res.Exit != ralph.ExitOK || res.Text != "made\nit is blue\n<ralph>COMPLETE</ralph>\n" || res.Waited < in.Timeout {
		t.Errorf("%+v %v", res, err)
	}
	if got := strings.Join(kinds, " "); got != "turn.started plan.updated approval.requested request.resolved input.requested request.resolved" {
		t.Error(got)
	}
	if left, _ := filepath.Glob(filepath.Join(in.Scratch, "ask-*")); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

// Without anybody to ask it is a denial; a reply that stops ends the turn; so does a
// broken machinery, as an error.
func TestScriptedAsksInVain(t *testing.T) {
	t.Parallel()
	broken := errors.New("disk full")
	reply := func(r ralph.Reply, err error) func(context.Context, ralph.Request) (ralph.Reply, error) {
		return func(context.Context, ralph.Request) (ralph.Reply, error) { return r, err }
	}
	for _, tt := range []struct {
		name string
		ask  func(context.Context, ralph.Request) (ralph.Reply, error)
		exit ralph.ExitKind
		said string
		err  error
	}{
		{"nobody", nil, ralph.ExitOK, "denied: nobody can be asked", nil},
		{"denied", reply(ralph.Reply{Text: "no"}, nil), ralph.ExitOK, "denied: no\n", nil},
		{"stop", reply(ralph.Reply{Stop: true}, nil), ralph.ExitUser, "", nil},
		{"broken", reply(ralph.Reply{}, broken), "", "", broken},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			d, in := playing(t, asks)
			res, err := d.Turn(t.Context(), in, ralph.TurnHooks{Ask: tt.ask})
			if !errors.Is(err, tt.err) || tt.err == nil && (err != nil || res.Exit != tt.exit || !strings.HasPrefix(res.Text, tt.said)) {
				t.Errorf("%+v %v", res, err)
			}
		})
	}
}

// An agent that needs no answer any more, and a turn that is ended, end the wait.
func TestScriptedTakesBack(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		within string
		end    bool
		exit   ralph.ExitKind
	}{{"20ms", false, ralph.ExitOK}, {"1us", false, ralph.ExitOK}, {"1h", true, ralph.ExitUser}} {
		d, in := playing(t, "\n  - do:\n    - ask: {tool: fetch, within: "+tt.within+"}\n    - say: on\n")
		ctx, end := context.WithCancel(t.Context())
		over := false
		res, err := d.Turn(ctx, in, ralph.TurnHooks{Ask: func(ctx context.Context, _ ralph.Request) (ralph.Reply, error) {
			if tt.end {
				end()
			}
			<-ctx.Done()
			over = true
			return ralph.Reply{}, ctx.Err()
		}})
		end()
		if err != nil || res.Exit != tt.exit || !over {
			t.Errorf("within %s: %+v %v", tt.within, res, err)
		}
	}
}
