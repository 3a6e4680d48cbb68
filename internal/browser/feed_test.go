//go:build e2e

package browser

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

// The page of a task shows the newest plan and the newest changes of the agent that is
// at work, without being loaded anew (E-089, E-090). What a driver tells becomes the
// turn's feed.json in internal/step; here the file changes as it does there.
func TestTheNewestPlanAndDiffAreShown(t *testing.T) {
	t.Parallel()
	p := newPlace(t, held, "parallel=1")
	p.plan(three()...)
	s := p.serve("127.0.0.1:0")
	x := enter(t, newBrowser(t), s)
	p.start("autopilot", "--parallel", "1")
	p.until("the agent to be at work", func() bool { _, err := os.Stat(filepath.Join(p.dir, "../working")); return err == nil })
	x.open("/task/t-aaaa")
	x.is(`window.stays = true`)
	p.feed("t-aaaa", "Read the grammar", "+first line\n")
	x.says("#task-feed", "Read the grammar")
	x.says("main", "first line")
	p.feed("t-aaaa", "Write the parser", "+second line\n")
	x.says("#task-feed", "Write the parser")
	x.lacks("#task-feed", "Read the grammar")
	x.says("main", "second line")
	if !x.is(`window.stays`) {
		t.Error("the page was loaded anew: it should have changed in place")
	}
	touch(t, p, "../go")
}

// feed replaces what the agent of a task says of its turn.
func (p *place) feed(task, step, added string) {
	p.t.Helper()
	dirs, err := filepath.Glob(filepath.Join(p.dir, "ralph/.state/tasks", task, "*/output.log"))
	if err != nil || len(dirs) != 1 {
		p.t.Fatalf("records of %s: %v, %v", task, dirs, err)
	}
	b, err := json.Marshal(map[string]any{
		"plan": []map[string]string{{"text": step, "status": "in_progress"}},
		"diff": "diff --git a/work.txt b/work.txt\nnew file mode 100644\n--- /dev/null\n+++ b/work.txt\n@@ -0,0 +1 @@\n" + added,
	})
	if err != nil {
		p.t.Fatal(err)
	}
	path := filepath.Join(filepath.Dir(dirs[0]), "feed.json")
	if err := os.WriteFile(path+".new", b, 0o644); err != nil {
		p.t.Fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		p.t.Fatal(err)
	}
}

// The cards of the plan's board are parts of their own: each goes with its task from column to column, in place, and
// none is ever empty.
func TestCardsGoFromColumnToColumn(t *testing.T) {
	t.Parallel()
	p := newPlace(t, held, "parallel=1")
	p.plan(three()...)
	s := p.serve("127.0.0.1:0")
	x := enter(t, newBrowser(t), s)
	x.open("/plan")
	x.is(`window.stays = true`)
	x.is(`(window.empty = 0, new MutationObserver(() => { for (const c of document.querySelectorAll("#plan-body .contents")) if (!c.innerText.trim()) requestAnimationFrame(() => { if (c.isConnected && !c.innerText.trim()) window.empty++; }); }).observe(document.getElementById("plan-body"), {subtree: true, childList: true}), true)`)
	engine := p.start("autopilot", "--parallel", "1")
	x.says(`.column[data-status="active"]`, "one")
	x.says(`.column[data-status="active"]`, "I look at the greeting first")
	x.until("the others to wait", `document.querySelectorAll('.column:not([data-status="active"]) .task').length === 2`)
	touch(t, p, "../go")
	<-engine.done
	for _, name := range []string{"one", "two", "three"} {
		x.says(`.column[data-status="done"] .task .task-name`, name)
	}
	x.until("three cards", `document.querySelectorAll("#plan-body .task").length === 3`)
	if !x.is(`window.stays && window.empty === 0`) {
		t.Error("the page was loaded anew, or a card was empty")
	}
}

// The rows of the plan's table are parts of their own: each says what its task does, in place, and goes where it is sorted to.
func TestRowsOfTheTableComeOneByOne(t *testing.T) {
	t.Parallel()
	p := newPlace(t, held, "parallel=1")
	p.plan(three()...)
	s := p.serve("127.0.0.1:0")
	x := enter(t, newBrowser(t), s)
	x.open("/plan?view=table&sort=status")
	x.is(`window.stays = true`)
	engine := p.start("autopilot", "--parallel", "1")
	x.says(`.plan-table tbody tr:has([data-status="active"])`, "I look at the greeting first")
	touch(t, p, "../go")
	<-engine.done
	x.until("all of them done", `document.querySelectorAll('.plan-table tbody tr:has([data-status="done"])').length === 3`)
	if !x.is(`window.stays && document.querySelectorAll(".plan-table tbody > tr").length === 3`) {
		t.Error("the page was loaded anew, or rows stand elsewhere")
	}
	const rows = `JSON.stringify([...document.querySelectorAll(".plan-table tbody > tr")].map(r => [r.id, r.cells.length, r.cells[1].innerText, r.cells[2].innerText]))`
	x.is(`sessionStorage.setItem("rows", ` + rows + `), true`)
	x.open("/plan?view=table&sort=status")
	x.until("the same rows", `sessionStorage.getItem("rows") === `+rows)
}

// Each line of the feed comes by itself: what was there stays, and the page that saw them come has what one that is
// loaded has.
func TestLinesOfTheFeedComeOneByOne(t *testing.T) {
	t.Parallel()
	p := newPlace(t, held, "parallel=1")
	p.plan(three()...)
	s := p.serve("127.0.0.1:0")
	x := enter(t, newBrowser(t), s)
	engine := p.start("autopilot", "--parallel", "1")
	x.says(".feed-list", "t-aaaa")
	x.until("lines", `document.querySelectorAll(".feed-list > li.feed-item").length > 0`)
	x.is(`(window.first = document.querySelector(".feed-list > li:last-child"), true)`)
	touch(t, p, "../go")
	<-engine.done
	x.lacks("#bar", "Running")
	// The bar changes before the last lines are here: a page that is loaded says when they are.
	const lines = `(d => JSON.stringify([...d.querySelectorAll(".feed-list > li")].map(l => [l.id, l.dataset.tone, l.className, l.querySelector("a").textContent])))`
	x.until("the lines of a page that is loaded", `(fetch("/").then(r => r.text()).then(h => { window.loaded = `+lines+`(new DOMParser().parseFromString(h, "text/html")); }), window.loaded === `+lines+`(document))`)
	if !x.is(`window.first.isConnected && window.first.innerText.trim() !== ""`) {
		t.Error("the first line did not stay")
	}
}
