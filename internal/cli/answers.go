package cli

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/action"
	"github.com/ralph-loop/ralph/internal/cli/flags"
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
	cmd := gateVerb(env, "approve", "Approved")
	cmd.Args = cobra.ExactArgs(1)
	cmd.Long = `What an agent asks in the middle of its turn (a command, a change of files, a tool) is
done as soon as you approve it: the agent waits for you. ` + "`ralph gates <id>`" + ` shows all
there is to decide by. gate.timeout says how long it waits; nobody's answer is no
approval. With gate.approvals: policy what only reads, and changes inside the work tree,
need nobody; gate.allow lists more.

` + alwaysHelp
	cmd.Example = "  ralph gates\n  ralph gates g-1a2b\n  ralph approve g-1a2b\n  ralph approve g-1a2b --always --scope spec --for 8h"
	return cmd
}

func newDeny(env workspace.Env) *cobra.Command {
	cmd := gateVerb(env, "deny", "Denied")
	cmd.Args = cobra.ExactArgs(1)
	cmd.Long = `A start that is denied ends the session, with exit code 1. The task of a step is skipped.
A merge is not made: where its tests were in doubt, the task goes back to its agent with
the reason; otherwise it ends as failed, its branch and worktree kept. Work that does not
pass its tests goes back to its agent with the reason. What an agent
asked in the middle of its turn is not done: it reads the reason and goes on.

` + alwaysHelp
	cmd.Example = "  ralph deny g-1a2b --reason \"the removed test is still needed\"\n  ralph deny g-1a2b --always --reason \"never touch the generated files\""
	cmd.Flags().String("reason", "", "why; of a merge or an agent's wish, in words for the agent")
	return cmd
}

func newAnswer(env workspace.Env) *cobra.Command {
	cmd := gateVerb(env, "answer", "Answered")
	cmd.Args = cobra.MinimumNArgs(2)
	cmd.Long = `An agent that asks in the middle of its turn gets the answer at once; otherwise its next
prompt holds it.

` + alwaysHelp
	cmd.Example = "  ralph gates\n  ralph answer g-1a2b \"Use the second design\"\n  ralph answer g-1a2b 2\n  ralph answer g-1a2b \"tabs\" --always"
	return cmd
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
		return flags.Errorf("--scope and --for say how far an answer with --always reaches: add --always")
	case !slices.Contains(ralph.RuleScopes(), ralph.RuleScope(a.scope)):
		return flags.Errorf("there is no scope %q: use task, spec, session or repository", a.scope)
	case a.hold < 0:
		return flags.Errorf("--for %s: use a time that is to come, or 0 for no end", a.hold)
	}
	return nil
}

// into adds to an answer that it is to hold from now on.
func (a *always) into(in *action.Input) {
	if !a.want {
		return
	}
	in.Always, in.Scope, in.For = true, a.scope, a.hold
	if a.hold == 0 {
		in.For = -1
	}
}

// gateVerb is the command of an action on a gate. The first word wins.
func gateVerb(env workspace.Env, name, said string) *cobra.Command {
	cmd := commandOf(name)
	asJSON := flags.JSON(cmd)
	var rule always
	rule.flags(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := rule.check(cmd); err != nil {
			return err
		}
		in := action.Input{ID: args[0], Text: strings.Join(args[1:], " ")}
		if f := cmd.Flags().Lookup("reason"); f != nil {
			in.Text = f.Value.String()
		}
		rule.into(&in)
		done, s, err := perform(cmd, env, name, in)
		if err != nil {
			return err
		}
		return saidOf(env, ralph.ApprovalID(in.ID), said, ruleOf(s, done.ID), *asJSON)
	}
	return cmd
}

// ruleOf is the rule that came of an answer, nil for none.
func ruleOf(s *ralph.State, id string) *ralph.AnswerRule {
	for _, r := range s.Rules {
		if string(r.ID) == id {
			return r
		}
	}
	return nil
}

// saidOf prints what was said about a gate.
func saidOf(env workspace.Env, id ralph.ApprovalID, said string, made *ralph.AnswerRule, asJSON bool) error {
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
