package dashboard

import (
	"context"

	"github.com/ralph-loop/ralph/internal/doctor"
	"github.com/ralph-loop/ralph/internal/web"
	"github.com/ralph-loop/ralph/internal/workspace"
)

// doctorRun is `ralph doctor` for the dashboard (web.Doctor).
type doctorRun struct{ env workspace.Env }

// Run looks at everything that the command looks at.
func (d doctorRun) Run(ctx context.Context, say func(what string)) ([]web.Finding, error) {
	x := doctor.Examine(ctx, d.env, say)
	x.HideSecrets(d.env)
	out := make([]web.Finding, len(x.Findings))
	for i, f := range x.Findings {
		out[i] = web.Finding{Level: f.Level, What: f.What, Saw: f.Saw, Fix: f.Fix}
	}
	return out, ctx.Err()
}
