package fleetcmd

import (
	"strings"
	"testing"
	"time"

	"github.com/ralph-loop/ralph/internal/workers/match"
	"github.com/ralph-loop/ralph/internal/workspace"
)

func TestLabelsOfAWorker(t *testing.T) {
	t.Parallel()
	env := workspace.Env{Dir: t.TempDir()}
	for label, want := range map[string]string{
		"gpu": "", "os=windows": "",
		"a b": `--label "a b" must be a name or name=value`, "os=": `--label "os=" must be`, strings.Repeat("a", 61): "is longer than 60 letters",
	} {
		o := WorkerOptions{Repos: []string{"hub"}, Slots: 1, Name: "w", Home: "home", Labels: []string{label}}
		err := o.Fill(env)
		if want == "" && (err != nil || len(o.Labels) < 2) || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, labels %q", label, err, o.Labels)
		}
	}
}

// People see agents with versions, labels, and why a step waits.
func TestShowLabels(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	now := time.Date(2026, 11, 26, 20, 0, 0, 0, time.UTC)
	Show(&b, View{
		Workers: []match.Worker{{Name: "b", State: "lost", Seen: now.Local().Add(-time.Minute)}, {Name: "a", Agents: []string{"claude", "mine"}, Versions: map[string]string{"claude": "2.1.0"}, Labels: []string{"gpu", "os=linux"}, Slots: 2, Version: "v1", Seen: now}},
		Steps:   []Step{{Task: "t-1", Waits: true, Since: now.Add(-time.Minute), Missing: "no worker has the label tpu; start one"}},
	}, now)
	for _, want := range []string{"2 slots, claude 2.1.0, mine, ralph v1", "labels gpu, os=linux", ", lost since " + now.Local().Add(-time.Minute).Format(time.DateTime) + "\n", "t-1  waits for a worker, for 1m0s: no worker has the label tpu; start one\n"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
}
