//go:build e2e || soak

package e2e

import (
	"encoding/json"
	"slices"
	"strings"
)

// told is what the report has to tell, as JSON names it.
type told struct {
	Sessions []struct{ Resumed int }
	Figures  struct {
		TasksDone, MergesClean, MergesResolved, MergesPending, Conflicts int
	}
	Tasks []struct {
		Name, Status, Merge, Why string
		Iterations               int
		Trail                    []struct{ Text string }
	}
	Timeline []struct{ Outcome string }
	Landings []struct{ Tip string }
}

// checkReport wants the report to explain all of it: both deaths of the engine, and
// of each task how it came to be merged.
func (g *garden) checkReport() {
	g.t.Helper()
	var r told
	text := g.must(g.ralph, "report", "--format", "json")
	if err := json.Unmarshal([]byte(strings.ReplaceAll(text, "_", "")), &r); err != nil {
		g.t.Fatalf("%v\n%s", err, text)
	}
	if len(r.Sessions) != 1 || r.Sessions[0].Resumed != 2 {
		g.t.Errorf("the report tells of the sessions %+v, want one that was resumed twice", r.Sessions)
	}
	cut := func(x struct{ Outcome string }) bool { return x.Outcome == "cut" }
	if !slices.ContainsFunc(r.Timeline, cut) {
		g.t.Error("the report tells of no work that was cut")
	}
	all := len(chores())
	if f := r.Figures; f.TasksDone != all || f.MergesClean+f.MergesResolved != all || f.MergesPending != 0 || f.MergesResolved < 6 || f.Conflicts < 5 {
		g.t.Errorf("the figures are %+v", f)
	}
	if tip := g.must("git", "rev-parse", "main"); len(r.Landings) == 0 || r.Landings[len(r.Landings)-1].Tip != tip {
		g.t.Errorf("the landings %+v do not end at main, %s", r.Landings, tip)
	}
	g.checkTasks(&r)
	for _, format := range []string{"md", "html"} {
		text := g.must(g.ralph, "report", "--format", format)
		for _, c := range chores() {
			if !strings.Contains(text, c.name) {
				g.t.Errorf("the report as %s does not name %q", format, c.name)
			}
		}
	}
}

func (g *garden) checkTasks(r *told) {
	g.t.Helper()
	trails := map[string]string{}
	for _, x := range r.Tasks {
		var steps []string
		for _, s := range x.Trail {
			steps = append(steps, s.Text)
		}
		trails[x.Name] = strings.Join(steps, "; ")
		if x.Status != "done" || x.Merge != "merged" || !strings.Contains(x.Why, "merged") {
			g.t.Errorf("the report tells of %q: %s, %s, %q", x.Name, x.Status, x.Merge, x.Why)
		}
	}
	var conflicts, red int
	for _, c := range chores() {
		trail, ok := trails[c.name]
		switch mended := strings.Contains(trail, "mended"); {
		case !ok:
			g.t.Errorf("the report does not tell of %q", c.name)
		case mended && strings.Contains(trail, "conflicts with what is merged"):
			conflicts++
		case mended && strings.Contains(trail, "red on the merged tree"):
			red++
		}
		if c.wrong != "" && !strings.Contains(trail, "red: go test") {
			g.t.Errorf("the report does not tell that %q claimed too early: %s", c.name, trail)
		}
	}
	if conflicts != 5 || red != 1 {
		g.t.Errorf("the report explains %d conflicts and %d red merges, want 5 and 1: %q", conflicts, red, trails)
	}
}
