package sessionreport_test

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ralph-loop/ralph/internal/ralphtest/storytest"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/sessionreport"
)

// parsed is a page as a browser would take it apart.
type parsed struct {
	elements map[string]int
	ids      []string
	hrefs    []string
	text     string
	style    string
}

// parse reads the page strictly enough for these tests: it fails on what a browser
// would have to guess about.
func parse(t *testing.T, page []byte) parsed {
	t.Helper()
	out := parsed{elements: map[string]int{}}
	d := xml.NewDecoder(bytes.NewReader(page))
	d.Strict, d.AutoClose, d.Entity = false, xml.HTMLAutoClose, xml.HTMLEntity
	var text strings.Builder
	inStyle := false
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("parse the page: %v", err)
		}
		switch e := token.(type) {
		case xml.StartElement:
			out.elements[e.Name.Local]++
			inStyle = e.Name.Local == "style"
			for _, a := range e.Attr {
				switch name := strings.ToLower(a.Name.Local); {
				case name == "id":
					out.ids = append(out.ids, a.Value)
				case name == "href":
					out.hrefs = append(out.hrefs, a.Value)
				case name == "src", name == "srcset", name == "action", name == "data", strings.HasPrefix(name, "on"):
					t.Errorf("<%s %s=%q> fetches or runs something", e.Name.Local, name, a.Value)
				}
			}
		case xml.EndElement:
			inStyle = inStyle && e.Name.Local != "style"
		case xml.CharData:
			if inStyle {
				out.style += string(e)
			} else {
				text.Write(e)
			}
		}
	}
	out.text = text.String()
	return out
}

// page writes the HTML and holds what must be so of every page: it needs nothing
// and nobody, and its links lead to places on it.
func page(t *testing.T, r *sessionreport.Result) ([]byte, parsed) {
	t.Helper()
	var b bytes.Buffer
	if err := r.HTML(&b); err != nil {
		t.Fatal(err)
	}
	p := parse(t, b.Bytes())
	for _, bad := range []string{"script", "link", "img", "image", "iframe", "object", "embed", "form", "base", "use", "foreignObject", "video", "audio"} {
		if p.elements[bad] > 0 {
			t.Errorf("the page has <%s>", bad)
		}
	}
	for _, bad := range []string{"@import", "url(", "expression("} {
		if strings.Contains(p.style, bad) {
			t.Errorf("the style has %s", bad)
		}
	}
	for _, want := range []string{"prefers-color-scheme: dark", "@media print", "max-width"} {
		if !strings.Contains(p.style, want) {
			t.Errorf("the style has no %s", want)
		}
	}
	for _, h := range p.hrefs {
		if to, err := url.PathUnescape(strings.TrimPrefix(h, "#")); err != nil || h[0] != '#' || !slices.Contains(p.ids, to) {
			t.Errorf("a link to %q, which is not on the page", h)
		}
	}
	if strings.Contains(b.String(), "ZgotmplZ") {
		t.Error("html/template refused a value")
	}
	return b.Bytes(), p
}

