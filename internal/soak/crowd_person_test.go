//go:build linux && soak

package soak

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
)

// person is somebody who looks in now and then: decides gates, answers questions,
// gives what ended badly another try, and lets a pause end.
type person struct {
	c        *crowd
	random   *rand.Rand
	retries  map[string]int
	approved map[string]bool // tasks whose merge the person let pass
	most     int             // retries of one task
}

func newPerson(c *crowd, random *rand.Rand) *person {
	return &person{c: c, random: random, retries: map[string]int{}, approved: map[string]bool{}, most: 4}
}

// does runs a command that may be refused: what the person saw may be over by now.
func (p *person) does(args ...string) bool {
	p.c.t.Helper()
	res := p.c.ralph(args...)
	if res.code != 0 && (res.code < 0 || res.code > 2 || strings.Contains(res.errs, "panic")) {
		p.c.t.Errorf("ralph %s: %s", strings.Join(args, " "), res)
	}
	return res.code == 0
}

// looks does everything once.
func (p *person) looks() {
	p.c.t.Helper()
	p.decides()
	p.recovers()
	if out := p.c.ok("query", "stage"); strings.Contains(out, `"paused"`) {
		p.does("resume")
	} else if p.random.IntN(20) == 0 {
		p.does("pause")
	}
}

func (p *person) decides() {
	p.c.t.Helper()
	var gates []struct{ ID, Kind, About, Text string }
	out := p.c.ok("gates", "--json")
	if err := json.Unmarshal([]byte(out), &gates); err != nil {
		p.c.t.Fatalf("gates: %v\n%s", err, out)
	}
	for _, g := range gates {
		switch {
		case g.Kind != "merge":
			p.does("answer", g.ID, "this way")
		case strings.Contains(g.Text, "weakens tests") && p.random.IntN(2) == 0:
			p.does("deny", g.ID, "--reason", "keep the tests")
		case strings.Contains(g.Text, "weakens tests"), p.random.IntN(3) > 0:
			if p.does("approve", g.ID) {
				p.approved[g.About] = true
			}
		default:
			p.does("deny", g.ID)
		}
	}
}

// recovers gives tasks that ended badly another try, each a bounded number of times.
func (p *person) recovers() {
	p.c.t.Helper()
	for _, x := range p.c.records() {
		if x.Status != "failed" && x.Status != "timeout" && x.Status != "blocked" || p.retries[x.ID] >= p.most {
			continue
		}
		p.retries[x.ID]++
		choice := p.random.IntN(6)
		switch {
		case choice == 0, strings.Contains(x.Reason, "denied the merge"): // its branch alone will not fit better the next time
			p.does("task", "rollback", x.ID)
			continue
		case choice == 1:
			p.does("task", "cleanup", x.ID)
		case choice == 2:
			p.does("task", "extend", x.ID)
		}
		p.does("task", "retry", x.ID)
	}
}

func (p *person) String() string {
	return fmt.Sprintf("%d tasks were given another try, %d merges let pass", len(p.retries), len(p.approved))
}
