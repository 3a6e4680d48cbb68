package fleetcmd

import (
	"strings"
	"testing"
	"time"

	"github.com/ralph-loop/ralph/internal/workspace"
)

// What no worker has is said with the command that starts one.
func TestMissing(t *testing.T) {
	t.Parallel()
	list := []Worker{
		{Name: "a", Agents: []string{"claude"}, Labels: []string{"arch=amd64", "gpu", "os=linux"}},
		{Name: "b", Agents: []string{"codex"}, Labels: []string{"arch=arm64", "os=linux"}},
		{Name: "old", Agents: []string{"gemini"}, Wrong: []string{"is another version"}},
	}
	for _, tt := range []struct {
		name  string
		needs Needs
		list  []Worker
		want  string
	}{
		{"nothing is asked for", Needs{}, list, ""},
		{"one has all", Needs{Agent: "claude", Labels: []string{"gpu", "os=linux"}}, list, ""},
		{"a label", Needs{Agent: "claude", Labels: []string{"cuda=12"}, Repo: "hub"}, list, "no worker has the label cuda=12; start one that has: ralph worker --repo hub --agent claude --label cuda=12"},
		{"labels", Needs{Labels: []string{"a", "b"}}, list, "no worker has the labels a, b; start one that has: ralph worker --repo ADDRESS --label a --label b"},
		{"a system", Needs{Labels: []string{"os=windows"}}, list, "no worker has the label os=windows; start one that has: ralph worker --repo ADDRESS (on a machine with os windows)"},
		{"an agent", Needs{Agent: "aider"}, list, "no worker has the agent aider; start one that has: ralph worker --repo ADDRESS --agent aider"},
		{"an agent of another version alone", Needs{Agent: "gemini"}, list, "no worker has the agent gemini; start one that has: ralph worker --repo ADDRESS --agent gemini"},
		{"none has both", Needs{Agent: "codex", Labels: []string{"gpu"}}, list, "no single worker has the agent codex and the label gpu; start one that has: ralph worker --repo ADDRESS --agent codex --label gpu"},
		{"nobody", Needs{Agent: "codex"}, nil, "there is no worker; start one that has: ralph worker --repo ADDRESS --agent codex"},
		{"only of another version", Needs{}, list[2:], "no worker is of this version and key (`ralph fleet workers`); start one that has: ralph worker --repo ADDRESS"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := tt.needs.Missing(tt.list); got != tt.want {
				t.Errorf("%s\nwant %s", got, tt.want)
			}
		})
	}
}

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
		Workers: []Worker{{Name: "b", State: "lost", Seen: now.Local().Add(-time.Minute)}, {Name: "a", Agents: []string{"claude", "mine"}, Versions: map[string]string{"claude": "2.1.0"}, Labels: []string{"gpu", "os=linux"}, Slots: 2, Version: "v1", Seen: now}},
		Steps:   []Step{{Task: "t-1", Waits: true, Since: now.Add(-time.Minute), Missing: "no worker has the label tpu; start one"}},
	}, now)
	for _, want := range []string{"2 slots, claude 2.1.0, mine, ralph v1", "labels gpu, os=linux", ", lost since " + now.Local().Add(-time.Minute).Format(time.DateTime) + "\n", "t-1  waits for a worker, for 1m0s: no worker has the label tpu; start one\n"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
}
