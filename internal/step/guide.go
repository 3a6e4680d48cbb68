package step

import (
	"context"
	"fmt"
	"strings"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/redact"
	"github.com/ralph-loop/ralph/internal/regular"
	"github.com/ralph-loop/ralph/internal/signature"
	"github.com/ralph-loop/ralph/internal/text"
	"github.com/ralph-loop/ralph/internal/thread"
)

// Guider makes guidance, over models.
type Guider interface {
	// Guide makes a part of the guidance before a thread's first turn. Its error is only that of ctx.
	Guide(ctx context.Context, part ralph.GuidancePart, in signature.DirectiveIn, requirements []string) (ralph.Guided, error)
	// Direct says what comes after a turn of a guided thread.
	Direct(ctx context.Context, s *thread.State, in signature.DirectiveIn) (Advice, string, error)
}

// maxReadme is how much of a file guidance is told, in bytes.
const maxReadme = 2 << 10

// guide makes one part of a thread's guidance. Research looks at the repository, the others ask a
// model.
func (x *Executor) guide(ctx context.Context, s *ralph.State, t *ralph.Task, step ralph.Guide) ([]ralph.Fact, error) {
	begin := x.Now()
	f := ralph.Guided{Outcome: ralph.GuidedAnswered, By: "ralph", Reason: "how the repository stands", Confidence: 1}
	var err error
	switch {
	case step.Part == ralph.GuideResearch:
		f.Summary = x.research(ctx, s, t)
	case x.Guider == nil:
		f.Outcome, f.Reason, f.Confidence = ralph.GuidedNobody, "no model is set", 0
	default:
		in := thread.GuidanceInput(t, t.Run.Thread.Guidance.Summary, x.permissionWords())
		if f, err = x.Guider.Guide(ctx, step.Part, in, t.Run.Thread.Guidance.Requirements); err != nil {
			return nil, fmt.Errorf("guide the thread: %w", err)
		}
	}
	f.Task, f.Part, f.Took = t.ID, step.Part, x.Now().Sub(begin)
	return []ralph.Fact{redact.Value(x.Redact, f)}, nil
}

// direct asks what comes after a turn of a guided thread, with the repository looked at anew.
func (x *Executor) direct(ctx context.Context, s *ralph.State, t *ralph.Task, state *thread.State) (Advice, string, error) {
	in := thread.GuidanceInput(t, x.research(ctx, s, t), x.permissionWords())
	in.LastMessage = state.Message
	in.DiffSummary = signature.Diff{Files: state.Diff.Files, Added: state.Diff.Added, Deleted: state.Diff.Deleted}
	return x.Guider.Direct(ctx, state, in)
}

// permissionWords say what the agent may do.
func (x *Executor) permissionWords() string {
	words := "It changes files of the repository and runs commands there. What is on ralph's never list waits for a person, whatever is planned: " +
		"a forced push, deleting what is outside, dropping databases, publishing, deploying."
	if x.Config.Sandbox != "" {
		words += " A sandbox keeps it from writing elsewhere."
	}
	if x.Config.Approvals != "" {
		words += " gate.approvals: " + x.Config.Approvals + "."
	}
	return words
}

// research is how the repository stands, by what lies there: what is not known is left out.
func (x *Executor) research(ctx context.Context, s *ralph.State, t *ralph.Task) string {
	dir := x.dir(t)
	var v thread.Survey
	if x.Survey != nil {
		if seen, err := x.Survey(ctx, dir); err == nil {
			v = seen
		}
	}
	for _, c := range x.Checks {
		v.Checks = append(v.Checks, c.Command)
	}
	for _, name := range []string{"README.md", "README", "readme.md", "README.txt"} {
		if v.Readme = readHead(dir, name, maxReadme); v.Readme != "" {
			break
		}
	}
	v.Notes = readTail(dir, progressFile, maxReadme)
	return thread.Research(v, s, t)
}

// readHead is the beginning of a file in a work tree, "" where it cannot be read.
func readHead(dir, name string, most int) string {
	b, err := regular.Head(dir, name, int64(most))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(strings.ToValidUTF8(text.Plain(string(b)), ""))
}
