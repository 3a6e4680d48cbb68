package cli

import (
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/cli/flags"
	"github.com/ralph-loop/ralph/internal/cli/fleet"
	"github.com/ralph-loop/ralph/internal/config"
	"github.com/ralph-loop/ralph/internal/fleetcmd"
	"github.com/ralph-loop/ralph/internal/session"
	"github.com/ralph-loop/ralph/internal/workspace"
	"github.com/spf13/cobra"
)

func newAuto(env workspace.Env, with ...fleetcmd.Fleet) *cobra.Command {
	var o autoFlags
	x := &session.Session{Env: env}
	cmd := &cobra.Command{
		Use: "auto [prompt]", Short: "Have an agent go on turn after turn by itself until a goal is reached", Args: cobra.MaximumNArgs(1),
		Long: `Gives an agent a goal, and has it go on turn after turn in one session of its own. After
each turn ralph decides what comes next: go on, wait for you, review the changes, or stop.
The rules alone decide; each decision has a reason, and a receipt that can be decided again
(` + "`ralph log`, `ralph receipts`, `ralph replay`" + `).

A thread stops by itself when its agent says that it is finished and the checks are green:
then there is one commit (auto.commit). It also stops when a budget is used up, when nothing
moves any more, when the same error comes again and again. Its work stays, and ` + "`ralph continue`" + `
has it go on.

One thread works in your checkout; several (--threads) work in worktrees, and a merge queue
brings their work together. Without a prompt it goes on with the threads that are there;
where there are none, it works on the specs of the inbox, as ` + "`ralph agent`" + ` does.

` + exitWords(),
		Example: `  ralph auto "make the tests pass"
  ralph auto "make the tests pass" --max-cost 5 --max-turns 20
  ralph auto --threads threads.yaml      ralph config schema threads has an example
  ralph auto                             go on, or work on the inbox`,
	}
	f := cmd.Flags()
	f.StringVar(&o.threads, "threads", "", "begin the threads of a YAML `file` (ralph config schema threads)")
	f.StringVar(&o.agent, "agent", "", "the `agent` of the thread, by its name in the settings (default: agent.primary)")
	f.StringVar(&o.name, "name", "", "what the thread is called (default: the first line of the prompt)")
	f.StringVar(&o.cost, "max-cost", "", "a thread stops above `N` dollars, like 5.00 (default unlimited)")
	f.Int64Var(&o.limits.Tokens, "max-tokens", 0, "a thread stops above `N` tokens, cache reads left out (default unlimited)")
	f.IntVar(&o.limits.Turns, "max-turns", 0, "a thread stops after `N` turns (default unlimited)")
	f.DurationVar(&o.limits.Time, "max-time", 0, "a thread stops above this `time` in turns, like 2h (default unlimited)")
	f.IntVar(&o.parallel, "parallel", workspace.DefaultSlots, "several threads: how many have a turn at the same time, `N` from 1 to "+strconv.Itoa(ralph.MostParallel))
	f.BoolVar(&o.simple, "simple", false, simpleWords)
	resumeFlags(x, cmd)
	webFlag(x, cmd)
	unattendedFlag(x, cmd)
	f.BoolVar(&x.AllowDirty, "allow-dirty", false, "start with uncommitted changes; the first commit takes them along")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := o.read(cmd, env, args, x); err != nil {
			return err
		}
		return x.Run(cmd.Context())
	}
	fleet.Flag(env, x, cmd, with)
	return cmd
}

// simpleWords say what --simple does.
const simpleWords = "one agent at a time, in your checkout, nothing sent to outside services; what waits for a person still does"

// autoFlags are what a person says on the command line of `ralph auto`.
type autoFlags struct {
	threads, agent, name, cost string
	limits                     ralph.ThreadLimits
	parallel                   int
	simple                     bool
}

