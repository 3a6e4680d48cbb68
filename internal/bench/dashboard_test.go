package bench

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/journal"
)

// BenchmarkDashboard measures `ralph serve` and prints a table at its end:
//
//	go test -run '^$' -bench Dashboard -benchtime 1x ./internal/bench
func BenchmarkDashboard(b *testing.B) {
	bin := build(b)
	t := newTable("dashboard")
	b.Run("first", func(b *testing.B) { benchFirst(b, bin, t) })
	b.Run("live", func(b *testing.B) { benchLive(b, bin, size(32, 2), t) })
	b.Run("memory", func(b *testing.B) { benchMemory(b, bin, t) })
	t.print(b)
}

// board is a running `ralph serve`, and a browser without a window.
type board struct {
	*sandboxRepo
	p      *os.Process
	out    *os.File
	url    string
	client *http.Client
	opened time.Duration // from its start to the address on its output
}

var address = regexp.MustCompile(`http://[^\s"]+`)

// serve starts the dashboard on a port that is free.
func (b *sandboxRepo) serve(bin string) *board {
	b.tb.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		b.tb.Fatal(err)
	}
	s := &board{sandboxRepo: b, client: &http.Client{Jar: jar, Transport: &http.Transport{MaxConnsPerHost: 0}}}
	begin := time.Now()
	s.p, s.out = b.start(bin, "serve", "--addr", "127.0.0.1:0")
	b.tb.Cleanup(func() {
		_ = s.p.Kill()
		_, _ = s.p.Wait()
		_ = s.out.Close()
	})
	link := ""
	until(b.tb, "the dashboard's address", func() bool {
		text, _ := os.ReadFile(s.out.Name())
		for _, found := range address.FindAllString(string(text), -1) {
			link = found // the last is the link that enters, where there is one
		}
		return strings.HasSuffix(string(text), "\n") && link != ""
	})
	s.opened = time.Since(begin)
	s.url = strings.Join(strings.SplitN(link, "/", 4)[:3], "/")
	if strings.TrimSuffix(link, "/") != s.url {
		s.enter(link)
	}
	return s
}

// enter opens the one-time link, which leaves a cookie.
func (s *board) enter(link string) {
	s.tb.Helper()
	s.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	resp, err := s.client.Get(link)
	if err != nil {
		s.tb.Fatal(err)
	}
	_ = resp.Body.Close()
}

// get answers how long a whole page took, to the first byte and to the last, and its size.
func (s *board) get(path string) (first, all time.Duration, size int) {
	s.tb.Helper()
	begin := time.Now()
	resp, err := s.client.Get(s.url + path)
	if err != nil {
		s.tb.Fatal(err)
	}
	defer resp.Body.Close()
	first = time.Since(begin)
	text, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		s.tb.Fatalf("%s: %s, %v", path, resp.Status, err)
	}
	return first, time.Since(begin), len(text)
}

// bigPlan is a history of facts, and then a plan of tasks in five phases with deps.
func (b *sandboxRepo) bigPlan(facts, tasks int) {
	b.tb.Helper()
	b.past(facts, 500)
	j, err := journal.Open(journal.Options{Root: b.dir, Inbox: true, Plan: true, NewID: func(prefix string) string { return prefix + "-none" }})
	if err != nil {
		b.tb.Fatal(err)
	}
	defer j.Close()
	list := []ralph.Fact{ralph.PlanStarted{File: "w.md"}}
	id := func(i int) ralph.TaskID { return ralph.TaskID(fmt.Sprintf("t-%d", 1000+i)) }
	for i := range tasks {
		t := ralph.Task{
			ID: id(i), Spec: "w.md", Name: fmt.Sprintf("Add the form number %d to the page", i), Status: ralph.TaskPending,
			Accept: "a wrong password shows an error", Phase: fmt.Sprintf("Phase %d", 1+i*5/tasks), Priority: []string{"low", "medium", "high"}[i%3],
		}
		for _, back := range []int{7, 13} {
			if i >= back && i%3 > 0 {
				t.Deps = append(t.Deps, id(i-back))
			}
		}
		list = append(list, ralph.TaskAdded{Task: t})
	}
	for i := range tasks / 3 {
		list = append(list, ralph.TaskStarted{ID: id(i)}, ralph.TaskEnded{ID: id(i), Status: ralph.TaskDone})
	}
	if err := j.Update(b.tb.Context(), "engine", func(*ralph.State) ([]ralph.Fact, error) { return list, nil }); err != nil {
		b.tb.Fatal(err)
	}
}

