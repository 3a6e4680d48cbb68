package outbox_test

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/journal"
	"github.com/ralph-loop/ralph/internal/outbox"
	"github.com/ralph-loop/ralph/internal/policy/breaker"
	"github.com/ralph-loop/ralph/internal/proc"
	"github.com/ralph-loop/ralph/internal/ralphtest"
	"github.com/ralph-loop/ralph/internal/tracker"
	"github.com/ralph-loop/ralph/internal/tracker/ado"
	"github.com/ralph-loop/ralph/internal/tracker/github"
	"github.com/ralph-loop/ralph/internal/tracker/jira"
	"github.com/ralph-loop/ralph/internal/tracker/trackertest"
)

// The test program is also the process that is killed: one that drains the outbox.
func TestMain(m *testing.M) {
	if root := os.Getenv("OUTBOX_ROOT"); root != "" {
		if err := drain(root, ralph.Service(os.Getenv("OUTBOX_SERVICE")), os.Getenv("OUTBOX_URL")); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	ralphtest.AtOnce(8) // they wait for the service
	os.Exit(ralphtest.InMemory(m))
}

// settle is longer than the server of the test takes.
const settle = 400 * time.Millisecond

func breakerOfTests() breaker.Config {
	return breaker.Config{Failures: 3, Window: time.Minute, Reset: 200 * time.Millisecond, Successes: 2}
}

func clientOf(service ralph.Service, url string) (tracker.Client, error) {
	a := tracker.Access{URL: url, Token: "token"}
	switch service {
	case ralph.GitHub:
		a.Project = "o/r"
		return github.New(a)
	case ralph.Jira:
		a.User, a.Project = "anna@example.com", "P"
		return jira.New(a)
	}
	a.Project = "proj"
	return ado.New(a)
}

func optionsOf(j *journal.File, service ralph.Service, url string) outbox.Options {
	return outbox.Options{
		Journal: j, Every: 5, Items: func(string) []string { return nil }, Steady: steady,
		Services: map[ralph.Service]outbox.Service{service: {
			Client: func() (tracker.Client, error) { return clientOf(service, url) }, Breaker: breakerOfTests(), Settle: settle,
		}},
	}
}

func steady() outbox.Steady {
	boot, up := proc.Uptime()
	return outbox.Steady{Boot: boot, Up: up}
}

// clockOf is the clock of a process: ahead of the true time, and after a while by another time,
// as somebody sets it. No times, and it is true.
func clockOf(ahead string) func() time.Time {
	began := time.Now()
	first, then, _ := strings.Cut(ahead, ",")
	at, _ := time.ParseDuration(first)
	later, _ := time.ParseDuration(then)
	return func() time.Time {
		now := time.Now()
		if now.Sub(began) > 40*time.Millisecond {
			return now.Round(0).Add(later)
		}
		return now.Round(0).Add(at)
	}
}

// drain sends until nothing is left, and says when it begins.
func drain(root string, service ralph.Service, url string) error {
	j, err := journal.Open(journal.Options{Root: root, Now: clockOf(os.Getenv("OUTBOX_CLOCK"))})
	if err != nil {
		return err
	}
	o, err := outbox.Start(optionsOf(j, service, url))
	if err != nil {
		return err
	}
	fmt.Println("ready")
	for { // who was killed before may have sent the last one
		s := j.State()
		if waiting, _ := s.Waiting(service); waiting == 0 {
			break
		}
		<-j.Moved(s.Seq)
		o.Drain(context.Background())
	}
	o.Close(context.Background())
	return j.Close()
}

func itemsOf(service ralph.Service) []string {
	switch service {
	case ralph.GitHub:
		return []string{"o/r#1", "o/r#2", "o/r#3"}
	case ralph.Jira:
		return []string{"P-1", "P-2", "P-3"}
	}
	return []string{"ado:1", "ado:2", "ado:3"}
}

func keyOf(item string) string { return strings.TrimPrefix(item, "ado:") }

// fill puts comments, edits of the status and changes into the outbox of a new journal.
func fill(t testing.TB, root string, service ralph.Service, n int, clock string) {
	t.Helper()
	j, err := journal.Open(journal.Options{Root: root, Now: clockOf(clock)})
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		ref := ralph.PushRef{ID: ralph.PushID(fmt.Sprintf("test-%03d-comment", i)), Service: service, Item: itemsOf(service)[i%3]}
		f := ralph.PushWanted{PushRef: ref, What: ralph.PushComment, Seq: int64(i + 1), Text: fmt.Sprintf("event %03d.", i)}
		switch i % 10 {
		case 4:
			f.What, f.Text = ralph.PushStatus, fmt.Sprintf("status %03d.", i)
		case 7:
			f.What, f.Text, f.Change = ralph.PushChange, "", ralph.ItemChange{Add: []string{fmt.Sprintf("label%03d", i)}}
		}
		if err := j.Update(context.Background(), "test", func(*ralph.State) ([]ralph.Fact, error) { return []ralph.Fact{f}, nil }); err != nil {
			t.Fatal(err)
		}
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
}

// killed drains with processes that are killed, until one ends by itself.
func killed(t testing.TB, root string, service ralph.Service, s *trackertest.Server, clock func(kill int) string, between func(kill int)) (kills int) {
	t.Helper()
	for {
		c := exec.Command(os.Args[0])
		c.Env = append(os.Environ(), "OUTBOX_CLOCK="+clock(kills), "OUTBOX_ROOT="+root, "OUTBOX_SERVICE="+string(service), "OUTBOX_URL="+s.Access())
		out, err := c.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		var stderr strings.Builder
		c.Stderr = &stderr
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		if line, _ := bufio.NewReader(out).ReadString('\n'); line != "ready\n" {
			_ = c.Wait()
			t.Fatalf("the process did not begin: %s", stderr.String())
		}
		timer := time.AfterFunc(time.Duration(20+rand.IntN(150))*time.Millisecond, func() { _ = c.Process.Kill() })
		err = c.Wait()
		if stopped := timer.Stop(); err == nil {
			return kills
		} else if stopped {
			t.Fatalf("the process failed: %v\n%s", err, stderr.String())
		}
		kills++
		between(kills)
	}
}

// look says what is doubled, missing or out of order on the server.
func look(t testing.TB, service ralph.Service, s *trackertest.Server, n, kills int) {
	t.Helper()
	missing, doubled, disordered := 0, 0, 0
	for k, item := range itemsOf(service) {
		x := s.Item(keyOf(item))
		var seen []string
		status, labels := 0, 0
		last := ""
		for _, c := range x.Comments {
			if _, rest, ok := strings.Cut(c.Text, "event "); ok {
				seen = append(seen, rest[:3])
			}
			if _, rest, ok := strings.Cut(c.Text, "status "); ok {
				status++
				last = rest[:3]
			}
		}
		var want []string
		wantStatus, wantLabels := "", 0
		for i := k; i < n; i += 3 {
			name := fmt.Sprintf("%03d", i)
			switch i % 10 {
			case 4:
				wantStatus = name
			case 7:
				wantLabels++
				if slices.Contains(x.Labels, "label"+name) || strings.Contains(fmt.Sprint(x.Fields["System.Tags"]), "label"+name) {
					labels++
				}
			default:
				want = append(want, name)
			}
		}
		if !slices.IsSorted(seen) {
			disordered++
		}
		unique := slices.Compact(slices.Sorted(slices.Values(seen)))
		doubled += len(seen) - len(unique)
		missing += len(want) - len(unique) + wantLabels - labels
		if wantStatus != "" {
			doubled += max(0, status-1)
			if last != wantStatus {
				missing++
			}
		}
	}
	t.Logf("%-6s %d entries, %d kill -9: %d doubled, %d missing, %d items out of order", service, n, kills, doubled, missing, disordered)
	if doubled+missing+disordered > 0 {
		t.Errorf("%s: %d doubled, %d missing, %d items out of order", service, doubled, missing, disordered)
	}
}

// ordinary leaves out what is no work for the race detector: the processes that are killed share
// nothing, and start so slowly with it that a kill comes before they have done anything.
func ordinary(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("processes are killed in the middle of their work, which -short leaves out")
	}
}

