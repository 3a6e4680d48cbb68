package inspect

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/cli/flags"
	"github.com/ralph-loop/ralph/internal/eventname"
	"github.com/ralph-loop/ralph/internal/journal"
	"github.com/ralph-loop/ralph/internal/policy"
	"github.com/ralph-loop/ralph/internal/report"
	"github.com/ralph-loop/ralph/internal/workspace"
	"github.com/spf13/cobra"
)

// LogOptions are the flags of `ralph log`.
type LogOptions struct {
	Follow, json, raw, all bool
	Last                   int
	types                  []string
	since, task, level, at string
	session                ralph.SessionID
	after                  int64 // the number of a fact: only what came later
}

// Log is `ralph log`.
func Log(env workspace.Env) *cobra.Command {
	var o LogOptions
	cmd := &cobra.Command{
		Use: "log [session]", Short: "What happened, from the journal", Args: cobra.MaximumNArgs(1),
		Long: `Shows what happened, a line for each thing that is worth one; with a session's id only
what came from its start to that of the next one. With --type only events
of these names, one line each: a kind of fact (turn.ended), or any other name of
docs/events.md (autopilot:step-complete, step-complete, engine:paused, AGENT_BLOCKED).

--level debug shows every fact, with what it moved from where to where, and why; log.level
in ralph/config.yaml and RALPH_LOG_LEVEL are for every start, and for the log file of a run.

--json prints one object for each event: the journal's line with its names (event),
session and task. --raw prints the journal's lines alone, as their hashes are of them.`,
		Example: `  ralph log -n 50
  ralph log s-20260102T150405Z-1a2b
  ralph log -f --type step-complete,step-failed
  ralph log --since 2h --task t-1a2b
  ralph log --at 22:30 -n 20     the last lines of then
  ralph log -f --repo git@host:team/app.git     from any machine (docs/fleet.md)
  ralph log --level debug --task t-1a2b
  ralph log --json --type iteration:completed | jq .fact.usage`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				o.session = ralph.SessionID(args[0])
			}
			return RunLog(cmd.Context(), env, o)
		},
	}
	f := cmd.Flags()
	f.BoolVarP(&o.Follow, "follow", "f", false, "go on as things happen, until Ctrl+C")
	f.BoolVar(&o.json, "json", false, "print the facts themselves with their names, one JSON object a line")
	f.BoolVar(&o.raw, "raw", false, "print the journal's lines as they are")
	f.BoolVar(&o.all, "all", false, "also facts that make no line of their own")
	f.IntVarP(&o.Last, "lines", "n", 0, "only the last N lines (0: all)")
	f.StringSliceVar(&o.types, "type", nil, "only events of these `names` (docs/events.md)")
	f.StringVar(&o.since, "since", "", "only what happened since a `time`: "+flags.SinceForms)
	f.StringVar(&o.task, "task", "", "only what concerns this task: its `id`")
	atFlag(cmd, &o.at)
	f.Int64Var(&o.after, "after", 0, "only what came after the fact with this `number`")
	cmd.MarkFlagsMutuallyExclusive("follow", "at")
	f.StringVar(&o.level, "level", "", "`info` or debug (log.level in ralph/config.yaml)")
	cmd.MarkFlagsMutuallyExclusive("json", "raw")
	return cmd
}

// RunLog prints what happened; with Follow until ctx is done.
func RunLog(ctx context.Context, env workspace.Env, o LogOptions) error {
	p := &logPrinter{o: o, s: &ralph.State{}, namer: eventname.New(policy.Quiescent)}
	for i, name := range p.o.types {
		p.o.types[i] = strings.TrimSpace(name)
		if err := eventname.Check(p.o.types[i]); err != nil {
			return err
		}
	}
	from, err := flags.ParseSince(o.since, time.Now())
	if err != nil {
		return err
	}
	if o.Last < 0 {
		return flags.Errorf("--lines %d: give how many lines, 0 for all", o.Last)
	}
	root, err := workspace.FindRoot(env)
	if err != nil {
		return err
	}
	if p.debug, err = debugs(env, root, o.level); err != nil {
		return err
	}
	var failed error
	follow := func(e ralph.Event, _ *ralph.State) { // called by Wait below
		if e.Seq > p.s.Seq && failed == nil {
			failed = p.add(e)
		}
	}
	j, err := journal.Open(journal.Options{Root: root, Read: true, Observe: follow})
	if err != nil {
		return err
	}
	defer j.Close()
	p.since = from.From(j.State())
	if o.Follow { // before the first line: who reads it may press Ctrl+C at once
		var stop context.CancelFunc
		ctx, stop = signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
		defer stop()
	}
	upTo, err := lastOf(env, o.at)
	if err != nil {
		return err
	}
	if err := eachUpTo(j, upTo, p.add); err != nil {
		return err
	}
	if o.session != "" && !p.found {
		return &ralph.Refusal{Why: fmt.Sprintf("no session %s in the journal", o.session), Hint: "`ralph log --type session.started` lists them", Kind: ralph.ErrNotFound}
	}
	if o.Last > 0 && len(p.lines) > o.Last {
		p.lines = p.lines[len(p.lines)-o.Last:]
	}
	for {
		if err := p.flush(env.Stdout); err != nil || !o.Follow {
			return err
		}
		if err := j.Wait(ctx, p.s.Seq); err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return err
		}
		if failed != nil {
			return failed
		}
	}
}