// The page shows what the requirements ask for: figures, slots over time, cost and
// tokens over time, iterations, each task and why it is as it is.
func TestHTML(t *testing.T) {
	t.Parallel()
	r := sessionreport.NewReport(sessionreport.ReportOptions{})
	storytest.Sample(r)
	raw, p := page(t, tell(t, r))
	for _, want := range []string{
		"failed: 1 failed, 1 timed out, 1 can never start", "What the slots did", "slot 1", "slot 2", "slot 3", "merges",
		"Cost over time", "Tokens over time", "Iterations a task", "Why each task is as it is", "Needs you", "ralph task retry t-0006",
		"resolve t-0002", "a person was asked", "Questions and decisions", "Decisions by rule", "Settings", "ralph verify",
	} {
		if !strings.Contains(p.text, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
	if !strings.Contains(p.text, "Write the body <b>bold</b> | `code`") || p.elements["b"] == 0 || strings.Contains(string(raw), "<b>bold") {
		t.Error("a name is not shown as it is")
	}
	for _, class := range []string{"done", "failed", "timeout", "resolve", "merged", "conflict"} {
		if !strings.Contains(string(raw), `<rect data-status="`+class+`"`) {
			t.Errorf("no bar is %s", class)
		}
	}
	if p.elements["circle"] == 0 || p.elements["path"] != 4 {
		t.Errorf("%d marks, %d paths of curves", p.elements["circle"], p.elements["path"])
	}
}

// Names, ids, reasons and outputs are the words of agents and of repositories:
// nothing of them becomes markup, style, a link or a program.
func TestHTMLOfHostileWords(t *testing.T) {
	t.Parallel()
	for _, evil := range []string{
		`<script>alert(1)</script>`, `"><img src=x onerror=alert(1)>`, `</title><script>alert(1)</script>`, `</style><script>x</script>`,
		`' onmouseover='alert(1)`, `javascript:alert(1)`, `{{.Tasks}}`, `</svg><script>1</script>`, `&lt;b&gt;`, `<!--`, `]]>`,
	} {
		r := sessionreport.NewReport(sessionreport.ReportOptions{})
		x := storytest.New(r)
		id := ralph.TaskID("t-" + evil)
		x.Begin(ralph.Task{ID: id, Name: evil, Phase: evil}, ralph.Task{ID: ralph.TaskID(evil), Name: evil})
		x.Start(id, 1)
		x.Turn(id, time.Minute, func(f *ralph.TurnEnded) {
			f.Agent, f.Exit, f.Err = evil, ralph.ExitFailed, &ralph.AgentError{Class: ralph.ErrorClass(evil), Message: evil}
		})
		x.Add(ralph.Asked{Approval: ralph.Approval{ID: ralph.ApprovalID(evil), Kind: "question", Task: id, Text: evil}})
		x.Add(ralph.Answered{ID: ralph.ApprovalID(evil), Text: evil})
		x.Done(id, ralph.Finding{Path: evil, Kind: evil, What: evil})
		x.Conflict(id, evil)
		x.Add(ralph.Control{Want: ralph.WantPause, Cause: evil})
		x.Add(ralph.IntegrationStarted{Branch: evil, Base: evil})
		x.Finish(ralph.Reason(evil), evil)
		_, p := page(t, tell(t, r))
		if !strings.Contains(p.text, evil) {
			t.Errorf("%q is not shown as it is", evil)
		}
	}
}

// No task at all, and none that began, still make a page.
func TestHTMLOfNothing(t *testing.T) {
	t.Parallel()
	for _, tasks := range [][]ralph.Task{nil, {{ID: "t-0001", Name: "One"}}} {
		r := sessionreport.NewReport(sessionreport.ReportOptions{})
		x := storytest.New(r)
		x.Begin(tasks...)
		result := tell(t, r)
		_, p := page(t, result)
		if len(tasks) == 0 && !strings.Contains(p.text, "The plan has no tasks.") || len(tasks) == 1 && !strings.Contains(p.text, "not begun") {
			t.Errorf("%d tasks:\n%s", len(tasks), p.text)
		}
		var b bytes.Buffer
		if err := result.JSON(&b); err != nil || strings.Contains(b.String(), "null") {
			t.Errorf("a list is null: %v\n%s", err, b.String())
		}
	}
}

// 2,000 tasks: the page stays below 2 MB also when each of them has trouble to
// explain, and the bars of a slot can be told apart.
func TestHTMLOfACrowd(t *testing.T) {
	t.Parallel()
	r := sessionreport.NewReport(sessionreport.ReportOptions{})
	x := storytest.Crowd(2000, 8, 7, r)
	raw, p := page(t, tell(t, r))
	const most = 2_000_000
	if len(raw) > most {
		t.Errorf("the page has %d bytes", len(raw))
	}
	if n := p.elements["rect"]; n < 1000 || n > 5000 {
		t.Errorf("%d bars", n)
	}
	long := strings.Repeat("word ", 100)
	for _, task := range x.S.Plan.Tasks {
		for range 2 {
			x.Add(ralph.Noted{Task: task.ID, Text: long, Rule: "B-017"})
		}
		x.Add(ralph.TaskEnded{ID: task.ID, Status: ralph.TaskFailed, Why: ralph.Why{Rule: "B-073", Text: long}})
	}
	if raw, _ := page(t, tell(t, r)); len(raw) > most {
		t.Errorf("with trouble everywhere the page has %d bytes", len(raw))
	}
}
