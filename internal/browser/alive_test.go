//go:build e2e

package browser

import (
	"os"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// A page that lost its ralph says so, and goes on by itself when ralph is back, with
// the same cookie; nothing is clicked and nothing is loaded by hand.
func TestAPageOutlivesItsServer(t *testing.T) {
	t.Parallel()
	p := newPlace(t, held, "parallel=1")
	p.plan(three()...)
	s := p.serve("127.0.0.1:0")
	x := enter(t, newBrowser(t), s)
	x.until("no word of a stale page", `document.getElementById("stale").hidden`)
	s.end(os.Kill)
	x.until("the page to say that it is stale", `!document.getElementById("stale").hidden`)
	p.serve(hostOf(s.URL))
	x.until("the page to be live again", `document.getElementById("stale").hidden`)
	p.start("autopilot", "--parallel", "1")
	x.says("#bar", "Running")
	x.says("#slots", "I look at the greeting first")
	touch(t, p, "../go")
}

// A run whose engine dies by kill -9 is offered to be gone on with, and goes on where
// it was; closing every page ends nothing.
func TestADeadEngineIsResumedFromThePage(t *testing.T) {
	t.Parallel()
	p := newPlace(t, held, "parallel=1")
	p.plan(three()...)
	s := p.serve("127.0.0.1:0")
	t.Cleanup(p.stopEngine)
	x := enter(t, newBrowser(t), s)
	engine := p.start("autopilot", "--parallel", "1")
	x.says("#slots", "I look at the greeting first")
	engine.end(os.Kill)
	x.says("body", "Resume interrupted session?")
	touch(t, p, "../go")
	x.click(`#bar form[action="/do/recover"] button`)
	x.says("#bar", "Running")
	x.do(chromedp.Navigate("about:blank")) // nobody looks any more
	s.end(os.Kill)                         // and nobody serves
	p.until("all tasks to be done", func() bool { return countDone(p) == 3 })
}

func countDone(p *place) int {
	n := 0
	for _, t := range p.tasks() {
		if t.Status == "done" {
			n++
		}
	}
	return n
}

// Without scripts every action works: by forms, with a page that asks where one has to
// be sure.
func TestWithoutScripts(t *testing.T) {
	t.Parallel()
	p := newPlace(t, held, "parallel=1", "errors.max_retries=0")
	p.plan(append(three(), `{"id":"t-bad1","name":"bad 1","phase":"Implementation"}`)...)
	s := p.serve("127.0.0.1:0")
	t.Cleanup(p.stopEngine)
	x := enter(t, newBrowser(t), s)
	x.withoutScripts()
	engine := p.start("autopilot", "--parallel", "2")
	p.until("the task to fail", func() bool { return p.task("t-bad1").Status == "failed" })
	x.open("/task/t-bad1")
	x.says("main", "failed")
	x.click(`form[action="/do/retry"] button`)
	p.until("the task to be tried again", func() bool { return strings.Count(engine.out.String(), "BUILD: t-bad1") > 1 })
	x.says("h1", "bad 1") // it went back to where it was
	p.until("the task to fail again", func() bool { return p.task("t-bad1").Status == "failed" })
	x.open("/task/t-bad1")
	x.click(`form[action="/do/done"] button`)
	x.says("main", "without an agent?")
	if status := p.task("t-bad1").Status; status == "done" {
		t.Error("it was done before anybody was sure")
	}
	x.click(`form.confirm button`)
	p.until("the task to be done", func() bool { return p.task("t-bad1").Status == "done" })
	x.open("/")
	x.click(`form[action="/do/pause"] button`)
	x.says("#bar", "Paus")
	touch(t, p, "../go")
}

// Without scripts a run is started and an agent's wish is granted too.
func TestStartWithoutScripts(t *testing.T) {
	t.Parallel()
	p := newPlace(t, asking, asks, "parallel=1")
	p.plan(`{"id":"t-aaaa","name":"paint"}`)
	s := p.serve("127.0.0.1:0")
	t.Cleanup(p.stopEngine)
	x := enter(t, newBrowser(t), s)
	x.withoutScripts()
	x.start()
	p.until("the agent to ask", func() bool { return p.gate() != "" })
	x.open("/gate/" + p.gate())
	x.click(`form[action="/do/approve"] button`)
	p.until("the question", func() bool { list := p.gates(); return len(list) == 1 && list[0].Kind == "question" })
	x.open("/gate/" + p.gate())
	x.do(chromedp.SendKeys(chromedp.CSS(`form[action="/do/answer"] [name="text"]`), "blue"))
	x.click(`form[action="/do/answer"] button:not([name])`)
	p.until("the task to be done", func() bool { return p.task("t-aaaa").Status == "done" })
}

// start starts a run by the form of the page.
func (x *tab) start() {
	x.t.Helper()
	x.click(`#bar details:has(form[action="/do/start"]) > summary`)
	x.do(chromedp.SetValue(chromedp.CSS(`#bar form[action="/do/start"] [name="mode"]`), "autopilot"))
	x.click(`#bar form[action="/do/start"] button`)
}
