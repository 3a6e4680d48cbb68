package claudehook

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/agent/claude"
	"github.com/ralph-loop/ralph/internal/approval"
	"github.com/ralph-loop/ralph/internal/journal"
	"github.com/ralph-loop/ralph/internal/locate"
	"github.com/ralph-loop/ralph/internal/lookup"
	"github.com/ralph-loop/ralph/internal/proc"
	"github.com/ralph-loop/ralph/internal/step"
	"github.com/ralph-loop/ralph/internal/workspace"
	"github.com/ralph-loop/ralph/internal/worktree"
)

const (
	byHook    = "hook"          // who waits at such a gate (Gate.By)
	lookAgain = 5 * time.Second // a deadline is a time of the clock, and timers stand still while the machine sleeps
)

// hold is one tool call of a session of a person's own, and what there is to judge it by.
type hold struct {
	root    string // of the repository; "" outside of one
	environ []string
	config  approval.Settings
	disk    lookup.Disk
	q       ralph.Request
	wait    time.Duration
}

func newHold(env workspace.Env, in Input, wait time.Duration) (*hold, error) {
	env.Dir = projectOf(env)
	c, root, err := settings(env)
	if err != nil {
		return nil, err
	}
	if c.Gate.Timeout > 0 {
		wait = min(wait, c.Gate.Timeout)
	}
	return &hold{
		root: root, environ: env.Environ, config: workspace.PolicyConfig(c).Approval(), wait: wait,
		disk: worktree.Disk(cmp.Or(root, env.Dir), env.Environ), q: claude.RequestOf(in.Tool, in.Input, in.Dir),
	}, nil
}

// projectOf is the folder that claude was started in, as it tells its hooks: the session
// may be anywhere by now, and that must not lead away from the repository's settings.
func projectOf(env workspace.Env) string {
	dir := proc.Getenv(env.Environ, "CLAUDE_PROJECT_DIR")
	if info, err := os.Stat(dir); err == nil && info.IsDir() && filepath.IsAbs(dir) {
		return filepath.Clean(dir)
	}
	return env.Dir
}

// judge returns what the hook prints: nil where claude goes its own way.
func (h *hold) judge(ctx context.Context) (any, error) {
	var rules []*ralph.AnswerRule
	if h.root != "" {
		j, err := journal.Open(journal.Options{Root: h.root, Read: true, Me: locate.Me(), Alive: proc.Alive})
		if err != nil {
			return nil, err
		}
		rules = approval.ActiveRules(j.State(), "", time.Now())
		if err := j.Close(); err != nil {
			return nil, fmt.Errorf("read the rules: %w", err)
		}
	}
	word, _ := h.disk.Clear(h.q, h.config, rules)
	switch {
	case word.Verdict == ralph.Denied:
		return claude.PreTool("deny", cmp.Or(word.Text, word.Rule)), nil
	case word.Answered(), word.Gate != ralph.ApprovalOperation:
		return nil, nil
	case h.root == "":
		return claude.PreTool("deny", "held ("+word.Rule+"), and outside of a git repository nobody can be asked"), nil
	}
	return h.ask(ctx, word)
}

// ask writes the gate, with an engine at work here or without one, and waits for what
// becomes of it.
func (h *hold) ask(ctx context.Context, held approval.Ruling) (any, error) {
	if err := workspace.ExcludeRuntime(h.root, h.environ); err != nil {
		return nil, err
	}
	now := time.Now().UTC()
	hide := workspace.RedactorOf(workspace.Env{Environ: h.environ}, h.root)
	g := step.GateWithout(hide(), h.q, held, h.disk)
	g.ID, g.By, g.AskedAt, g.Deadline = ralph.ApprovalID(workspace.NewID("g")), byHook, now, now.Add(h.wait)
	said := make(chan ralph.Answered, 1) // the first answer is the one
	j, err := journal.Open(journal.Options{
		Root: h.root, NewID: workspace.NewID, Me: locate.Me(), Alive: proc.Alive, Redact: workspace.RedactFacts(hide),
		Observe: func(e ralph.Event, _ *ralph.State) {
			if f, ok := e.Fact.(ralph.Answered); ok && f.ID == g.ID {
				select {
				case said <- f:
				default:
				}
			}
		},
	})
	if err != nil {
		return nil, err
	}
	defer j.Close()
	if err := h.write(ctx, j, func(*ralph.State) []ralph.Fact { return []ralph.Fact{ralph.Asked{Approval: g}} }); err != nil {
		return nil, err
	}
	// By the clock of the machine as well, should somebody set back the other one.
	ctx, cancel := context.WithTimeout(ctx, h.wait)
	defer cancel()
	for {
		s := j.State() // first: what it has folded has been observed
		select {
		case f := <-said:
			return answeredTool(f, held), nil
		default:
		}
		if !waits(s, g.ID) {
			return claude.PreTool("deny", "the question was taken back"), nil
		}
		if ctx.Err() != nil || !time.Now().Before(g.Deadline) {
			if err := h.end(ctx, j, g); err != nil {
				return nil, err
			}
			continue // an answer may have come first; else this one is the answer
		}
		look, done := context.WithTimeout(ctx, min(lookAgain, time.Until(g.Deadline)))
		err := j.Wait(look, s.Seq)
		over := look.Err() != nil
		done()
		if err != nil && !over {
			return nil, fmt.Errorf("wait for an answer: %w", err)
		}
	}
}

func (h *hold) write(ctx context.Context, j *journal.File, facts func(*ralph.State) []ralph.Fact) error {
	err := j.Update(ctx, byHook, func(s *ralph.State) ([]ralph.Fact, error) { return facts(s), nil })
	if err != nil {
		return fmt.Errorf("ask a person: %w", err)
	}
	return nil
}

// end closes a gate that nobody waits at any more: its time is over, or claude has ended
// the hook. That never approves.
func (h *hold) end(ctx context.Context, j *journal.File, g ralph.Approval) error {
	f := ralph.Answered{ID: g.ID, Verdict: ralph.Expired, Text: fmt.Sprintf("nobody answered within %s: it is not allowed", h.wait)}
	if errors.Is(ctx.Err(), context.Canceled) {
		f = ralph.Answered{ID: g.ID, Verdict: ralph.Withdrawn, Text: "the session does not wait for it any more"}
	}
	return h.write(context.WithoutCancel(ctx), j, func(s *ralph.State) []ralph.Fact {
		if !waits(s, g.ID) {
			return nil
		}
		return []ralph.Fact{f}
	})
}

func waits(s *ralph.State, id ralph.ApprovalID) bool {
	return slices.ContainsFunc(s.Approvals, func(g *ralph.Approval) bool { return g.ID == id })
}

// answeredTool is a person's word as claude gets it.
func answeredTool(f ralph.Answered, held approval.Ruling) any {
	if f.Verdict == ralph.Approved {
		return claude.PreTool("allow", "a person approved it ("+held.Rule+")")
	}
	return claude.PreTool("deny", cmp.Or(strings.TrimSpace(f.Text), "a person said no"))
}
