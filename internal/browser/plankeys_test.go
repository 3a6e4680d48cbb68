//go:build e2e

package browser

import "testing"

// The keys that a task's card on the plan shows act there as on its page: at the first press the first
// card that has one is selected, and where a person is at another card, on that one.
func TestKeysOfThePlan(t *testing.T) {
	t.Parallel()
	p := newPlace(t, held, "parallel=1", "errors.max_retries=0")
	p.plan(`{"id":"t-bad1","name":"bad 1"}`, `{"id":"t-bad2","name":"bad 2"}`)
	s := p.serve("127.0.0.1:0")
	x := enter(t, newBrowser(t), s)
	engine := p.start("autopilot", "--parallel", "1")
	<-engine.done
	x.open("/plan")
	x.says("main", "failed")
	x.keys("+")
	x.until("a row to be selected", `document.querySelector('[data-row][aria-current="true"]')?.innerText.includes("t-bad")`)
	x.keys("+")
	x.until("the form for more iterations", `document.activeElement?.closest('form[action="/do/extend"]')`)
	for key, form := range map[string]string{"R": "rollback", "X": "cleanup"} {
		x.open("/plan")
		x.keys(key + key)
		x.until("to be asked", `document.querySelector('dialog[open] form[action="/do/`+form+`"]')`)
	}
	for _, id := range []string{"t-bad1", "t-bad2"} { // one of them is not the first
		x.open("/plan")
		x.click("#more-" + id + " > summary")
		x.keys("e")
		x.until("the form of the card where the person is", `document.activeElement?.closest('form[action="/do/edit"]')?.closest("#card-`+id+`")`)
	}
	x.open("/plan")
	x.click("#card-t-bad2 .task-name")
	x.keys("r")
	p.until("the task to be pending", func() bool { return p.task("t-bad2").Status == "pending" })
	if p.task("t-bad1").Status != "failed" {
		t.Error("the key acted on another card")
	}
}
