package scale

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/ralph-loop/ralph/internal/ralphtest"
)

var update = flag.Bool("update", false, "write the tables of docs/scale.md anew")

const document = "../../docs/scale.md"

// measured are the costs that docs/scale.md names, with where each comes from.
func measured() costs {
	return costs{
		step: 60 * time.Millisecond, decide: 20 * time.Millisecond, choose: 1900 * time.Nanosecond, wake: 12 * time.Microsecond,
		prepare: 25 * time.Millisecond, merge: 20 * time.Millisecond, advance: 500 * time.Millisecond,
		transfer: 300 * time.Millisecond, server: 16,
	}
}

// ordinary is a load of agents that take some minutes for a task, with a check of a minute.
func ordinary(slots, tasks, batch int) load {
	return load{repositories: 1, slots: slots, tasks: tasks, batch: batch, turns: 6 * time.Minute, spread: 0.8, check: time.Minute, red: 0.01}
}

// table is one of the document's: loads of one kind, in order.
type table struct {
	name  string
	loads []load
}

// tables are those that the suite of every day makes, and with them those that take their time.
func tables() []table {
	few := table{name: "slots"}
	for _, slots := range []int{4, 16, 64, 256} {
		for _, batch := range []int{1, 8, 32} {
			few.loads = append(few.loads, ordinary(slots, 20*slots, batch))
		}
	}
	all := []table{few}
	if !ralphtest.Thorough() && !*update {
		return all
	}
	many := table{name: "repositories"}
	for _, n := range []int{1, 8, 64, 250} {
		l := ordinary(1000, 100_000, 32)
		l.repositories = n
		many.loads = append(many.loads, l)
	}
	limits := table{name: "limits"}
	for _, change := range []func(*load){
		func(*load) {},
		func(l *load) { l.red = 0 },
		func(l *load) { l.red, l.check = 0, 0 },
		func(l *load) { l.red, l.batch = 0, 256 },
		func(l *load) { l.red, l.check, l.tasks = 0, 0, 10_000 },
	} {
		l := ordinary(1000, 100_000, 32)
		change(&l)
		limits.loads = append(limits.loads, l)
	}
	return append(all, many, limits)
}

// String is the table as the document has it.
func (t table) String() string {
	var b strings.Builder
	b.WriteString("| repositories | slots | tasks | batch | check | red | tasks an hour | slots at work | merges under way | coordinator | git server | longest queue | median wait |\n")
	b.WriteString("|---|---|---|---|---|---|---|---|---|---|---|---|---|\n")
	for _, l := range t.loads {
		o := simulate(l, measured(), 1)
		fmt.Fprintf(&b, "| %d | %d | %d | %d | %s | %.0f %% | %.0f | %.0f %% | %.0f %% | %.0f %% | %.0f %% | %d | %s |\n",
			l.repositories, l.slots, l.tasks, l.batch, l.check, 100*l.red, o.rate, 100*o.slots, 100*o.merges, 100*o.decisions, 100*o.server, o.waiting, o.wait.Round(time.Second))
	}
	return b.String()
}

// TestDocument: the tables of docs/scale.md are what the model says. Those of 100,000 tasks are
// made anew with the tag soak.
func TestDocument(t *testing.T) {
	raw, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	text := string(raw)
	for _, table := range tables() {
		begin, end := "<!-- table: "+table.name+" -->\n\n", "\n<!-- end of table -->"
		before, rest, ok := strings.Cut(text, begin)
		had, after, closed := strings.Cut(rest, end)
		if !ok || !closed {
			t.Fatalf("docs/scale.md has no place for the table %s", table.name)
		}
		made := table.String()
		if !*update && had != made {
			t.Errorf("the table %s of docs/scale.md is not what the model says, write it with -update (-had +made):\n%s", table.name, cmp.Diff(had, made))
		}
		text = before + begin + made + end + after
	}
	if *update {
		if err := os.WriteFile(document, []byte(text), 0o644); err != nil { //nolint:gosec // a document of the repository
			t.Fatal(err)
		}
	}
}
