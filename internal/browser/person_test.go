//go:build e2e

package browser

import (
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// chatty plays one task that asks at once, one that asks when the test makes a file, and one
// that talks all the while.
const chatty = `rules:
  - when: {task: paint}
    do:
      - signal: "NEEDS_HUMAN: red or blue?"
  - when: {task: other}
    do:
      - run: while ! [ -e "$RALPH_ROOT/../go" ]; do sleep 0.02; done
      - signal: "NEEDS_HUMAN: round or square?"
  - do:
      - say: I talk all the while
      - run: while ! [ -e "$RALPH_ROOT/../end" ]; do sleep 0.02; done
      - signal: COMPLETE
`

// What a person types, and the form they opened with a real click, stay while the page
// changes round them; so does the focus.
func TestTypingSurvivesPatches(t *testing.T) {
	t.Parallel()
	p := newPlace(t, chatty, "parallel=3")
	p.plan(`{"id":"t-aaaa","name":"paint"}`, `{"id":"t-bbbb","name":"talk"}`, `{"id":"t-cccc","name":"other"}`)
	s := p.serve("127.0.0.1:0")
	t.Cleanup(p.stopEngine)
	x := enter(t, newBrowser(t), s)
	x.size(1280, 500) // what is asked stands low, so that it has to be scrolled to
	p.start("autopilot", "--parallel", "3")
	x.says("#needs", "red or blue?")
	x.says("#slots", "I talk all the while")
	x.click(`#needs details:has(form[action="/do/answer"]) > summary`)
	x.until("the form to be open", `document.querySelector("#needs details[open]")`)
	x.do(chromedp.SendKeys(chromedp.CSS(`#needs form[action="/do/answer"] [name="text"]`), "half a wo"))
	touch(t, p, "../go")
	x.says("#needs", "round or square?")
	x.do(chromedp.KeyEvent("rd"))
	x.until("the words in the open form, with the focus", `(() => { const e = document.activeElement; return e.name === "text" && e.value === "half a word" && e.closest("details").open; })()`)
	touch(t, p, "../end")
}

// Keys lead everywhere: help, palette, pages, rows; colours change and stay so.
func TestKeysLeadEverywhere(t *testing.T) {
	t.Parallel()
	p := newPlace(t, held, "parallel=1")
	p.plan(three()...)
	s := p.serve("127.0.0.1:0")
	x := enter(t, newBrowser(t), s)
	complaints := x.complaints()
	x.until("the page to listen", `document.readyState === "complete"`)
	x.keys("?")
	x.says("dialog[open]", "Keys on this page")
	x.keys(kb.Escape)
	x.until("no dialog", `!document.querySelector("dialog[open]")`)
	x.keys("gp")
	x.until("the plan", `location.pathname === "/plan" && document.readyState === "complete"`)
	x.keys("j")
	first := x.text(`document.querySelector('[data-row][aria-current]').textContent`)
	x.keys("j")
	if second := x.text(`document.querySelector('[data-row][aria-current]').textContent`); second == first {
		t.Error("j did not go to the next row")
	}
	x.keys("k")
	if again := x.text(`document.querySelector('[data-row][aria-current]').textContent`); again != first {
		t.Error("k did not go back")
	}
	x.keys(kb.Enter)
	x.until("the task", `location.pathname.startsWith("/task/t-") && document.readyState === "complete"`)
	x.keys("/")
	x.until("the palette", `document.querySelector("dialog[open] input") === document.activeElement`)
	x.keys(kb.Backspace + "three") // a browser without a keyboard types the slash too
	x.until("the task to be found", `document.querySelector('dialog[open] [aria-current="true"]')?.innerText.includes("three")`)
	x.keys(kb.Enter)
	x.until("the other task", `location.pathname === "/task/t-cccc" && document.readyState === "complete"`)
	x.click("#theme")
	theme := x.text(`document.documentElement.dataset.theme`)
	x.do(chromedp.Reload())
	x.until("the colours to stay", `document.documentElement.dataset.theme === "`+theme+`"`)
	if list := complaints(); len(list) > 0 {
		t.Errorf("the browser complains: %q", list)
	}
}

// The keys that a person chose are those of the pages: they do what they were chosen for, those that
// were given away do nothing, and the help has them (ui.keys).
func TestChosenKeysInTheBrowser(t *testing.T) {
	t.Parallel()
	p := newPlace(t, held, "parallel=1", "ui.keys={next: i, skip: S, help: H}")
	p.plan(three()...)
	s := p.serve("127.0.0.1:0")
	x := enter(t, newBrowser(t), s)
	complaints := x.complaints()
	x.open("/plan")
	x.until("the page to listen", `document.readyState === "complete"`)
	x.keys("?j") // given away
	x.keys("i")
	x.until("a row to be chosen", `document.querySelector('[data-row][aria-current]')`)
	first := x.text(`document.querySelector('[data-row][aria-current]').textContent`)
	x.keys("j")
	x.keys("i")
	x.until("the next row to be chosen", `document.querySelector('[data-row][aria-current]').textContent !== `+strconv.Quote(first))
	x.keys("H")
	x.says("dialog[open]", "Keys on this page")
	x.until("the help to name the keys", `[...document.querySelectorAll("dialog[open] kbd")].some(k => k.textContent === "i") && ![...document.querySelectorAll("dialog[open] kbd")].some(k => k.textContent === "j")`)
	x.keys(kb.Escape)
	x.until("no dialog", `!document.querySelector("dialog[open]")`)
	x.open("/task/t-bbbb")
	x.keys("S")
	x.until("the form to open", `document.querySelector('details:has(> form[action="/do/skip"])')?.open`)
	if list := complaints(); len(list) > 0 {
		t.Errorf("the browser complains: %q", list)
	}
}

// What was done is taken back by the message that says it; what cannot be taken back is
// asked first; two tabs show the same.
func TestUndoAndConfirm(t *testing.T) {
	t.Parallel()
	p := newPlace(t, held, "parallel=1")
	p.plan(three()...)
	s := p.serve("127.0.0.1:0")
	b := newBrowser(t)
	x := enter(t, b, s)
	other := newTab(t, b, s)
	other.open("/task/t-cccc")
	x.open("/task/t-cccc")
	x.more(`form[action="/do/skip"]`)
	x.click(`details:has(> form[action="/do/skip"]) > summary`)
	x.click(`form[action="/do/skip"] button`)
	p.until("the task to be left out", func() bool { return p.task("t-cccc").Status == "skipped" })
	other.says("main", "skipped")
	x.click(".toast form button")
	p.until("the task to be back", func() bool { return p.task("t-cccc").Status == "pending" })
	other.says("main", "pending")
	x.more(`form[action="/do/done"]`)
	x.click(`form[action="/do/done"] button`)
	x.says("dialog[open]", "without an agent?")
	x.click("dialog[open] [data-close]")
	x.until("no dialog", `!document.querySelector("dialog[open]")`)
	if got := p.task("t-cccc").Status; got != "pending" {
		t.Errorf("it is %s though nobody was sure", got)
	}
	x.click(`form[action="/do/done"] button`)
	x.click(`dialog[open] form.confirm button`)
	x.says("main", "done")
	p.until("the task to be done", func() bool { return p.task("t-cccc").Status == "done" })
	other.says("main", "done")
}

// A refusal has its reason, an answer becomes a rule, and the rule ends from the page.
func TestDenyAndRule(t *testing.T) {
	t.Parallel()
	p := newPlace(t, `rules:
  - do:
      - ask: {command: touch made.txt}
      - ask: {command: touch other.txt}
      - signal: COMPLETE
`, asks, "parallel=1")
	p.plan(`{"id":"t-aaaa","name":"paint"}`)
	s := p.serve("127.0.0.1:0")
	t.Cleanup(p.stopEngine)
	x := enter(t, newBrowser(t), s)
	p.start("autopilot", "--parallel", "1")
	x.says("#needs", "touch made.txt")
	x.open("/gate/" + p.gate())
	x.click(`details:has([name="always"]):has(~ *), form[action="/do/approve"] details > summary`)
	x.click(`form[action="/do/approve"] [name="always"]`)
	x.click(`form[action="/do/approve"] button`)
	x.says(".toast", "rule r-")
	p.until("the next wish", func() bool { return strings.Contains(p.ralph("gates"), "other.txt") })
	x.open("/gates")
	x.says("main", "touch made.txt")
	x.open("/gate/" + p.gate())
	x.do(chromedp.SendKeys(chromedp.CSS(`form[action="/do/deny"] [name="text"]`), "not in this folder"))
	x.click(`form[action="/do/deny"] button`)
	x.says("#head", "denied")
	x.says("#head", "not in this folder")
	x.open("/gates")
	x.click(`form[action="/do/revoke"] button`)
	x.click(`dialog[open] form.confirm button`)
	x.says(".toast", "Revoked")
}

// A setting is saved, with the comments of the file; what is wrong is said beside the
// field and nothing is written.
func TestSettingsFromThePage(t *testing.T) {
	t.Parallel()
	p := newPlace(t, held)
	p.write("ralph/config.yaml", "# ours\n"+p.must("cat", "ralph/config.yaml"))
	s := p.serve("127.0.0.1:0")
	x := enter(t, newBrowser(t), s)
	x.open("/settings")
	x.do(chromedp.SetValue(chromedp.CSS(`[name="set.task.max_iterations"]`), "7"))
	x.click(`.settings-form .settings-save button:not([name])`)
	x.says("main", "Saved")
	if text := p.must("cat", "ralph/config.yaml"); !strings.Contains(text, "max_iterations: 7") {
		t.Errorf("the setting is not saved:\n%s", text)
	}
	if text := p.must("cat", "ralph/config.yaml"); !strings.HasPrefix(text, "# ours\n") {
		t.Errorf("the comment is gone:\n%s", text)
	}
	x.open("/settings")
	x.do(chromedp.SetValue(chromedp.CSS(`[name="set.task.delay"]`), "soon"))
	x.click(`.settings-form .settings-save button:not([name])`)
	x.says(".setting-wrong", "task.delay")
	if text := p.must("cat", "ralph/config.yaml"); strings.Contains(text, "soon") {
		t.Errorf("a wrong value was written:\n%s", text)
	}
}

// A task is added to the plan and a spec is written and queued.
func TestAddATaskAndASpec(t *testing.T) {
	t.Parallel()
	p := newPlace(t, held)
	p.plan(three()...)
	s := p.serve("127.0.0.1:0")
	x := enter(t, newBrowser(t), s)
	x.open("/plan")
	x.click(`details:has(> form[action="/do/add"]) > summary`)
	x.do(chromedp.SendKeys(chromedp.CSS(`form[action="/do/add"] [name="name"]`), "a fourth one"))
	x.click(`form[action="/do/add"] button`)
	x.says("main", "a fourth one")
	x.open("/specs")
	x.do(chromedp.SendKeys(chromedp.CSS(`#new-spec [name="text"]`), "# Farewell\n\nSay goodbye."))
	x.click(`#new-spec button`)
	x.says("#queue, main", "farewell.md")
	if text := p.must("cat", "ralph/specs/farewell.md"); !strings.Contains(text, "Say goodbye.") {
		t.Errorf("the spec says %q", text)
	}
}

// The graph is zoomed with the wheel, and lights up what hangs together.
func TestGraphOfThePlan(t *testing.T) {
	t.Parallel()
	p := newPlace(t, held)
	p.plan(`{"id":"t-aaaa","name":"one"}`, `{"id":"t-bbbb","name":"two","deps":["t-aaaa"]}`, `{"id":"t-cccc","name":"three"}`)
	s := p.serve("127.0.0.1:0")
	x := enter(t, newBrowser(t), s)
	x.open("/plan/graph")
	x.until("the graph", `document.querySelectorAll("#graph [data-n]").length === 3`)
	if says := x.text(`document.querySelector('#graph a[href="/task/t-bbbb"] title').textContent`); !strings.Contains(says, "t-aaaa") {
		t.Errorf("it does not say what the task waits for: %q", says)
	}
	over := func(kind input.DispatchMouseEventType, options ...chromedp.MouseOption) {
		var at struct{ X, Y float64 }
		at, err := chromedp.Run(x.ctx, chromedp.Evaluate[struct{ X, Y float64 }](`(() => { const r = document.querySelector('#graph a[href="/task/t-bbbb"]').getBoundingClientRect(); return {X: r.x + r.width / 2, Y: r.y + r.height / 2}; })()`))
		if err != nil {
			t.Fatal(err)
		}
		x.do(chromedp.MouseEvent(kind, at.X, at.Y, options...))
	}
	over(input.DispatchMouseEventTypeMouseMoved)
	x.until("two tasks to be lit", `document.querySelectorAll("#graph.dim [data-n].lit").length === 2`)
	was := x.text(`document.getElementById("graph").getAttribute("viewBox")`)
	over(input.DispatchMouseEventTypeMouseWheel, func(p *input.DispatchMouseEventParams) { p.DeltaX, p.DeltaY = 0.1, -300 })
	x.until("the graph to be nearer", `document.getElementById("graph").getAttribute("viewBox") !== "`+was+`"`)
}

// more unfolds what hides a form that is seldom wanted.
func (x *tab) more(form string) {
	x.t.Helper()
	x.until(form, `document.querySelector('`+form+`')`)
	for range 3 {
		const hidden = `[...document.querySelectorAll('%')].map((f) => f.parentElement.closest("details:not(.unfold):not([open])"))[0]?.querySelector(":scope > summary")`
		at := strings.ReplaceAll(hidden, "%", form)
		if !x.is(at) {
			return
		}
		x.is("(" + at + ".click(), 1)")
	}
}

// A button that came with a patch and is pressed before any script has it in hand is
// no forgery: its form is sent with the token of the page.
func TestAFormOfAPatchHasTheToken(t *testing.T) {
	t.Parallel()
	p := newPlace(t, held)
	p.plan(three()...)
	x := enter(t, newBrowser(t), p.serve("127.0.0.1:0"))
	x.open("/task/t-cccc")
	x.until("a form of the stream's kind to be sent", `(() => {
		const form = document.querySelector('form[action="/do/skip"]').cloneNode(true);
		for (const name of ["csrf", "back"]) form.elements.namedItem(name)?.remove();
		for (const a of [...form.attributes]) if (a.name.startsWith("hx-")) form.removeAttribute(a.name);
		document.querySelector("main").append(form);
		form.requestSubmit();
		return true;
	})()`)
	p.until("the task to be left out", func() bool { return p.task("t-cccc").Status == "skipped" })
	x.until("the page of the task again", `location.pathname === "/task/t-cccc" && document.querySelector("main")`)
}
