// Package repair owns the commands that put right what was left behind: work that was put aside, a
// journal that is damaged, a lock of an engine that is gone. What was put aside, and how it is
// brought back, is internal/recovery's.
package repair

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/cli/flags"
	"github.com/ralph-loop/ralph/internal/git/worktrees"
	"github.com/ralph-loop/ralph/internal/recovery"
	"github.com/ralph-loop/ralph/internal/text"
	"github.com/ralph-loop/ralph/internal/workspace"
	"github.com/spf13/cobra"
)

// Recover is `ralph recover`.
func Recover(env workspace.Env) *cobra.Command {
	var all bool
	list := func(cmd *cobra.Command, asJSON bool) error { return runRecoverList(cmd.Context(), env, asJSON, all) }
	cmd := &cobra.Command{
		Use: "recover", Short: "Everything that ralph ever put aside, and how to get it back",
		Long: `The ledger of every branch, worktree, stash and recovery ref that ralph made: what it
is, of which task, and whether its work is merged, on a branch, or only there.
Nothing of it is removed by ralph unless it is merged or you say so.`,
		Example: "  ralph recover\n  ralph recover show t-1a2b\n  ralph recover restore t-1a2b --as my-branch", Args: flags.NoSuchCommand,
	}
	asJSON := flags.JSON(cmd)
	cmd.Flags().BoolVar(&all, "all", false, "also what is gone because it is merged")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return list(cmd, *asJSON) }

	listCmd := &cobra.Command{Use: "list", Short: "List it, newest first", Args: cobra.NoArgs, Example: "  ralph recover list --all"}
	listJSON := flags.JSON(listCmd)
	listCmd.Flags().BoolVar(&all, "all", false, "also what is gone because it is merged")
	listCmd.RunE = func(cmd *cobra.Command, _ []string) error { return list(cmd, *listJSON) }

	show := &cobra.Command{Use: "show <id>", Short: "One of them with what it changes", Args: cobra.ExactArgs(1), Example: "  ralph recover show t-1a2b"}
	showJSON := flags.JSON(show)
	show.RunE = func(cmd *cobra.Command, args []string) error {
		return runRecoverShow(cmd.Context(), env, args[0], *showJSON)
	}

	var as string
	restore := &cobra.Command{
		Use: "restore <id>", Short: "Make a branch of it; your checkout is not touched", Args: cobra.ExactArgs(1),
		Long:    "Makes a branch at what was put aside. Of a stash it tells the command that applies it, by\ncommit, since the positions of stashes move.",
		Example: "  ralph recover restore t-1a2b\n  ralph recover restore t-1a2b --as my-branch",
	}
	restoreJSON := flags.JSON(restore)
	restore.Flags().StringVar(&as, "as", "", "the name of the `branch` (default: recovered/<id>)")
	restore.RunE = func(cmd *cobra.Command, args []string) error {
		return runRecoverRestore(cmd.Context(), env, args[0], as, *restoreJSON)
	}
	cmd.AddCommand(listCmd, show, restore, newRecoverJournal(env))
	return cmd
}

func runRecoverList(ctx context.Context, env workspace.Env, asJSON, all bool) error {
	_, list, err := recovery.OpenLedger(ctx, env)
	if err != nil {
		return err
	}
	if !all {
		list = slices.DeleteFunc(list, func(e recovery.Entry) bool {
			return e.Gone || e.State == recovery.WorkMerged && e.Kind != "worktree"
		})
	}
	if asJSON {
		return workspace.PrintJSON(env.Stdout, map[string]any{"version": 1, "entries": append([]recovery.Entry{}, list...)})
	}
	return printLedger(env.Stdout, list)
}

// stateWords say where the work of an entry is.
func stateWords(state string) string {
	return map[string]string{
		recovery.WorkMerged: "merged", recovery.WorkBranch: "on a branch", recovery.WorkOnly: "only here", recovery.WorkGone: "gone",
	}[state]
}

