//go:build e2e

package e2e

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ralph-loop/ralph/internal/ralphtest/modeltest"
)

// reviewed answers the review of a thread, and leaves its turns to work.
func reviewed(verdict func() any, work modeltest.Handler) modeltest.Handler {
	return func(q modeltest.Request) modeltest.Reply {
		if strings.Contains(q.Prompt, "as a strict reviewer who did not write it") {
			return modeltest.Reply{Answer: verdict()}
		}
		return work(q)
	}
}

func accepted() any {
	return map[string]any{"verdict": "accept", "findings": []any{}, "reason": "it does what was asked", "confidence": 0.9}
}

// checkThread wants the work of a thread in one commit with its trailers, and a history that holds.
func (p *place) checkThread(out string) {
	p.t.Helper()
	body := p.must("git", "log", "-1", "--format=%B")
	if !strings.HasPrefix(body, "ralph: make the tests pass\n") || !strings.Contains(body, "\nRalph-Task: t-") || !strings.Contains(body, "\nRalph-Receipt: ") {
		p.t.Errorf("the commit is\n%s\n%s", body, out)
	}
	if files := p.must("git", "show", "--name-only", "--format=", "HEAD"); strings.TrimSpace(files) != "hello.txt" {
		p.t.Errorf("the commit holds %q, want hello.txt\n%s", files, out)
	}
	p.checkRecord()
	p.checkAlone()
}

// A real agent is given a goal in a repository with a red check: it goes on turn after turn in one session, says too
// early that it is finished, mends what is red, is reviewed, once with a finding, and stops by itself when the checks are
// green; every decision is on the screen with its reason (E-001, E-033, E-034, E-035, E-038 to E-042, E-075, E-102, E-103).
func TestEveryAgentReachesAGoal(t *testing.T) {
	t.Parallel()
	eachAndOurs(t, func(t *testing.T, a program) {
		p := newPlace(t)
		turns, reviews := 0, 0
		var sessions []string
		m := modeltest.New(t, reviewed(func() any {
			if reviews++; reviews == 1 {
				finding := map[string]any{"file": "hello.txt", "line": 1, "text": "a second line is missing"}
				return map[string]any{"verdict": "revise", "findings": []any{finding}, "reason": "half of it", "confidence": 1}
			}
			return accepted()
		}, func(q modeltest.Request) modeltest.Reply {
			if !q.Results {
				turns++
				sessions = append(sessions, q.Session)
				if !strings.Contains(q.Prompt, "make the tests pass") {
					t.Errorf("turn %d is not told the goal:\n%s", turns, q.Prompt)
				}
			}
			switch {
			case turns == 1 && q.Results:
				return modeltest.Reply{Text: "I looked at it.\n\n<ralph>PROGRESS: 30 looked</ralph>"}
			case turns == 1:
				return modeltest.Do(modeltest.Run("ls"))
			case turns == 2 && !q.Results:
				return modeltest.Do(modeltest.Run("echo helo > hello.txt"))
			case turns == 2:
				return complete("I think that I am done.")
			case q.Results:
				return complete("Now I am done.")
			case turns == 3 && !strings.Contains(q.Prompt, "grep -qx hello hello.txt"):
				t.Errorf("turn 3 is not told of the red check:\n%s", q.Prompt)
			case turns == 4 && !strings.Contains(q.Prompt, "hello.txt:1: a second line is missing"):
				t.Errorf("turn 4 is not told of the finding:\n%s", q.Prompt)
			}
			return modeltest.Do(modeltest.Run(fmt.Sprintf("echo hello > hello.txt; echo %d >> hello.txt", turns)))
		}))
		p.begin(p.settings(m, "never", a))
		out, code := p.run(p.ralph, "auto", "make the tests pass", "--max-turns", "12")
		if code != 0 {
			t.Fatalf("ralph auto: exit code %d\n%s", code, out)
		}
		for _, want := range []string{
			": continue: no stop condition holds [rules, confidence 1; E-038]", "CHECK: failed grep -qx hello hello.txt",
			": continue: the agent says that it is finished, and a check fails", ": review: the agent says that it is finished, and nobody has looked",
			"something has to change: half of it", ": continue: half of it [review, confidence 1; E-038]", "accepted: it does what was asked", ": stop (finished): ",
		} {
			if !strings.Contains(out, want) {
				t.Errorf("it does not say %q", want)
			}
		}
		if turns != 4 || reviews != 2 || t.Failed() {
			t.Errorf("%d turns and %d reviews:\n%s", turns, reviews, out)
		}
		for _, s := range sessions[1:] {
			if s != sessions[0] {
				t.Errorf("the turns were in sessions %q", sessions)
			}
		}
		p.checkThread(out)
		if a.name == "codex" && !p.reviewedByItself() { // review/start on the wire (E-042)
			t.Error("Codex was not asked for its own review")
		}
	})
}

// reviewedByItself reports whether a turn of an agent was a review of its own.
func (p *place) reviewedByItself() bool {
	p.t.Helper()
	logs, err := filepath.Glob(filepath.Join(p.dir, "ralph/.state/tasks/t-*/*/output.log"))
	if err != nil || len(logs) == 0 {
		p.t.Fatalf("no outputs of turns: %v", err)
	}
	for _, name := range logs {
		if b, err := os.ReadFile(name); err == nil && strings.Contains(string(b), "enteredReviewMode") {
			return true
		}
	}
	return false
}

// ralph is killed with kill -9 in the middle of a thread's second turn, which has the words of the first one
// from the agent's own files: the next start goes on in the session of its agent, and comes to the end (X-28, E-034).
func TestKilledInTheMiddleOfAThread(t *testing.T) {
	t.Parallel()
	needProc(t)
	eachDriver(t, func(t *testing.T, a program) {
		p := newPlace(t)
		began, killed := filepath.Join(p.dir, "began.txt"), make(chan struct{})
		turns, kept, known := 0, false, false
		m := modeltest.New(t, reviewed(accepted, func(q modeltest.Request) modeltest.Reply {
			if !q.Results {
				turns++
			}
			if turns == 1 {
				return modeltest.Reply{Text: "The word is xyzzy.\n\n<ralph>PROGRESS: 30 looked</ralph>"}
			}
			has := strings.Contains(q.Text, "The word is xyzzy.")
			select {
			case <-killed:
			default:
				kept = kept || has
				return modeltest.Do(modeltest.Run("touch began.txt; sleep 300"))
			}
			known = known || has
			if q.Results {
				return complete("I wrote it.")
			}
			return modeltest.Do(modeltest.Run("rm -f began.txt; echo hello > hello.txt"))
		}))
		p.begin(p.settings(m, "never", a))
		e := p.start("auto", "make the tests pass")
		e.until("the agent's command runs", func() bool {
			_, err := os.Stat(began)
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				t.Error(err)
			}
			return err == nil
		})
		e.kill()
		close(killed)
		out, code := p.run(p.ralph, "auto")
		if code != 0 || !kept || !known {
			t.Fatalf("ralph auto: exit code %d, the second turn knew of the first: %v, and after the kill: %v\n%s\n%s", code, kept, known, e.out.String(), out)
		}
		p.checkThread(out)
	})
}
