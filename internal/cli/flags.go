package cli

import (
	"github.com/ralph-loop/ralph/internal/session"
	"github.com/spf13/cobra"
)

// The flags that commands which start an engine have in common.

// resumeFlags adds --resume and --fresh.
func resumeFlags(x *session.Session, cmd *cobra.Command) {
	cmd.Flags().BoolVar(&x.Resume, "resume", false, "resume the interrupted session without asking; refused when there is none")
	cmd.Flags().BoolVar(&x.Fresh, "fresh", false, "begin a new session instead of resuming the interrupted one")
}

// modeFlag adds --mode.
func modeFlag(x *session.Session, cmd *cobra.Command) {
	cmd.Flags().Var(modeValue{x}, "mode", "manual, step, semi or autopilot (also `mode` in ralph/config.yaml)")
}

// modeValue is the flag --mode, which is a setting.
type modeValue struct{ x *session.Session }

func (m modeValue) Type() string   { return "MODE" }
func (m modeValue) String() string { return "" }

func (m modeValue) Set(mode string) error {
	m.x.Set("mode", mode)
	return nil
}

// webFlag adds --web.
func webFlag(x *session.Session, cmd *cobra.Command) {
	trustFlag(x, cmd) // whoever can be asked for it has it
	cmd.Flags().BoolVar(&x.Web, "web", false, "serve the dashboard while it works, and print a link to it (see ralph serve --help)")
}

// trustFlag adds --trust.
func trustFlag(x *session.Session, cmd *cobra.Command) {
	cmd.Flags().BoolVar(&x.Trust, "trust", false, "say yes to what the repository brings along (see ralph trust --help)")
}

// unattendedFlag adds --unattended.
func unattendedFlag(x *session.Session, cmd *cobra.Command) {
	cmd.Flags().BoolVar(&x.Unattended, "unattended", false, "nobody will come: what would wait for you is over at once, as gate.on_timeout says (skip: refused, and the agent goes on)")
}
