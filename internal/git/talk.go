package git

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	neverlist "github.com/ralph-loop/ralph/internal/operation"
)

// A question to a git that is there already costs a tenth of one to a git that has to be
// started. What only reads objects, or writes trees, is asked of one that stays: it needs
// neither index nor work tree, so nothing that an agent does there reaches it, and it
// sees new objects and packs by itself. It ends with its input: when it was not asked for
// a while, and when ralph dies.

const (
	// talkIdle is how long a git waits for another question.
	talkIdle = 2 * time.Second
	// maxTalk is how many questions one git answers: it remembers objects that it has read.
	maxTalk = 1000
)

// errTalk is that a git which stayed did not answer as it should.
var errTalk = errors.New("git ended before it had answered")

// talks are the gits that stay, of a checkout and of all its worktrees.
type talks struct {
	mu   sync.Mutex
	kept map[string]*talk
}

// talk is one of them.
type talk struct {
	mu       sync.Mutex
	settings []os.FileInfo // that it has read
	in       *io.PipeWriter
	out      *bufio.Reader
	done     chan struct{}
	stop     context.CancelFunc
	said     *head // its stderr
	asked    int
	idle     *time.Timer
}

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

// ask writes a question to the git that has these arguments, which is started where none is
// there, and has answer read what it says. One that was there and does not answer is
// started anew, once.
func (r *Repo) ask(ctx context.Context, question []byte, answer func(*bufio.Reader) error, args ...string) error {
	r = r.top()
	c, t := r.objectsOnly(args...), r.talk(strings.Join(args, " "))
	t.mu.Lock()
	defer t.mu.Unlock()
	for again := false; ; again = true {
		fresh, err := t.ready(ctx, r, c)
		if err != nil {
			return err
		}
		off := context.AfterFunc(ctx, t.stop)
		t.asked++
		to, wrote := t.in, make(chan error, 1)
		go func() { _, err := to.Write(question); wrote <- err }()
		if err = answer(t.out); err == nil {
			err = <-wrote
		}
		if off() && err == nil {
			t.idle = time.AfterFunc(talkIdle, t.rest)
			return nil
		}
		t.stop()
		said := t.end()
		switch {
		case ctx.Err() != nil:
			return fmt.Errorf("git %s: %w", c.Args[0], context.Cause(ctx))
		case errors.Is(err, errFull):
			return err
		case fresh || again:
			return &talkError{err, &Error{Args: c.Args, Exit: -1, Stderr: said}}
		}
	}
}

// talkError is a git that stayed and did not answer.
type talkError struct {
	why  error
	said *Error
}

func (e *talkError) Error() string   { return e.said.Error() + ": " + e.why.Error() }
func (e *talkError) Unwrap() []error { return []error{e.why, e.said} }

func (r *Repo) talk(name string) *talk {
	k := &r.talks
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.kept == nil {
		k.kept = map[string]*talk{}
	}
	if k.kept[name] == nil {
		k.kept[name] = &talk{}
	}
	return k.kept[name]
}

// ready has a git that can be asked; fresh is one that was started for it.
func (t *talk) ready(ctx context.Context, r *Repo, c Call) (fresh bool, err error) {
	if t.idle != nil && !t.idle.Stop() {
		t.end() // its time is up, whether it knows or not
	}
	t.idle = nil
	now := r.settingsNow()
	if t.in != nil {
		select {
		case <-t.done:
			t.end()
		default:
			if t.asked < maxTalk && slices.EqualFunc(now, t.settings, SameFile) {
				return false, nil
			}
			t.end()
		}
	}
	cmd, err := r.command(ctx, c)
	if err == nil {
		err = neverlist.Own(cmd.Args)
	}
	if err != nil {
		return false, err
	}
	cmd.Dir = r.gitDir
	in, toGit := io.Pipe()
	fromGit, out := io.Pipe()
	run, stop := context.WithCancel(context.WithoutCancel(ctx))
	said, done := &head{left: 1 << 16}, make(chan struct{})
	cmd.Stdin, cmd.Stdout, cmd.Stderr = in, out, said
	t.in, t.out, t.done, t.stop, t.said, t.asked, t.settings = toGit, bufio.NewReaderSize(fromGit, 1<<16), done, stop, said, 0, now
	go func() {
		defer close(done)
		defer stop()
		res, err := r.p.Run(run, cmd)
		if err == nil {
			err = Failed(run, c.Args, res, nil, nil)
		}
		_ = out.CloseWithError(errors.Join(errTalk, err))
		_ = in.CloseWithError(errTalk)
	}()
	return true, nil
}

// rest ends a git that nobody has asked for a while.
func (t *talk) rest() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.end()
}

// end ends it, waits until it has ended, and returns what it said to people.
func (t *talk) end() string {
	if t.in == nil {
		return ""
	}
	_ = t.in.Close()
	_, _ = io.Copy(io.Discard, t.out) // it may be about to write
	<-t.done
	t.in, t.out = nil, nil
	return string(bytes.TrimSpace(t.said.buf.Bytes()))
}
