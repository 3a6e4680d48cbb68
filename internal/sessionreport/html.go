package sessionreport

import (
	"context"
	"embed"
	"fmt"
	"html/template"
	"io"
	"net/url"
	"strings"
	"time"

	"github.com/a-h/templ"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/chart"
	"github.com/ralph-loop/ralph/internal/policy/rules"
	"github.com/ralph-loop/ralph/internal/report"
	"github.com/ralph-loop/ralph/internal/text"
)

//go:embed templates/report.html templates/report.css
var templates embed.FS

// Page is the report as a template reads it: words and places, nothing to
// compute. All of it is escaped by html/template where it is put.
type Page struct {
	Title, Mode, When, Day string
	End, EndClass, Branch  string
	Style                  template.CSS
	Figures                []figure
	Status                 []chart.Share
	Needs                  []NeedRow
	Timeline               *chart.Timeline
	Curves                 []chart.Chart
	Iterations             *chart.Chart
	Tasks                  []taskCells
	Why                    []explained
	Smooth                 string // tells of the tasks that need no explanation
	Tables                 []htmlTable
	Days                   bool // instants are written with their day
	First, Last            int64
	Hash, Version          string
}

// taskCells is a row of the table of tasks.
type taskCells struct {
	ID, Name, Status, Word                string
	Iterations, Retries, Work, Cost       string
	Tokens, Merge, MergeClass, Commit, At string
	Explained                             bool
}

// explained is why one task is as it is.
type explained struct {
	ID, Name, Status, Word, Why string
	Rule                        ruleID
	Lines                       []explainedLine
	Skipped                     int
	Findings                    []string
}

type explainedLine struct {
	At, Text string
	Rule     ruleID
}

// ruleID is a rule of policy, which says of itself what it is.
type ruleID string

// Says is the rule in a sentence.
func (r ruleID) Says() string { return rules.Sentence(string(r)) }

// htmlTable is a table with its columns of numbers told apart.
type htmlTable struct {
	Title, Note string
	Head        []htmlColumn
	Rows        [][]htmlCell
}

type htmlColumn struct {
	Name   string
	Number bool
}

type htmlCell struct {
	Text   string
	Number bool
}

// HTML writes the report as one page that needs nothing else: no script, no other
// file, no other host.
func (r *Result) HTML(w io.Writer) error {
	style, err := templates.ReadFile("templates/report.css")
	if err != nil {
		return fmt.Errorf("report: read style: %w", err)
	}
	t, err := template.New("report.html").Funcs(drawings()).ParseFS(templates, "templates/report.html")
	if err != nil {
		return fmt.Errorf("report: parse page: %w", err)
	}
	p := r.Page()
	p.Style = template.CSS(style) // ours, from the program itself
	if err := t.Execute(w, p); err != nil {
		return fmt.Errorf("report: write page: %w", err)
	}
	return nil
}

// drawings are what a template draws with: SVG in which all words are escaped.
func drawings() template.FuncMap {
	draw := func(c templ.Component) (template.HTML, error) {
		var b strings.Builder
		err := c.Render(context.Background(), &b)
		return template.HTML(b.String()), err // escaped by templ
	}
	link := func(id string) string { return "#" + url.PathEscape(id) }
	return template.FuncMap{
		"plot":  func(c chart.Chart) (template.HTML, error) { return draw(chart.Plot(c)) },
		"lanes": func(t *chart.Timeline) (template.HTML, error) { return draw(chart.Lanes(t, link)) },
		"statuses": func(parts []chart.Share) (template.HTML, error) {
			return draw(chart.Statuses(parts, "tasks by status"))
		},
	}
}

