package cli

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/action"
	"github.com/ralph-loop/ralph/internal/cli/flags"
	"github.com/ralph-loop/ralph/internal/forge"
	"github.com/ralph-loop/ralph/internal/report"
	"github.com/ralph-loop/ralph/internal/specfile"
	"github.com/ralph-loop/ralph/internal/views"
	"github.com/ralph-loop/ralph/internal/workspace"
	"github.com/spf13/cobra"
)

func newInbox(env workspace.Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "inbox",
		Short:   "The queue of specs: list, add, remove, clear",
		Example: "  ralph inbox add feature-x.md\n  ralph inbox\n  ralph inbox remove q-a1b2",
		Args:    flags.NoSuchCommand,
		RunE:    func(cmd *cobra.Command, _ []string) error { return runInboxList(env) },
	}
	var name, priority string
	addCmd := commandOf("queue")
	addCmd.Args = cobra.ExactArgs(1)
	addCmd.Example = "  ralph inbox add feature-x.md\n  ralph inbox add acme/shop#12\n  ralph inbox add PROJ-7\n  ralph inbox add https://github.com/acme/shop/pull/40\n  ralph inbox add urgent.md --priority 5\n" +
		"  printf '# Say hello\\n\\nA script hello.sh that greets.\\n' | ralph inbox add - --name hello.md"
	addCmd.RunE = func(cmd *cobra.Command, args []string) error {
		if args[0] == "-" {
			return runInboxAddStdin(cmd, env, name, priority)
		}
		if forge.IsIssue(args[0]) {
			return runInboxAddIssue(cmd, env, args[0])
		}
		return runInboxAdd(cmd, env, args[0], priority)
	}
	addCmd.Flags().StringVar(&name, "name", "", "with -: the file to write in ralph/specs (default: made from the first heading)")
	addCmd.Flags().StringVar(&priority, "priority", "", "a whole `number`: a higher one is worked on first (default: what the spec says, else 0)")
	cmd.AddCommand(
		&cobra.Command{
			Use: "list", Short: "List the records, oldest first", Args: cobra.NoArgs,
			RunE: func(*cobra.Command, []string) error { return runInboxList(env) },
		},
		addCmd,
		newInboxRemove(env), newInboxRequeue(env), newInboxPriority(env), newInboxClear(env), newInboxPull(env),
	)
	return cmd
}

func runInboxList(env workspace.Env) error {
	s, _, err := workspace.ReadState(env, true, false)
	if err != nil {
		return err
	}
	_, err = io.WriteString(env.Stdout, report.Inbox(s, time.Now()))
	return err
}

func runInboxAdd(cmd *cobra.Command, env workspace.Env, name, priority string) error {
	in := action.Input{File: name}
	if priority != "" {
		in.Priority = &priority
	}
	done, s, err := perform(cmd, env, "queue", in)
	var stale *views.ViewError
	if err != nil && !errors.As(err, &stale) {
		return err
	}
	spec := s.Spec(ralph.SpecID(done.ID))
	if before := s.Queued(spec.File)[0]; before != spec { // allowed, with a notice
		fmt.Fprintf(env.Stderr, "Note: %s is queued already (%s); it will be worked on once for each record.\n", spec.File, before.ID)
	}
	fmt.Fprintf(env.Stdout, "Queued: %s %s\n", spec.ID, spec.File)
	if stale != nil { // who did it again would have the spec worked on, and paid for, twice
		fmt.Fprintf(env.Stderr, "Note: it is queued; nothing to repeat. ralph/inbox.jsonl does not show it yet: %v%s\n", stale.Err, workspace.RoomHint(env, stale))
	}
	return nil
}

func runInboxAddStdin(cmd *cobra.Command, env workspace.Env, name, priority string) error {
	text, err := io.ReadAll(io.LimitReader(env.Stdin, specfile.MaxSize+1))
	switch {
	case err != nil:
		return fmt.Errorf("read the spec from standard input: %w", err)
	case strings.TrimSpace(string(text)) == "":
		return &ralph.Refusal{Why: "standard input is empty", Hint: "pipe a spec into `ralph inbox add -`", Kind: ralph.ErrUsage}
	}
	root, err := workspace.FindRoot(env)
	if err != nil {
		return err
	}
	file, err := workspace.NewSpec(root, name, text)
	if err != nil {
		return err
	}
	return runInboxAdd(cmd, env, file, priority)
}

func newInboxRemove(env workspace.Env) *cobra.Command {
	cmd := saying(env, "remove", func(args []string) action.Input { return action.Input{ID: args[0]} })
	cmd.Args, cmd.Example = cobra.ExactArgs(1), "  ralph inbox remove q-a1b2\n  ralph inbox remove feature-x.md"
	return cmd
}

func newInboxRequeue(env workspace.Env) *cobra.Command {
	cmd := saying(env, "requeue", func(args []string) action.Input { return action.Input{ID: args[0]} })
	cmd.Args, cmd.Example = cobra.ExactArgs(1), "  ralph inbox requeue q-a1b2"
	return cmd
}

func newInboxPriority(env workspace.Env) *cobra.Command {
	cmd := saying(env, "spec-priority", func(args []string) action.Input { return action.Input{ID: args[0], Priority: &args[1]} })
	cmd.Args, cmd.Example = cobra.ExactArgs(2), "  ralph inbox priority q-a1b2 5\n  ralph inbox priority q-a1b2 0"
	return cmd
}

func newInboxClear(env workspace.Env) *cobra.Command {
	cmd := saying(env, "clear", func([]string) action.Input { return action.Input{} })
	cmd.Args = cobra.NoArgs
	return cmd
}
