//go:build e2e

package browser

import (
	"testing"

	"github.com/chromedp/chromedp"
)

// asks is for tests of answers: usual is auto, which asks about nothing that stays in the sandbox.
const asks = "gate.approvals=ask"

// asking plays an agent that wants to run a command, then wants to know something.
const asking = `rules:
  - when: {iteration: 1}
    do:
      - ask: {command: touch made.txt}
      - signal: "NEEDS_HUMAN: red or blue?"
  - do:
      - append: {work.txt: "blue\n"}
      - signal: COMPLETE
`

// What waits for a person comes to the page by itself, is decided there, and the agent
// goes on with the answer (B-013, B-021, E-025, E-027, X-75).
func TestAPersonApprovesAndAnswers(t *testing.T) {
	t.Parallel()
	p := newPlace(t, asking, asks, "parallel=1")
	p.plan(`{"id":"t-aaaa","name":"paint"}`)
	s := p.serve("127.0.0.1:0")
	x := enter(t, newBrowser(t), s)
	complaints := x.complaints()
	engine := p.start("autopilot", "--parallel", "1")
	x.says("#needs", "touch made.txt")
	x.until("the title to say that it needs a person", `document.title.includes("1")`)
	x.open("/gate/" + p.gate())
	x.says("main", "touch made.txt")
	x.keys("a") // approve
	x.confirmed("approve")
	x.open("/")
	x.says("#needs", "red or blue?")
	x.open("/gate/" + p.gate())
	x.click(`details:has(form[action="/do/answer"]) > summary, form[action="/do/answer"] [name="text"]`)
	x.do(chromedp.SendKeys(chromedp.CSS(`form[action="/do/answer"] [name="text"]`), "blue"))
	x.click(`form[action="/do/answer"] button`)
	<-engine.done
	if code := engine.ProcessState.ExitCode(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	if got := p.must("git", "show", "HEAD:work.txt"); got != "blue\n" {
		t.Errorf("work.txt holds %q", got)
	}
	if list := complaints(); len(list) > 0 {
		t.Errorf("the browser complains: %q", list)
	}
}

// A failed task is tried again by its key on its page, and edited before (B-034,
// B-076, B-077).
func TestKeysOfAFailedTask(t *testing.T) {
	t.Parallel()
	p := newPlace(t, held, "parallel=1", "errors.max_retries=0")
	p.plan(`{"id":"t-bad1","name":"bad 1"}`)
	s := p.serve("127.0.0.1:0")
	x := enter(t, newBrowser(t), s)
	engine := p.start("autopilot", "--parallel", "1")
	<-engine.done
	x.open("/task/t-bad1")
	x.says("main", "failed")
	x.keys("e")
	x.until("the form to edit it", `document.activeElement && document.activeElement.closest('form[action="/do/edit"]')`)
	x.do(chromedp.SetValue(chromedp.CSS(`form[action="/do/edit"] [name="name"]`), "good 1"))
	x.click(`form[action="/do/edit"] button`)
	p.until("the task to have its new name", func() bool { return p.task("t-bad1").Name == "good 1" })
	if p.task("t-bad1").Status != "pending" {
		x.keys("r")
		p.until("the task to be pending", func() bool { return p.task("t-bad1").Status == "pending" })
	}
	x.says("main", "pending")
}