// read makes a session of the flags.
func (o *autoFlags) read(cmd *cobra.Command, env workspace.Env, args []string, x *session.Session) error {
	if err := o.checkLimits(cmd); err != nil {
		return err
	}
	switch {
	case o.threads != "" && len(args) > 0:
		return flags.Errorf("--threads and a prompt exclude each other: put the prompt into %s, or give it alone", o.threads)
	case o.threads != "":
		list, err := readThreads(env, o.threads, x)
		if err != nil {
			return err
		}
		for _, n := range list {
			n.Limits = o.over(n.Limits)
			if n.Agent == "" {
				n.Agent = o.agent
			}
			x.Threads = append(x.Threads, n)
		}
	case len(args) > 0:
		x.Threads = []ralph.NewThread{{Name: o.name, Prompt: args[0], Agent: o.agent, Limits: o.limits}}
		if strings.TrimSpace(args[0]) == "" {
			return flags.Errorf("the prompt is empty: say what the agent is to reach, as in: ralph auto \"make the tests pass\"")
		}
	}
	x.Mode = ralph.ModeAuto
	if len(x.Threads) == 0 {
		s, _, err := workspace.ReadState(env, true, true)
		if err != nil {
			return err
		}
		if len(s.OpenThreads()) == 0 {
			x.Mode = "agent" // the inbox until it is empty
		}
	}
	if o.simple {
		x.Simple()
	}
	if cmd.Flags().Changed("parallel") {
		if o.parallel < 1 || o.parallel > ralph.MostParallel {
			return flags.Errorf("--parallel %d: give a whole number from 1 to %d", o.parallel, ralph.MostParallel)
		}
		x.Set("parallel", strconv.Itoa(o.parallel))
	}
	return nil
}

func (o *autoFlags) checkLimits(cmd *cobra.Command) error {
	f := cmd.Flags()
	if f.Changed("max-cost") {
		cost, err := strconv.ParseFloat(o.cost, 64)
		if err != nil || cost <= 0 || math.IsInf(cost, 0) || math.IsNaN(cost) {
			return flags.Errorf("--max-cost %s: give an amount in dollars above 0, like 5.00", o.cost)
		}
		o.limits.Cost = cost
	}
	switch {
	case f.Changed("max-tokens") && o.limits.Tokens < 1:
		return flags.Errorf("--max-tokens %d: give a whole number from 1 up", o.limits.Tokens)
	case f.Changed("max-turns") && o.limits.Turns < 1:
		return flags.Errorf("--max-turns %d: give a whole number from 1 up", o.limits.Turns)
	case f.Changed("max-time") && o.limits.Time < time.Second:
		return flags.Errorf("--max-time %s: give a time of a second or more, like 2h", o.limits.Time)
	}
	return nil
}

// over are the limits of a thread where the command line says none.
func (o *autoFlags) over(l ralph.ThreadLimits) ralph.ThreadLimits {
	if l.Tokens == 0 {
		l.Tokens = o.limits.Tokens
	}
	if l.Cost == 0 {
		l.Cost = o.limits.Cost
	}
	if l.Time == 0 {
		l.Time = o.limits.Time
	}
	if l.Turns == 0 {
		l.Turns = o.limits.Turns
	}
	return l
}

// readThreads reads a file of threads; "-" is the standard input. Where they work is a setting of
// the session.
func readThreads(env workspace.Env, name string, x *session.Session) ([]ralph.NewThread, error) {
	var b []byte
	var err error
	if name == "-" {
		b, err = io.ReadAll(io.LimitReader(env.Stdin, maxThreadsFile+1))
	} else {
		if !filepath.IsAbs(name) {
			name = filepath.Join(env.Dir, name)
		}
		b, err = os.ReadFile(name)
	}
	if err != nil {
		return nil, fmt.Errorf("read the threads: %w", err)
	}
	if len(b) > maxThreadsFile {
		return nil, flags.Errorf("%s is larger than %d bytes", name, maxThreadsFile)
	}
	list, err := config.Threads(filepath.Base(name), b)
	if err != nil {
		return nil, err
	}
	out := make([]ralph.NewThread, len(list))
	for i, t := range list {
		if t.Isolation != "" {
			x.Set("isolation", t.Isolation)
		}
		out[i] = ralph.NewThread{Name: t.Name, Prompt: t.Prompt, Agent: t.Agent, Limits: ralph.ThreadLimits{Tokens: t.Limits.Tokens, Cost: t.Limits.Cost, Time: t.Limits.Time, Turns: t.Limits.Turns}}
	}
	return out, nil
}

// maxThreadsFile is how many bytes a file of threads may have.
const maxThreadsFile = 1 << 20
