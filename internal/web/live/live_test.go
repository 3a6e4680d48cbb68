package live

import (
	"bufio"
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// stream reads one view until the server ends it, or until a line says until.
func stream(t *testing.T, opt Options, until string) []string {
	t.Helper()
	opt.Beat = time.Hour
	hub := New(opt)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { hub.Serve(w, r, "/") }))
	t.Cleanup(server.Close)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	var out []string
	lines := bufio.NewScanner(answer.Body)
	lines.Split(func(data []byte, end bool) (int, []byte, error) { // as browsers do: a lone CR ends a line too
		for i, c := range data {
			if c == '\n' || c == '\r' {
				return i + 1, data[:i], nil
			}
		}
		return 0, nil, nil
	})
	for lines.Scan() {
		out = append(out, lines.Text())
		if until != "" && strings.Contains(lines.Text(), until) {
			break
		}
	}
	return out
}

// once is a source of news that has them once.
func once(ctx context.Context, version int64) (int64, error) {
	if version < 0 {
		return 1, nil
	}
	<-ctx.Done()
	return version, ctx.Err()
}

// What an agent printed may have any line ends: none of them writes fields of the stream.
func TestLineEndsStayInTheData(t *testing.T) {
	t.Parallel()
	hostile := "<div>a\revent: gone\rdata: b\r\n\r\nid: 9\u2028retry: 1\n\ndata: c\r</div>"
	lines := stream(t, Options{Changed: once, Build: "b\r\nevent: gone", Render: func(context.Context, string, int64) ([]Part, error) {
		return []Part{{"x", []byte(hostile)}}, nil
	}}, "</div>")
	for _, line := range lines {
		name, _, _ := strings.Cut(line, ":")
		switch {
		case line == "", name == "data":
		case line == "retry: 1000", line == "event: hello", line == "event: patch", line == "id: 0", strings.HasPrefix(line, "id: 0 ") && strings.HasSuffix(line, "-1.0"):
		default:
			t.Errorf("the stream has a line %q", line)
		}
	}
	if all := strings.Join(lines, "\n"); !strings.Contains(all, "data: event: gone\ndata: data: b\n") || !strings.Contains(all, "data: </div>") {
		t.Errorf("something is lost:\n%s", all)
	}
}

// A page that panics ends its own streams with a word, and nothing else: an engine may be
// at work in the same process.
func TestPanicEndsOneViewAlone(t *testing.T) {
	t.Parallel()
	said := make(chan any, 1)
	lines := stream(t, Options{Changed: once, Render: func(context.Context, string, int64) ([]Part, error) { panic("no such luck") }, Panicked: func(what any) { said <- what }}, "")
	if all := strings.Join(lines, "\n"); !strings.Contains(all, "event: gone\ndata: this page broke") {
		t.Errorf("the stream says\n%s", all)
	}
	if what := <-said; what != "no such luck" {
		t.Errorf("somebody was told %v", what)
	}
}

// What is not there is gone for good; other trouble may pass.
func TestTroubleMayPass(t *testing.T) {
	t.Parallel()
	for want, err := range map[string]error{"event: gone\ndata: no task t-9": Gone("no task\nt-9"), "event: trouble\ndata: read the journal": errors.New("read the journal")} {
		lines := stream(t, Options{Changed: once, Render: func(context.Context, string, int64) ([]Part, error) { return nil, err }}, "")
		if all := strings.Join(lines, "\n"); !strings.Contains(all, want) {
			t.Errorf("the stream says\n%s\nand not\n%s", all, want)
		}
	}
}

// A reader that stops reading is left, and with the last one the view ends.
func TestReaderThatStopsReading(t *testing.T) {
	t.Parallel()
	ended := make(chan struct{})
	large := []byte("<div>" + strings.Repeat("x", 64<<20) + "</div>") // more than any buffer takes
	hub := New(Options{
		Beat: time.Hour, Patience: 50 * time.Millisecond,
		Render: func(context.Context, string, int64) ([]Part, error) { return []Part{{"x", large}}, nil },
		Changed: func(ctx context.Context, version int64) (int64, error) {
			if version < 0 {
				return 1, nil
			}
			<-ctx.Done()
			close(ended)
			return version, ctx.Err()
		},
	})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { hub.Serve(w, r, "/") }))
	t.Cleanup(server.Close)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	<-ended // and nothing was read
}
