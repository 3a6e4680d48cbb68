package web

import (
	"strings"
	"testing"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/action"
	"github.com/ralph-loop/ralph/internal/screen"
	"github.com/ralph-loop/ralph/internal/screen/page"
	"github.com/ralph-loop/ralph/internal/web/view"
)

// C-021: the page of services says how each stands, what is parked and why, and offers what helps;
// what a service said is text.
func TestServicesPage(t *testing.T) {
	t.Parallel()
	s := &ralph.State{}
	s.Remotes = []*ralph.RemoteItem{{Service: ralph.GitHub, Item: "o/r#1", Pushes: []ralph.Push{{ID: "a", Kind: ralph.PushComment, Refused: true, Why: "422 <script>x</script>"}}}}
	var b strings.Builder
	if err := view.Services(screen.ServicesOf(s, action.Context{}, s.At)).Render(t.Context(), &b); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"GitHub", "parked", "o/r#1", "422 &lt;script&gt;", `action="/do/breaker-retry"`} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("the page does not have %q:\n%s", want, b.String())
		}
	}
}

// The bar, which is sent to every page when it changes, tells the navigation that there are services now.
func TestServicesInTheNavigation(t *testing.T) {
	t.Parallel()
	s := &ralph.State{}
	bar := func() string {
		var b strings.Builder
		if err := view.Bar(page.BarOf(page.Look{State: s, World: func() action.Context { return action.Context{} }})).Render(t.Context(), &b); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	if strings.Contains(bar(), "data-services") {
		t.Errorf("there are none: %s", bar())
	}
	s.Remotes = []*ralph.RemoteItem{{Service: ralph.GitHub, Item: "o/r#1", Sent: 1}}
	if !strings.Contains(bar(), "data-services") {
		t.Errorf("there is one: %s", bar())
	}
}
