package proc_test

import (
	"bytes"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/ralph-loop/ralph/internal/proc"
)

// What carries a mark is ended, with what it started, whatever session it is in; the
// process that started it goes on.
func TestEndMarked(t *testing.T) {
	t.Parallel()
	r := proc.NewRunner(t.TempDir())
	in, out := io.Pipe()
	said := make(chan string, 10)
	ended := make(chan proc.Result, 1)
	script := `MARK=yes setsid sh -c 'sleep 60 & echo marked; wait' & MARK=yesno sh -c 'echo other; exec sleep 60' & read line; echo "still here"; kill $!`
	go func() {
		res, err := r.Run(t.Context(), proc.Command{
			Args: []string{"sh", "-c", script}, Dir: t.TempDir(), Env: []string{"PATH=" + os.Getenv("PATH")}, Stdin: in, Tracked: true,
			Stdout: lineWriter(func(line string) { said <- line }), Timeout: 2 * time.Minute,
		})
		if err != nil {
			t.Error(err)
		}
		ended <- res
	}()
	for range 2 {
		<-said
	}
	if n := r.EndMarked(t.Context(), "MARK=yes", time.Second); n != 2 {
		t.Errorf("met %d processes, want the shell and its sleep", n)
	}
	if n := r.EndMarked(t.Context(), "MARK=yes", time.Second); n != 0 {
		t.Errorf("%d are left", n)
	}
	if _, err := io.WriteString(out, "go\n"); err != nil {
		t.Fatal(err)
	}
	if line := <-said; line != "still here" {
		t.Errorf("it says %q", line)
	}
	_ = out.Close()
	if res := <-ended; res.Signal != "" || res.Ended != proc.EndedSelf {
		t.Errorf("%+v", res)
	}
}

type lineWriter func(line string)

func (f lineWriter) Write(p []byte) (int, error) {
	for line := range bytes.Lines(p) {
		f(strings.TrimSpace(string(line)))
	}
	return len(p), nil
}