// Page is the report in words and places. It shares nothing with the result.
func (r *Result) Page() Page {
	at := r.clock()
	h := r.Sessions[len(r.Sessions)-1]
	p := Page{
		Mode: h.Mode, EndClass: endClass(h), Day: day(r.Facts.To), Figures: r.keyFigures(), Status: drawStatus(r.Figures),
		Needs: r.Needs, Timeline: drawTimeline(r, at), Curves: drawCurves(r), Iterations: drawIterations(r.Tasks),
		First: r.Facts.First, Last: r.Facts.Last, Hash: r.Facts.Hash[:min(16, len(r.Facts.Hash))], Version: h.Version,
	}
	p.Title, p.When, p.End = r.headline()
	p.Days = at != time.TimeOnly
	if h.Autonomy != ralph.Autopilot && h.Autonomy != "" {
		p.Mode += " (" + string(h.Autonomy) + ")"
	}
	if h.Branch != "" {
		p.Branch = fmt.Sprintf("%s for %s", h.Branch, report.BaseWords(h.Base))
	}
	troubled := r.troubled()
	known := map[ralph.TaskID]bool{}
	for i := range troubled {
		known[troubled[i].ID] = true
		p.Why = append(p.Why, explain(&troubled[i], len(troubled), at))
	}
	for i := range r.Tasks {
		p.Tasks = append(p.Tasks, cellsOf(&r.Tasks[i], known[r.Tasks[i].ID]))
	}
	if n := len(r.Tasks) - len(troubled); n > 0 {
		p.Smooth = r.smoothWords(n)
	}
	for _, t := range r.tables(at) {
		p.Tables = append(p.Tables, htmlOf(t))
	}
	return p
}

// endClass is the colour of a session's end.
func endClass(h SessionHead) string {
	switch h.Ended {
	case ralph.ReasonComplete, ralph.ReasonEmpty:
		return "done"
	case "":
		return "active"
	case ralph.ReasonInterrupted:
		return "released"
	case ralph.ReasonFailed, ralph.ReasonError:
		return "failed"
	}
	return "timeout" // a limit was reached
}

func cellsOf(t *TaskRow, explained bool) taskCells {
	c := taskCells{
		ID: string(t.ID), Name: report.Clip(t.Name, 120), Status: string(t.Status), Word: t.word(report.EndedWord(t.Status)), Explained: explained,
		Iterations: number(t.Iterations), Retries: number(t.Retries), Work: workWords(t.WorkSeconds), Cost: moneyWords(t.Cost),
		Merge: t.stateWords(), Commit: text.ShortHash(t.Commit),
	}
	if t.Tokens > 0 {
		c.Tokens = report.Many(t.Tokens)
	}
	switch t.Merge {
	case ralph.MergeConflict, ralph.MergeRed:
		c.MergeClass = "bad"
	case ralph.MergeMerged:
		c.Commit = text.ShortHash(t.MergeCommit)
	}
	return c
}

func explain(t *TaskRow, of int, at clockFormat) explained {
	why, line := room(of)
	x := explained{ID: string(t.ID), Name: report.Clip(t.Name, 100), Status: string(t.Status), Word: report.EndedWord(t.Status), Why: report.Clip(t.Why, why), Rule: ruleID(t.Rule)}
	events, skipped := t.told(of)
	for _, e := range events {
		x.Lines = append(x.Lines, explainedLine{at.at(e.At), report.Clip(e.Text, line), ruleID(e.Rule)})
	}
	x.Skipped = skipped
	for _, f := range t.Findings[:min(5, len(t.Findings))] {
		x.Findings = append(x.Findings, report.Clip(report.FindingWords(f), 200))
	}
	return x
}

func htmlOf(t report.Table) htmlTable {
	out := htmlTable{Title: t.Title, Note: t.Note}
	for _, name := range t.Head {
		column, numeric := strings.CutPrefix(name, "#")
		out.Head = append(out.Head, htmlColumn{column, numeric})
	}
	for _, row := range t.Rows {
		cells := make([]htmlCell, len(row))
		for i, c := range row {
			cells[i] = htmlCell{c, out.Head[i].Number}
		}
		out.Rows = append(out.Rows, cells)
	}
	return out
}
