package measure

import (
	"fmt"
	"runtime"
	"time"
)

// Advice is a setting that would help here, and why.
type Advice struct {
	Setting string `json:"setting"` // as it is typed
	Why     string `json:"why"`
}

// From which cost on a setting is worth a word, in milliseconds.
const (
	slowStatus   = 100
	slowFsync    = 10
	slowTree     = 1000
	slowStart    = 5
	manyFiles    = 10_000
	slowSandbox  = 10
	slowAgent    = 1000
	longestDelay = 100 * time.Millisecond
)

// advise says what the figures mean for the settings.
func advise(r *Report, s Settings) []Advice {
	var out []Advice
	add := func(setting, why string, values ...any) {
		out = append(out, Advice{setting, fmt.Sprintf(why, values...)})
	}
	if s.Delay > longestDelay {
		add("task.delay=0s", "a slot rests %s between two tasks; without it the next one begins at once", s.Delay)
	}
	if status, ok := of(r.Figures, "git.status"); ok && status > slowStatus && r.Files > manyFiles {
		add("git config core.untrackedCache true", "git status looks at %d files, which takes %.0f ms; ralph asks git several times a task", r.Files, status)
		add("git config core.fsmonitor true", "git then knows what changed without looking at all files (macOS and Windows by itself, Linux with Watchman)")
	}
	if tree, ok := of(r.Figures, "worktree.add"); ok && tree > slowTree {
		add("isolation=none", "a new worktree takes %.1f s here: tasks one after the other in your checkout spare it, and tasks side by side do not pay below that", tree/1000)
	}
	if box, ok := of(r.Figures, "start.sandbox"); ok {
		bare, _ := of(r.Figures, "start")
		landlock, known := of(r.Figures, "start.ralph") // which each process in Landlock is first
		if known && s.Sandbox == "bubblewrap" && box-bare > landlock+slowSandbox {
			add("sandbox.kind=landlock", "each agent and each check starts %.0f ms later in bubblewrap; Landlock takes about %.0f, and hides less: see docs/below-the-agent.md", box-bare, landlock)
		}
	}
	if wait, ok := of(r.Figures, "fsync"); ok && wait > slowFsync {
		add("a faster disk for the repository", "what happens is on the disk before the next step: each write waits %.0f ms here", wait)
	}
	if start, ok := of(r.Figures, "start"); ok && start > slowStart {
		add("fewer slots (parallel)", "a process takes %.0f ms to start, 1 is usual: the machine is busy, or something looks at each program that starts", start)
	}
	if cores := runtime.NumCPU(); s.Slots > 2*cores {
		add(fmt.Sprintf("parallel=%d", 2*cores), "%d slots on %d cores: agents wait for models most of the time, their checks and builds do not", s.Slots, cores)
	}
	for _, f := range r.Figures {
		if len(f.ID) > len("agent.") && f.ID[:len("agent.")] == "agent." && f.Skipped == "" && f.Median > slowAgent {
			add("agent.context=continue", "%s takes %.1f s to start, once for each iteration: a session that goes on spares some of it", f.What, f.Median/1000)
		}
	}
	return out
}
