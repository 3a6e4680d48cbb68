package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/action"
	"github.com/ralph-loop/ralph/internal/journal"
	"github.com/ralph-loop/ralph/internal/person"
	"github.com/ralph-loop/ralph/internal/report"
	"github.com/ralph-loop/ralph/internal/text"
	"github.com/ralph-loop/ralph/internal/workspace"
	"github.com/spf13/cobra"
)

// The words that open gates, and that hold for later ones.

// defaultRule is how long an answer with --always holds, unless a person says otherwise.
const defaultRule = 30 * 24 * time.Hour

const alwaysHelp = `With --always the answer becomes a rule: whoever asks the very same later gets it without
you, in this repository and for 30 days, or as --scope and --for say. "ralph rules" lists
what holds. What is on the never list is asked each time.`

func newApprove(env workspace.Env) *cobra.Command {
	return gateVerb(env, &cobra.Command{
		Use: "approve <id>", Short: "Let pass what waits at a gate: a start, a step, an agent's wish, work that does not pass, a merge", Args: cobra.ExactArgs(1),
		Long: `What an agent asks in the middle of its turn (a command, a change of files, a tool) is
done as soon as you approve it: the agent waits for you. ` + "`ralph gates <id>`" + ` shows all
there is to decide by. gate.timeout says how long it waits; nobody's answer is no
approval. With gate.approvals: policy what only reads, and changes inside the work tree,
need nobody; gate.allow lists more.

` + alwaysHelp,
		Example: "  ralph gates\n  ralph gates g-1a2b\n  ralph approve g-1a2b\n  ralph approve g-1a2b --always --scope spec --for 8h",
	}, "Approved", func(s *ralph.State, id ralph.GateID, _ []string) ([]ralph.Fact, error) { return s.ApproveGate(id) })
}

func newDeny(env workspace.Env) *cobra.Command {
	var reason string
	cmd := gateVerb(env, &cobra.Command{
		Use: "deny <id>", Short: "Refuse what waits at a gate: a start, a step, an agent's wish, work that does not pass, a merge", Args: cobra.ExactArgs(1),
		Long: `A start that is denied ends the session, with exit code 1. The task of a step is skipped.
A merge is not made: where its tests were in doubt, the task goes back to its agent with
the reason; otherwise it ends as failed, its branch and worktree kept. Work that does not
pass its tests goes back to its agent with the reason. What an agent
asked in the middle of its turn is not done: it reads the reason and goes on.

` + alwaysHelp,
		Example: "  ralph deny g-1a2b --reason \"the removed test is still needed\"\n  ralph deny g-1a2b --always --reason \"never touch the generated files\"",
	}, "Denied", func(s *ralph.State, id ralph.GateID, _ []string) ([]ralph.Fact, error) { return s.DenyGate(id, reason) })
	cmd.Flags().StringVar(&reason, "reason", "", "why; of a merge or an agent's wish, in words for the agent")
	return cmd
}

func newAnswer(env workspace.Env) *cobra.Command {
	return gateVerb(env, &cobra.Command{
		Use: "answer <id> <text>", Short: "Answer an agent's question, in words or by the number of an option",
		Long: `An agent that asks in the middle of its turn gets the answer at once; otherwise its next
prompt holds it.

` + alwaysHelp,
		Example: "  ralph gates\n  ralph answer g-1a2b \"Use the second design\"\n  ralph answer g-1a2b 2\n  ralph answer g-1a2b \"tabs\" --always", Args: cobra.MinimumNArgs(2),
	}, "Answered", func(s *ralph.State, id ralph.GateID, words []string) ([]ralph.Fact, error) {
		return s.AnswerGate(id, strings.Join(words, " "))
	})
}

// always is how an answer is to hold from now on.
type always struct {
	want  bool
	scope string
	hold  time.Duration
}

func (a *always) flags(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&a.want, "always", false, "let the answer hold from now on: a rule")
	cmd.Flags().StringVar(&a.scope, "scope", string(ralph.ScopeRepository), "with --always, how far: task, spec, session or repository")
	cmd.Flags().DurationVar(&a.hold, "for", defaultRule, "with --always, how long; 0 for no end")
}

func (a *always) check(cmd *cobra.Command) error {
	switch {
	case !a.want && (cmd.Flags().Changed("scope") || cmd.Flags().Changed("for")):
		return usage("--scope and --for say how far an answer with --always reaches: add --always")
	case !slices.Contains(ralph.RuleScopes(), ralph.RuleScope(a.scope)):
		return usage("there is no scope %q: use task, spec, session or repository", a.scope)
	case a.hold < 0:
		return usage("--for %s: use a time that is to come, or 0 for no end", a.hold)
	}
	return nil
}

// as is what the answer becomes, as actions have it.
func (a *always) as() action.Always {
	if a.hold == 0 {
		return action.Always{Scope: a.scope, For: -1, By: "cli"}
	}
	return action.Always{Scope: a.scope, For: a.hold, By: "cli"}
}

// gateVerb makes cmd say one thing about a gate. The first word wins.
func gateVerb(env workspace.Env, cmd *cobra.Command, said string, decide func(*ralph.State, ralph.GateID, []string) ([]ralph.Fact, error)) *cobra.Command {
	asJSON := jsonFlag(cmd)
	var rule always
	rule.flags(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := rule.check(cmd); err != nil {
			return err
		}
		j, err := workspace.OpenJournal(env, false, false)
		if err != nil {
			return err
		}
		defer j.Close()
		id := ralph.GateID(args[0])
		if err := j.State().Answerable(id, j.Holder() != nil, j.Now()); err != nil {
			return err
		}
		made, err := answerGate(cmd.Context(), j, person.Witness(env), id, &rule, func(s *ralph.State) ([]ralph.Fact, error) { return decide(s, id, args[1:]) })
		if err != nil {
			return err
		}
		return saidOf(env, id, said, made, *asJSON)
	}
	return cmd
}

// answerGate records an answer, and the rule that comes of it, in one write.
func answerGate(ctx context.Context, j *journal.File, who ralph.Witness, id ralph.GateID, rule *always, decide func(*ralph.State) ([]ralph.Fact, error)) (*ralph.AnswerRule, error) {
	var made *ralph.AnswerRule
	closed := false
	err := j.Update(ctx, "cli", func(s *ralph.State) ([]ralph.Fact, error) {
		if closed = !slices.ContainsFunc(s.Gates, func(g *ralph.Gate) bool { return g.ID == id }); closed {
			return nil, nil
		}
		facts, err := decide(s)
		facts = ralph.Witnessed(facts, who)
		if err != nil || !rule.want {
			return facts, err
		}
		if facts, err = rule.as().Facts(s, id, facts, workspace.NewRuleID(s), j.Now()); err == nil {
			made = action.Made(facts)
		}
		return facts, err
	})
	if err == nil && closed {
		err = report.NotOpen(id, j.Each)
	}
	return made, err
}

// saidOf prints what was said about a gate.
func saidOf(env workspace.Env, id ralph.GateID, said string, made *ralph.AnswerRule, asJSON bool) error {
	if asJSON {
		out := map[string]any{"gate": id, "said": strings.ToLower(said)}
		if made != nil {
			out["rule"] = made
		}
		return workspace.PrintJSON(env.Stdout, out)
	}
	_, err := fmt.Fprintf(env.Stdout, "%s: %s\n", said, id)
	if err == nil && made != nil {
		_, err = fmt.Fprintf(env.Stdout, "Rule %s: %s, %s; `ralph rules revoke %[1]s` ends it\n", made.ID, text.Visible(report.RuleWords(made)), report.RuleReach(made))
	}
	return err
}
