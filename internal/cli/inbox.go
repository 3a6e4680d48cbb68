package cli

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/report"
	"github.com/ralph-loop/ralph/internal/views"
	"github.com/ralph-loop/ralph/internal/workspace"
	"github.com/spf13/cobra"
)

func newInbox(env workspace.Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "inbox",
		Short:   "The queue of specs: list, add, remove, clear",
		Example: "  ralph inbox add feature-x.md\n  ralph inbox\n  ralph inbox remove q-a1b2",
		Args:    noSuchCommand,
		RunE:    func(cmd *cobra.Command, _ []string) error { return runInboxList(env) },
	}
	var name string
	addCmd := &cobra.Command{
		Use:   "add <spec.md>",
		Short: "Queue a spec of ralph/specs; `-` reads it from standard input",
		Example: "  ralph inbox add feature-x.md\n" +
			"  printf '# Say hello\\n\\nA script hello.sh that greets.\\n' | ralph inbox add - --name hello.md",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if args[0] == "-" {
				return runInboxAddStdin(cmd, env, name)
			}
			return runInboxAdd(cmd, env, args[0])
		},
	}
	addCmd.Flags().StringVar(&name, "name", "", "with -: the file to write in ralph/specs (default: made from the first heading)")
	cmd.AddCommand(
		&cobra.Command{
			Use: "list", Short: "List the records, oldest first", Args: cobra.NoArgs,
			RunE: func(*cobra.Command, []string) error { return runInboxList(env) },
		},
		addCmd,
		&cobra.Command{
			Use: "remove <id or spec.md>", Short: "Take a record out of the queue", Args: cobra.ExactArgs(1),
			Example: "  ralph inbox remove q-a1b2\n  ralph inbox remove feature-x.md",
			RunE:    func(cmd *cobra.Command, args []string) error { return runInboxRemove(cmd, env, args[0]) },
		},
		&cobra.Command{
			Use: "clear", Short: "Take all pending records out of the queue", Args: cobra.NoArgs,
			RunE: func(cmd *cobra.Command, _ []string) error { return runInboxClear(cmd, env) },
		},
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

func runInboxAdd(cmd *cobra.Command, env workspace.Env, name string) error {
	file, err := workspace.SpecThere(env, name)
	if err != nil {
		return err
	}
	j, err := workspace.OpenJournal(env, true, false)
	if err != nil {
		return err
	}
	defer j.Close()
	var id ralph.SpecID
	var queued []*ralph.Spec
	err = j.Update(cmd.Context(), "cli", func(s *ralph.State) ([]ralph.Fact, error) {
		id, queued = workspace.NewSpecID(s), s.Queued(file)
		return s.AddSpec(id, file, time.Now()), nil
	})
	var stale *views.ViewError
	if err != nil && !errors.As(err, &stale) {
		return err
	}
	if len(queued) > 0 { // allowed, with a notice
		fmt.Fprintf(env.Stderr, "Note: %s is queued already (%s); it will be worked on once for each record.\n", file, queued[0].ID)
	}
	fmt.Fprintf(env.Stdout, "Queued: %s %s\n", id, file)
	if stale != nil { // who did it again would have the spec worked on, and paid for, twice
		fmt.Fprintf(env.Stderr, "Note: it is queued; nothing to repeat. ralph/inbox.jsonl does not show it yet: %v%s\n", stale.Err, workspace.RoomHint(env, stale))
	}
	return nil
}

func runInboxAddStdin(cmd *cobra.Command, env workspace.Env, name string) error {
	text, err := io.ReadAll(io.LimitReader(env.Stdin, workspace.MostSpec+1))
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
	return runInboxAdd(cmd, env, file)
}

func runInboxRemove(cmd *cobra.Command, env workspace.Env, idOrFile string) error {
	j, err := workspace.OpenJournal(env, true, false)
	if err != nil {
		return err
	}
	defer j.Close()
	var removed *ralph.Spec
	err = j.Update(cmd.Context(), "cli", func(s *ralph.State) (facts []ralph.Fact, err error) {
		removed, facts, err = s.RemoveSpec(idOrFile)
		return facts, err
	})
	if refusal, ok := errors.AsType[*ralph.Refusal](err); ok && errors.Is(err, ralph.ErrActive) && j.Holder() == nil {
		refusal.Hint = "its engine is gone: `ralph agent` goes on with it, and when it has ended it can be removed"
	}
	if err != nil {
		return err
	}
	fmt.Fprintf(env.Stdout, "Removed: %s %s\n", removed.ID, removed.File)
	return nil
}

func runInboxClear(cmd *cobra.Command, env workspace.Env) error {
	j, err := workspace.OpenJournal(env, true, false)
	if err != nil {
		return err
	}
	defer j.Close()
	n := 0
	err = j.Update(cmd.Context(), "cli", func(s *ralph.State) ([]ralph.Fact, error) {
		facts := s.ClearInbox()
		n = len(facts)
		return facts, nil
	})
	if err != nil {
		return err
	}
	fmt.Fprintf(env.Stdout, "Cleared %d pending specs\n", n)
	return nil
}
