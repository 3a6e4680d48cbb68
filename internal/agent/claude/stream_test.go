package claude

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/agent/wire"
)

// hearing is a turn of which somebody hears the words.
func hearing(hear func(ralph.Words)) *wire.Turn {
	return wire.NewTurn(ralph.TurnInput{}, ralph.TurnHooks{Event: ralph.HearWords(hear)})
}

// The same bytes must mean the same in whatever chunks a pipe delivers them;
// an event on a chunk border was lost elsewhere.
func TestChunkBordersLoseNothing(t *testing.T) {
	t.Parallel()
	var whole []byte
	for _, name := range []string{"329-background-bash", "197-denied-default", "329-subagent", "197-plan-rejected-5h"} {
		b, err := os.ReadFile(filepath.Join("..", "testdata", "claude", name+".jsonl"))
		if err != nil {
			t.Fatal(err)
		}
		whole = append(whole, b...)
	}
	type seen struct {
		said    []ralph.Words
		lines   int64
		results int
		text    string
		usage   ralph.Usage
		last    result
	}
	feed := func(chunk int) seen {
		var out seen
		c := newReader(hearing(func(s ralph.Words) { out.said = append(out.said, s) }))
		e := &wire.Events{Line: c.line}
		for b := whole; len(b) > 0; {
			n := min(chunk, len(b))
			e.Write(b[:n])
			b = b[n:]
		}
		e.Close()
		out.lines, out.results, out.text, out.usage, out.last = e.N, c.results, c.answerText(), c.usage.total(false), c.last
		return out
	}
	want := feed(len(whole))
	if want.results < 5 || want.lines < 30 {
		t.Fatalf("%d results in %d lines", want.results, want.lines)
	}
	sizes := []int{100, 1000, 4096, 65536}
	for n := 1; n <= 64; n++ {
		sizes = append(sizes, n)
	}
	for _, n := range sizes {
		if got := feed(n); !reflect.DeepEqual(got, want) {
			t.Errorf("chunks of %d: %d lines, %d said, want %d, %d", n, got.lines, len(got.said), want.lines, len(want.said))
		}
	}
}

// FuzzSniff holds the scanner against encoding/json on every valid value.
func FuzzSniff(f *testing.F) {
	files, err := filepath.Glob("../testdata/claude/*.jsonl")
	if err != nil {
		f.Fatal(err)
	}
	for _, name := range files {
		b, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		for l := range bytes.Lines(b) {
			f.Add(bytes.TrimSpace(l))
		}
	}
	for _, s := range []string{
		`{}`, `[]`, `{"a":1,"type":"x"}`, `{"type":{"type":"in"},"b":[{"type":"y"}],"type":"out"}`, `{"a":"\"type\":\"z\"","type":"\u0061\ud83d\ude00\\"}`,
		` { "type" : null } `, `{"\u0074ype":"escaped"}`, `{"a":"\\","type":"b"}`, `{"type":"x"`, `{"type":"x","a"}`, `{"a":-1.5e3,"type":true}`, `{"x":"\ud800","type":"\udc00\ud800\u12"}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		e, ok := sniff(line)
		wire.Text(e.kind)
		wire.StartOf(e.kind, 16)
		var want map[string]json.RawMessage
		if json.Unmarshal(line, &want) != nil || want == nil {
			return // only that nothing goes wrong
		}
		if !ok {
			t.Fatalf("not read: %s", line)
		}
		for key, got := range map[string][]byte{"type": e.kind, "subtype": e.subtype, "message": e.message, "parent_tool_use_id": e.parent, "error": e.err} {
			if !bytes.Equal(got, want[key]) {
				t.Fatalf("%s: %s, want %s", key, got, want[key])
			}
		}
		for key, raw := range want {
			var s string
			if raw[0] != '"' || !utf8.Valid(raw) || json.Unmarshal(raw, &s) != nil {
				continue // a run of broken bytes becomes one U+FFFD here, one for each there
			}
			if got := wire.Text(raw); got != s {
				t.Fatalf("%s: text(%s) = %q, want %q", key, raw, got, s)
			}
			if len(raw) > 40 {
				if got := strings.TrimSuffix(wire.StartOf(raw, 40), "…"); !strings.HasPrefix(s, strings.TrimRight(got, "\uFFFD")) {
					t.Fatalf("startOf(%s) = %q", raw, got)
				}
			}
		}
	})
}

// streamOf writes n times four events and an end, as an agent at work prints them, to a
// file: in memory it would hide what reading costs. 200,001 events are about 60 MB.
func streamOf(b *testing.B, n int) *os.File {
	f, err := os.Create(filepath.Join(b.TempDir(), "stream.jsonl"))
	if err != nil {
		b.Fatal(err)
	}
	tool := strings.Repeat(`func (s *Server) handle(w http.ResponseWriter) { s.log.Print(\"a\\tb\") }\n`, 9)
	out := bufio.NewWriter(f)
	for i := range n {
		fmt.Fprintf(out, `{"type":"assistant","message":{"id":"msg_%d","role":"assistant","content":[{"type":"text","text":"Step %d: I look at the \"server\" now."}],"usage":{"input_tokens":9,"output_tokens":1}},"parent_tool_use_id":null,"session_id":"s"}`+"\n", i, i)
		fmt.Fprintf(out, `{"type":"assistant","message":{"id":"msg_%d","role":"assistant","content":[{"type":"tool_use","id":"toolu_%d","name":"Bash","input":{"command":"sed -n 1,9p server.go"}}]},"parent_tool_use_id":null,"session_id":"s"}`+"\n", i, i)
		fmt.Fprintf(out, `{"type":"user","message":{"role":"user","content":[{"tool_use_id":"toolu_%d","type":"tool_result","content":"%s"}]},"parent_tool_use_id":null,"session_id":"s"}`+"\n", i, tool)
		fmt.Fprintf(out, `{"type":"system","subtype":"status","n":%d,"session_id":"s"}`+"\n", i)
	}
	fmt.Fprintln(out, `{"is_error":false,"subtype":"success","result":"done","type":"result"}`)
	if err := out.Flush(); err != nil {
		b.Fatal(err)
	}
	return f
}

// BenchmarkIngest measures reading one agent's events (W3): lines cut, events
// classed and said, nothing kept.
func BenchmarkIngest(b *testing.B) {
	n := 50_000
	if testing.Short() {
		n = 100 // only that it runs
	}
	f := streamOf(b, n)
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(info.Size())
	b.ReportAllocs()
	var peak uint64
	var mem runtime.MemStats
	buf := make([]byte, 64<<10)
	runtime.GC()
	for b.Loop() {
		said := 0
		c := newReader(hearing(func(ralph.Words) { said++ }))
		e := &wire.Events{Line: c.line}
		if _, err := f.Seek(0, io.SeekStart); err != nil {
			b.Fatal(err)
		}
		for reads := 0; ; reads++ {
			k, err := f.Read(buf)
			e.Write(buf[:k])
			if err == io.EOF {
				break
			}
			if err != nil {
				b.Fatal(err)
			}
			if reads%100 == 0 {
				runtime.ReadMemStats(&mem)
				peak = max(peak, mem.HeapAlloc)
			}
		}
		if c.results != 1 || said != 3*n || e.N != int64(4*n+1) {
			b.Fatalf("%d results, %d said, %d lines", c.results, said, e.N)
		}
	}
	b.ReportMetric(float64(peak)/(1<<20), "peak-heap-MiB")
}
