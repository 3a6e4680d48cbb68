package cli

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ralph-loop/ralph/internal/cli/flags"
	"github.com/ralph-loop/ralph/internal/cli/inspect"
	"github.com/ralph-loop/ralph/internal/demo"
	"github.com/ralph-loop/ralph/internal/person"
	"github.com/ralph-loop/ralph/internal/ui"
	"github.com/ralph-loop/ralph/internal/ui/watch"
	"github.com/ralph-loop/ralph/internal/workspace"
)

func newUI(env workspace.Env) *cobra.Command {
	var f uiFlags
	cmd := &cobra.Command{
		Use: "ui", Short: "The terminal screen: see everything, act on everything", Args: cobra.NoArgs,
		Long: `Shows the work in this terminal, live, and acts on it: the same state, actions and keys
as the dashboard (` + "`ralph serve`" + `). ? lists the keys that do something now, : finds every
action by its name.

It works beside an engine and without one, and can start one, which outlives it. q leaves
the screen, not the work. Where no screen can be shown (no terminal, TERM=dumb) it says why, and is
` + "`ralph log -f`" + ` instead.`,
		Example: "  ralph ui\n  ralph ui --theme light\n  ralph demo --parallel --ui",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runUI(cmd.Context(), env, f)
		},
	}
	cmd.Flags().StringVar(&f.theme, "theme", "", "dark or light (default: as the terminal's background is)")
	cmd.Flags().BoolVar(&f.noMouse, "no-mouse", false, "leave the mouse to the terminal")
	return cmd
}

// logInstead is how many lines of what came before a log that takes the place of the screen begins with.
const logInstead = 50

// noScreen reports that no screen can be shown, and says why, and what there is instead.
func noScreen(env workspace.Env, instead string) bool {
	why := ui.Impossible(env)
	if why == "" {
		return false
	}
	fmt.Fprintf(env.Stderr, "ralph: no screen can be shown: %s; %s\n", why, instead)
	return true
}

// uiFlags are what a person says on the command line.
type uiFlags struct {
	theme   string
	noMouse bool
	hello   string // said at first

	mode   string   // the engine to be started first
	launch []string // its command line; nil: none is
}

func runUI(ctx context.Context, env workspace.Env, f uiFlags) error {
	if f.theme != "" && f.theme != "dark" && f.theme != "light" {
		return flags.Errorf("--theme %s: use dark or light", f.theme)
	}
	root, err := workspace.FindRoot(env)
	if err == nil {
		err = workspace.NeedsSetup(root)
	}
	if err != nil {
		return err
	}
	if f.launch == nil && noScreen(env, "`ralph log -f` shows what happens instead, until Ctrl+C") {
		return inspect.RunLog(ctx, env, inspect.LogOptions{Follow: true, Last: logInstead})
	}
	source, err := watch.Open(env, root)
	if err != nil {
		return err
	}
	defer func() { _ = source.Close() }()
	if f.launch != nil {
		said, err := source.Launch(ctx, f.mode, f.launch, env.Environ)
		if err != nil {
			return err
		}
		f.hello = said
	}
	// One processor is more than a screen needs. With a second one the runtime wakes it at every
	// tick of the clock to look for work, which was half of what an idle screen cost.
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	if err := ui.Run(ctx, ui.Options{Source: source, Env: env, Root: root, Theme: f.theme, Mouse: !f.noMouse, Hello: f.hello}); err != nil {
		return err
	}
	ui.Goodbye(env.Stdout, source)
	return nil
}

// withUI gives a command that starts an engine the flag --ui: the engine is a process of its
// own then, with the same words, and the screen shows it.
func withUI(env workspace.Env, cmd *cobra.Command) *cobra.Command {
	var show bool
	cmd.Flags().BoolVar(&show, "ui", false, "show the terminal screen; the work is a process of its own, and goes on when you leave (see ralph ui --help)")
	cmd.MarkFlagsMutuallyExclusive("ui", "web")
	run := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if !show || noScreen(env, "the work runs here, and is told line by line") {
			return run(cmd, args)
		}
		words := slices.DeleteFunc(slices.Clone(env.Args), func(w string) bool { return w == "--ui" || strings.HasPrefix(w, "--ui=") })
		return runUI(cmd.Context(), env, uiFlags{mode: cmd.Name(), launch: words})
	}
	return cmd
}

// demoPace is how much slower the demo's agents think when somebody looks on.
const demoPace = 8

// runDemoUI makes the demo's repository, and shows the work in it.
func runDemoUI(ctx context.Context, env workspace.Env, dir string, parallel bool) error {
	if err := person.Required(env); err != nil {
		return err
	}
	dir, mode, err := demo.Make(ctx, env, dir, parallel, demoPace)
	if err != nil {
		return err
	}
	inside := env
	inside.Dir, inside.Environ = dir, demo.Environ(env.Environ)
	err = runUI(ctx, inside, uiFlags{mode: mode, launch: []string{mode}})
	fmt.Fprintf(env.Stdout, "The demo's repository is kept: %s\n", dir)
	return err
}
