package dashboard

import (
	"context"
	"fmt"
	"io"
	"os"
	"strconv"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/config"
	"github.com/ralph-loop/ralph/internal/web/guard"
	"github.com/ralph-loop/ralph/internal/workspace"
)

// AskOther asks the process that serves the dashboard for a link.
func AskOther(ctx context.Context, root string) (guard.Entry, error) {
	ctx, cancel := context.WithTimeout(ctx, otherLimit)
	defer cancel()
	e, err := guard.Ask(ctx, workspace.StateDir(root))
	if err != nil {
		who, hint := "another process", "end it and start again"
		if e.Pid > 0 {
			who, hint = fmt.Sprintf("another process (pid %d)", e.Pid), fmt.Sprintf("end it (kill %d) and start again", e.Pid)
		}
		return e, &ralph.Refusal{Why: fmt.Sprintf("%s serves the dashboard of this repository, and does not answer: %v", who, err), Hint: hint, Kind: ralph.ErrActive}
	}
	return e, nil
}

// AddrOfWeb is where the settings have the dashboard listen, and whether they have the
// browser opened. Settings that cannot be read are no reason to show nothing: the
// dashboard is a place to mend them.
func AddrOfWeb(env workspace.Env, root string, notes io.Writer) (ListenAddr, bool) {
	c, err := workspace.LoadConfig(env, root, nil)
	if err != nil {
		fmt.Fprintf(notes, "The settings cannot be used, so the dashboard listens where it does without them:\n%v\n\n", err)
		return ListenAddr{Addr: config.Defaults().Web.Addr}, false
	}
	return AddrOf(c), c.Web.Open
}

// BuildOf changes with every build of ralph, also between two of the same version: a
// page of another one loads itself anew.
func BuildOf(env workspace.Env) string {
	info, err := os.Stat(env.Self)
	if err != nil {
		return env.Version
	}
	return env.Version + "-" + strconv.FormatInt(info.ModTime().UnixNano()^info.Size(), 36)
}
