//go:build e2e

package browser

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/ralph-loop/ralph/internal/workers"
)

// settling plays a run that comes to rest with something of everything: a task that is
// done, one that failed, a question, and an agent that wants to run a command.
const settling = `rules:
  - when: {task: "Sketch*"}
    do:
      - say: I write the model down first
      - append: {model.go: "package model\n\n// Entry is one line of the calendar.\ntype Entry struct {\n\tTitle string\n}\n"}
      - signal: COMPLETE
  - when: {task: "Broken*"}
    do:
      - exit: 3
  - when: {task: "Which*"}
    do:
      - signal: "NEEDS_HUMAN: Shall dates be ISO 8601 or local? The spec says both."
  - do:
      - say: I should like to publish a preview
      - ask: {command: npm publish --tag next}
      - signal: COMPLETE
`

// settled is a place with an engine that waits for a person, and its dashboard.
func settled(t *testing.T) (*place, *served) {
	t.Helper()
	p := newPlace(t, settling, "parallel=1", "errors.max_retries=0", "errors.max_consecutive=9")
	p.plan(
		`{"id":"t-0001","name":"Sketch the data model","phase":"Design"}`,
		`{"id":"t-0002","name":"Broken time zone table","phase":"Design","tags":["quick-win"]}`,
		`{"id":"t-0003","name":"Which date format","phase":"Design","deps":["t-0001"]}`,
		`{"id":"t-0004","name":"Publish a preview","phase":"Design","deps":["t-0001"]}`,
		`{"id":"t-0005","name":"Write the exporter","phase":"Implementation","deps":["t-0003","t-0004"]}`,
		`{"id":"t-0006","name":"Document the format","phase":"Docs","deps":["t-0005"]}`,
	)
	s := p.serve("127.0.0.1:0")
	p.start("autopilot", "--parallel", "1")
	p.until("a question and a wish to be open", func() bool { return len(p.gates()) == 2 })
	return p, s
}

// addresses are all pages of a settled place, each by a name.
func (p *place) addresses() [][2]string {
	p.t.Helper()
	list := [][2]string{
		{"overview", "/"},
		{"plan", "/plan"},
		{"graph", "/plan/graph"},
		{"task", "/task/t-0001"},
		{"failed", "/task/t-0002"},
		{"threads", "/threads"},
		{"decisions", "/decisions"},
		{"specs", "/specs"},
		{"spec", "/spec/a.md"},
		{"gates", "/gates"},
		{"receipts", "/receipts"},
		{"receipt", "/receipt/5"},
		{"replay", "/replay"},
		{"history", "/history"},
		{"log", "/log"},
		{"settings", "/settings"},
		{"file", "/settings/file"},
		{"doctor", "/doctor"},
		{"search", "/search?q=a"},
		{"nowhere", "/no/such/page"},
		{"session", "/session/" + p.session()},
	}
	for _, g := range p.gates() {
		list = append(list, [2]string{"gate of a " + g.Kind, "/gate/" + g.ID})
	}
	return list
}

// Every page stands on its own feet: it asks no other host for anything, breaks no rule
// of its security policy, fits a phone, and is one that people with other senses and
// other hands can use, in both themes (design: product.md section 11).
func TestEveryPage(t *testing.T) {
	t.Parallel()
	p, s := settled(t)
	p.workers()
	x := enter(t, newBrowser(t), s)
	complaints := x.complaints()
	axe := axeScript(t)
	for _, page := range p.addresses() {
		x.size(1280, 900)
		x.theme("light")
		x.open(page[1])
		x.until("the page", `document.readyState === "complete" && document.querySelector("main h1")`)
		if page[0] == "overview" {
			x.until("the workers", `document.querySelectorAll("#workers .worker").length === 3`)
		}
		if twice := x.text(`[...document.querySelectorAll("[id]")].map((e) => e.id).filter((id, i, all) => all.indexOf(id) !== i).join(" ")`); twice != "" {
			t.Errorf("%s: more than one element is called %s: a patch would mix them up", page[0], twice)
		}
		x.judge(axe, page[0]+" light", allRules)
		x.theme("dark")
		x.judge(axe, page[0]+" dark", `["color-contrast", "link-in-text-block"]`)
		x.size(390, 844)
		if wide := x.text(tooWide); wide != "" {
			t.Errorf("%s is wider than a phone: %s", page[0], wide)
		}
		x.judge(axe, page[0]+" dark on a phone", allRules)
	}
	if list := complaints(); len(list) > 0 {
		t.Errorf("the browser complains:\n%s", strings.Join(list, "\n"))
	}
}

