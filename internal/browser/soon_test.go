//go:build e2e

package browser

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/journal"
)

// BenchmarkFactToPage is how long after a fact was begun to be written all open tabs of a browser show it. Four tabs
// are what a ralph without a stream for all could show at once; RALPH_E2E_TABS may say more:
//
//	go test -tags e2e -run '^$' -bench FactToPage -benchtime 60x ./internal/browser
func BenchmarkFactToPage(b *testing.B) {
	n, _ := strconv.Atoi(cmp.Or(os.Getenv("RALPH_E2E_TABS"), "4"))
	p := newPlace(b, held, "parallel=1")
	p.plan(three()...)
	p.start("autopilot", "--parallel", "1")
	p.until("the agent to be at work", func() bool { _, err := os.Stat(filepath.Join(p.dir, "../working")); return err == nil })
	j, err := journal.Open(journal.Options{Root: p.dir, Plan: true, NewID: func(prefix string) string { return prefix + "-none" }})
	if err != nil {
		b.Fatal(err)
	}
	defer j.Close()
	s, browser := p.serve("127.0.0.1:0"), newBrowser(b)
	tabs := []*tab{enter(b, browser, s)}
	for i := 1; i < n; i++ {
		x := newTab(b, browser, s)
		x.open([]string{"/", "/plan", "/log", "/history"}[i%4])
		tabs = append(tabs, x)
	}
	// Each tab notes when its bar offers to pause or to resume.
	const watch = `(window.said = () => document.querySelector('#bar form[action="/do/pause"]') ? "run" : "pause", new MutationObserver(() => { if (!window.seen && said() === window.want) window.seen = Date.now(); }).observe(document.getElementById("bar"), {subtree: true, childList: true, attributes: true, characterData: true}), true)`
	for _, x := range tabs {
		x.until("the page to listen", watch)
	}
	var took []float64
	for i := 0; b.Loop(); i++ {
		want := []ralph.Want{ralph.WantPause, ralph.WantRun}[i%2]
		for _, x := range tabs {
			x.until("the tab to wait", fmt.Sprintf(`(window.want = %q, window.seen = 0, said() !== window.want)`, want))
		}
		begin := time.Now()
		if err := j.Update(b.Context(), "bench", func(s *ralph.State) ([]ralph.Fact, error) { return s.Steer(want, "bench") }); err != nil {
			b.Fatal(err)
		}
		for _, x := range tabs {
			x.until("the fact", `window.seen > 0`)
			at, err := chromedp.Run(x.ctx, chromedp.Evaluate[float64](`window.seen`))
			if err != nil {
				b.Fatal(err)
			}
			took = append(took, at-float64(begin.UnixMicro())/1000)
		}
	}
	slices.Sort(took)
	b.ReportMetric(took[len(took)/2], "p50-ms")
	b.ReportMetric(took[len(took)*99/100], "p99-ms")
	b.ReportMetric(took[len(took)-1], "most-ms")
}
