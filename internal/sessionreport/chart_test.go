package sessionreport

import (
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// The axis keeps the order of time, stays on the page, and its ticks do not touch;
// whatever is worked on when, over minutes or months.
func TestAxis(t *testing.T) {
	t.Parallel()
	start := time.Date(2025, 1, 20, 10, 0, 0, 0, time.UTC)
	rapid.Check(t, func(rt *rapid.T) {
		var spans []Span
		at := start
		for range rapid.IntRange(0, 30).Draw(rt, "spans") {
			at = at.Add(time.Duration(rapid.Int64Range(0, int64(48*time.Hour)).Draw(rt, "gap")))
			long := time.Duration(rapid.Int64Range(0, int64(3*time.Hour)).Draw(rt, "long"))
			spans = append(spans, Span{From: at, To: at.Add(long)})
		}
		end := at.Add(4 * time.Hour)
		ax := newAxis(spans, start, end)
		last := 0.0
		for x := start; x.Before(end); x = x.Add(end.Sub(start)/200 + 1) {
			pos := ax.at(x)
			if pos < last || pos < 0 || pos > 100.0001 {
				rt.Fatalf("%s is at %v after %v", x, pos, last)
			}
			last = pos
		}
		if ticks := ax.ticks(8); len(ticks) > 12 {
			rt.Fatalf("%d ticks: %v", len(ticks), ticks)
		}
	})
}

// A night between two stretches of work is a fold, and takes no room.
func TestAxisFoldsANight(t *testing.T) {
	t.Parallel()
	start := time.Date(2025, 1, 20, 17, 0, 0, 0, time.UTC)
	night := start.Add(16 * time.Hour)
	ax := newAxis([]Span{{From: start, To: start.Add(time.Hour)}, {From: night, To: night.Add(time.Hour)}}, start, night.Add(time.Hour))
	if len(ax.folds()) != 1 || ax.at(start.Add(time.Hour)) < 45 || ax.at(night) > 55 {
		t.Errorf("the night goes from %v to %v, folds %v", ax.at(start.Add(time.Hour)), ax.at(night), ax.folds())
	}
	if !slices.ContainsFunc(ax.ticks(8), func(x tick) bool { return strings.HasPrefix(x.Text, "Jan 21 ") }) {
		t.Errorf("the next day is not named: %v", ax.ticks(8))
	}
}

// Bars too short to be told apart become one, in the colour of the worst of them,
// that says how many there are.
func TestBarsJoin(t *testing.T) {
	t.Parallel()
	var bars []bar
	for i := range 10 {
		x := 50 + float64(i)*0.05
		outcome := "done"
		if i == 3 {
			outcome = "failed"
		}
		bars = append(bars, bar{Class: outcome, n: 1, from: x, to: x + 0.05, counts: []outcomeCount{{outcome, 1}}})
	}
	bars = append(bars, bar{Class: "done", n: 1, from: 60, to: 80, Label: "t-1", counts: []outcomeCount{{"done", 1}}})
	got := placeBars(bars)
	if len(got) != 2 || got[0].Class != "failed" || got[0].Title != "1 failed, 9 done" || got[1].Label != "t-1" {
		t.Errorf("%+v", got)
	}
}

// A curve ends at its total, below the round number at its top.
func TestRoundUp(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		v := rapid.Float64Range(0.0001, 1e9).Draw(rt, "v")
		if top := roundUp(v); top < v*0.999999 || top > 2*v*1.000001 {
			rt.Fatalf("roundUp(%v) = %v", v, top)
		}
	})
}
