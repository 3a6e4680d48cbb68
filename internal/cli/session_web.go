package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/ralph-loop/ralph/internal/web/guard"
)

// openWeb serves the dashboard from the engine's own process, or prints a link to the
// one that is served already. What goes wrong with it does not keep the work waiting.
func (x *session) openWeb(ctx context.Context) {
	if !x.web {
		return
	}
	w, err := openWindow(x.env, x.root, x.mode, placeOf(x.config))
	link := ""
	if errors.Is(err, guard.ErrTaken) {
		var e guard.Entry
		if e, err = askOther(ctx, x.root); err == nil {
			link = e.Link
			x.console.note("the dashboard is served already (`ralph %s`, pid %d); a link that is good once, for ten minutes: %s", e.Command, e.Pid, link)
		}
	} else if err == nil {
		x.window = w
		for _, n := range w.notes {
			x.console.note("%s", n)
		}
		link = w.guard.Link()
		w.start()
		x.console.note("the dashboard, until this ends; a link that is good once, for ten minutes: %s", link)
	}
	switch {
	case err != nil:
		x.console.note("the work begins without the dashboard: %v", err)
	case x.config.Web.Open:
		if why := browse(x.env, link, true); why != "" { // before this process adopts orphans
			x.console.note("%s", why)
		}
	}
}

// closeWeb ends the dashboard, unless somebody else still needs it.
func (x *session) closeWeb() {
	if x.window != nil && !x.keepWeb {
		x.window.leave()
		x.window = nil
	}
}

// holdWeb goes on serving after the work has ended, until a person who sits at a
// terminal has seen enough.
func (x *session) holdWeb(ctx context.Context) {
	if x.window == nil {
		return
	}
	if x.env.Terminal {
		ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
		defer stop()
		fmt.Fprintf(x.env.Stdout, "\nThe dashboard stays until you press Ctrl+C: %s\nNot open yet? %s\n", x.window.guard.URL(), x.window.guard.Link())
		<-ctx.Done()
		fmt.Fprintln(x.env.Stdout)
	}
	x.keepWeb = false
	x.closeWeb()
}
