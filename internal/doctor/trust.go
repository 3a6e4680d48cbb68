package doctor

import (
	"context"
	"strings"

	"github.com/ralph-loop/ralph/internal/bootstrap"
	"github.com/ralph-loop/ralph/internal/config"
	"github.com/ralph-loop/ralph/internal/sandbox"
	"github.com/ralph-loop/ralph/internal/trust"
	"github.com/ralph-loop/ralph/internal/workspace"
)

// trusts says what the repository brings along that nobody has said yes to, and whether
// there is nothing of it.
func (x *examination) trusts(ctx context.Context, env workspace.Env, root string, c config.Config) bool {
	items, known, err := trust.Untrusted(ctx, env, root, c, nil)
	switch {
	case err != nil:
		x.refused("trust", err)
		x.Strange = true
	case len(items) > 0:
		x.problem("trust", strings.TrimRight(trust.Words(root, items, known), "\n"), trust.How)
		x.Strange = true
	}
	return !x.Strange
}

// whoAnswers says which way of answering agents holds here, and why.
func (x *examination) whoAnswers(env workspace.Env, c config.Config) {
	word, why := bootstrap.ApprovalsNow(c, env.Environ)
	if word != bootstrap.ApprovalsAsk || c.Gate.Approvals != bootstrap.ApprovalsAuto {
		x.ok("approvals", "gate.approvals is %s here: %s", word, why)
		return
	}
	fix := "install bubblewrap"
	switch {
	case c.Sandbox.Kind == sandbox.Off:
		fix = "set sandbox.kind: auto"
	case c.Isolation == "none":
		fix = "isolation: auto, or install bubblewrap"
	}
	x.note("approvals", "gate.approvals is ask here: "+why+"; each command that does more than read waits for you", fix+", or gate.approvals: policy")
}
