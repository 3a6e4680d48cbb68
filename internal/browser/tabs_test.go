//go:build e2e

package browser

import (
	"fmt"
	"testing"
)

// A person may have many tabs open: a browser has few connections to one host, and each
// page in sight keeps one.
func TestManyTabs(t *testing.T) {
	t.Parallel()
	p := newPlace(t, held, "parallel=1")
	p.plan(three()...)
	s := p.serve("127.0.0.1:0")
	t.Cleanup(p.stopEngine)
	b := newBrowser(t)
	tabs := []*tab{enter(t, b, s)}
	for range 8 {
		tabs[len(tabs)-1].seen(false)
		x := newTab(t, b, s)
		x.open("/plan")
		x.says("main", "three")
		tabs = append(tabs, x)
	}
	p.start("autopilot", "--parallel", "1")
	last := tabs[len(tabs)-1]
	last.says("#bar", "Running")
	last.seen(false)
	for _, x := range tabs {
		x.seen(true)
		x.says("#bar", "Running")
		x.seen(false)
	}
	touch(t, p, "../go")
}

// seen says whether a person sees the tab: a browser without a screen takes all of them
// for seen.
func (x *tab) seen(yes bool) {
	x.t.Helper()
	x.is(fmt.Sprintf(`(Object.defineProperty(document, "visibilityState", {configurable: true, value: %q}), document.dispatchEvent(new Event("visibilitychange")), 1)`, map[bool]string{true: "visible", false: "hidden"}[yes]))
}