// logPrinter turns events into lines, folding the state on the way.
type logPrinter struct {
	o     LogOptions
	since time.Time
	s     *ralph.State
	namer *eventname.Namer
	log   report.Log
	lines []string
	found bool // the session that was asked for
	debug bool // level debug: each event has a line with its cause
}

// debugs reports whether the log is to be of level debug. Settings that cannot be read are
// no reason not to show what happened.
func debugs(env workspace.Env, root, level string) (bool, error) {
	if level == "" {
		c, _ := workspace.LoadConfig(env, root, nil)
		level = c.Log.Level
	}
	if level != "info" && level != "debug" {
		return false, flags.Errorf("--level %q: use info or debug", level)
	}
	return level == "debug", nil
}

func (p *logPrinter) add(e ralph.Event) error {
	before := p.before()
	p.s.Apply(e)
	p.found = p.found || p.s.Session.ID == p.o.session
	names := p.namer.Names(e, p.s) // of every event: a name may depend on what was before
	var words []string
	if !p.o.json && !p.o.raw {
		words = p.log.Lines(e, p.s)
	}
	called, ok := p.wants(e, names)
	if !ok {
		return nil
	}
	switch {
	case p.o.raw:
		line, err := ralph.MarshalEvent(&e)
		p.lines = append(p.lines, string(line))
		return err
	case p.o.json:
		line, err := report.EventJSON(e, names, p.s, "", "")
		p.lines = append(p.lines, string(line))
		return err
	}
	at := e.At.Local().Format("2006-01-02 15:04:05")
	switch {
	case p.debug && called == "":
		words = append(words, report.Debug(e, before, p.s))
	case p.debug:
		words = append(words, report.Plainly(e, before, p.s))
	case len(words) == 0 && called != "":
		words = []string{report.Plainly(e, before, p.s)}
	case len(words) == 0 && p.o.all:
		b, err := json.Marshal(e.Fact)
		if err != nil {
			return err
		}
		words = []string{e.Fact.Kind() + " " + string(b)}
	}
	if called != "" { // one line an event, so that they can be counted
		words = []string{called + "  " + strings.Join(words, "; ")}
	}
	for _, l := range words {
		p.lines = append(p.lines, at+"  "+l)
	}
	return nil
}

// before is the state before the next event, where it is needed to tell of it.
func (p *logPrinter) before() *ralph.State {
	if p.o.json || p.o.raw || !p.debug && len(p.o.types) == 0 {
		return nil
	}
	return p.s.Clone()
}

// wants reports whether an event passes the filters, and by which of the names that
// were asked for; "" when none were.
func (p *logPrinter) wants(e ralph.Event, names []string) (called string, ok bool) {
	if p.o.session != "" && p.s.Session.ID != p.o.session {
		return "", false
	}
	if e.Seq <= p.o.after || e.At.Before(p.since) || p.o.task != "" && !report.Concerns(e, p.s, ralph.TaskID(p.o.task)) {
		return "", false
	}
	if len(p.o.types) == 0 {
		return "", true
	}
	asked := slices.DeleteFunc(slices.Clone(p.o.types), func(name string) bool { return !slices.Contains(names, name) })
	return strings.Join(asked, ","), len(asked) > 0
}

func (p *logPrinter) flush(w io.Writer) error {
	if len(p.lines) == 0 {
		return nil
	}
	_, err := io.WriteString(w, strings.Join(p.lines, "\n")+"\n")
	p.lines = p.lines[:0]
	return err
}
