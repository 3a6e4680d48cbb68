package setup

import (
	"fmt"

	"github.com/ralph-loop/ralph/internal/cli/flags"
	"github.com/ralph-loop/ralph/internal/config"
	"github.com/ralph-loop/ralph/internal/config/setting"
	"github.com/ralph-loop/ralph/internal/doctor"
	"github.com/ralph-loop/ralph/internal/workspace"
	"github.com/spf13/cobra"
)

// Config is `ralph config`.
func Config(env workspace.Env) *cobra.Command {
	cmd := &cobra.Command{
		Use: "config", Short: "The settings: show, schema, edit",
		Example: "  ralph config show\n  ralph config edit task.max_iterations=20\n  ralph config schema > ralph.schema.json",
		Args:    flags.NoSuchCommand,
		RunE:    func(*cobra.Command, []string) error { return runConfigShow(env, false) },
	}
	var asJSON bool
	show := &cobra.Command{
		Use: "show", Short: "Every setting with its value and where it comes from", Args: cobra.NoArgs,
		Example: "  ralph config show\n  ralph config show --json",
		RunE:    func(*cobra.Command, []string) error { return runConfigShow(env, asJSON) },
	}
	show.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.AddCommand(show,
		newConfigSchema(env),
		&cobra.Command{
			Use: "edit <key=value> ...", Short: "Change settings in ralph/config.yaml, keeping its comments", Args: cobra.MinimumNArgs(1),
			Example: "  ralph config edit agent.primary=mine task.timeout=1h",
			RunE:    func(_ *cobra.Command, args []string) error { return runConfigEdit(env, args) },
		},
	)
	return cmd
}

func newConfigSchema(env workspace.Env) *cobra.Command {
	var example bool
	cmd := &cobra.Command{
		Use: "schema [threads]", Short: "The JSON Schema of ralph/config.yaml, or of a file of threads, for editors", Args: cobra.MaximumNArgs(1), ValidArgs: []string{"threads"},
		Example: "  ralph config schema > ralph.schema.json\n  ralph config schema threads\n  ralph config schema threads --example > threads.yaml",
	}
	cmd.Flags().BoolVar(&example, "example", false, "with threads: a file to begin with")
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		made := config.Schema
		switch {
		case len(args) == 1 && args[0] != "threads":
			return flags.Errorf("there is no schema of %q: leave it out for the settings, or say threads", args[0])
		case len(args) == 1 && example:
			_, err := env.Stdout.Write([]byte(config.ThreadsExample))
			return err
		case example:
			return flags.Errorf("--example is for threads: ralph config schema threads --example (ralph init writes an example of the settings)")
		case len(args) == 1:
			made = config.ThreadsSchema
		}
		b, err := made()
		if err != nil {
			return err
		}
		_, err = env.Stdout.Write(append(b, '\n'))
		return err
	}
	return cmd
}

func runConfigShow(env workspace.Env, asJSON bool) error {
	c, err := workspace.SettingsOf(env)
	if err != nil {
		return err
	}
	settings := c.Set()
	if asJSON {
		return workspace.PrintJSON(env.Stdout, settings)
	}
	detected := map[string]string{}
	if root, err := workspace.FindRoot(env); err == nil {
		detected = doctor.DetectedSettings(c, root, env.Environ)
	}
	wide := 0
	for _, s := range settings {
		wide = max(wide, len(s.Key))
	}
	for _, s := range settings {
		from := ""
		if s.From.Kind != setting.FromDefault {
			from = "  # " + s.From.String()
		} else if seen := detected[s.Key]; seen != "" {
			from = "  # " + seen
		}
		fmt.Fprintf(env.Stdout, "%-*s %s%s\n", wide+1, s.Key+":", s.Text(), from)
	}
	return nil
}

func runConfigEdit(env workspace.Env, args []string) error {
	root, err := workspace.FindRoot(env)
	if err != nil {
		return err
	}
	return workspace.ChangeSettings(root, func(text []byte) ([]byte, error) { return workspace.EditAll(text, args) })
}
