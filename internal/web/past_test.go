package web

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/observe/watch"
)

// sectionsAt are the sections of a page, made from a look.
func sectionsAt(t *testing.T, x *Server, address string, l *watch.Look) string {
	t.Helper()
	page, err := x.page(t.Context(), address, l)
	if err != nil {
		t.Fatalf("%s after fact %d: %v", address, l.State.Seq, err)
	}
	parts, err := partsOf(t.Context(), address, l, page)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	for _, p := range parts {
		fmt.Fprintf(&b, "%s\n%s\n", p.ID, p.HTML)
	}
	return b.String()
}

// Issue 16.6: a page with ?at= is the page of a dashboard whose journal ends with that fact:
// nothing on it knows what came later, and pages of now stay what they were.
func TestPagesAsTheyWere(t *testing.T) {
	t.Parallel()
	p := pastOf(3, 7)
	x := boardOf(t, p, "shop")
	now := map[string]string{}
	pages := []string{"/", "/plan", "/plan?view=table", "/plan/graph", "/gates", "/receipts", "/threads", "/decisions", "/history?days=all", "/task/t-0001", "/task/t-0206"}
	for _, address := range pages[:10] {
		if address != "/task/t-0001" {
			now[address] = sectionsAt(t, x, address, x.watch.Look())
		}
	}
	for seq := int64(3); seq <= p.state.Seq; seq += 11 {
		cut := &pastSource{facts: p.facts[:seq:seq], state: &ralph.State{}, at: p.facts[seq-1].At}
		for _, e := range cut.facts {
			next := cut.state.Clone()
			next.Apply(e)
			cut.state = next
		}
		then := boardOf(t, cut, "shop")
		for _, address := range pages {
			id, ofTask := strings.CutPrefix(address, "/task/")
			if ofTask && cut.state.Task(ralph.TaskID(id)) == nil {
				continue
			}
			at := fmt.Sprintf("%s?at=%d", address, seq)
			if strings.Contains(address, "?") {
				at = fmt.Sprintf("%s&at=%d", address, seq)
			}
			l, err := x.lookFor(t.Context(), at, x.watch.Look())
			if err != nil {
				t.Fatal(err)
			}
			want := sectionsAt(t, then, address, watch.Past(cut.state))
			got := strings.ReplaceAll(sectionsAt(t, x, at, l), fmt.Sprintf("at=%d", seq), "")
			if plain := strings.ReplaceAll(got, "&amp;\"", "\""); plain != want && got != want {
				t.Errorf("%s is not the page of then: %s", at, firstDifference(want, got))
			}
			if strings.Contains(got, `method="post"`) {
				t.Errorf("%s: something can be done there", at)
			}
		}
	}
	for address, want := range now {
		if got := sectionsAt(t, x, address, x.watch.Look()); got != want {
			t.Errorf("%s of now is another one: %s", address, firstDifference(want, got))
		}
	}
}

func firstDifference(want, got string) string {
	i := 0
	for i < min(len(want), len(got)) && want[i] == got[i] {
		i++
	}
	from := max(0, i-80)
	return fmt.Sprintf("\nwant ...%q\ngot  ...%q", want[from:min(len(want), i+120)], got[from:min(len(got), i+120)])
}

