package cli

import (
	"regexp"
	"strings"
	"testing"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/workspace"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Every command that does something says in one line what it does, and shows how
// it is typed, unless there is only one way to type it; no flag that takes no value shows one (D-032 to D-035: a person
// finds the flags in the help).
func TestHelp(t *testing.T) {
	t.Parallel()
	var walk func(cmd *cobra.Command)
	walk = func(cmd *cobra.Command) {
		for _, c := range cmd.Commands() {
			walk(c)
		}
		if cmd.Hidden || !cmd.Runnable() {
			return
		}
		if cmd.Short == "" {
			t.Errorf("%s: no short help", cmd.CommandPath())
		}
		trivial := !cmd.HasLocalFlags() && !strings.ContainsAny(cmd.Use, "<[")
		if cmd.Example == "" && !trivial {
			t.Errorf("%s takes arguments or flags: its help needs an Example", cmd.CommandPath())
		}
		if cmd.Example != "" && !strings.Contains(cmd.Example, cmd.CommandPath()) {
			t.Errorf("%s: its Example does not show it:\n%s", cmd.CommandPath(), cmd.Example)
		}
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if value, _ := pflag.UnquoteUsage(f); f.Value.Type() == "bool" && value != "" {
				t.Errorf("%s --%s: what stands in backquotes first is shown as its value: %q", cmd.CommandPath(), f.Name, value)
			}
		})
	}
	walk(newRoot(workspace.Env{Version: "test"}))
}

// C-084: auto is the primary command: of all commands the help shows it first.
func TestAutoIsFirstInHelp(t *testing.T) {
	t.Parallel()
	root := newRoot(workspace.Env{Version: "test"})
	var help strings.Builder
	root.SetOut(&help)
	if err := root.Help(); err != nil {
		t.Fatal(err)
	}
	_, groups, _ := strings.Cut(help.String(), "\nUsage:")
	listed := regexp.MustCompile(`(?m)^[A-Z][a-z ]+:\n  ([a-z]+) +[A-Z]`).FindStringSubmatch(groups)
	if listed == nil || listed[1] != "auto" {
		t.Errorf("the first command of the help is %q:\n%s", listed, help.String())
	}
}

// What an example shows can be typed: its flags are there, and go together.
func TestExamplesAreAccepted(t *testing.T) {
	t.Parallel()
	fresh := func() *cobra.Command { return newRoot(workspace.Env{Version: "test"}) }
	quoted, tried := regexp.MustCompile(`"[^"]*"|'[^']*'`), 0
	var walk func(cmd *cobra.Command)
	walk = func(cmd *cobra.Command) {
		for _, c := range cmd.Commands() {
			walk(c)
		}
		for line := range strings.Lines(cmd.Example) {
			line, _, _ = strings.Cut(quoted.ReplaceAllString(strings.TrimSpace(line), "words"), "#")
			line, isRalph := strings.CutPrefix(line, "ralph ")
			if !isRalph || strings.ContainsAny(line, "|<>$&;") {
				continue
			}
			tried++
			c, args, err := fresh().Find(strings.Fields(line))
			if err == nil {
				if err = c.ParseFlags(args); err == nil {
					err = c.ValidateFlagGroups()
				}
			}
			if err != nil {
				t.Errorf("the example `ralph %s` is refused: %v", line, err)
			}
		}
	}
	walk(fresh())
	if tried < 50 {
		t.Errorf("only %d examples were tried", tried)
	}
}

// Ids are unique and of one form (D-007, D-016): 1000 records, none twice.
func TestSpecIDs(t *testing.T) {
	t.Parallel()
	form := regexp.MustCompile(`^q-[a-z0-9]{4}$`)
	s := &ralph.State{}
	seen := map[ralph.SpecID]bool{}
	for range 1000 {
		id := workspace.NewSpecID(s)
		if !form.MatchString(string(id)) || seen[id] {
			t.Fatalf("id %s: not of the form, or there already", id)
		}
		seen[id] = true
		s.Inbox = append(s.Inbox, &ralph.Spec{ID: id})
	}
}
