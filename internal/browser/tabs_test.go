//go:build e2e

package browser

import (
	"context"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"sync/atomic"
	"testing"

	cdppage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

// between stands between browser and dashboard, as a tunnel does, and counts the streams that are open.
type between struct {
	http.Handler
	open  atomic.Int64
	pages atomic.Int64 // of the newest one
}

func (b *between) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/live" {
		b.pages.Store(int64(len(r.URL.Query()["view"])))
		b.open.Add(1)
		defer b.open.Add(-1)
	}
	b.Handler.ServeHTTP(w, r)
}

// through has all that a browser asks of the dashboard counted.
func through(t *testing.T, s *served) *between {
	t.Helper()
	to, err := url.Parse(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(to)
	proxy.FlushInterval = -1
	proxy.ErrorLog = log.New(io.Discard, "", 0) // of streams that a browser ends
	b := &between{Handler: proxy}
	server := httptest.NewServer(b)
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	link, err := url.Parse(s.Link)
	if err != nil {
		t.Fatal(err)
	}
	link.Host = hostOf(server.URL)
	s.URL, s.Link = server.URL+"/", link.String()
	return b
}

// pagesInTabs are eight pages: two more than a browser has connections to one host.
func pagesInTabs() []string {
	return []string{"/", "/plan", "/task/t-aaaa", "/gates", "/receipts", "/history", "/log", "/specs"}
}

// tabsInSight opens a tab for each page; a browser without a screen takes all of them for seen.
func tabsInSight(t *testing.T, b context.Context, s *served, pages []string) []*tab {
	t.Helper()
	tabs := []*tab{enter(t, b, s)}
	for _, page := range pages[1:] {
		x := newTab(t, b, s)
		x.open(page)
		tabs = append(tabs, x)
	}
	return tabs
}

// A person may look at many tabs at once, in windows beside each other: all are up to date, and in each an
// action works. All of them share one stream.
func TestTabsInSight(t *testing.T) {
	t.Parallel()
	p := newPlace(t, held, "parallel=1")
	p.plan(three()...)
	s := p.serve("127.0.0.1:0")
	t.Cleanup(p.stopEngine)
	count := through(t, s)
	tabs := tabsInSight(t, newBrowser(t), s, pagesInTabs())
	p.start("autopilot", "--parallel", "1")
	for _, x := range tabs {
		x.says("#bar", "Running")
	}
	for i, x := range tabs {
		action, told := "pause", "Paus"
		if i%2 == 1 {
			action, told = "resume", "Running"
		}
		x.click(fmt.Sprintf(`#bar form[action="/do/%s"] button`, action))
		for _, other := range tabs {
			other.says("#bar", told)
		}
	}
	p.until("one stream for all", func() bool { return count.open.Load() == 1 })
	for _, x := range tabs[1:] { // also when most of them are gone
		x.do(chromedp.Navigate("about:blank"))
	}
	tabs[0].click(`#bar form[action="/do/pause"] button`)
	tabs[0].says("#bar", "Paus")
	touch(t, p, "../go")
}

// Tabs that nobody sees go on: their titles tell what happens.
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

// The stream goes on without the tab that was there first, without one that the browser has put to sleep, and a tab that
// wakes up, or is come back to, has all that happened. A page of the past asks for nothing.
func TestTabsComeAndGo(t *testing.T) {
	t.Parallel()
	p := newPlace(t, held, "parallel=1")
	p.plan(three()...)
	s := p.serve("127.0.0.1:0")
	t.Cleanup(p.stopEngine)
	count := through(t, s)
	b := newBrowser(t)
	tabs := tabsInSight(t, b, s, []string{"/", "/plan", "/gates", "/log"})
	first, sleeper, left, stays := tabs[0], tabs[1], tabs[2], tabs[3]
	past := newTab(t, b, s)
	past.open("/plan?at=1")
	p.until("four pages in one stream", func() bool { return count.open.Load() == 1 && count.pages.Load() == 4 })
	first.close()
	left.is(`dispatchEvent(new PageTransitionEvent("pagehide", {persisted: true})), 1`)
	sleeper.sleep(true)
	p.until("the stream to be of one page", func() bool { return count.open.Load() == 1 && count.pages.Load() == 1 })
	p.start("autopilot", "--parallel", "1")
	stays.says("#bar", "Running")
	left.lacks("#bar", "Running")
	left.is(`dispatchEvent(new PageTransitionEvent("pageshow", {persisted: true})), 1`)
	left.says("#bar", "Running")
	sleeper.sleep(false)
	sleeper.says("#bar", "Running")
	p.until("three pages in one stream", func() bool { return count.open.Load() == 1 && count.pages.Load() == 3 })
	past.lacks("#bar", "Running")
	touch(t, p, "../go")
}

// close closes the tab as a person does.
func (x *tab) close() {
	x.t.Helper()
	if err := chromedp.Cancel(x.ctx); err != nil {
		x.t.Fatal(err)
	}
}

// sleep has the browser freeze the page, as it does with tabs that nobody looks at for long.
func (x *tab) sleep(yes bool) {
	x.t.Helper()
	state := cdppage.SetWebLifecycleStateStateActive
	if yes {
		state = cdppage.SetWebLifecycleStateStateFrozen
	}
	if _, err := chromedp.Call(x.ctx, cdppage.SetWebLifecycleState, cdppage.SetWebLifecycleStateParams{State: state}); err != nil {
		x.t.Fatal(err)
	}
}

// Where the browser has no worker for all tabs, each has a stream of its own, and where one does not answer too.
func TestTabsWithoutAWorker(t *testing.T) {
	t.Parallel()
	// A page gives a worker that says nothing half a minute: of its own time, here.
	const faster = `(() => {
		const now = Date.now.bind(Date), began = now(), every = window.setInterval.bind(window);
		Date.now = () => began + 20 * (now() - began);
		window.setInterval = (f, ms) => every(f, ms / 20);
	})();`
	for name, script := range map[string]string{
		"there is none": `delete window.SharedWorker`,
		"it fails":      `window.SharedWorker = class extends EventTarget { constructor() { super(); this.port = new MessageChannel().port1; setTimeout(() => this.onerror()); } }`,
		"it is dumb":    faster + `window.SharedWorker = class extends EventTarget { constructor() { super(); this.port = new MessageChannel().port1; } }`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t, held, "parallel=1")
			p.plan(three()...)
			s := p.serve("127.0.0.1:0")
			t.Cleanup(p.stopEngine)
			count := through(t, s)
			b := newBrowser(t)
			tabs := []*tab{enter(t, b, s), newTab(t, b, s)}
			for i, x := range tabs {
				if _, err := chromedp.Call(x.ctx, cdppage.AddScriptToEvaluateOnNewDocument, cdppage.AddScriptToEvaluateOnNewDocumentParams{Source: script}); err != nil {
					t.Fatal(err)
				}
				x.open([]string{"/", "/plan"}[i])
			}
			p.until("a stream each", func() bool { return count.open.Load() == 2 })
			p.start("autopilot", "--parallel", "1")
			for _, x := range tabs {
				x.says("#bar", "Running")
			}
			touch(t, p, "../go")
		})
	}
}

