package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/renameio/v2"
	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/config"
	"github.com/ralph-loop/ralph/internal/workspace"
	"github.com/spf13/cobra"
)

func newConfig(env workspace.Env) *cobra.Command {
	cmd := &cobra.Command{
		Use: "config", Short: "The settings: show, schema, edit",
		Example: "  ralph config show\n  ralph config edit task.max_iterations=20\n  ralph config schema > ralph.schema.json",
		Args:    noSuchCommand,
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
		&cobra.Command{
			Use: "schema", Short: "The JSON Schema of ralph/config.yaml, for editors", Args: cobra.NoArgs,
			RunE: func(*cobra.Command, []string) error {
				b, err := config.Schema()
				if err != nil {
					return err
				}
				_, err = env.Stdout.Write(append(b, '\n'))
				return err
			},
		},
		&cobra.Command{
			Use: "edit <key=value> ...", Short: "Change settings in ralph/config.yaml, keeping its comments", Args: cobra.MinimumNArgs(1),
			Example: "  ralph config edit agent.primary=mine task.timeout=1h",
			RunE:    func(_ *cobra.Command, args []string) error { return runConfigEdit(env, args) },
		},
	)
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
		detected = detectedSettings(c, root, env.Environ)
	}
	wide := 0
	for _, s := range settings {
		wide = max(wide, len(s.Key))
	}
	for _, s := range settings {
		from := ""
		if s.From.Kind != config.FromDefault {
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
	return changeSettings(root, func(text []byte) ([]byte, error) { return editAll(text, args) })
}

// changeSettings replaces the text of the settings by what change makes of it, as a whole
// or not at all.
func changeSettings(root string, change func(text []byte) ([]byte, error)) error {
	path := filepath.Join(root, "ralph/config.yaml")
	text, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("read the settings: %w", err)
	}
	if text, err = change(text); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("write the settings: %w", err)
	}
	if err := renameio.WriteFile(path, text, 0o644, renameio.WithExistingPermissions()); err != nil {
		return fmt.Errorf("write the settings: %w", err)
	}
	return nil
}

// editAll makes several changes, which are checked together.
func editAll(text []byte, args []string) ([]byte, error) {
	changes := make([]config.Change, len(args))
	for i, arg := range args {
		key, value, ok := strings.Cut(arg, "=")
		if !ok {
			return nil, &ralph.Refusal{Why: fmt.Sprintf("%q is not key=value", arg), Hint: "like task.max_iterations=20; `ralph config show` lists the keys", Kind: ralph.ErrUsage}
		}
		changes[i] = config.Change{Key: strings.TrimSpace(key), Value: strings.TrimSpace(value)}
	}
	return config.EditAll(text, changes)
}
