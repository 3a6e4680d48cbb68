package web_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/ralph-loop/ralph/internal/web"
)

// slowDoctor says what it looks at, and finds nothing before it is let.
type slowDoctor struct {
	looks int
	let   chan error
}

func (d *slowDoctor) Run(ctx context.Context, say func(string)) ([]web.Finding, error) {
	d.looks++
	say("git")
	say("<agents>")
	select {
	case err := <-d.let:
		return []web.Finding{
			{Level: "ok", What: "git", Saw: "fine"},
			{Level: "problem", What: "agent", Saw: "<script>x</script>", Fix: "run `it --version`"},
			{Level: "note", What: "config", Saw: strings.Repeat("long ", 1000)},
		}, err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// The doctor looks when a person says so, in the background, once at a time; the page
// says at what, and then what was found, problems first.
func TestDoctor(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := &slowDoctor{let: make(chan error)}
		q := &quiet{}
		x := web.New(web.Options{Source: q, Backend: q, Root: "r", Doctor: d})
		defer x.Close()
		if body := get(x, "/doctor").Body.String(); d.looks != 0 || !strings.Contains(body, "Nobody has looked") {
			t.Error("a page that is shown starts programs")
		}
		for range 2 {
			if w := post(x, "/doctor", nil); w.Code != http.StatusSeeOther || w.Header().Get("Location") != "/doctor" {
				t.Errorf("%d", w.Code)
			}
			synctest.Wait()
		}
		if d.looks != 1 {
			t.Errorf("%d looks at once", d.looks)
		}
		if body := get(x, "/doctor").Body.String(); !strings.Contains(body, "Looking at &lt;agents&gt;") || !strings.Contains(body, "disabled>") {
			t.Error("the page does not say at what the doctor looks")
		}
		d.let <- nil
		synctest.Wait()
		body := get(x, "/doctor").Body.String()
		problem, fine := strings.Index(body, "&lt;script&gt;x"), strings.Index(body, "fine")
		if problem < 0 || fine < problem || !strings.Contains(body, "One problem") || !strings.Contains(body, "run <code>it --version</code>") {
			t.Error("the findings are not shown, problems first")
		}
		if strings.Contains(body, "<script>x") || strings.Count(body, "long ") > 400 {
			t.Error("what programs say is not bounded and escaped")
		}
		post(x, "/doctor", nil)
		d.let <- errors.New("no time")
		synctest.Wait()
		if body := get(x, "/doctor").Body.String(); d.looks != 2 || !strings.Contains(body, "no time") {
			t.Error("a look that failed is not told")
		}
	})
}
