package status

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/report"
	"github.com/ralph-loop/ralph/internal/text"
)

const (
	maxPage    = 12 // rows of each part of the page; the JSON has all
	maxBrief   = 2  // standstills of the short form, the longest ones
	briefFor   = 12 * time.Hour
	briefAfter = time.Hour
)

// JSON writes the morning, indented.
func (m *Morning) JSON(w io.Writer) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	if err := enc.Encode(m); err != nil {
		return fmt.Errorf("report: encode JSON: %w", err)
	}
	return nil
}

// part is one part of the page: its title, and rows of cells.
type part struct {
	title string
	rows  [][]string
	more  int
}

// When names the window in a zone: `Since Sat 22:00 (9h 42m)`.
func (m *Morning) When(zone *time.Location) string {
	if m.From.IsZero() {
		return "Since the beginning"
	}
	layout := "Mon 15:04"
	if m.To.Sub(m.From) > 6*24*time.Hour || m.To.Before(m.From) {
		layout = "2006-01-02 15:04"
	}
	return fmt.Sprintf("Since %s (%s)", m.From.In(zone).Format(layout), shortly(m.To.Sub(m.From).Seconds()))
}

// clock writes an instant of the window; the day is named where there are several.
func (m *Morning) clock(t time.Time, zone *time.Location) string {
	from, to := m.From.In(zone), m.To.In(zone)
	switch {
	case !m.From.IsZero() && from.Format(time.DateOnly) == to.Format(time.DateOnly):
		return t.In(zone).Format("15:04")
	case !m.From.IsZero() && to.Sub(from) < 6*24*time.Hour:
		return t.In(zone).Format("Mon 15:04")
	}
	return t.In(zone).Format("Jan 2 15:04")
}

// Words are a landed row without its time: the name, the commit, and what it took.
func (r *LandedRow) Words() (name, commit, took string) {
	name = r.Name
	if r.Task != "" {
		name = string(r.Task) + " " + r.Name
	}
	commit = text.ShortHash(r.Commit)
	var parts []string
	if len(r.Tasks) > 0 && r.Task == "" {
		parts = append(parts, text.Count(len(r.Tasks), "task"))
	}
	if r.Tries > 0 {
		parts = append(parts, text.Plural(r.Tries, "try", "tries"))
	}
	switch {
	case r.Nothing:
		parts = append(parts, "nothing to change")
	case len(r.Known) > 0:
		parts = append(parts, "known red: "+ralph.PassedOverWords(r.Known))
	case r.Checks == "green":
		parts = append(parts, "checks green")
	case r.Checks == "none":
		parts = append(parts, "not checked")
	}
	if r.Cost > 0 {
		parts = append(parts, ralph.Dollars(r.Cost))
	}
	return name, commit, strings.Join(parts, ", ")
}

// Words are a standstill in one piece, without its times.
func (r *StillRow) Words() string {
	words := r.What
	if r.Why != "" {
		words += ": " + r.Why
	}
	if r.Tries > 1 {
		words += fmt.Sprintf(" (%d tries)", r.Tries)
	}
	if r.Lasts {
		return words + "; it lasts"
	}
	if r.Ended != "" {
		words += "; then " + strings.TrimPrefix(r.Ended, "then ") // some ends say so themselves
	}
	return words
}

// Span is from when to when a standstill was.
func (m *Morning) Span(r *StillRow, zone *time.Location) string {
	from := m.clock(r.From, zone)
	if r.Lasts {
		return "since " + from
	}
	return from + " - " + m.clock(r.To, zone)
}

// Lasted is how long it was.
func (r *StillRow) Lasted() string { return shortly(r.Seconds) }

func (r *OpenRow) name() string {
	if r.Task != "" {
		return string(r.Task) + " " + r.Name
	}
	return r.Name
}

// parts are the parts of the page that have something to say, but for what needs a person.
func (m *Morning) parts(zone *time.Location) []part {
	var landed, still, open, beside part
	landed.title, still.title, open.title, beside.title = "Landed", "Stood still", "Not done", "Beside the work"
	for i := range m.Landed {
		r := &m.Landed[i]
		name, commit, took := r.Words()
		landed.rows = append(landed.rows, []string{m.clock(r.At, zone), commit, report.Clip(name, 60), took})
	}
	for i := range m.Still {
		r := &m.Still[i]
		still.rows = append(still.rows, []string{m.Span(r, zone), r.Lasted(), r.Words()})
	}
	if n := m.Figures.Short; n > 0 && len(still.rows) > 0 {
		still.rows = append(still.rows, []string{"", "", fmt.Sprintf("and %d of less than a minute", n)})
	}
	for i := range m.Open {
		r := &m.Open[i]
		open.rows = append(open.rows, []string{r.Status, report.Clip(r.name(), 60), r.Why})
	}
	for _, r := range m.Beside {
		beside.rows = append(beside.rows, []string{m.clock(r.At, zone), r.What})
	}
	all := []part{landed, still, open, beside}
	for i := range all {
		if n := len(all[i].rows) - maxPage; n > 0 {
			all[i].rows, all[i].more = all[i].rows[:maxPage], n
		}
	}
	return slices.DeleteFunc(all, func(p part) bool { return len(p.rows) == 0 })
}

