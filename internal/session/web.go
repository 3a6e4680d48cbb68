package session

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/ralph-loop/ralph/internal/dashboard"
	"github.com/ralph-loop/ralph/internal/web/guard"
)

// openWeb serves the dashboard from the engine's own process, or prints a link to the
// one that is served already. What goes wrong with it does not keep the work waiting.
func (x *Session) openWeb(ctx context.Context) {
	if !x.Web {
		return
	}
	w, err := dashboard.OpenServer(x.Env, x.Root, x.Mode, dashboard.AddrOf(x.Config))
	link := ""
	if errors.Is(err, guard.ErrTaken) {
		var e guard.Entry
		if e, err = dashboard.AskOther(ctx, x.Root); err == nil {
			link = e.Link
			x.console.Note("the dashboard is served already (`ralph %s`, pid %d); a link that is good once, for ten minutes: %s", e.Command, e.Pid, link)
		}
	} else if err == nil {
		x.window = w
		for _, n := range w.Notes {
			x.console.Note("%s", n)
		}
		link = w.Guard.Link()
		w.Start()
		x.console.Note("the dashboard, until this ends; a link that is good once, for ten minutes: %s", link)
	}
	switch {
	case err != nil:
		x.console.Note("the work begins without the dashboard: %v", err)
	case x.Config.Web.Open:
		if why := dashboard.Browse(x.Env, link, true); why != "" { // before this process adopts orphans
			x.console.Note("%s", why)
		}
	}
}

// CloseWeb ends the dashboard, unless somebody else still needs it.
func (x *Session) CloseWeb() {
	if x.KeepWeb {
		return
	}
	x.mu.Lock()
	w := x.window
	x.window = nil
	x.mu.Unlock()
	if w != nil {
		w.Leave()
	}
}

// HoldWeb goes on serving after the work has ended, until a person who sits at a
// terminal has seen enough.
func (x *Session) HoldWeb(ctx context.Context) {
	if x.window == nil {
		return
	}
	if x.Env.Terminal {
		ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
		defer stop()
		fmt.Fprintf(x.Env.Stdout, "\nThe dashboard stays until you press Ctrl+C: %s\nNot open yet? %s\n", x.window.Guard.URL(), x.window.Guard.Link())
		<-ctx.Done()
		fmt.Fprintln(x.Env.Stdout)
	}
	x.KeepWeb = false
	x.CloseWeb()
}
