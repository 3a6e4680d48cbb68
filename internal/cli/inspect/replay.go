package inspect

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/bootstrap"
	"github.com/ralph-loop/ralph/internal/cli/flags"
	"github.com/ralph-loop/ralph/internal/config"
	"github.com/ralph-loop/ralph/internal/exit"
	"github.com/ralph-loop/ralph/internal/policy/replay"
	"github.com/ralph-loop/ralph/internal/verify"
	"github.com/ralph-loop/ralph/internal/whatif"
	"github.com/ralph-loop/ralph/internal/workspace"
	"github.com/spf13/cobra"
)

// Replay is `ralph replay`.
func Replay(env workspace.Env) *cobra.Command {
	var asJSON, current, ask bool
	var file string
	cmd := &cobra.Command{
		Use: "replay [session]", Short: "Decide every receipt again and show differences",
		Long: `Folds the journal and decides every receipt again from exactly the state and time it
was decided on, with the settings recorded then. No difference means that the record
explains itself. With --current-config the settings of now are used instead: what
would have been decided otherwise?

--what-if FILE asks the same of settings in a file that is written as ralph/config.yaml; what it
does not name is as it is now. Threads are decided again too, as its "decision" has it: by the rules, or by a model; and so
are their guidance and the questions that agents have in their turns. An answer that was recorded, or
kept by ` + "`ralph decide`" + `, counts; where only a model could tell, the decision is shown as open, with what
it would cost, and no model is asked unless you say --ask. Each decision is taken on the state that
was recorded, not on one to which other decisions would have led.`,
		Example: "  ralph replay\n  ralph replay --current-config\n  ralph replay --what-if other.yaml\n  ralph replay --what-if other.yaml --ask --json | jq .would",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			session := ""
			if len(args) == 1 {
				session = args[0]
			}
			switch {
			case file != "":
				return runWhatIf(cmd.Context(), env, ralph.SessionID(session), file, ask, asJSON)
			case ask:
				return flags.Errorf("--ask asks the models of --what-if FILE: name the file")
			}
			return runReplay(env, session, asJSON, current)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.Flags().BoolVar(&current, "current-config", false, "decide with the settings of now")
	cmd.Flags().StringVar(&file, "what-if", "", "decide with the settings of this `file`, threads too")
	cmd.Flags().BoolVar(&ask, "ask", false, "with --what-if: ask its models what they would decide, which may cost")
	cmd.MarkFlagsMutuallyExclusive("current-config", "what-if")
	return cmd
}

func runReplay(env workspace.Env, session string, asJSON, current bool) error {
	result, err := verify.Replay(env, ralph.SessionID(session), current, nil)
	if err != nil {
		return err
	}
	if asJSON {
		err = workspace.PrintJSON(env.Stdout, result)
	} else {
		err = printReplay(env.Stdout, result)
	}
	if err == nil && result.Differ > 0 {
		return exit.Error{Code: exit.Failures}
	}
	return err
}

// runWhatIf decides a history again under other settings.
func runWhatIf(ctx context.Context, env workspace.Env, session ralph.SessionID, file string, ask, asJSON bool) error {
	root, err := workspace.FindRoot(env)
	if err != nil {
		return err
	}
	if !filepath.IsAbs(file) {
		file = filepath.Join(env.Dir, file)
	}
	c, err := config.LoadOver(filepath.Join(root, "ralph/config.yaml"), file, env.Environ)
	if err != nil {
		return err
	}
	p, err := bootstrap.ForModels(env, root, c)
	if err != nil {
		return err
	}
	o := whatif.Options{Session: session, Config: c, Root: root, Ask: ask, Price: p.PriceOf, Now: time.Now}
	o.Decides.Chain.Redact, o.Guides.Chain.Redact = p.Redact, p.Redact
	if c.Decision.Engine == "llm" {
		o.Decides.Names = c.Decision.Models()
	}
	if ask && len(o.Decides.Names) > 0 {
		m, err := openModels(env, p, o.Decides.Names)
		if err != nil {
			return err
		}
		defer m.Close()
		o.Decides.Chain = m.Chain
	}
	closeGuides, err := openGuides(env, p, &o)
	if err != nil {
		return err
	}
	defer closeGuides()
	j, err := workspace.OpenReader(env, false, false)
	if err != nil {
		return err
	}
	defer j.Close()
	r, err := whatif.Replay(ctx, j, o)
	switch {
	case err != nil:
		return err
	case session != "" && r.Sessions == 0:
		return &ralph.Refusal{Why: fmt.Sprintf("no session %s in the journal", session), Hint: "`ralph log` shows the ids (Session new: ...)", Kind: ralph.ErrNotFound}
	case asJSON:
		err = workspace.PrintJSON(env.Stdout, r)
	default:
		err = r.Print(env.Stdout)
	}
	if err == nil && r.Differ > 0 {
		return exit.Error{Code: exit.Failures}
	}
	return err
}

// openGuides opens the models of guidance, also where the settings do not say whether there is one: a variable or
// the command line may have switched it on then. One that is not asked needs no key.
func openGuides(env workspace.Env, p *bootstrap.Parts, o *whatif.Options) (end func(), err error) {
	end = func() {}
	guided := p.Config.Guidance.Mode == "demo"
	if !guided && p.Config.Where("guidance.mode").Given() {
		return end, nil
	}
	m, err := p.Guidance(env.Environ) // also where none is asked: a Codex that is not there is left out
	if err != nil {
		o.Guides.Names = p.GuidanceModels()
		if guided && o.Ask {
			return end, err
		}
		return end, nil
	}
	o.Guides.Chain = m.Chain
	for _, e := range m.Engines {
		o.Guides.Names = append(o.Guides.Names, e.Name)
	}
	return m.Close, nil
}

func printReplay(w io.Writer, r replay.Replayed) error {
	for _, d := range r.Differences {
		fmt.Fprintf(w, "fact %d, %s\n  then: %s\n  now:  %s\n", d.Seq, d.Task, d.Was, d.Now)
	}
	_, err := fmt.Fprintf(w, "%d receipts decided again, %d differ\n", r.Receipts, r.Differ)
	return err
}
