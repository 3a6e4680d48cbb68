package inspect

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/google/renameio/v2"
	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/cli/flags"
	"github.com/ralph-loop/ralph/internal/observe"
	"github.com/ralph-loop/ralph/internal/sessionreport"
	"github.com/ralph-loop/ralph/internal/status"
	"github.com/ralph-loop/ralph/internal/workspace"
	"github.com/spf13/cobra"
)

// Report is `ralph report`.
func Report(env workspace.Env) *cobra.Command {
	var format, out, when string
	var all, asJSON, asMarkdown bool
	cmd := &cobra.Command{
		Use: "report [session]", Short: "What a session did, and why; with --since what there is to know in the morning, on one page",
		Long: `Tells what the newest session did, or the one named, from the journal: statistics, each
task with why it is as it is, the timeline of the slots, merges, questions, limits and
cost. The HTML is one file without scripts or links to other hosts.

With --since it says on one page what happened since you looked last: what needs you and
the command for it, what landed, each thing that stood still from when to when and why,
what is not done, and what people did meanwhile (docs/morning.md). The time is that of this
machine. It is text; --markdown, --json or -o file.md choose another form.`,
		Example: "  ralph report --since yesterday\n  ralph report --since 22:00\n  ralph report --since last --json | jq .stood_still\n  ralph report\n  ralph report --format html -o report.html\n  ralph report --all --format json | jq .figures", Args: cobra.MaximumNArgs(1),
	}
	f := cmd.Flags()
	f.StringVar(&format, "format", "", "md, json or html (default: by the name of -o, else md)")
	f.StringVarP(&out, "output", "o", "", "write to this `file` instead of standard output")
	f.BoolVar(&all, "all", false, "every session of the journal")
	f.StringVar(&when, "since", "", "what there is to know of the `time` since then, on one page: "+flags.SinceForms)
	f.BoolVar(&asJSON, "json", false, "as --format json")
	f.BoolVar(&asMarkdown, "markdown", false, "as --format md")
	cmd.MarkFlagsMutuallyExclusive("json", "markdown", "format")
	cmd.MarkFlagsMutuallyExclusive("since", "all")
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		switch {
		case asJSON:
			format = "json"
		case asMarkdown:
			format = "md"
		}
		if cmd.Flags().Changed("since") {
			if len(args) == 1 {
				return flags.Errorf("--since and one session at the same time: --since tells of all sessions since then")
			}
			return runMorning(env, when, format, out)
		}
		opt := sessionreport.ReportOptions{All: all}
		if len(args) == 1 {
			opt.Session = ralph.SessionID(args[0])
		}
		if all && len(args) == 1 {
			return flags.Errorf("--all and one session at the same time")
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
	return "", flags.Errorf("--format %s: use md, json or html", format)
}

func runReport(env workspace.Env, opt sessionreport.ReportOptions, format, out string) error {
	format, err := formatOf(format, out)
	if err != nil {
		return err
	}
	j, err := workspace.OpenReader(env, false, true)
	if err != nil {
		return err
	}
	defer j.Close()
	r, s := sessionreport.NewReport(opt), &ralph.State{}
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
	return putReport(env, out, b.Bytes())
}

// putReport writes a report to standard output, or to a file.
func putReport(env workspace.Env, out string, text []byte) error {
	if out == "" || out == "-" {
		_, err := env.Stdout.Write(text)
		return err
	}
	if !filepath.IsAbs(out) {
		out = filepath.Join(env.Dir, out)
	}
	if err := renameio.WriteFile(out, text, 0o600); err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	_, err := fmt.Fprintln(env.Stdout, "written", out)
	return err
}

// runMorning tells what happened since a time, on one page.
func runMorning(env workspace.Env, when, format, out string) error {
	now := time.Now()
	from, err := flags.ParseSince(when, now)
	if err == nil && when == "" {
		err = flags.Errorf("--since: give %s", flags.SinceForms)
	}
	if err != nil {
		return err
	}
	switch { // without a word for it, it is text
	case format == "" && (out == "" || out == "-" || strings.EqualFold(filepath.Ext(out), ".txt")), format == "text":
		format = "text"
	default:
		if format, err = formatOf(format, out); err != nil {
			return err
		}
	}
	if format == "html" {
		return flags.Errorf("--since is one page of text: use --markdown or --json, or the dashboard (`ralph serve`)")
	}
	j, err := workspace.OpenReader(env, true, true)
	if err != nil {
		return err
	}
	defer j.Close()
	at := from.From(j.State())
	if at.After(now) {
		return flags.Errorf("--since %s is still to come", when)
	}
	n, s := status.NewNight(at), &ralph.State{}
	err = j.Each(0, func(e ralph.Event) error {
		s.Apply(e)
		n.Add(e, s)
		return nil
	})
	if err != nil {
		return err
	}
	m := n.Morning(observe.Engine(j), j.Now())
	var b bytes.Buffer
	write := map[string]func() error{
		"text": func() error { return m.Text(&b, now.Location()) },
		"md":   func() error { return m.Markdown(&b, now.Location()) },
		"json": func() error { return m.JSON(&b) },
	}[format]
	if err := write(); err != nil {
		return err
	}
	return putReport(env, out, b.Bytes())
}