func printLedger(w io.Writer, list []recovery.Entry) error {
	if len(list) == 0 {
		_, err := fmt.Fprintln(w, "Nothing is put aside. (--all also lists what is merged and gone.)")
		return err
	}
	wide := 0
	for _, e := range list {
		wide = max(wide, len(e.ID))
	}
	for _, e := range list {
		at := "-"
		if !e.At.IsZero() {
			at = e.At.Local().Format("2006-01-02 15:04")
		}
		fmt.Fprintf(w, "%-*s  %-8s  %-11s  %-16s  %-9.9s  %s\n", wide, e.ID, e.Kind, stateWords(e.State), at, e.Commit, about(e))
	}
	_, err := fmt.Fprintln(w, "`ralph recover show <id>` shows one, `ralph recover restore <id>` makes a branch of it.")
	return err
}

func about(e recovery.Entry) string {
	if e.Task == "" || strings.Contains(e.What, string(e.Task)) {
		return e.What
	}
	return string(e.Task) + " " + e.What
}

func runRecoverShow(ctx context.Context, env workspace.Env, name string, asJSON bool) error {
	repo, list, err := recovery.OpenLedger(ctx, env)
	if err != nil {
		return err
	}
	e, err := recovery.FindEntry(list, name)
	if err != nil {
		return err
	}
	x := recovery.ShownEntry{Entry: e, Restore: "ralph recover restore " + e.ID}
	if e.Kind == "worktree" {
		x.Restore = "cd " + e.Path
	}
	if err := x.Read(ctx, repo); err != nil {
		return err
	}
	if asJSON {
		return workspace.PrintJSON(env.Stdout, x)
	}
	fmt.Fprintf(env.Stdout, "%s  %s, %s\n", e.ID, e.Kind, stateWords(e.State))
	for _, l := range [][2]string{{"task", string(e.Task)}, {"what", e.What}, {"commit", e.Commit}, {"ref", e.Ref}, {"path", e.Path}, {"get it back", x.Restore}} {
		if l[1] != "" {
			fmt.Fprintf(env.Stdout, "%-12s %s\n", l[0]+":", l[1])
		}
	}
	if x.Message != "" {
		fmt.Fprintf(env.Stdout, "\n%s", text.Indent(strings.TrimRight(x.Message, "\n"))+"\n")
	}
	if x.Patch != "" {
		fmt.Fprintf(env.Stdout, "\n%s\n", strings.TrimRight(x.Patch, "\n"))
	}
	return nil
}

func runRecoverRestore(ctx context.Context, env workspace.Env, name, as string, asJSON bool) error {
	repo, list, err := recovery.OpenLedger(ctx, env)
	if err != nil {
		return err
	}
	e, err := recovery.FindEntry(list, name)
	switch {
	case err != nil:
		return err
	case e.State == recovery.WorkGone:
		return &ralph.Refusal{Why: e.ID + " is gone", Hint: "git may still have it for a while: git branch " + cmp.Or(as, "recovered") + " " + e.Commit, Kind: ralph.ErrNotFound}
	case e.Kind == "worktree" && as == "":
		as = "recovered/" + strings.TrimPrefix(e.ID, "ralph/.worktrees/")
	}
	brought, err := worktrees.Bring(ctx, repo, worktrees.Kept{Kind: e.Kind, Ref: e.Ref, Commit: e.Commit, Subject: e.What, At: e.At}, as)
	if err != nil {
		return err
	}
	if asJSON {
		return workspace.PrintJSON(env.Stdout, map[string]any{"id": e.ID, "branch": brought.Branch, "commit": e.Commit, "command": brought.Command})
	}
	if brought.Branch != "" {
		fmt.Fprintf(env.Stdout, "branch %s is at %.9s\n", brought.Branch, e.Commit)
	}
	_, err = fmt.Fprintf(env.Stdout, "next: %s\n", brought.Command)
	return err
}