// A whole page of the past has no stream, and its links lead to pages of the same moment;
// what is no fact of this journal is said.
func TestAddressesOfThePast(t *testing.T) {
	t.Parallel()
	p := pastOf(2, 4)
	x := boardOf(t, p, "shop")
	body := lookAt(x, "/plan?view=table&at=12").Body.String()
	for _, want := range []string{`after fact 12 of `, `href="/plan?view=table"`, `href="/?at=12"`, `href="/task/t-0000?at=12"`, `href="/plan?at=11&amp;view=table"`, `name="view" value="table"`} {
		if !strings.Contains(body, want) {
			t.Errorf("%s is missing", want)
		}
	}
	if strings.Contains(body, "sse-connect") {
		t.Error("it has a stream of changes")
	}
	for _, address := range []string{"/plan?view=table&at=12", "/log?at=12", "/receipts?at=12"} { // whoever filters stays there
		body := lookAt(x, address).Body.String()
		_, form, _ := strings.Cut(body, `<form class="toolbar`)
		if form, _, _ = strings.Cut(form, "</form>"); !strings.Contains(form, `name="at" value="12"`) {
			t.Errorf("the filter of %s leads to now: %.300s", address, form)
		}
	}
	if body := lookAt(x, "/plan").Body.String(); !strings.Contains(body, "sse-connect") || !strings.Contains(body, "data-leave") {
		t.Error("the page of now has no stream, or no slider")
	}
	if body := lookAt(x, "/settings?at=3").Body.String(); strings.Contains(body, "past-when") {
		t.Error("settings are no function of the state")
	}
	for _, bad := range []string{"0", "-1", "x", fmt.Sprint(p.state.Seq + 1), "99999999999999999999"} {
		if w := lookAt(x, "/?at="+bad); w.Code != http.StatusNotFound || !strings.Contains(w.Body.String(), "<p>There is no fact") || !strings.Contains(w.Body.String(), ">/log shows each") {
			t.Errorf("at=%s: %d", bad, w.Code)
		}
	}
	if _, err := x.lookFor(t.Context(), "/?at=0", x.watch.Look()); !errors.Is(err, ralph.ErrNotFound) {
		t.Error(err)
	}
	for in, want := range map[string]string{
		`<a href="/">`: `<a href="/?at=7">`, `<a href="/task/a#x">`: `<a href="/task/a?at=7#x">`, `<a href="/plan?q=1&amp;r=2">`: `<a href="/plan?q=1&amp;r=2&amp;at=7">`,
		`<a href="/plan?at=6">`: `<a href="/plan?at=6">`, `<a data-now href="/plan">`: `<a data-now href="/plan">`, `<a href="/settings">`: `<a href="/settings">`,
		`<a href="//other/plan">`: `<a href="//other/plan">`, `<a href="/plan?bat=6">`: `<a href="/plan?bat=6&amp;at=7">`,
	} {
		if got := string(keepAt([]byte(in), 7)); got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
}

var factOfLine = regexp.MustCompile(`id="line-(\d+)-`)

// The log of then ends with what was then, by parts like that of now, and leads to other parts
// of the same moment.
func TestLogOfThePast(t *testing.T) {
	t.Parallel()
	p := pastOf(3, 7)
	x := boardOf(t, p, "shop")
	numbers := func(address string) []string {
		l, err := x.lookFor(t.Context(), address, x.watch.Look())
		if err != nil {
			t.Fatal(err)
		}
		var out []string
		for _, m := range factOfLine.FindAllStringSubmatch(sectionsAt(t, x, address, l), -1) {
			out = append(out, m[1])
		}
		return out
	}
	all := numbers("/log")
	for seq := int64(1); seq <= p.state.Seq; seq += 13 {
		want := slices.DeleteFunc(slices.Clone(all), func(n string) bool { k, _ := strconv.ParseInt(n, 10, 64); return k > seq })
		if got := numbers(fmt.Sprintf("/log?at=%d", seq)); !slices.Equal(got, want) {
			t.Errorf("after fact %d: %v, want %v", seq, got, want)
		}
	}
	if got := numbers("/log?at=20&to=9"); len(got) == 0 || got[0] != "9" && got[0] != "8" && got[0] != "7" {
		t.Errorf("an older part of then: %v", got)
	}
	if body := lookAt(x, "/log?at=20").Body.String(); !strings.Contains(body, `href="/receipts?at=20"`) || strings.Contains(body, "sse-connect") {
		t.Errorf("the page of then leads to now, or changes:\n%s", body)
	}
}
