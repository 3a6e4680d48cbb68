package shim

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/ralph-loop/ralph/internal/proc"
)

// Lookups are where the programs of shims were found, for as long as PATH and the folders in it
// are the same: each turn looks for dozens of programs in dozens of folders, and next to never
// anything has changed since the one before. A file that becomes executable where it lies changes no
// folder: it gets its shim with the next change. The zero value is ready; use by several turns at once
// is safe.
type Lookups struct {
	mu    sync.Mutex
	stamp string
	found map[string]found
}

// found is a program, or why there is none.
type found struct {
	path string
	err  error
}

// real is Real without a folder. A nil Lookups looks each time.
func (l *Lookups) real(name, stamp string, env []string) (string, error) {
	if l == nil || stamp == "" {
		return Real(name, "", env)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.stamp != stamp || l.found == nil {
		l.stamp, l.found = stamp, map[string]found{}
	}
	f, ok := l.found[name]
	if !ok {
		f.path, f.err = Real(name, "", env)
		l.found[name] = f
	}
	return f.path, f.err
}

// settled is for how long a folder has to be as it is: a clock of files may tick less often than they change.
const settled = 2 * time.Second

// stampOf says what PATH is and when its folders changed last; "" while one of them changes.
func (l *Lookups) stampOf(env []string) string {
	if l == nil {
		return ""
	}
	var b strings.Builder
	b.WriteString(proc.Getenv(env, EnvFolder))
	for _, dir := range filepath.SplitList(proc.Getenv(env, "PATH")) {
		fmt.Fprintf(&b, "\n%s", dir)
		if info, err := os.Stat(dir); err == nil {
			if time.Since(info.ModTime()).Abs() < settled {
				return ""
			}
			fmt.Fprintf(&b, " %d", info.ModTime().UnixNano())
		}
	}
	return b.String()
}
