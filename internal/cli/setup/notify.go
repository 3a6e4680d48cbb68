package setup

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/bootstrap"
	"github.com/ralph-loop/ralph/internal/cli/flags"
	"github.com/ralph-loop/ralph/internal/exit"
	"github.com/ralph-loop/ralph/internal/notice"
	"github.com/ralph-loop/ralph/internal/notify"
	"github.com/ralph-loop/ralph/internal/workspace"
	"github.com/spf13/cobra"
)

// Trying out how people are told of things.

// Notify is `ralph notify`.
func Notify(env workspace.Env) *cobra.Command {
	cmd := &cobra.Command{
		Use: "notify", Short: "Try the notifications: sounds, desktop, webhooks",
		Long: `Sounds, desktop notifications and webhooks are set under notify in
ralph/config.yaml. A running engine uses them by itself; here they are tried.`,
		Example: "  ralph notify test\n  ralph notify sound workflowDone", Args: flags.NoSuchCommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	test := &cobra.Command{
		Use: "test", Short: "Send a test notice to everything that is set, and say what came of each", Args: cobra.NoArgs,
		Example: "  ralph notify test",
	}
	asJSON := flags.JSON(test)
	test.RunE = func(cmd *cobra.Command, _ []string) error { return runNotifyTest(cmd, env, *asJSON) }
	cmd.AddCommand(test, &cobra.Command{
		Use: "sound <name>", Short: "Play a sound: " + soundNames(), Args: cobra.ExactArgs(1),
		Example: "  ralph notify sound aiComplete",
		RunE:    func(cmd *cobra.Command, args []string) error { return runNotifySound(cmd, env, notice.Sound(args[0])) },
	})
	return cmd
}

func soundNames() string {
	var names []string
	for _, s := range notice.Sounds() {
		names = append(names, string(s))
	}
	return strings.Join(names, ", ")
}

func runNotifyTest(cmd *cobra.Command, env workspace.Env, asJSON bool) error {
	o, done, err := placeForNotices(env)
	if err != nil {
		return err
	}
	defer done()
	if !o.Sounds && !o.Desktop && len(o.Webhooks) == 0 {
		return &ralph.Refusal{
			Why: "no notifications are set", Kind: ralph.ErrUsage,
			Hint: "`ralph config edit notify.sounds=true`, notify.desktop=true or notify.webhooks=https://...",
		}
	}
	results, err := notify.Try(cmd.Context(), o, time.Now())
	if err != nil {
		return err
	}
	if asJSON {
		err = workspace.PrintJSON(env.Stdout, results)
	} else {
		err = printOutcomes(env, results)
	}
	if err == nil && slices.ContainsFunc(results, func(r notify.Outcome) bool { return r.Error != "" }) {
		return exit.Error{Code: exit.Failures}
	}
	return err
}

func printOutcomes(env workspace.Env, results []notify.Outcome) error {
	for _, r := range results {
		mark, text := "ok    ", r.Saw
		if r.Error != "" {
			mark, text = "FAILED", r.Error
		}
		if _, err := fmt.Fprintf(env.Stdout, "%s  %s: %s\n", mark, r.Sink, text); err != nil {
			return err
		}
	}
	return nil
}

func runNotifySound(cmd *cobra.Command, env workspace.Env, sound notice.Sound) error {
	if !slices.Contains(notice.Sounds(), sound) {
		return &ralph.Refusal{Why: fmt.Sprintf("there is no sound %q", sound), Hint: "there are " + soundNames(), Kind: ralph.ErrUsage}
	}
	o, done, err := placeForNotices(env)
	if err != nil {
		return err
	}
	defer done()
	r := notify.Play(cmd.Context(), o, sound)
	if err := printOutcomes(env, []notify.Outcome{r}); err != nil {
		return err
	}
	if r.Error != "" {
		return exit.Error{Code: exit.Failures}
	}
	return nil
}

// placeForNotices reads the settings, and makes a folder for the sounds that done
// takes away: an engine has its own.
func placeForNotices(env workspace.Env) (o notify.Options, done func(), err error) {
	root, err := workspace.FindRoot(env)
	if err != nil {
		return o, nil, err
	}
	c, err := workspace.LoadConfig(env, root, nil)
	if err != nil {
		return o, nil, err
	}
	o = bootstrap.NoticeOptions(env, root, c, nil)
	dir, err := os.MkdirTemp("", "ralph-notify-")
	if err != nil {
		return o, nil, fmt.Errorf("make a folder for the sounds: %w", err)
	}
	o.SoundDir = filepath.Join(dir, "sounds")
	return o, func() { _ = os.RemoveAll(dir) }, nil
}