// Text writes the page for a terminal.
func (m *Morning) Text(w io.Writer, zone *time.Location) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s.\n", m.When(zone), m.Line)
	if len(m.Needs) > 0 {
		b.WriteString("\nNeeds you\n")
		for _, n := range m.Needs[:min(len(m.Needs), maxPage)] {
			fmt.Fprintf(&b, "  %s\n      %s\n", n.What, n.Command)
		}
		more(&b, len(m.Needs)-maxPage)
	}
	for _, p := range m.parts(zone) {
		fmt.Fprintf(&b, "\n%s\n", p.title)
		widths := make([]int, len(p.rows[0]))
		for _, r := range p.rows {
			for i, c := range r {
				widths[i] = max(widths[i], len([]rune(c)))
			}
		}
		for _, r := range p.rows {
			line := ""
			for i, c := range r {
				if widths[i] > 0 {
					line += "  " + c + strings.Repeat(" ", widths[i]-len([]rune(c)))
				}
			}
			b.WriteString(strings.TrimRight(line, " ") + "\n")
		}
		more(&b, p.more)
	}
	if _, err := io.WriteString(w, b.String()); err != nil {
		return fmt.Errorf("report: write the page: %w", err)
	}
	return nil
}

func more(b *strings.Builder, n int) {
	if n > 0 {
		fmt.Fprintf(b, "  and %d more: --json has all\n", n)
	}
}

// Markdown writes the page in GitHub's dialect.
func (m *Morning) Markdown(w io.Writer, zone *time.Location) error {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\n%s.\n", report.Markdown(m.When(zone)), report.Markdown(m.Line))
	if len(m.Needs) > 0 {
		b.WriteString("\n## Needs you\n\n")
		for _, n := range m.Needs[:min(len(m.Needs), maxPage)] {
			fmt.Fprintf(&b, "- %s\n  %s\n", report.Markdown(n.What), report.MarkdownCode(n.Command))
		}
		more(&b, len(m.Needs)-maxPage)
	}
	heads := map[string][]string{
		"Landed": {"when", "commit", "what", "how"}, "Stood still": {"when", "#how long", "why"}, "Not done": {"status", "what", "why"}, "Beside the work": {"when", "what"},
	}
	for _, p := range m.parts(zone) {
		t := report.Table{Title: p.title, Head: heads[p.title], Rows: p.rows}
		if p.more > 0 {
			t.Note = fmt.Sprintf("And %d more: the JSON has all of them.", p.more)
		}
		report.MarkdownTable(&b, t)
	}
	if _, err := io.WriteString(w, b.String()); err != nil {
		return fmt.Errorf("report: write markdown: %w", err)
	}
	return nil
}

// Told reports whether the short form has something to say: the newest session ended, or
// was cut, less than twelve hours ago, or goes on for an hour at least; and something
// landed, failed, or stood still. Looking at it changes nothing.
func (m *Morning) Told(s *ralph.State, engine Engine) bool {
	x := s.Session
	switch {
	case x.ID == "":
		return false
	case x.Live() && engine.Alive && m.To.Sub(x.StartedAt) < briefAfter:
		return false
	case !x.Live() && m.To.Sub(x.EndedAt) >= briefFor, x.Live() && !engine.Alive && m.To.Sub(s.At) >= briefFor:
		return false
	}
	return len(m.Landed) > 0 || len(m.Still) > 0 || m.Figures.Failed > 0
}

// Longest are the longest standstills of it, oldest first.
func (m *Morning) Longest(most int) []StillRow {
	list := slices.Clone(m.Still)
	slices.SortStableFunc(list, func(a, b StillRow) int { return int(b.Seconds - a.Seconds) })
	list = list[:min(len(list), most)]
	slices.SortStableFunc(list, func(a, b StillRow) int { return a.From.Compare(b.From) })
	return list
}

// brief are the lines of the short form in the status.
func brief(b *strings.Builder, s *ralph.State, engine Engine, now time.Time) {
	if s.Session.ID == "" {
		return
	}
	m, zone := Brief(s, engine, now), now.Location()
	if !m.Told(s, engine) {
		return
	}
	fmt.Fprintf(b, "%s: %s\n", m.When(zone), m.Line)
	for _, r := range m.Longest(maxBrief) {
		fmt.Fprintf(b, "  %s, %s: %s\n", m.Span(&r, zone), r.Lasted(), report.Clip(r.Words(), 140))
	}
	b.WriteString("  all of it: [[report --since last]]\n\n")
}
