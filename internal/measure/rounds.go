package measure

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/ralph-loop/ralph/internal/proc"
)

// Figure is one thing that was measured some times.
type Figure struct {
	ID   string `json:"id"`
	What string `json:"what"`
	Spread
	Runs int `json:"runs"`
	// Skipped says why there is no figure.
	Skipped string `json:"skipped,omitempty"`
}

const (
	eachFigure = 2 * time.Second  // how long the rounds of a figure go on
	oneCommand = 20 * time.Second // what a command may take at least
)

// errLate is that the time for all figures is over.
var errLate = errors.New("out of time: the figures before it took it, --within gives more")

// rounds takes figures one after the other.
type rounds struct {
	now     func() time.Time
	say     func(string)
	until   time.Time
	figures []Figure
}

// take measures f up to most times, for as long as a figure may take; a round before does not count, where
// there are several. before makes each round ready, unmeasured; it may be nil.
func (r *rounds) take(ctx context.Context, id, what string, most int, before, f func(context.Context) error) {
	r.say(what)
	var list []time.Duration
	begin := r.now()
	err := func() error {
		if !begin.Before(r.until) {
			return errLate
		}
		for round := 0; len(list) < most; round++ {
			if before != nil {
				if err := before(ctx); err != nil {
					return err
				}
			}
			at := r.now()
			if err := f(ctx); err != nil {
				return err
			}
			if d := r.now().Sub(at); round > 0 || most == 1 || d > eachFigure {
				list = append(list, d)
			}
			if len(list) > 0 && r.now().Sub(begin) > eachFigure {
				return nil
			}
		}
		return nil
	}()
	fig := Figure{ID: id, What: what, Runs: len(list), Spread: SpreadOf(list, Milliseconds)}
	if err != nil {
		fig = Figure{ID: id, What: what, Skipped: err.Error()}
	}
	r.figures = append(r.figures, fig)
}

// skip says why some figures are not taken.
func (r *rounds) skip(why error, what ...string) {
	for i := 0; i+1 < len(what); i += 2 {
		r.figures = append(r.figures, Figure{ID: what[i], What: what[i+1], Skipped: why.Error()})
	}
}

// of is the middle of a figure; false: it was not taken.
func of(figures []Figure, id string) (float64, bool) {
	for _, f := range figures {
		if f.ID == id && f.Skipped == "" {
			return f.Median, true
		}
	}
	return 0, false
}

// command is a process that has to end well.
func (b *copied) command(procs *proc.Runner, dir string, args ...string) func(context.Context) error {
	return func(ctx context.Context) error {
		_, err := b.output(ctx, procs, dir, args...)
		return err
	}
}

func (b *copied) output(ctx context.Context, procs *proc.Runner, dir string, args ...string) (string, error) {
	longest := max(oneCommand, b.Within/3)
	out, said, res, err := procs.Output(ctx, proc.Command{Args: args, Dir: dir, Env: b.env, Timeout: longest})
	what := filepath.Base(args[0])
	if len(args) > 1 {
		what += " " + args[1]
	}
	switch {
	case err != nil:
		return "", fmt.Errorf("%s: %w", what, err)
	case ctx.Err() != nil:
		return "", context.Cause(ctx)
	case res.Ended != proc.EndedSelf:
		return "", fmt.Errorf("%s took longer than %s", what, longest)
	case res.Code != 0:
		text := strings.TrimSpace(string(said))
		if text == "" {
			text = strings.TrimSpace(string(out))
		}
		return "", fmt.Errorf("%s: exit code %d: %.300s", what, res.Code, text)
	}
	return string(out), nil
}

// fsync appends a line to a file and waits until it is on the disk, as the journal does.
func fsync(dir string) func(context.Context) error {
	return func(context.Context) error {
		f, err := os.OpenFile(filepath.Join(dir, "journal"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			return err
		}
		_, err = f.WriteString(strings.Repeat("x", 500) + "\n")
		return errors.Join(err, f.Sync(), f.Close())
	}
}
