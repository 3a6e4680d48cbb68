//go:build e2e

package browser

import (
	"strings"
	"testing"
)

// goals plays threads: each turn waits until the test lets it end, and two turns use up what it may take.
const goals = `rules:
  - when: {stage: thread}
    do:
      - event: {kind: plan.updated, plan: [{text: read the parser, status: completed}, {text: mend it, status: in_progress}]}
      - say: I look at the parser
      - run: n=$(cat ../turn 2>/dev/null || echo 0); n=$((n+1)); echo $n > ../turn; while ! [ -e ../end-$n ]; do sleep 0.02; done
      - append: {talk.txt: "one\n"}
`

// E-036, E-086 to E-088, E-098: while its agent works a person sees how a thread stands, pauses and resumes it, sees each
// decision with its reason come in, and has it go on past its budget; nothing is loaded anew.
func TestThreads(t *testing.T) {
	t.Parallel()
	p := newPlace(t, goals, "decision.cooldown=10ms", "auto.review=off")
	s := p.serve("127.0.0.1:0")
	x := enter(t, newBrowser(t), s)
	complaints := x.complaints()
	x.size(1280, 900)
	x.open("/threads")
	x.says("main", "No thread here")
	x.text(`String(window.stays = true)`)
	p.start("auto", "make the tests pass", "--name", "Green", "--max-turns", "2")
	x.says(".thread", "Green")
	x.says(".thread .thread-doing", "Turn 1")
	x.says(".thread .agent-plan", "mend it")
	x.says(".thread .said", "I look at the parser")
	x.says(".thread .slot-facts", "0 of 2")
	// The switch: its word, and what switches it.
	x.click(`.thread form[action="/do/thread-pause"] button`)
	x.says(".thread .thread-doing", "then it is to pause")
	x.says(`.thread form[action="/do/thread-resume"] button`, "Resume thread")
	p.write("../end-1", "")
	x.says(".thread .badge", "paused")
	x.click(`.thread form[action="/do/thread-resume"] button`)
	x.says(".thread .badge", "running")
	x.says(".thread-decision", "no stop condition holds")
	x.says(".thread-decision", "after turn 1 · 100 % sure")
	x.says(".thread .thread-doing", "Turn 2")
	// Its budget ends it, against the advice; it goes on by a word of the person.
	p.write("../end-2", "")
	x.says(".thread .note", "Stopped by budget.iterations: its turns are used up.")
	x.says(".thread-decision", "overridden")
	x.says(".threads-top", "1 stopped")
	if !x.is(`window.stays`) {
		t.Error("the page was loaded anew")
	}
	x.click(`.thread details.unfold > summary.primary`)
	x.until("the amount to be there", `document.querySelector('.thread input[name=past]').value === "budget.iterations=2"`)
	x.click(`.thread form[action="/do/thread-continue"] button`)
	x.says(".thread .badge", "running")
	x.says(".thread .slot-facts", "2 of 4")

	x.open("/decisions?only=overridden")
	x.says("table.decisions", "2 turns done, the limit is 2")
	x.lacks("table.decisions", "no stop condition holds")
	x.click(`table.decisions a[data-open]`)
	x.says("main", "Receipt")
	id := strings.TrimSpace(p.ralph("thread", "list", "--json"))
	if _, rest, ok := strings.Cut(id, `"id": "t-`); ok {
		id = "t-" + rest[:4]
	}
	x.open("/task/" + id)
	x.says(".run-plan", "you had it go on past budget.iterations")
	x.says(".run-plan", "when its goal is reached")

	axe := axeScript(t)
	for name, address := range map[string]string{"threads": "/threads", "decisions": "/decisions", "a thread": "/task/" + id, "threads on the overview": "/"} {
		x.size(1280, 900)
		x.theme("light")
		x.open(address)
		x.until("the page", `document.readyState === "complete" && document.querySelector("main h1")`)
		if twice := x.text(`[...document.querySelectorAll("[id]")].map((e) => e.id).filter((id, i, all) => all.indexOf(id) !== i).join(" ")`); twice != "" {
			t.Errorf("%s: more than one element is called %s", name, twice)
		}
		x.judge(axe, name+" light", allRules)
		x.theme("dark")
		x.judge(axe, name+" dark", `["color-contrast", "link-in-text-block"]`)
		x.size(390, 844)
		if wide := x.text(tooWide); wide != "" {
			t.Errorf("%s is wider than a phone: %s", name, wide)
		}
		x.judge(axe, name+" on a phone", allRules)
	}
	if list := complaints(); len(list) > 0 {
		t.Errorf("the browser complains:\n%s", strings.Join(list, "\n"))
	}
}
