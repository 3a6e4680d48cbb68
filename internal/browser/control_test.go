//go:build e2e

package browser

import (
	"os"
	"path/filepath"
	"testing"
)

// held plays a task whose first iteration goes on until the test makes a file.
const held = `rules:
  - when: {task: one, iteration: 1}
    do:
      - say: I look at the greeting first
      - run: touch "$RALPH_ROOT/../working"; while ! [ -e "$RALPH_ROOT/../go" ]; do sleep 0.02; done
      - signal: "PROGRESS: 40 half of it"
  - when: {task: "bad*"}
    do:
      - exit: 3
  - do:
      - append: {work.txt: "x\n"}
      - signal: COMPLETE
`

func three() []string {
	return []string{`{"id":"t-aaaa","name":"one","phase":"Implementation"}`, `{"id":"t-bbbb","name":"two","phase":"Implementation"}`, `{"id":"t-cccc","name":"three","phase":"Implementation"}`}
}

// A run is started, paused, resumed and stopped from the page, which says at each
// moment where it stands, without being loaded anew (A-096 to, B-057 to
// B-060, B-087, B-090).
func TestAPersonSteersARun(t *testing.T) {
	t.Parallel()
	p := newPlace(t, held, "parallel=1")
	p.plan(three()...)
	s := p.serve("127.0.0.1:0")
	t.Cleanup(p.stopEngine)
	x := enter(t, newBrowser(t), s)
	complaints := x.complaints()
	x.lacks("#bar", "Running")
	x.is(`window.stays = true`)
	engine := p.start("autopilot", "--parallel", "1")
	x.says("#bar", "▶ Autopilot Running")
	x.says("#bar", "Step 1/3")
	x.says("#bar", "Phase: Implementation")
	x.says("#bar", "Agent: Me")
	x.says("#bar", "Retries: 0")
	x.says("#slots", "I look at the greeting first") // A-058, before the turn ends
	x.click(`#bar form[action="/do/pause"] button`)
	x.says("#bar", "Pausing")
	touch(t, p, "../go")
	x.says("#bar", "Paused")
	x.click(`#bar form[action="/do/resume"] button`)
	x.says("#bar", "Running")
	<-engine.done
	x.lacks("#bar", "Running")
	if !x.is(`window.stays`) {
		t.Error("the page was loaded anew: it should have changed in place")
	}
	if list := complaints(); len(list) > 0 {
		t.Errorf("the browser complains: %q", list)
	}
}

func touch(t *testing.T, p *place, name string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(p.dir, name), nil, 0o644); err != nil {
		t.Fatal(err)
	}
}
