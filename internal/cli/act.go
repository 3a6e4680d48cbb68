package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/action"
	"github.com/ralph-loop/ralph/internal/backend"
	"github.com/ralph-loop/ralph/internal/cli/fleet"
	"github.com/ralph-loop/ralph/internal/fleetcmd"
	"github.com/ralph-loop/ralph/internal/journal"
	"github.com/ralph-loop/ralph/internal/person"
	"github.com/ralph-loop/ralph/internal/workspace"
	"github.com/spf13/cobra"
)

// Commands that are actions of the table: what they do, what they are called and their key are
// said there, once for each surface.

// commandOf is a command with the name, the arguments and the short help of an action.
func commandOf(name string) *cobra.Command {
	a := action.Named(name)
	path, args, _ := strings.Cut(a.Command, " <") // "task retry <id>": its own name is the last word before
	use := path[strings.LastIndex(path, " ")+1:]
	if args != "" {
		use += " <" + args
	}
	short := a.Short
	if a.Key != "" && a.About == action.Task {
		short += " (key " + a.Key + ")"
	}
	return &cobra.Command{Use: use, Short: short}
}

// acting is the repository while a command carries an action out.
type acting struct {
	*backend.Repository
	journal *journal.File
}

// openActing opens what an action of this name needs. What a person has changed in the files
// of the inbox and of the plan is read first where the action is about them.
func openActing(env workspace.Env, name string) (*acting, error) {
	about := action.Named(name).About
	inbox, plan := about == action.Inbox || about == action.Spec, about == action.Task || about == action.Plan
	root, err := workspace.FindRoot(env)
	if err != nil {
		return nil, err
	}
	j, err := workspace.OpenJournal(env, inbox, plan)
	if err != nil {
		return nil, err
	}
	surface := backend.Surface{
		By: "cli", Cause: "ralph " + action.Named(name).Command,
		Witness: func(context.Context) ralph.Witness { return person.Witness(env) },
	}
	return &acting{backend.New(env, root, j, surface), j}, nil
}

// perform carries an action out, and returns what came of it with the state after it.
func perform(cmd *cobra.Command, env workspace.Env, name string, in action.Input) (action.Result, *ralph.State, error) {
	if there, ok := fleet.AwayOf(cmd); ok {
		done, err := there.Act(cmd.Context(), env, fleetcmd.Act{Action: name, Input: in})
		return done.Result, new(ralph.State), err
	}
	x, err := openActing(env, name)
	if err != nil {
		return action.Result{}, nil, err
	}
	done, err := action.Do(cmd.Context(), x, name, in)
	s := x.journal.State()
	return done, s, errors.Join(err, x.journal.Close())
}

// actOnTask carries an action on a task out, and prints the task.
func actOnTask(cmd *cobra.Command, env workspace.Env, name string, in action.Input, asJSON bool) (action.Result, error) {
	done, s, err := perform(cmd, env, name, in)
	if err != nil {
		return done, err
	}
	id := in.ID
	if done.ID != "" {
		id = done.ID
	}
	return done, printTask(env, s, ralph.TaskID(id), asJSON)
}

// tellEngine has the engine that runs here do something, and says what.
func tellEngine(cmd *cobra.Command, env workspace.Env, name string, in action.Input) error {
	done, _, err := perform(cmd, env, name, in)
	if err != nil {
		return err
	}
	where := ""
	if there, ok := fleet.AwayOf(cmd); ok {
		where = " --repo " + there.Repo
	}
	_, err = fmt.Fprintf(env.Stdout, "%s; `ralph status%s` shows where it is\n", lower(done.Said), where)
	return err
}

// lower is a sentence as it goes on in the middle of a line.
func lower(words string) string {
	first, size := utf8.DecodeRuneInString(words)
	return string(unicode.ToLower(first)) + words[size:]
}

// saying is the command of an action that says what came of it; in is what its arguments mean.
func saying(env workspace.Env, name string, in func(args []string) action.Input) *cobra.Command {
	cmd := commandOf(name)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		done, _, err := perform(cmd, env, name, in(args))
		if err == nil {
			_, err = fmt.Fprintln(env.Stdout, done.Said)
		}
		return err
	}
	return cmd
}
