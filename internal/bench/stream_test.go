package bench

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// streamScript is an agent that says what lies in a file, as fast as it can.
const streamScript = `#!/bin/sh
case "$RALPH_STAGE" in
plan|verify) echo '{"type":"result","subtype":"success","is_error":false,"result":"{\"verdicts\":[]}","structured_output":{"verdicts":[]}}' ;;
*) echo x >>talked; exec cat "$0.jsonl" ;;
esac
`

const talkPlan = `{"t":"spec","spec":"w.md"}
{"t":"task","id":"t-1000","spec":"w.md","name":"Talk","status":"pending"}
`

// benchStream is one turn of an agent that says 60 MB in 200,000 events and changes a
// file, the whole way: pipe, output file, decoder. All of it has to be in the file.
func benchStream(b *testing.B, bin string, t *table) {
	for b.Loop() {
		box := taskBox(b, bin, 1)
		agent := box.tool + "/agent"
		box.write(agent, streamScript, 0o755)
		units := size(100_000, 500)
		n := writeStream(b, agent+".jsonl", units)
		box.run(bin, "config", "edit", "agents.mine.driver=claude")
		box.write("ralph/plan.jsonl", talkPlan, 0o644)
		c, _ := box.run(bin, "construct", "w.md")
		kept := filepath.Join(box.dir, "ralph/.state/tasks/t-1000/1/output.log")
		sent, err := os.ReadFile(agent + ".jsonl")
		if err != nil {
			b.Fatal(err)
		}
		if got, err := os.ReadFile(kept); err != nil || !bytes.Equal(got, sent) {
			b.Fatalf("%d bytes kept of %d (%v)", len(got), n, err)
		}
		rate := float64(n) / 1e6 / c.wall.Seconds()
		box.write("ralph/plan.jsonl", strings.ReplaceAll(talkPlan, "t-1000", "t-2000"), 0o644) // once more, for its memory
		rss := box.peak(bin, "construct", "w.md")
		if logs, _ := filepath.Glob(filepath.Join(box.dir, "ralph/.state/tasks/t-2000/*/output.log")); len(logs) != 1 {
			b.Fatalf("the turn was not done a second time: %s", logs)
		}
		b.ReportMetric(rate, "MB/s")
		b.ReportMetric(rss, "RSS-MiB")
		hear, _ := box.run(buildTool(b, "hearer"), box.tool+"/heard", agent)
		if got, err := os.ReadFile(box.tool + "/heard"); err != nil || !bytes.Equal(got, sent) {
			b.Fatalf("%d bytes heard of %d (%v)", len(got), n, err)
		}
		what := fmt.Sprintf("%.1f MB in %d events, whole session", float64(n)/1e6, 2*units)
		t.goal(what, fmt.Sprintf("%.0f MB/s, cpu %.0f ms, every byte kept", rate, cpuOf(c)), "at least 200 MB/s", rate >= 200)
		t.add("the same: the limit, a program that reads each event once, looks for secrets and writes the file with its sum",
			fmt.Sprintf("%.0f MB/s, cpu %.0f ms", float64(n)/1e6/hear.wall.Seconds(), cpuOf(hear)))
		t.goal("the same: memory of the engine", fmt.Sprintf("%.0f MiB", rss), "at most 64 MiB", rss <= 64)
	}
}