// What is served later at the same address, from another repository, is told to no page of the one before, and neither is
// what happens at another port.
func TestTabsOfTwoRepositories(t *testing.T) {
	t.Parallel()
	one, two := newPlace(t, held, "parallel=1"), newPlace(t, held, "parallel=1")
	one.plan(three()...)
	two.plan(`{"id":"t-dddd","name":"secret"}`)
	s, beside := one.serve("127.0.0.1:0"), two.serve("127.0.0.1:0")
	b := newBrowser(t)
	x, other := enter(t, b, s), enter(t, b, beside)
	x.open("/plan")
	x.says("main", "three")
	other.open("/plan")
	other.says("main", "secret")
	one.ralph("task", "add", "more of the first")
	x.says("main", "more of the first")
	two.ralph("task", "add", "more of the second")
	other.says("main", "more of the second")
	x.lacks("body", "more of the second")
	other.lacks("body", "more of the first")
	s.end(os.Interrupt)
	beside.end(os.Interrupt)
	again := two.serve(hostOf(s.URL))
	y := enter(t, b, again) // the cookie of this address is now the other repository's
	x.says("#stale", "another repository is served here now")
	two.ralph("task", "add", "news")
	y.open("/plan")
	y.says("main", "news")
	x.says("main", "more of the first")
	x.lacks("body", "news")
}