// workers writes what a coordinator would: its pages are those of any engine but for that.
func (p *place) workers() {
	p.t.Helper()
	var now struct {
		Engine struct{ Pid int } `json:"engine"`
	}
	if err := json.Unmarshal([]byte(p.ralph("status", "--json")), &now); err != nil {
		p.t.Fatal(err)
	}
	at := time.Now()
	b, err := json.Marshal(workers.Moment{
		At: at, Until: at.Add(time.Hour), Pid: now.Engine.Pid,
		Workers: []workers.Worker{
			{Name: "east", State: workers.Draining, Agents: []string{"claude"}, Slots: 2, Busy: 1, Version: "v1.0.0", Heard: at},
			{Name: "north", State: workers.Ready, Agents: []string{"claude", "codex"}, Labels: []string{"gpu"}, Slots: 4, Busy: 1, Version: "v1.0.0", Heard: at, Wrong: []string{"is another version of ralph and gets no steps of this one: install v1.0.1 there"}},
			{Name: "south", State: workers.Lost, Agents: []string{"claude"}, Slots: 2, Version: "v1.0.0", Heard: at.Add(-time.Minute)},
		},
		Steps: []workers.Step{{Task: "t-0004", Worker: "north", Attempt: 2, Trouble: "activity heartbeat timeout"}},
	})
	if err != nil {
		p.t.Fatal(err)
	}
	p.write(workers.File, string(b))
}

// tooWide is what makes a page scroll sideways, "" when it does not.
const tooWide = `(() => {
  const most = document.documentElement.clientWidth;
  if (document.documentElement.scrollWidth <= most) return "";
  const clipped = (e) => { for (let p = e.parentElement; p; p = p.parentElement) if (getComputedStyle(p).overflowX !== "visible") return true; return false; };
  const out = [...document.querySelectorAll("body *")].filter((e) => e.getBoundingClientRect().right > most + 0.5 && !clipped(e));
  return document.documentElement.scrollWidth + " px: " + out.slice(0, 5).map((e) => e.tagName + (e.id ? "#" + e.id : "") + "." + e.getAttribute("class")).join(", ");
})()`

// axeScript is axe-core, "" where there is none.
func axeScript(t *testing.T) string {
	t.Helper()
	path := os.Getenv(axeKey)
	if path == "" {
		if os.Getenv("CI") != "" {
			t.Fatalf("%s names no axe.min.js: `.ci/run e2e` installs it", axeKey)
		}
		t.Logf("SKIP: %s names no axe.min.js, so nobody looks for barriers (`.ci/run e2e` installs it)", axeKey)
		return ""
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// allRules are axe-core's, by what they come from.
const allRules = `["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]`

// judge has axe-core look at the page as it is.
func (x *tab) judge(axe, what, rules string) {
	x.t.Helper()
	if axe == "" {
		return
	}
	if !x.is("window.axe") {
		x.do(chromedp.Evaluate[chromedp.Void](axe + ";0"))
	}
	run := `axe.run(document, {resultTypes: ["violations"], runOnly: ` + rules + `}).then((r) => JSON.stringify(
  r.violations.map((v) => ({rule: v.id, help: v.help, where: v.nodes.slice(0, 4).map((n) => n.target.join(" ") + ": " + n.any.concat(n.all, n.none).map((c) => c.message).join("; "))}))))`
	out, err := chromedp.Run(x.ctx, chromedp.Evaluate[string](run, func(p *runtime.EvaluateParams) { yes := true; p.AwaitPromise = &yes }))
	if err != nil {
		x.t.Fatalf("axe-core on %s: %v", what, err)
	}
	var found []struct {
		Rule, Help string
		Where      []string
	}
	if err := json.Unmarshal([]byte(out), &found); err != nil {
		x.t.Fatal(err)
	}
	for _, f := range found {
		x.t.Errorf("%s: %s: %s\n\t%s", what, f.Rule, f.Help, strings.Join(f.Where, "\n\t"))
	}
}

// text evaluates an expression that is a text.
func (x *tab) text(js string) string {
	x.t.Helper()
	out, err := chromedp.Run(x.ctx, chromedp.Evaluate[string](js))
	if err != nil {
		x.t.Fatalf("%s: %v", js, err)
	}
	return out
}

func (x *tab) size(wide, high int64) {
	x.t.Helper()
	x.do(chromedp.EmulateViewport(wide, high))
}

// theme is what the person's system says; nothing moves while it is looked at.
func (x *tab) theme(name string) {
	x.t.Helper()
	_, err := chromedp.Call(x.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{
		{Name: "prefers-color-scheme", Value: name}, {Name: "prefers-reduced-motion", Value: "reduce"},
	}})
	if err != nil {
		x.t.Fatal(fmt.Errorf("theme %s: %w", name, err))
	}
}