// writeStream writes the events of a long turn and returns their size.
func writeStream(tb testing.TB, path string, units int) int64 {
	tb.Helper()
	f, err := os.Create(path)
	if err != nil {
		tb.Fatal(err)
	}
	defer f.Close()
	w := bufio.NewWriterSize(f, 1<<20)
	text, tool := strings.Repeat("word ", 45), strings.Repeat("output line ", 28)
	fmt.Fprintln(w, `{"type":"system","subtype":"init","cwd":"/repo","session_id":"s","model":"m","tools":[]}`)
	for i := range units {
		fmt.Fprintf(w, `{"type":"assistant","message":{"id":"msg_%d","type":"message","role":"assistant","model":"m","content":[{"type":"text","text":"%s"}]},"session_id":"s"}`+"\n", i, text)
		fmt.Fprintf(w, `{"type":"user","message":{"role":"user","content":[{"tool_use_id":"toolu_%d","type":"tool_result","content":"%s"}]},"session_id":"s"}`+"\n", i, tool[:150])
	}
	fmt.Fprintln(w, `{"type":"result","subtype":"success","is_error":false,"result":"<ralph>COMPLETE</ralph>","session_id":"s","total_cost_usd":0.01}`)
	if err := w.Flush(); err != nil {
		tb.Fatal(err)
	}
	info, err := f.Stat()
	if err != nil {
		tb.Fatal(err)
	}
	return info.Size()
}

// thinkScript is an agent that thinks and says nothing.
const thinkScript = "#!/bin/sh\necho thinking >\"$0.began\"\nexec sleep 60\n"

// benchIdle is what the engine costs while it waits for an agent.
func benchIdle(b *testing.B, bin string, t *table) {
	period := size(10*time.Second, 100*time.Millisecond)
	for b.Loop() {
		box := taskBox(b, bin, 1)
		agent := box.tool + "/agent"
		box.write(agent, thinkScript, 0o755)
		box.run("git", "add", "-A")
		box.run(bin, "inbox", "add", "w.md")
		p, out := box.start(bin, "agent", "--allow-dirty")
		waitFor(b, agent+".began")
		before, _ := usage(b, p.Pid)
		<-time.After(period) // the time that is measured
		after, rss := usage(b, p.Pid)
		own, file := heldBy(p.Pid)
		if err := p.Kill(); err != nil { // its agent dies with it
			b.Fatal(err)
		}
		_, _ = p.Wait()
		_ = out.Close()
		b.ReportMetric(ms(after-before), "cpu-ms")
		b.ReportMetric(rss, "RSS-MiB")
		used := after - before
		t.goal(fmt.Sprintf("engine while an agent thinks: its first %s", period), fmt.Sprintf("%.1f ms of cpu, memory %.0f MiB and %.0f MiB of the program's file", ms(used), own, file), "at most 10 ms", used <= 10*time.Millisecond)
	}
}

// waitFor waits until a file is there.
func waitFor(tb testing.TB, path string) {
	tb.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	limit := time.After(time.Minute)
	for {
		if _, err := os.Stat(path); err == nil {
			return
		}
		select {
		case <-tick.C:
		case <-limit:
			tb.Fatalf("%s does not appear", path)
		}
	}
}

// usage reads what a living process has used so far, without its children: its time as the
// scheduler has it, since the clock's ticks charge a program that wakes with the clock for whole
// ones, and its memory now in MiB.
func usage(tb testing.TB, pid int) (cpu time.Duration, rss float64) {
	tb.Helper()
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid)) // Go ends no thread
	if err != nil || len(threads) == 0 {
		tb.Skipf("needs /proc/pid/task/tid/schedstat: %v", err)
	}
	for _, path := range threads {
		b, err := os.ReadFile(path)
		if err != nil {
			tb.Fatal(err)
		}
		var ran time.Duration
		if _, err := fmt.Sscan(string(b), (*int64)(&ran)); err != nil {
			tb.Fatal(err)
		}
		cpu += ran
	}
	own, file := heldBy(pid)
	return cpu, own + file
}

// heldBy is the memory of a living process in MiB: what it shares with nobody, and the pages of the
// program's file, of which the kernel maps as many ahead as it likes, and which every ralph has.
func heldBy(pid int) (own, file float64) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, 0
	}
	for name, mib := range map[string]*float64{"RssAnon:": &own, "RssFile:": &file} {
		if _, rest, ok := strings.Cut(string(b), name); ok {
			_, _ = fmt.Sscan(rest, mib)
			*mib /= 1024
		}
	}
	return own, file
}