// run is one run with kills: nothing may be doubled, missing or out of order.
func run(t *testing.T, service ralph.Service, n int, clock func(kill int) string, between func(s *trackertest.Server, kill int)) {
	root, s := t.TempDir(), trackertest.Start(t, service)
	for _, item := range itemsOf(service) {
		s.Add(trackertest.Item{Key: keyOf(item), State: "To Do"})
	}
	s.Slow(func() time.Duration { return time.Duration(rand.IntN(60)) * time.Millisecond })
	fill(t, root, service, n, clock(0))
	kills := killed(t, root, service, s, clock, func(kill int) { between(s, kill) })
	look(t, service, s, n, kills)
	j, err := journal.Open(journal.Options{Root: root})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = j.Close() }()
	if waiting, parked := j.State().Waiting(service); waiting+parked > 0 {
		t.Errorf("%d wait, %d are parked", waiting, parked)
	}
}

// well is a service that does not fail, right a clock that nobody sets.
func well(*trackertest.Server, int) {}
func right(int) string              { return "" }

// C-055, C-022: killed at any moment, while the service takes up to 60 ms for a write and goes on
// with it when its client is gone, each entry arrives once and in the order of its item.
func TestOnceAcrossKills(t *testing.T) {
	t.Parallel()
	ordinary(t)
	for _, service := range ralph.Services() {
		t.Run(string(service), func(t *testing.T) {
			t.Parallel()
			run(t, service, 15, right, well)
		})
	}
}

// The same while the service fails now and then, so that its breaker opens and closes (C-045, C-046).
func TestOnceAcrossKillsAndTrips(t *testing.T) {
	t.Parallel()
	ordinary(t)
	for _, service := range ralph.Services() {
		t.Run(string(service), func(t *testing.T) {
			t.Parallel()
			run(t, service, 12, right, failing)
		})
	}
}

// failing has the service fail after some of the first kills: were it after all, there would be no end.
func failing(s *trackertest.Server, kill int) {
	if kill < 8 && kill%3 == 1 {
		s.Script(trackertest.Step{Status: 500, Times: 3}, trackertest.Step{On: "POST", CutDone: true})
	}
}
