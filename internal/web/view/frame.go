package view

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/a-h/templ"

	"github.com/ralph-loop/ralph"
)

type link struct{ path, title, key string }

// links are the pages of the navigation, each with the key that follows g.
func links() []link {
	return []link{
		{"/", "Overview", "o"},
	}
}

// liveAttributes connect a page to the stream of its changes.
func liveAttributes(f Frame) templ.Attributes {
	a := templ.Attributes{"hx-headers": fmt.Sprintf(`{"X-CSRF-Token":%q}`, f.CSRF), "data-csrf": f.CSRF}
	if f.Live {
		a["sse-connect"] = "/live?view=" + url.QueryEscape(f.Key)
		a["sse-swap"] = "patch"
		a["hx-swap"] = "none"
	}
	return a
}

type backKey struct{}

// WithBack tells forms where a page without scripts goes after them.
func WithBack(ctx context.Context, address string) context.Context {
	return context.WithValue(ctx, backKey{}, address)
}

func backTo(ctx context.Context) string {
	p, _ := ctx.Value(backKey{}).(string)
	return p
}

// barState is the first word of the bar: `▶ Autopilot Running`.
func barState(m BarModel) string {
	sign := "▶"
	switch m.Status.Status {
	case "pausing", "paused":
		sign = "⏸"
	case "stopping":
		sign = "⏹"
	case "waiting_user":
		sign = "●"
	}
	mode := titled(m.Stage.Mode)
	return strings.TrimSpace(sign + " " + mode + " " + titled(strings.ReplaceAll(m.Status.Status, "_", " ")))
}

// barStep is `Step 3/12`: the step at work, or the next one.
func barStep(m BarModel) string {
	if m.Status.TotalSteps == 0 {
		return ""
	}
	at := min(m.Status.TotalSteps, m.Status.CompletedSteps+m.Status.FailedSteps+1)
	return fmt.Sprintf("Step %d/%d", at, m.Status.TotalSteps)
}

func barPhase(m BarModel) string {
	if m.Status.CurrentPhase != "" {
		return m.Status.CurrentPhase
	}
	return titled(strings.ToLower(m.Stage.Stage))
}

func barRetries(m BarModel) string {
	n := 0
	for _, w := range m.Status.Waiting {
		n = max(n, w.Attempt)
	}
	return fmt.Sprintf("Retries: %d", n)
}

func barElapsed(m BarModel) string { return ralph.Elapsed(m.Running) }

// runningSince is when the session would have begun had it never been interrupted: what a
// clock counts from.
func runningSince(m BarModel) string {
	return m.Now.Add(-m.Running).UTC().Truncate(time.Second).Format(time.RFC3339)
}

func barCost(m BarModel) string { return dollars(m.Usage.Cost) }
