package flags

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/ralph-loop/ralph"
)

// NoSuchCommand is the argument check of commands that only hold others: what
// stands there is a mistyped name, so the nearest ones are named.
func NoSuchCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	const typos = 2
	cmd.SuggestionsMinimumDistance = typos
	hint := ""
	if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
		hint = fmt.Sprintf(`; did you mean "%s"?`, strings.Join(near, `" or "`))
	}
	return fmt.Errorf("unknown command %q for %q%s\nTry `%s --help`", args[0], cmd.CommandPath(), hint, cmd.CommandPath())
}

// Wrong says what is wrong with a flag in words, and names the one that was probably
// meant.
func Wrong(cmd *cobra.Command, err error) error {
	try := fmt.Sprintf("Try `%s --help`", cmd.CommandPath())
	if bad, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		if want := valueWords(bad.GetFlag()); want != "" {
			return fmt.Errorf("--%s must be %s, not %q\n%s", bad.GetFlag().Name, want, bad.GetValue(), try)
		}
	}
	if unknown, ok := errors.AsType[*pflag.NotExistError](err); ok {
		if near := nearFlag(cmd, unknown.GetSpecifiedName()); near != "" {
			return fmt.Errorf("%w; did you mean --%s?\n%s", err, near, try)
		}
	}
	return fmt.Errorf("%w\n%s", err, try)
}

// valueWords says what the value of a flag has to be, "" where its type says too little.
func valueWords(f *pflag.Flag) string {
	switch f.Value.Type() {
	case "int", "int64", "uint":
		return "a whole number"
	case "float64":
		return "a number"
	case "bool":
		return "true or false"
	case "duration":
		return "a duration with its unit, such as 90s or 2h"
	}
	return ""
}

// nearFlag is the flag of a command that a name was probably meant for: one that is
// spelt like it, or whose help names the word as its value (--port: --addr host:port).
func nearFlag(cmd *cobra.Command, name string) string {
	var names []string
	named := ""
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		names = append(names, f.Name)
		value, _ := pflag.UnquoteUsage(f)
		if strings.Contains(value, name) && len(name) > 2 {
			named = f.Name
		}
	})
	if near := ralph.Nearest(name, names); near != "" {
		return near
	}
	return named
}