// benchFirst is what a page costs over a long history and a long plan: at once after the
// start, while the history is still read, and when all is known.
func benchFirst(b *testing.B, bin string, t *table) {
	pages := []string{"/", "/plan", "/plan?view=table", "/plan/graph", "/task/t-1010", "/spec", "/gates", "/receipts", "/history", "/settings", "/log"}
	for b.Loop() {
		box := taskBox(b, bin, 1)
		box.write("ralph/plan.jsonl", "", 0o644)
		facts, tasks := size(100_000, 5_000), size(1000, 40)
		box.bigPlan(facts, tasks)
		var opened, cold []float64
		var s *board
		for range size(5, 1) {
			s = box.serve(bin)
			opened = append(opened, ms(s.opened))
			_, all, _ := s.get("/")
			cold = append(cold, ms(all))
			_ = s.p.Kill()
		}
		t.add(fmt.Sprintf("start of `ralph serve`, %d facts, %d tasks", facts, tasks), spreadOf(opened, same).String()+" ms")
		t.add("first page after it", spreadOf(cold, same).String()+" ms")
		s = box.serve(bin)
		for _, page := range pages {
			if !s.has(page) {
				continue
			}
			var first []float64
			_, while, bytes := s.get(page) // the history is still being read
			for range size(10, 1) {
				_, all, n := s.get(page)
				first, bytes = append(first, ms(all)), n
			}
			t.add("page "+page, fmt.Sprintf("%s ms; the first time %.1f ms; %d KiB", spreadOf(first, same), ms(while), bytes>>10))
			if page == "/" {
				b.ReportMetric(rank(first, 0.5), "overview-ms")
			}
		}
		cpu, rss := usage(b, s.p.Pid)
		t.add("all that", fmt.Sprintf("%.0f ms of cpu, RSS %.0f MiB", ms(cpu), rss))
	}
}

func same(x float64) float64 { return x }

// has reports whether there is such a page in this build.
func (s *board) has(path string) bool {
	resp, err := s.client.Head(s.url + path)
	if err != nil {
		return false
	}
	_ = resp.Body.Close()
	return resp.StatusCode != http.StatusNotFound
}

// viewer is an open page: it notes when each patch came.
type viewer struct {
	page  string
	came  chan time.Time
	bytes atomic.Int64
	n     atomic.Int64
	body  io.Closer
}

// look opens the stream of a page. Each patch of the bar is told on came.
func (s *board) look(page string) *viewer {
	s.tb.Helper()
	resp, err := s.client.Get(s.url + "/live?view=" + url.QueryEscape(page)) //nolint:bodyclose // closed by who looks
	if err != nil || resp.StatusCode != http.StatusOK {
		s.tb.Fatalf("the stream of %s: %v %v", page, resp, err)
	}
	v := &viewer{page: page, came: make(chan time.Time, 1024), body: resp.Body}
	go v.read(resp.Body)
	return v
}

func (v *viewer) read(r io.Reader) {
	defer close(v.came)
	lines := bufio.NewReaderSize(r, 1<<20)
	bar := false
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			return
		}
		v.bytes.Add(int64(len(line)))
		switch {
		case strings.HasPrefix(line, "event: patch"):
			v.n.Add(1)
		case strings.Contains(line, `id="bar"`):
			bar = true
		case line == "\n":
			if bar {
				v.came <- time.Now()
			}
			bar = false
		}
	}
}

// next is when the next patch of the bar came; the zero time when there is none.
func (v *viewer) next() time.Time {
	select {
	case at := <-v.came:
		return at
	case <-time.After(10 * time.Second):
		return time.Time{}
	}
}

func (v *viewer) forget() {
	for {
		select {
		case <-v.came:
		default:
			return
		}
	}
}

