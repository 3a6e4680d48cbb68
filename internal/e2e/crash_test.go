//go:build e2e

package e2e

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ralph-loop/ralph/internal/ralphtest/modeltest"
)

// ralph is killed with kill -9 while a command of a real agent runs. The next ralph
// ends what is left of that turn, takes the task up again and finishes it.
func TestKilledInTheMiddleOfATurn(t *testing.T) {
	t.Parallel()
	needProc(t)
	eachDriver(t, func(t *testing.T, a program) {
		p := newPlace(t)
		began := filepath.Join(p.dir, "began.txt")
		killed := make(chan struct{})
		m := modeltest.New(t, script(func(q modeltest.Request) modeltest.Reply {
			select {
			case <-killed:
			default:
				return modeltest.Do(modeltest.Run("touch began.txt; sleep 300"))
			}
			if q.Results {
				return complete("I wrote it.")
			}
			return modeltest.Do(modeltest.Run("mv began.txt hello.txt; echo hello > hello.txt"))
		}))
		p.begin(p.settings(m, "never", a))
		e := p.start("agent")
		e.until("the agent's command runs", func() bool {
			_, err := os.Stat(began)
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				t.Error(err)
			}
			return err == nil
		})
		if lines := strings.Join(p.processes(), "\n"); !strings.Contains(lines, "sleep 300") {
			t.Fatalf("the command is not to be seen among:\n%s", lines)
		}
		e.kill()
		close(killed)
		out, code := p.run(p.ralph, "agent")
		if code != 0 {
			t.Fatalf("ralph agent: exit code %d\n%s", code, out)
		}
		p.checkHello(out)
	})
}
