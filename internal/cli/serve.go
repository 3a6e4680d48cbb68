package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/dashboard"
	"github.com/ralph-loop/ralph/internal/web/guard"
	"github.com/ralph-loop/ralph/internal/workspace"
	"github.com/spf13/cobra"
)

func newServe(env workspace.Env) *cobra.Command {
	var f serveFlags
	cmd := &cobra.Command{
		Use: "serve", Short: "The web dashboard: see everything, act on everything", Args: cobra.NoArgs,
		Long: `Serves the dashboard of this repository, and prints a link to it that is good once,
for ten minutes: the browser that opens it stays in for thirty days. Where it runs
already, another ` + "`ralph serve`" + ` prints a new link.

It works beside an engine and without one. Ctrl+C ends the dashboard, not the work.

Only this machine reaches it, unless you give another address: then whoever gets hold
of a link acts as you, and nothing on the way is encrypted. From another machine
better use a tunnel: ssh -L 7777:localhost:7777 <this machine>`,
		Example: "  ralph serve\n  ralph serve --open\n  ralph serve --addr 127.0.0.1:8080\n  ralph serve --json      {\"url\", \"link\", \"pid\"}, for programs",
		RunE: func(cmd *cobra.Command, _ []string) error {
			f.openGiven = cmd.Flags().Changed("open")
			return runServe(cmd.Context(), env, f)
		},
	}
	cmd.Flags().StringVar(&f.addr, "addr", "", "where to listen, `host:port` (also web.addr in ralph/config.yaml, on this machine alone; default 127.0.0.1:7777, or the next free port)")
	cmd.Flags().BoolVar(&f.open, "open", false, "open the link in your browser (also web.open in ralph/config.yaml)")
	cmd.Flags().BoolVar(&f.json, "json", false, "print where it is as JSON, once")
	return cmd
}

// serveFlags are what a person says on the command line.
type serveFlags struct {
	addr            string
	open, openGiven bool
	json            bool
}

func runServe(ctx context.Context, env workspace.Env, f serveFlags) error {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	root, err := workspace.FindRoot(env)
	if err != nil {
		return err
	}
	notes := env.Stdout
	if f.json {
		notes = env.Stderr
	}
	at, open := dashboard.AddrOfWeb(env, root, notes)
	if f.addr != "" {
		at = dashboard.ListenAddr{Addr: f.addr, By: "--addr"}
	}
	if f.openGiven {
		open = f.open
	}
	w, err := dashboard.OpenServer(env, root, "serve", at)
	if errors.Is(err, guard.ErrTaken) {
		return showOther(ctx, env, root, f, open)
	}
	if err != nil {
		return err
	}
	defer w.Close()
	for _, n := range w.Notes {
		fmt.Fprintln(notes, n)
	}
	link := w.Guard.Link()
	if f.json {
		err = printEntry(env.Stdout, w.Guard.URL(), link, os.Getpid())
	} else {
		_, err = fmt.Fprintf(env.Stdout, "The dashboard of %s is at %s\nOpen this link; it is good once, for ten minutes:\n\n  %s\n\nCtrl+C ends the dashboard, not the work.\n", filepath.Base(root), w.Guard.URL(), link)
	}
	if err != nil {
		return fmt.Errorf("print the link: %w", err) // nobody could come in
	}
	if open {
		say(notes, dashboard.Browse(env, link, false))
	}
	if err := w.Run(ctx); err != nil || f.json {
		return err
	}
	goesOn := ""
	if w.Board.Context().Engine {
		goesOn = " The work goes on: `ralph status`, `ralph stop`."
	}
	fmt.Fprintf(env.Stdout, "The dashboard has ended.%s\n", goesOn)
	return nil
}

// showOther prints a link to the dashboard that another process serves.
func showOther(ctx context.Context, env workspace.Env, root string, f serveFlags, open bool) error {
	e, err := dashboard.AskOther(ctx, root)
	if err != nil {
		return err
	}
	if f.addr != "" && dashboard.PortOf(f.addr) != "0" && dashboard.PortOf(f.addr) != dashboard.PortOf(e.Address) {
		return &ralph.Refusal{
			Why:  fmt.Sprintf("the dashboard of this repository is served at %s already (`ralph %s`, pid %d)", e.URL, e.Command, e.Pid),
			Hint: fmt.Sprintf("end that one first (kill %d), or leave --addr out to get a link to it", e.Pid), Kind: ralph.ErrActive,
		}
	}
	notes := env.Stdout
	if f.json {
		notes = env.Stderr
		err = printEntry(env.Stdout, e.URL, e.Link, e.Pid)
	} else {
		_, err = fmt.Fprintf(env.Stdout, "The dashboard of %s runs already, at %s (`ralph %s`, pid %d)\nA new link; it is good once, for ten minutes:\n\n  %s\n", filepath.Base(root), e.URL, e.Command, e.Pid, e.Link)
	}
	if err != nil {
		return fmt.Errorf("print the link: %w", err)
	}
	if e.Build != dashboard.BuildOf(env) {
		fmt.Fprintf(notes, "It was started by another build of ralph than this one: end it (kill %d) and start it again.\n", e.Pid)
	}
	if open {
		say(notes, dashboard.Browse(env, e.Link, false))
	}
	return nil
}

func say(w io.Writer, text string) {
	if text != "" {
		fmt.Fprintln(w, text)
	}
}

func printEntry(w io.Writer, url, link string, pid int) error {
	return json.NewEncoder(w).Encode(struct {
		URL  string `json:"url"`
		Link string `json:"link"`
		Pid  int    `json:"pid"`
	}{url, link, pid})
}
