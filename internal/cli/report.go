package cli

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/google/renameio/v2"
	"github.com/spf13/cobra"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/report"
)

func newReport(env Env) *cobra.Command {
	var format, out string
	var all bool
	cmd := &cobra.Command{
		Use: "report [session]", Short: "What a session did, and why each task is as it is: markdown, JSON, or HTML with charts",
		Long: `Tells what the newest session did, or the one named, from the journal: statistics, each
task with why it is as it is, the timeline of the slots, merges, questions, limits and
cost. The HTML is one file without scripts or links to other hosts.`,
		Example: "  ralph report\n  ralph report --format html -o report.html\n  ralph report --all --format json | jq .figures", Args: cobra.MaximumNArgs(1),
	}
	f := cmd.Flags()
	f.StringVar(&format, "format", "", "md, json or html (default: by the name of -o, else md)")
	f.StringVarP(&out, "output", "o", "", "write to this `file` instead of standard output")
	f.BoolVar(&all, "all", false, "every session of the journal")
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		opt := report.ReportOptions{All: all}
		if len(args) == 1 {
			opt.Session = ralph.SessionID(args[0])
		}
		if all && len(args) == 1 {
			return usage("--all and one session at the same time")
		}
		return runReport(env, opt, format, out)
	}
	return cmd
}

// formatOf is the format that a person named, or that the file's name says.
func formatOf(format, out string) (string, error) {
	if format == "" {
		format = strings.TrimPrefix(strings.ToLower(filepath.Ext(out)), ".")
	}
	switch format {
	case "", "md", "markdown":
		return "md", nil
	case "json":
		return "json", nil
	case "html", "htm":
		return "html", nil
	}
	return "", usage("--format %s: use md, json or html", format)
}

func runReport(env Env, opt report.ReportOptions, format, out string) error {
	format, err := formatOf(format, out)
	if err != nil {
		return err
	}
	j, err := openReader(env, false, true)
	if err != nil {
		return err
	}
	defer j.Close()
	r, s := report.NewReport(opt), &ralph.State{}
	err = j.Each(0, func(e ralph.Event) error {
		s.Apply(e)
		r.Add(e, s)
		return nil
	})
	if err != nil {
		return err
	}
	result, err := r.Result()
	if err != nil {
		return err
	}
	var b bytes.Buffer
	write := map[string]func() error{
		"md":   func() error { return result.Markdown(&b) },
		"json": func() error { return result.JSON(&b) },
		"html": func() error { return result.HTML(&b) },
	}[format]
	if err := write(); err != nil {
		return err
	}
	if out == "" || out == "-" {
		_, err := env.Stdout.Write(b.Bytes())
		return err
	}
	if !filepath.IsAbs(out) {
		out = filepath.Join(env.Dir, out)
	}
	if err := renameio.WriteFile(out, b.Bytes(), 0o644); err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	_, err = fmt.Fprintln(env.Stdout, "written", out)
	return err
}
