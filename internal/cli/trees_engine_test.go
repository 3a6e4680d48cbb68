package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/engine"
	"github.com/ralph-loop/ralph/internal/ralphtest/enginetest"
	"github.com/ralph-loop/ralph/internal/worktree"
)

// Issue 3: a plan goes through the whole loop with real git: several slots, checks,
// tasks that build on others and three that conflict, resolved by the agent. All of
// it lands, each task once, and nothing is left over. (B-001, B-006, B-050, X-72)
func TestAPlanThroughTheEngine(t *testing.T) {
	t.Parallel()
	y := newYard(t, 6, withChecks("! grep -rq '<<<<' --include='*.txt' ."))
	y.agent(func(in ralph.TurnInput) string {
		task := ""
		for _, kv := range in.Env {
			if v, ok := strings.CutPrefix(kv, "RALPH_TASK="); ok {
				task = v
			}
		}
		shared := filepath.Join(in.Dir, "a.txt")
		b, err := os.ReadFile(shared)
		if err != nil {
			t.Error(err)
		}
		text := string(b)
		switch {
		case in.Stage == ralph.KindResolve:
			for _, mark := range []string{"<<<<<<<", "=======", ">>>>>>>"} {
				var kept []string
				for line := range strings.Lines(text) {
					if !strings.HasPrefix(line, mark) {
						kept = append(kept, line)
					}
				}
				text = strings.Join(kept, "")
			}
		case task < "t-4":
			text = strings.Replace(text, "two\n", "two\n"+task+"\n", 1)
		}
		put(t, shared, text)
		put(t, filepath.Join(in.Dir, task+".txt"), task+"\n")
		log, _ := os.ReadFile(filepath.Join(in.Dir, "ralph/progress.md"))
		put(t, filepath.Join(in.Dir, "ralph/progress.md"), string(log)+"- learned in "+task+" "+string(in.Stage)+"\n")
		return complete
	})
	mem := enginetest.NewMem(time.Now)
	c := y.x.Config
	c.Parallel, c.Batch, c.MaxRetries, c.Strategy = 3, 2, 1, "retry"
	y.x.Config = c
	encoded, err := c.Encode()
	y.must(err)
	y.must(mem.Update(t.Context(), "test", func(*ralph.State) ([]ralph.Fact, error) {
		var facts []ralph.Fact
		for n := range 6 {
			task := ralph.Task{ID: ralph.TaskID(fmt.Sprintf("t-%d", n+1)), Kind: ralph.KindBuild, Name: fmt.Sprintf("Task %d", n+1), Status: ralph.TaskPending}
			if n == 5 {
				task.Deps = []ralph.TaskID{"t-1", "t-5"}
			}
			facts = append(facts, ralph.TaskAdded{Task: task})
		}
		return append(facts, ralph.SessionStarted{ID: "s-20250120T100000Z-0001", Mode: "autopilot", Config: encoded}), nil
	}))
	host := engine.NewLocal(t.Context(), mem, y.x, nil)
	reason, err := engine.Run(host, c)
	y.must(err)
	y.must(host.Close())
	s := mem.State()
	for _, task := range s.Plan.Tasks {
		if task.Status != ralph.TaskDone || task.Run.Queue.State != ralph.MergeMerged {
			t.Errorf("%s is %s, %q: %s", task.ID, task.Status, task.Run.Queue.State, task.Run.Reason)
		}
		y.equal("its file", y.read(string(task.ID)+".txt"), string(task.ID)+"\n")
		if n := strings.Count(y.read("ralph/progress.md"), "learned in "+string(task.ID)+" build\n"); n < 1 { // git's union may keep a line of both sides twice
			t.Errorf("what %s learned is lost", task.ID)
		}
	}
	if reason != ralph.ReasonComplete || s.Totals.Conflicts == 0 || s.Totals.MergesResolved == 0 {
		t.Errorf("it ended %s: %s, %+v", reason, s.Session.Detail, s.Totals)
	}
	for n := 1; n <= 3; n++ {
		if text := y.read("a.txt"); strings.Count(text, fmt.Sprintf("t-%d\n", n)) != 1 {
			t.Errorf("a.txt: %q", text)
		}
	}
	gone := worktree.Worktrees{Repo: y.parts.Repo}.CleanUp(t.Context(), s)
	if gone.Error != "" || len(gone.Kept) > 0 || len(gone.Saved) > 0 {
		t.Errorf("cleaned up: %+v", gone)
	}
	y.equal("the refs", y.git("for-each-ref", "--format=%(refname)"), "refs/heads/main")
	y.equal("the checkout", y.git("status", "--porcelain"), "")
	y.sound()
}
