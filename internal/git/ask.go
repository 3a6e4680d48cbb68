package git

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/ralph-loop/ralph/internal/git/coprocess"
	neverlist "github.com/ralph-loop/ralph/internal/operation"
	"github.com/ralph-loop/ralph/internal/proc"
)

// What only reads objects, or writes trees, needs neither index nor work tree: nothing that
// an agent does there reaches it. Most of it is asked of a git that stays, which sees new
// objects and packs by itself.

// top is the checkout, for a worktree of ralph's: both have the same objects.
func (r *Repo) top() *Repo {
	if r.home != nil && r.home.common == r.common {
		return r.home.top()
	}
	return r
}

// objectsOnly is a call that looks at nothing but the objects of a repository. What
// .gitattributes say is not asked for: there are none where it stands, and no index.
func (r *Repo) objectsOnly(args ...string) Call {
	return Call{
		Args: args, Repo: r.gitDir, Index: filepath.Join(r.gitDir, "ralph-no-index"),
		Conf: []string{"core.quotepath=off", "core.attributesFile=" + os.DevNull, "core.bigFileThreshold=512m"},
		Env:  []string{"GIT_COMMON_DIR=" + r.common, "GIT_WORK_TREE=" + r.gitDir, "GIT_NO_REPLACE_OBJECTS=1"},
	}
}

// Ask writes a question to the git that has these arguments and looks at objects alone; it is
// started where none is there. answer reads what it says. One that was there and does not answer
// is started anew, once.
func (r *Repo) Ask(ctx context.Context, question []byte, answer func(*bufio.Reader) error, args ...string) error {
	r = r.top()
	c := r.objectsOnly(args...)
	err := r.asked.Ask(ctx, r.p, coprocess.How{
		Name: strings.Join(args, " "), Reads: r.settingsNow(), Same: SameFile,
		Command: func() (proc.Command, error) {
			cmd, err := r.command(ctx, c)
			if err == nil {
				err = neverlist.Own(cmd.Args)
			}
			cmd.Dir = r.gitDir
			return cmd, err
		},
	}, question, answer)
	if e, ok := errors.AsType[*coprocess.Error](err); ok {
		return &askError{e.Why, &Error{Args: c.Args, Exit: -1, Stderr: e.Said}}
	}
	if err != nil && ctx.Err() != nil {
		return fmt.Errorf("git %s: %w", c.Args[0], err)
	}
	return err
}

// askError is a git that stayed and did not answer.
type askError struct {
	why  error
	said *Error
}

func (e *askError) Error() string   { return e.said.Error() + ": " + e.why.Error() }
func (e *askError) Unwrap() []error { return []error{e.why, e.said} }

// AskOnce has a git of its own say something of objects alone: at most max bytes, cut after a
// whole line. It is what checks look at, so that nothing that the author of the work can
// set makes git hide some of it: no .gitattributes (there is none where it stands, and no
// index that has one), no limit from which files count as binary, no object put in
// another's place.
func (r *Repo) AskOnce(ctx context.Context, max int64, args ...string) ([]byte, error) {
	c := r.objectsOnly(args...)
	out := coprocess.NewHead(max)
	var said bytes.Buffer
	cmd, err := r.command(ctx, c)
	if err != nil {
		return nil, err
	}
	cmd.Dir, cmd.Stdout, cmd.Stderr, cmd.Tied = r.gitDir, out, &said, false
	res, err := r.p.Run(ctx, cmd)
	if out.Full() {
		return out.Lines(), nil
	}
	if err := Failed(ctx, c.Args, res, err, said.Bytes()); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}
