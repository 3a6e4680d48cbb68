package sessionreport

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/chart"
	"github.com/ralph-loop/ralph/internal/report"
)

// laneKey orders the lanes: what was in place first, the slots, the merge queue last.
func laneKey(name string, slot int) (order int, label string) {
	switch name {
	case "slot":
		return slot, fmt.Sprintf("slot %d", slot)
	case "merge":
		return 1 << 20, "merges"
	}
	return 0, "in place"
}

// drawTimeline is nil when nothing was worked on.
func drawTimeline(r *Result, at clockFormat) *chart.Timeline {
	if len(r.Spans) == 0 {
		return nil
	}
	ax := r.axis()
	t := &chart.Timeline{Ticks: ax.Ticks(8), Folds: ax.Folds()}
	names := map[ralph.TaskID]string{}
	for _, x := range r.Tasks {
		names[x.ID] = report.Clip(x.Name, 60)
	}
	lanes := map[int]string{}
	bars, dots := map[int][]chart.Bar{}, map[int][]chart.Dot{}
	spans := slices.Clone(r.Spans)
	slices.SortStableFunc(spans, func(a, b Span) int { return a.From.Compare(b.From) })
	for _, s := range spans {
		order, name := laneKey(s.Lane, s.Slot)
		lanes[order], bars[order] = name, append(bars[order], barOf(s, names[s.Task], ax, at))
	}
	for _, m := range r.Marks {
		if m.Kind == outcomeMerged || m.Kind == outcomeConflict {
			continue // the bars of the merges say so
		}
		if !slices.ContainsFunc(t.Dots, func(k chart.Key) bool { return k.Status == m.Kind }) {
			t.Dots = append(t.Dots, chart.Key{Status: m.Kind, Name: markWords(m.Kind)})
		}
		order, name := laneKey(m.Lane, m.Slot)
		title := fmt.Sprintf("%s %s %s %s", at.at(m.At), m.Kind, m.Task, report.Clip(m.Text, 80))
		lanes[order], dots[order] = name, append(dots[order], chart.NewDot(ax.At(m.At), m.Kind, title))
	}
	for _, order := range slices.Sorted(maps.Keys(lanes)) {
		t.Add(lanes[order], bars[order], dots[order], outcomes())
	}
	return t
}

// axis is the time in which there was work.
func (r *Result) axis() chart.Axis {
	spans := make([]chart.Span, len(r.Spans))
	for i, s := range r.Spans {
		spans[i] = chart.Span{From: s.From, To: s.To}
	}
	return chart.NewAxis(spans, r.Facts.From, r.Facts.To)
}

// markWords names a kind of mark.
func markWords(kind string) string {
	switch kind {
	case "red":
		return "red checks"
	case "error":
		return "an agent's error"
	case "asked":
		return "a person was asked"
	}
	return kind
}

// barOf draws one span.
func barOf(s Span, name string, ax chart.Axis, at clockFormat) chart.Bar {
	label := string(s.Task)
	if len(s.Members) > 1 {
		label = fmt.Sprintf("%s +%d", s.Task, len(s.Members)-1)
	}
	what := label
	if s.Kind != ralph.KindBuild {
		what = fmt.Sprintf("%s %s", s.Kind, label)
	}
	class := s.Outcome
	switch {
	case s.Kind == ralph.KindResolve && class == string(ralph.TaskDone):
		class = "resolve"
	case s.Lane == "in place" && s.Kind != ralph.KindBuild && class == string(ralph.TaskDone):
		class = "stage"
	}
	b := chart.NewBar(ax.At(s.From), ax.At(s.To), class)
	b.Label = label
	b.Title = fmt.Sprintf("%s %s: %s, %s to %s (%s)", what, name, s.Outcome, at.at(s.From), at.at(s.To), lasted(s.To.Sub(s.From).Seconds()))
	if strings.HasPrefix(string(s.Task), "t-") {
		b.Href = string(s.Task)
	}
	return b
}

// outcomes are in order: what a person should see first is last.
func outcomes() []string {
	return []string{
		"stage", "resolve", string(ralph.TaskDone), outcomeMerged, outcomeActive, outcomeReleased, outcomeCut, outcomeWaiting,
		string(ralph.TaskSkipped), outcomeRetry, outcomeConflict, string(ralph.TaskBlocked), string(ralph.TaskTimeout), outcomeRed, string(ralph.TaskFailed),
	}
}