// benchLive is what 50 open pages cost while 32 agents talk, and how soon a page shows a
// fact. The facts that are timed are a person's pauses and resumes, which show on every page.
func benchLive(b *testing.B, bin string, slots int, t *table) {
	tasks, facts, views := size(100, 4), size(100, 2), size(50, 5)
	quiet, turn := size(20*time.Second, 200*time.Millisecond), size("20", "5")
	for b.Loop() {
		box := crowdBox(b, bin, crowd{tasks, slots, tasks})
		talker := fmt.Sprintf("%q, %q", buildTool(b, "talker"), turn)
		box.run(bin, "config", "edit", "agents.mine.command=["+talker+"]")
		box.git("add", "-A")
		box.git("commit", "-q", "-m", "settings")
		engine, out := box.start(bin, "autopilot", "--parallel", fmt.Sprint(slots))
		b.Cleanup(func() {
			_ = engine.Kill()
			_, _ = engine.Wait()
			_ = out.Close()
		})
		j, err := journal.Open(journal.Options{Root: box.dir, Plan: true, NewID: func(prefix string) string { return prefix + "-none" }})
		if err != nil {
			b.Fatal(err)
		}
		until(b, "every slot at work", func() bool { return j.State().Turning() == slots })
		s := box.serve(bin)
		var list []*viewer
		begin := time.Now()
		for n := range views {
			i := n * 50 / views
			page := "/"
			switch {
			case i >= 40:
				page = []string{"/gates", "/history"}[i%2]
			case i >= 30:
				page = fmt.Sprintf("/task/t-%d", 1000+(i-30)%tasks)
				if !s.has(page) {
					page = "/receipts?page=" + fmt.Sprint(i-30)
				}
			case i >= 20:
				page = []string{"/plan", "/plan/graph"}[i%2]
			}
			list = append(list, s.look(page))
		}
		<-time.After(size(3*time.Second, 100*time.Millisecond)) // the history is read
		before, _ := usage(b, s.p.Pid)
		seq := j.State().Seq
		<-time.After(quiet) // the time that is measured
		after, rss := usage(b, s.p.Pid)
		rate := float64(j.State().Seq-seq) / quiet.Seconds()
		part := 100 * float64(after-before) / float64(quiet)
		b.ReportMetric(part, "%-of-a-core")
		t.goal(fmt.Sprintf("%d pages, %d slots of 10 lines a second, %.1f facts a second", views, slots, rate), fmt.Sprintf("%.1f %% of a core, RSS %.0f MiB", part, rss), "at most 20 %", part <= 20)
		for _, page := range []string{"/", "/plan", "/plan/graph", "/gates", "/history"} {
			at := slices.IndexFunc(list, func(v *viewer) bool { return v.page == page })
			if at < 0 {
				continue // not with few pages
			}
			v := list[at]
			t.add("stream of "+page, fmt.Sprintf("%.1f patches, %.1f KiB a second", float64(v.n.Load())/time.Since(begin).Seconds(), float64(v.bytes.Load())/1024/time.Since(begin).Seconds()))
		}
		delays := s.delays(list, j, facts)
		t.goal("from a fact to its patch on each page", fmt.Sprintf("p50 %.0f, p99 %.0f, most %.0f ms", ms(rank(delays, 0.5)), ms(rank(delays, 0.99)), ms(rank(delays, 1))), "at most 250 ms", rank(delays, 0.99) <= 250*time.Millisecond)
		b.ReportMetric(ms(rank(delays, 0.99)), "p99-ms")
		for _, v := range list {
			_ = v.body.Close()
		}
		_ = j.Close()
	}
}

// delays pauses and resumes, and notes when each page knew it.
func (s *board) delays(list []*viewer, j *journal.File, n int) []time.Duration {
	s.tb.Helper()
	var out []time.Duration
	for i := range n {
		want := []ralph.Want{ralph.WantPause, ralph.WantRun}[i%2]
		for _, v := range list {
			v.forget()
		}
		begin := time.Now()
		if err := j.Update(s.tb.Context(), "bench", func(s *ralph.State) ([]ralph.Fact, error) { return s.Steer(want, "bench") }); err != nil {
			s.tb.Fatal(err)
		}
		for _, v := range list {
			at := v.next()
			if at.IsZero() {
				s.tb.Fatalf("%s never showed that the run is to %s", v.page, want)
			}
			out = append(out, at.Sub(begin))
		}
		<-time.After(150 * time.Millisecond) // a person does not click faster
	}
	return out
}

// benchMemory is what the dashboard weighs while facts come and pages are open.
func benchMemory(b *testing.B, bin string, t *table) {
	for b.Loop() {
		box := taskBox(b, bin, 1)
		box.write("ralph/plan.jsonl", "", 0o644)
		box.bigPlan(size(100_000, 5_000), size(1000, 40))
		s := box.serve(bin)
		for _, page := range []string{"/", "/plan", "/plan/graph", "/gates", "/receipts", "/history"} {
			defer s.look(page).body.Close()
		}
		j, err := journal.Open(journal.Options{Root: box.dir, NewID: func(prefix string) string { return prefix + "-none" }})
		if err != nil {
			b.Fatal(err)
		}
		for _, at := range size([]int64{100_000, 500_000, 1_000_000}, []int64{5_000, 10_000}) {
			for i := 0; j.State().Seq < at; i++ {
				facts := specFacts(i%500, 200, j.Now())
				if i%25 > 0 { // a session is longer than a spec
					facts = slices.DeleteFunc(facts, func(f ralph.Fact) bool { return strings.HasPrefix(f.Kind(), "session.") })
				}
				if err := j.Update(b.Context(), "engine", func(*ralph.State) ([]ralph.Fact, error) { return facts, nil }); err != nil {
					b.Fatal(err)
				}
			}
			<-time.After(size(10*time.Second, 100*time.Millisecond)) // it catches up, and tidies
			_, rss := usage(b, s.p.Pid)
			t.add(fmt.Sprintf("dashboard with 6 pages at %d facts: RSS", at), fmt.Sprintf("%.0f MiB (most %.0f)", rss, highWater(s.p.Pid)))
			b.ReportMetric(rss, "RSS-MiB")
		}
		_ = j.Close()
	}
}
