package profile

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/proc"
	"github.com/ralph-loop/ralph/internal/sandbox"
)

// Offered is what this system has to keep agents from writing.
type Offered struct {
	ABI   int    // of Landlock, 0 for none
	Bwrap string // the program, "" for none
	// broken is why bubblewrap, which is installed, does not work here: containers and
	// some settings of the system forbid it.
	broken string
}

// Offers looks what there is, and tries bubblewrap out.
func Offers(environ []string) Offered {
	o := Offered{ABI: sandbox.ABI()}
	bwrap, err := proc.LookPath("bwrap", "", environ)
	if err != nil {
		return o // not there is an answer
	}
	program, err := proc.LookPath("true", "", environ)
	if err != nil {
		return o
	}
	_, stderr, res, err := proc.NewRunner("").Output(context.Background(), proc.Command{
		Args: sandbox.Bwrap(bwrap, sandbox.Box{}, []string{program}), Dir: "/", Env: environ, Timeout: 10 * time.Second,
	})
	switch {
	case err != nil:
		o.broken = err.Error()
	case res.Code != 0 || res.Ended != proc.EndedSelf:
		o.broken = cmp.Or(strings.TrimSpace(string(stderr)), "exit code "+strconv.Itoa(res.Code))
	default:
		o.Bwrap = bwrap
	}
	return o
}

// Words is the offer for people.
func (o Offered) Words() string {
	words := "this system has neither landlock nor bubblewrap"
	switch {
	case o.ABI > 0 && o.Bwrap != "":
		words = fmt.Sprintf("bubblewrap and landlock (ABI %d) are there", o.ABI)
	case o.ABI > 0:
		words = fmt.Sprintf("landlock (ABI %d) is there", o.ABI)
	case o.Bwrap != "":
		words = "bubblewrap is there"
	}
	if o.broken != "" {
		words += "; bubblewrap does not work here: " + o.broken
	}
	return words
}

// Choose is the sandbox that the settings ask for. What is asked for by name and not
// there is a refusal; auto is off then. Of both auto takes bubblewrap: it can hide files,
// and keep what lies in the work tree.
func (o Offered) Choose(kind string) (string, error) {
	there := map[string]bool{sandbox.Landlock: o.ABI > 0, sandbox.Bubblewrap: o.Bwrap != ""}
	switch {
	case kind == sandbox.Off || there[kind]:
		return kind, nil
	case kind == sandbox.Auto && there[sandbox.Bubblewrap]:
		return sandbox.Bubblewrap, nil
	case kind == sandbox.Auto && there[sandbox.Landlock]:
		return sandbox.Landlock, nil
	case kind == sandbox.Auto:
		return sandbox.Off, nil
	}
	return "", &ralph.Refusal{
		Why:  "sandbox.kind is " + kind + ", which is not here: " + o.Words(),
		Hint: "set sandbox.kind: auto (what there is) or off in ralph/config.yaml", Kind: ralph.ErrUsage,
	}
}
