package inspect

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/cli/flags"
	"github.com/ralph-loop/ralph/internal/journal"
	"github.com/ralph-loop/ralph/internal/workspace"
	"github.com/spf13/cobra"
)

// atFlag adds --at.
func atFlag(cmd *cobra.Command, at *string) {
	cmd.Flags().Var((*atValue)(at), "at", "as it was then: after fact `N`, or at a time: "+flags.SinceForms)
}

// atValue is a text that is not empty: a variable of a script that is empty asks for the past, and
// is not to be answered with how it is now.
type atValue string

func (v *atValue) String() string { return string(*v) }
func (v *atValue) Type() string   { return "string" }
func (v *atValue) Set(text string) error {
	if strings.TrimSpace(text) == "" {
		return errors.New("it is empty: give the number of a fact, or a time")
	}
	*v = atValue(text)
	return nil
}

// stateAt is the state after a fact, or at a time; newest is how many facts there are.
func stateAt(env workspace.Env, text string) (s *ralph.State, newest int64, err error) {
	j, err := workspace.OpenReader(env, false, false)
	if err != nil {
		return nil, 0, err
	}
	newest = j.State().Seq
	if seq, err := strconv.ParseInt(text, 10, 64); err == nil || errors.Is(err, strconv.ErrRange) {
		switch {
		case newest == 0:
			return nil, 0, &ralph.Refusal{Why: "there is no fact " + text + ": nothing has happened here yet", Hint: "leave --at out", Kind: ralph.ErrNotFound}
		case seq < 1 || err != nil:
			return nil, 0, &ralph.Refusal{Why: fmt.Sprintf("there is no fact %s: they are numbered from 1 to %d", text, newest), Hint: "`ralph log --json` shows each with its seq", Kind: ralph.ErrNotFound}
		}
		s, err = j.At(seq)
		return s, newest, err
	}
	when, err := flags.ParseSince(text, time.Now()) // with the person's zone
	if err != nil {
		return nil, 0, flags.Errorf("--at %q: give the number of a fact, or a time: %s", text, flags.SinceForms)
	}
	if from := when.From(j.State()); from.After(time.Now()) {
		return nil, 0, flags.Errorf("--at %q is still to come: leave --at out for how it is now", text)
	}
	s, err = j.AtTime(when.From(j.State()))
	if err == nil && s.Seq == 0 {
		err = &ralph.Refusal{Why: "there is no fact before " + when.From(j.State()).Local().Format("2006-01-02 15:04:05"), Hint: "`ralph log` shows when the first was", Kind: ralph.ErrNotFound}
	}
	return s, newest, err
}

// lastOf is the fact that --at asks for; without it all there are.
func lastOf(env workspace.Env, at string) (int64, error) {
	if at == "" {
		return math.MaxInt64, nil
	}
	s, _, err := stateAt(env, at)
	if err != nil {
		return 0, err
	}
	return s.Seq, nil
}

// eachUpTo visits the journal up to a fact.
func eachUpTo(j *journal.File, last int64, visit func(ralph.Event) error) error {
	enough := errors.New("what came later")
	err := j.Each(0, func(e ralph.Event) error {
		if e.Seq > last {
			return enough
		}
		return visit(e)
	})
	if errors.Is(err, enough) {
		return nil
	}
	return err
}
