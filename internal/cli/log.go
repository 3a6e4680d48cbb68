package cli

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/report"
)

func newLog(env Env) *cobra.Command {
	var follow, asJSON, all bool
	var lines int
	cmd := &cobra.Command{
		Use: "log", Short: "What happened, from the journal", Args: cobra.NoArgs,
		Example: "  ralph log -n 50\n  ralph log -f\n  ralph log --json | jq -r .t | sort | uniq -c",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runLog(cmd, env, follow, asJSON, all, lines)
		},
	}
	f := cmd.Flags()
	f.BoolVarP(&follow, "follow", "f", false, "go on as things happen")
	f.BoolVar(&asJSON, "json", false, "print the facts themselves, one JSON object a line")
	f.BoolVar(&all, "all", false, "also facts that make no line of their own")
	f.IntVarP(&lines, "lines", "n", 0, "only the last N lines (0: all)")
	return cmd
}

func runLog(cmd *cobra.Command, env Env, follow, asJSON, all bool, last int) error {
	j, err := openReader(env, false, false)
	if err != nil {
		return err
	}
	defer j.Close()
	p := &logPrinter{json: asJSON, all: all, s: &ralph.State{}}
	if err := j.Each(0, p.add); err != nil {
		return err
	}
	if last > 0 && len(p.lines) > last {
		p.lines = p.lines[len(p.lines)-last:]
	}
	if err := p.flush(env.Stdout); err != nil || !follow {
		return err
	}
	for {
		if err := j.Wait(cmd.Context(), p.s.Seq); err != nil {
			if cmd.Context().Err() != nil {
				return nil
			}
			return err
		}
		if err := j.Each(p.s.Seq, p.add); err != nil {
			return err
		}
		if err := p.flush(env.Stdout); err != nil {
			return err
		}
	}
}

// logPrinter turns events into lines, folding the state on the way.
type logPrinter struct {
	json, all bool
	s         *ralph.State
	log       report.Log
	lines     []string
}

func (p *logPrinter) add(e ralph.Event) error {
	p.s.Apply(e)
	if p.json {
		b, err := ralph.MarshalEvent(&e)
		p.lines = append(p.lines, string(b))
		return err
	}
	at := e.At.Local().Format("2006-01-02 15:04:05")
	lines := p.log.Lines(e, p.s)
	if len(lines) == 0 && p.all {
		b, err := json.Marshal(e.Fact)
		if err != nil {
			return err
		}
		lines = []string{fmt.Sprintf("%s %s", e.Fact.Kind(), b)}
	}
	for _, l := range lines {
		p.lines = append(p.lines, at+"  "+l)
	}
	return nil
}

func (p *logPrinter) flush(w io.Writer) error {
	for _, l := range p.lines {
		if _, err := fmt.Fprintln(w, l); err != nil {
			return err
		}
	}
	p.lines = nil
	return nil
}

func newVersion(env Env) *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprintln(env.Stdout, "ralph", env.Version)
			return err
		},
	}
}
