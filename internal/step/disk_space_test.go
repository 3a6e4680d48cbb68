package step

import (
	"errors"
	"fmt"
	"syscall"
	"testing"

	"github.com/ralph-loop/ralph"
)

// On a full disk no agent is asked, and nothing that goes wrong counts; with room
// everything is what it says it is.
func TestFullDiskIsNobodysFault(t *testing.T) {
	t.Parallel()
	full := fmt.Errorf("write: %w", syscall.ENOSPC)
	for name, tt := range map[string]struct {
		fact    ralph.Fact
		room    error
		dropped bool
	}{
		"a good turn":                       {ralph.TurnEnded{Exit: ralph.ExitOK}, full, false},
		"a bad turn":                        {ralph.TurnEnded{Exit: ralph.ExitFailed}, full, true},
		"a bad turn with room":              {ralph.TurnEnded{Exit: ralph.ExitFailed}, nil, false},
		"an agent that only speaks of it":   {ralph.TurnEnded{Exit: ralph.ExitFailed, Err: &ralph.AgentError{Message: "No space left on device"}}, nil, false},
		"red checks":                        {ralph.ChecksRan{}, full, true},
		"red checks with room":              {ralph.ChecksRan{}, nil, false},
		"a red baseline":                    {ralph.BaselineRan{Red: []string{"make"}}, full, true},
		"git says so, though there is room": {ralph.Prepared{Error: "git checkout: write error. Out of diskspace"}, nil, true},
		"a quota":                           {ralph.Merged{Error: "write: disk quota exceeded"}, nil, true},
		"another error of git with room":    {ralph.Committed{Error: "hook said no"}, nil, false},
		"another error of git":              {ralph.Committed{Error: "hook said no"}, full, true},
		"a spec that is not there":          {ralph.Prepared{Error: "spec file not found"}, nil, false},
	} {
		x := &Executor{DiskSpace: func() error { return tt.room }}
		err := x.noSpace([]ralph.Fact{tt.fact, ralph.Noted{Text: "and more"}})
		if (err != nil) != tt.dropped || err != nil && !NoSpace(err) {
			t.Errorf("%s: %v, want dropped %v", name, err, tt.dropped)
		}
	}
	x := &Executor{DiskSpace: func() error { return full }} // no agents: asking one would panic
	if _, err := x.Do(t.Context(), &ralph.State{}, "t-1", ralph.Turn{Stage: ralph.KindBuild}); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("err = %v", err)
	}
}
