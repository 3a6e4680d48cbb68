package inspect

import (
	"fmt"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/advice"
	"github.com/ralph-loop/ralph/internal/bootstrap"
	"github.com/ralph-loop/ralph/internal/cli/flags"
	"github.com/ralph-loop/ralph/internal/config"
	"github.com/ralph-loop/ralph/internal/exit"
	"github.com/ralph-loop/ralph/internal/policy"
	"github.com/ralph-loop/ralph/internal/whatif"
	"github.com/ralph-loop/ralph/internal/workspace"
	"github.com/spf13/cobra"
)

// Decide is `ralph decide`.
func Decide(env workspace.Env) *cobra.Command {
	var receipt int64
	var models []string
	cmd := &cobra.Command{
		Use: "decide [thread]", Short: "Ask another model what comes next in a thread, and show the difference",
		Long: `Puts the question of a decision on a thread (` + "`ralph auto`" + `) to another model: the very input
that was decided on, by the same signature. What the rules make of its answer is shown beside what
was decided. Nothing follows from it: no fact is written, and no engine needs to run or to stop.

--receipt takes a receipt of ` + "`decide`" + ` (a decision, or a directive of guidance), one of ` + "`guide`" + ` (a part of
guidance), or the number of a question that an agent had in its turn (requests in ` + "`ralph receipts --json`" + `).

Without --receipt it is the question of a thread as it stands now, of the only one where no id is
given. Without --model it is the models of the settings (decision.model, decision.fallback; for
guidance those of guidance.model). Where the rules leave nothing open, no model is asked. The answer
was paid for, so it is kept in ralph/.state/asked.jsonl, where ` + "`ralph replay --what-if`" + ` finds it.`,
		Example: "  ralph decide --receipt 128 --model ollama:qwen3\n  ralph decide t-1a2b --model codex\n  ralph decide --receipt 128 --model openai:gpt-5 --json | jq .now.decision",
		Args:    cobra.MaximumNArgs(1),
	}
	asJSON := flags.JSON(cmd)
	cmd.Flags().Int64Var(&receipt, "receipt", 0, "the decision with this `number` (`ralph receipts`)")
	cmd.Flags().StringSliceVar(&models, "model", nil, "the `model` that is asked, as in decision.model; of several the next one when one cannot be asked")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		switch {
		case cmd.Flags().Changed("receipt") && receipt < 1:
			return flags.Errorf("--receipt %d: the number of a decision, see `ralph receipts`", receipt)
		case receipt > 0 && len(args) > 0:
			return flags.Errorf("--receipt says which decision of which thread: leave %s out", args[0])
		}
		return runDecide(cmd, env, receipt, args, models, *asJSON)
	}
	return cmd
}

func runDecide(cmd *cobra.Command, env workspace.Env, receipt int64, args, models []string, asJSON bool) error {
	root, err := workspace.FindRoot(env)
	if err != nil {
		return err
	}
	c, err := workspace.LoadConfig(env, root, nil)
	if err != nil {
		return err
	}
	q, err := questionOf(env, c, receipt, args)
	if err != nil {
		return err
	}
	var chain advice.Chain
	if q.Open {
		p, err := bootstrap.ForModels(env, root, c)
		if err != nil {
			return err
		}
		switch {
		case len(models) > 0:
		case q.Guides:
			models = p.GuidanceModels()
		default:
			models = c.Decision.Models()
		}
		opened, err := openModels(env, p, models)
		if err != nil {
			return err
		}
		defer opened.Close()
		chain = opened.Chain
	}
	a, err := q.Ask(cmd.Context(), chain)
	if err != nil {
		return err
	}
	if len(a.Record.Asked) > 0 {
		if a.Kept, err = whatif.Keep(root, whatif.Kept{At: time.Now().UTC(), Receipt: receipt, Thread: a.Thread, Turn: a.Turn, Record: a.Record}); err != nil {
			return err
		}
	}
	if asJSON {
		err = workspace.PrintJSON(env.Stdout, a)
	} else {
		err = a.Print(env.Stdout)
	}
	if err == nil && a.Record.Outcome == advice.Nobody {
		return exit.Error{Code: exit.Failures}
	}
	return err
}

// questionOf is the question of a receipt, or of a thread as it stands.
func questionOf(env workspace.Env, c config.Config, receipt int64, args []string) (whatif.Question, error) {
	s, j, err := workspace.ReadState(env, false, false)
	if err != nil {
		return whatif.Question{}, err
	}
	defer j.Close()
	if receipt > 0 {
		return whatif.Find(j, receipt)
	}
	id, err := theThread(s, args)
	if err != nil {
		return whatif.Question{}, err
	}
	pc := workspace.PolicyConfig(c)
	if len(s.Session.Config) > 0 {
		recorded, err := policy.Decode(s.Session.Config)
		if err != nil {
			return whatif.Question{}, err
		}
		pc = workspace.PolicyUnder(recorded, c)
	}
	return whatif.Standing(s, id, pc, j.Now(), c.Decision.History)
}

// theThread is the thread that is named, or the only one that has not ended.
func theThread(s *ralph.State, args []string) (ralph.TaskID, error) {
	if len(args) == 1 {
		return ralph.TaskID(args[0]), nil
	}
	open := s.OpenThreads()
	switch len(open) {
	case 0:
		return "", &ralph.Refusal{Why: "no thread is open", Hint: "name one: `ralph thread list` shows them", Kind: ralph.ErrNotFound}
	case 1:
		return open[0].ID, nil
	}
	return "", &ralph.Refusal{Why: fmt.Sprintf("there are %d threads", len(open)), Hint: "name one: `ralph thread list` shows them", Kind: ralph.ErrUsage}
}

// openModels opens models to be asked now.
func openModels(env workspace.Env, p *bootstrap.Parts, names []string) (bootstrap.Models, error) {
	if len(names) == 0 {
		return bootstrap.Models{}, &ralph.Refusal{Why: "no model is named", Hint: "say which is asked: --model ollama:qwen3, or set decision.model", Kind: ralph.ErrUsage}
	}
	m, err := p.Models(env.Environ, names)
	if err != nil {
		return m, &ralph.Refusal{Why: err.Error(), Hint: "name another model, or mend what it says", Kind: ralph.ErrUsage}
	}
	for _, n := range m.Notices {
		fmt.Fprintln(env.Stderr, "note: "+n)
	}
	return m, nil
}
