package workers_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/workers"
)

// How workers stand, by what is heard of them: minutes are played, and each look says who is there.
func TestHowWorkersStand(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 11, 26, 18, 0, 0, 0, time.UTC)
	at := func(s int) time.Time { return start.Add(time.Duration(s) * time.Second) }
	asked := func(name string, s int, state workers.State) workers.Worker {
		return workers.Worker{Name: name, State: state, Slots: 2, Heard: at(s)}
	}
	often := func(name string, s int) workers.Worker {
		w := asked(name, s, workers.Ready)
		w.Every = 5 * time.Second
		return w
	}
	on := func(id, name string, s int) workers.Step { return workers.Step{ID: id, Worker: name, Heard: at(s)} }
	type look struct {
		at    int
		seen  []workers.Worker
		steps []workers.Step
		want  string
	}
	for name, list := range map[string][]look{
		"one that waits asks once a minute": {
			{1, []workers.Worker{asked("a", 0, workers.Ready)}, nil, "a ready 0"},
			{70, []workers.Worker{asked("a", 0, workers.Ready)}, nil, "a ready 0"},
			{76, []workers.Worker{asked("a", 0, workers.Ready)}, nil, "a lost 0"},
			{400, nil, nil, "a lost 0"}, // the server knows it no more
			{410, []workers.Worker{asked("a", 409, workers.Ready)}, nil, "a ready 0"},
			{430, nil, nil, "a ready 0"},
			{5000, nil, nil, ""},
		},
		"one that says every five seconds that it is there": {
			{1, []workers.Worker{often("a", 0)}, nil, "a ready 0"},
			{15, []workers.Worker{often("a", 0)}, nil, "a ready 0"},
			{16, []workers.Worker{often("a", 0)}, nil, "a lost 0"}, // the server knows it for minutes
			{17, []workers.Worker{often("a", 17)}, nil, "a ready 0"},
		},
		"one that works is heard of by its step": {
			{1, []workers.Worker{asked("a", 0, workers.Ready)}, []workers.Step{on("s", "a", 1)}, "a ready 1"},
			{90, []workers.Worker{asked("a", 0, workers.Ready)}, []workers.Step{on("s", "a", 88)}, "a ready 1"},
			{99, []workers.Worker{asked("a", 0, workers.Ready)}, []workers.Step{on("s", "a", 88)}, "a ready 1"},
			{105, []workers.Worker{asked("a", 0, workers.Ready)}, []workers.Step{on("s", "b", 104)}, "a lost 0"}, // b is not known yet
			{106, []workers.Worker{asked("b", 103, workers.Ready)}, []workers.Step{on("s", "b", 104)}, "a lost 0, b ready 1"},
			{108, []workers.Worker{asked("a", 107, workers.Ready)}, []workers.Step{on("s", "b", 107)}, "a ready 0, b ready 1"},
			{130, nil, []workers.Step{on("s", "b", 129)}, "a ready 0, b ready 1"}, // what was then is over
		},
		"a step that waits again counts as taken away": {
			{1, []workers.Worker{asked("a", 0, workers.Ready)}, []workers.Step{on("s", "a", 1)}, "a ready 1"},
			{17, nil, []workers.Step{on("s", "", 0)}, "a lost 0"},
		},
		"one that could not do a step, and said so, is there": {
			{1, []workers.Worker{asked("a", 0, workers.Ready)}, []workers.Step{on("s", "a", 1)}, "a ready 1"},
			{9, nil, []workers.Step{on("s", "b", 8)}, "a ready 0"},
			{30, nil, []workers.Step{on("s", "b", 28)}, "a ready 0"},
		},
		"one that was heard of long ago, and said why it could not": {
			{1, []workers.Worker{asked("a", 0, workers.Ready)}, []workers.Step{on("s", "a", 1)}, "a ready 1"},
			{19, nil, []workers.Step{{ID: "s", Trouble: "no room"}}, "a ready 0"},
		},
		"one whose step was given up for lost a moment before it counts as that": {
			{1, []workers.Worker{asked("a", 0, workers.Ready)}, []workers.Step{on("s", "a", 1)}, "a ready 1"},
			{15, nil, []workers.Step{{ID: "s", Trouble: "timeout", Quiet: true}}, "a ready 0"},
			{16, nil, []workers.Step{{ID: "s", Trouble: "timeout", Quiet: true}}, "a lost 0"},
		},
		"a step that ended well takes nobody away": {
			{1, []workers.Worker{asked("a", 0, workers.Ready)}, []workers.Step{on("s", "a", 1), on("r", "a", 1)}, "a ready 2"},
			{20, nil, nil, "a ready 0"},
		},
		"who drains and ends is not lost": {
			{1, []workers.Worker{asked("a", 0, workers.Ready)}, []workers.Step{on("s", "a", 1)}, "a ready 1"},
			{3, []workers.Worker{asked("a", 2, workers.Draining)}, []workers.Step{on("s", "a", 2)}, "a draining 1"},
			{9, []workers.Worker{asked("a", 8, workers.Ended)}, nil, ""},
			{90, nil, nil, ""},
		},
	} {
		var j workers.Judge
		for _, x := range list {
			got := ""
			for _, w := range j.Look(at(x.at), 15*time.Second, x.seen, x.steps) {
				if got != "" {
					got += ", "
				}
				got += fmt.Sprintf("%s %s %d", w.Name, w.State, w.Busy)
			}
			if got != x.want {
				t.Errorf("%s, after %d s: %q, want %q", name, x.at, got, x.want)
			}
		}
	}
}

