package panes

import (
	"fmt"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/action"
	"github.com/ralph-loop/ralph/internal/services"
	"github.com/ralph-loop/ralph/internal/text"
	"github.com/ralph-loop/ralph/internal/ui/draw"
)

// serviceTone is how a service is drawn, with the word for how it is.
func serviceTone(x services.Row, l Look) (tone draw.Style, sign, word string) {
	switch {
	case x.State == string(ralph.BreakerOpen):
		return draw.Bad, "✗", "breaker open"
	case x.Next.After(l.Now):
		return draw.Warn, "◷", "waits"
	case x.State == string(ralph.BreakerHalfOpen):
		return draw.Warn, "◷", "tries again"
	case x.Parked > 0:
		return draw.Warn, "!", fmt.Sprint(x.Parked) + " parked"
	}
	return draw.Good, "✓", "works"
}

// serviceRows are the services that progress is sent to, and what waits for each.
func serviceRows(l Look) []Row {
	var out []Row
	for _, x := range services.List(l.State, l.Now) {
		tone, sign, word := serviceTone(x, l)
		second := draw.Of(draw.Dim, "    "+entries(x))
		if x.Parked > 0 {
			second = draw.Of(draw.Warn, fmt.Sprintf("    %d parked", x.Parked)).Add(draw.Dim, ", "+entries(x))
		}
		third := RowLine{Left: second}
		if x.Next.After(l.Now) {
			third.Right = draw.Of(tone, "next "+x.Next.Local().Format("15:04:05"))
		}
		out = append(out, Row{Key: "service " + string(x.Service), About: action.Service, ID: string(x.Service), Lines: []RowLine{
			{draw.Of(tone, sign+" ").Add(draw.Strong, x.Title), draw.Of(tone, word)}, third,
		}})
	}
	if len(out) == 0 {
		out = append(out, Say("Nothing was sent to a service yet."), Say("One is switched on under sync in"), Say("ralph/config.yaml (docs/sync.md)."))
	}
	return out
}

// entries are how many entries there are that are not parked.
func entries(x services.Row) string {
	return fmt.Sprintf("%d waiting, %d sent", x.Waiting, x.Sent)
}

// countServices are those that somebody has to look at.
func countServices(l Look) string {
	n := 0
	for _, x := range services.List(l.State, l.Now) {
		if tone, _, _ := serviceTone(x, l); tone != draw.Good {
			n++
		}
	}
	if n == 0 {
		return ""
	}
	return fmt.Sprint(n)
}

// service is what is known of a service: its breaker, its limit, and every entry that waits with
// its reason.
func service(id string, l Look) []draw.Line {
	for _, x := range services.List(l.State, l.Now) {
		if string(x.Service) != id {
			continue
		}
		tone, sign, word := serviceTone(x, l)
		out := []draw.Line{draw.Of(tone, sign+" "+word+"  ").Add(draw.Strong, x.Title), nil}
		fact := func(name string, tone draw.Style, words string) {
			out = append(out, draw.Of(draw.Dim, fmt.Sprintf("%-10s ", name)).Add(tone, words))
		}
		breaker := x.State
		if x.Failures > 0 {
			breaker += ", " + text.Count(x.Failures, "failure") + " counted"
		}
		if !x.Opened.IsZero() && x.State != string(ralph.BreakerClosed) {
			breaker += ", opened " + x.Opened.Local().Format("Jan 2 15:04:05")
		}
		if x.Trips > 0 {
			breaker += ", opened " + text.Count(x.Trips, "time") + " so far"
		}
		fact("Breaker", draw.Plain, breaker)
		if !x.Next.IsZero() {
			fact("Next try", draw.Warn, "not before "+x.Next.Local().Format("Jan 2 15:04:05"))
		}
		if x.Why != "" {
			fact("Because", draw.Plain, text.OneLine(x.Why))
		}
		if x.Fix != "" {
			fact("Helps", draw.Accent, text.OneLine(x.Fix))
		}
		fact("Entries", draw.Plain, fmt.Sprintf("%d sent, %d waiting, %d parked", x.Sent, x.Waiting, x.Parked))
		if x.Parked > 0 {
			out = append(out, nil, draw.Of(draw.Plain, "What is parked was refused: when its reason is gone, [[breaker-retry "+id+"]] tries it again."))
		}
		item := ""
		for _, e := range x.Entries {
			if e.Item != item {
				item = e.Item
				out = append(out, nil, draw.Of(draw.Accent, item).Add(draw.Dim, behind("  ", e.Spec)))
			}
			out = append(out, entryLines(e)...)
		}
		return append(out, nil)
	}
	return []draw.Line{draw.Of(draw.Dim, "Nothing waits for "+id+" any more.")}
}

func behind(gap, words string) string {
	if words == "" {
		return ""
	}
	return gap + words
}

func entryLines(e services.Entry) []draw.Line {
	tone, sign, word := draw.Dim, "○ ", "waits"
	switch {
	case e.Parked:
		tone, sign, word = draw.Warn, "! ", "parked"
	case e.Doubt:
		tone, sign, word = draw.Warn, "? ", "may have arrived: it is looked for before it is sent again"
	}
	head := draw.Of(tone, sign+word).Add(draw.Plain, "  "+string(e.Kind)).Add(draw.Dim, "  since "+e.At.Local().Format("Jan 2 15:04:05"))
	if e.Tries > 0 {
		head = head.Add(draw.Dim, ", "+text.Plural(e.Tries, "try", "tries"))
	}
	out := []draw.Line{head}
	if e.Problem != "" {
		out = append(out, draw.Of(draw.Bad, "  "+text.OneLine(e.Problem)))
	}
	if e.Text != "" {
		out = append(out, draw.Of(draw.Dim, "  “"+text.Clip(text.OneLine(e.Text), 300)+"”"))
	}
	return out
}
