package cli

import (
	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/session"
	"github.com/ralph-loop/ralph/internal/workspace"
	"github.com/spf13/cobra"
)

func newConstruct(env workspace.Env) *cobra.Command {
	x := &session.Session{Env: env, Mode: "construct"}
	cmd := &cobra.Command{
		Use: "construct [spec]", Short: "Work on one spec: INVESTIGATE, BUILD, VERIFY until it is complete",
		Long: `Works on the planned tasks of the current spec, or of the one named, and exits when
it is complete. A spec without a plan is planned first. It neither reads nor changes
the inbox, and it makes no commit (unless task.auto_commit is set): the result is in
the work tree.`,
		Example: "  ralph plan feature-x.md && ralph construct\n  ralph construct feature-x.md --web",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			var err error
			if x.Only, err = chooseSpec(env, args); err != nil {
				return err
			}
			return x.Run(cmd.Context())
		},
	}
	resumeFlags(x, cmd)
	modeFlag(x, cmd)
	webFlag(x, cmd)
	unattendedFlag(x, cmd)
	return cmd
}

// chooseSpec takes the spec named, else the plan's current one.
func chooseSpec(env workspace.Env, args []string) (file string, err error) {
	if len(args) == 1 {
		return workspace.SpecThere(env, args[0])
	}
	s, _, err := workspace.ReadState(env, false, true)
	if err != nil {
		return "", err
	}
	if s.Plan.File == "" {
		return "", &ralph.Refusal{Why: "there is no current spec", Hint: "name one: ralph construct feature-x.md", Kind: ralph.ErrUsage}
	}
	return s.Plan.File, nil
}
