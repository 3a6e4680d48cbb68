package proc

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
)

// StartError is a process that could not be started. Its message says what to
// do; Err matches fs.ErrNotExist and fs.ErrPermission where that is the cause.
type StartError struct {
	Program string
	Err     error
}

func (e *StartError) Error() string {
	if e.Program == "" {
		return "start a process: " + e.Err.Error()
	}
	return "start " + e.Program + ": " + e.Err.Error()
}

func (e *StartError) Unwrap() error { return e.Err }

// Lasting reports whether a start would fail again unless somebody mends the program: what
// is not there may be back in a moment, as while it is updated; what is no program of this
// system, or may not be run, stays so.
func (e *StartError) Lasting() bool {
	return errors.Is(e.Err, errInterpreter) || errors.Is(e.Err, syscall.ENOEXEC) || errors.Is(e.Err, syscall.E2BIG) || errors.Is(e.Err, fs.ErrPermission)
}

// errInterpreter is a script whose first line names a program that is not there.
var errInterpreter = errors.New("is there, but the interpreter that its first line names is not")

// WithoutStarts runs f, which writes a program, while this process starts no other one: what is
// forked meanwhile would have the file open for writing too until it is another program, and
// Linux refuses to run such a file ("text file busy").
func WithoutStarts(f func() error) error {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	return f()
}

// LookPath finds the program name as Run does: with a slash relative to dir,
// else in PATH of env, where relative entries are passed over, since they
// would run what lies in a work tree. The path is absolute. The error is a
// *StartError.
func LookPath(name, dir string, env []string) (string, error) {
	if name == "" {
		return "", &StartError{Err: errors.New("the program's name is empty")}
	}
	if strings.ContainsRune(name, filepath.Separator) {
		path := name
		if !filepath.IsAbs(path) {
			path = filepath.Join(dir, path)
		}
		path, err := filepath.Abs(path)
		if err == nil {
			err = executable(path)
		}
		if err != nil {
			return "", &StartError{name, err}
		}
		return path, nil
	}
	search := Getenv(env, "PATH")
	if search == "" {
		return "", &StartError{name, fmt.Errorf("PATH is not set in its environment: %w; give the program's full path", fs.ErrNotExist)}
	}
	var refused error
	for _, folder := range filepath.SplitList(search) {
		if !filepath.IsAbs(folder) {
			continue
		}
		path := filepath.Join(folder, name)
		err := executable(path)
		if err == nil {
			return path, nil
		}
		if refused == nil && errors.Is(err, fs.ErrPermission) {
			refused = err
		}
	}
	if refused != nil {
		return "", &StartError{name, refused}
	}
	return "", &StartError{name, fmt.Errorf("not found in PATH: %w; install it or give its full path (PATH is %s)", fs.ErrNotExist, search)}
}

// executable says why path cannot be run, nil when it can.
func executable(path string) error {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("no such file %s: %w", path, fs.ErrNotExist)
	case err != nil:
		return err
	case info.IsDir():
		return fmt.Errorf("%s is a folder: %w", path, fs.ErrPermission)
	case info.Mode()&0o111 == 0:
		return fmt.Errorf("%s is not executable: %w; `chmod +x` it", path, fs.ErrPermission)
	}
	return nil
}

// Getenv returns the value of a variable in a K=V environment, "" when it is not
// there. The last one counts, as os/exec has it.
func Getenv(env []string, key string) string {
	for i := len(env) - 1; i >= 0; i-- {
		if k, v, ok := strings.Cut(env[i], "="); ok && k == key {
			return v
		}
	}
	return ""
}

// explainStart turns the system's word for a failed start into a cause and a
// next step.
func explainStart(path string, c Command, err error) error {
	why := func(format string, args ...any) error {
		return &StartError{c.Args[0], fmt.Errorf(format, args...)}
	}
	if c.Dir != "" {
		switch info, statErr := os.Stat(c.Dir); {
		case statErr != nil:
			return why("its working folder cannot be used: %w", statErr)
		case !info.IsDir():
			return why("its working folder %s is no folder: %w", c.Dir, syscall.ENOTDIR)
		}
	}
	switch {
	case errors.Is(err, syscall.ENOEXEC):
		return why("%s is no program of this system: %w; a script needs a first line such as #!/bin/sh", path, err)
	case errors.Is(err, syscall.E2BIG):
		return why("its arguments and environment are too long: %w; hand long text over by stdin or in a file", err)
	case errors.Is(err, fs.ErrNotExist):
		return why("%s %w: %w", path, errInterpreter, err)
	}
	return &StartError{c.Args[0], err}
}

// Startable says why the system would not start c, whose program is at path, nil when it
// would: for a command that is put inside another one, which says it less well.
func Startable(path string, c Command) error {
	f, err := os.Open(path)
	if err != nil {
		return nil //nolint:nilerr // what can be run and not read is started
	}
	defer f.Close()
	head := make([]byte, 256)
	n, _ := f.Read(head)
	line, _, _ := strings.Cut(string(head[:n]), "\n")
	script, ok := strings.CutPrefix(line, "#!")
	if !ok {
		if n == 0 || !strings.HasPrefix(line, "\x7fELF") && runtime.GOOS == "linux" && !strings.ContainsRune(line, 0) {
			return explainStart(path, c, syscall.ENOEXEC)
		}
		return nil
	}
	if fields := strings.Fields(script); len(fields) > 0 {
		if _, err := os.Stat(fields[0]); errors.Is(err, fs.ErrNotExist) {
			return explainStart(path, c, err)
		}
	}
	return nil
}

// starter starts tracked and tied processes from one thread. They are to die with this
// process, and the kernel's signal for that (PDEATHSIG) fires when the thread
// ends that started them; the Go runtime may end any other thread. The thread
// is held only while there are such processes.
type starter struct {
	mu    sync.Mutex
	users int
	work  chan func()
}

func (s *starter) hold() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.users++; s.users > 1 {
		return
	}
	s.work = make(chan func())
	go func(work <-chan func()) {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		for f := range work {
			f()
		}
	}(s.work)
}

// do runs start on the thread; the caller holds the starter.
func (s *starter) do(start func() error) error {
	s.mu.Lock()
	work := s.work
	s.mu.Unlock()
	done := make(chan error, 1)
	work <- func() { done <- start() }
	return <-done
}

func (s *starter) letGo() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.users--; s.users == 0 {
		close(s.work)
	}
}