// What is told of a step's place, and where there is no fleet.
func TestWhereAStepIs(t *testing.T) {
	t.Parallel()
	var none *workers.Moment
	m := &workers.Moment{
		Workers: []workers.Worker{{Name: "north", State: workers.Ready, Slots: 4, Busy: 3}, {Name: "old", State: workers.Draining, Slots: 2, Busy: 1}, {Name: "gone", State: workers.Lost, Slots: 8}},
		Steps:   []workers.Step{{Task: "t-1", Worker: "north"}, {Task: "t-2"}},
	}
	for task, want := range map[ralph.TaskID]string{"t-1": "on north", "t-2": "waits for a worker", "t-3": ""} {
		if got := m.Where(task); got != want {
			t.Errorf("%s is %q, want %q", task, got, want)
		}
	}
	if none.Where("t-1") != "" || len(none.Drainable()) != 0 || fmt.Sprint(m.Drainable()) != "[north]" {
		t.Errorf("without a fleet %q %v, with one %v", none.Where("t-1"), none.Drainable(), m.Drainable())
	}
	if busy, all := m.Slots(); busy != 4 || all != 6 || m.Workers[0].Free() != 1 || m.Workers[1].Free() != 0 || m.Workers[2].Free() != 0 {
		t.Errorf("%d of %d slots", busy, all)
	}
	m.Steps[1].Missing = "no worker has the label gpu; start one"
	if got := m.Missing("t-2"); got != m.Steps[1].Missing || m.Missing("t-1") != "" || m.Missing("t-3") != "" || none.Missing("t-2") != "" {
		t.Errorf("what is missing: %q", got)
	}
	var told []string
	m.Tell(func(_, format string, args ...any) { told = append(told, fmt.Sprintf(format, args...)) }, time.Now())
	if told[len(told)-1] != "  t-2 waits: no worker has the label gpu; start one" {
		t.Errorf("told %q", told)
	}
	later := *m
	later.At = time.Now()
	if !m.Same(&later) || none.Same(m) {
		t.Error("clocks are news, or a fleet is none")
	}
	later.Workers = append([]workers.Worker{}, m.Workers...)
	later.Workers[0].Busy = 2
	if m.Same(&later) {
		t.Error("a slot that became free is no news")
	}
}
