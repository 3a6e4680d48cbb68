// Package shim owns what is put in front of the programs that an agent starts: a folder
// of command shims at the head of PATH, and git hooks that a push has to pass. It does
// not own what is held, which is policy's, nor who is asked, which is the turn's
// (internal/agentsock). A shim sees one call of one program; a program called by its full
// path passes it by.
package shim

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/ralph-loop/ralph/internal/fastpath"
	"github.com/ralph-loop/ralph/internal/proc"
)

// The environment by which shims and hooks are found and know their own.
const (
	// EnvFolder is the folder of the shims, which PATH begins with.
	EnvFolder = "RALPH_SHIMS"
)

// rulesFile holds, in the folder of a turn's line, what the shims judge by.
const rulesFile = "rules.json"

// binDir holds the shims there.
const binDir = "bin"

// Set is what is put below an agent.
type Set struct {
	Self     string   // this program
	Programs []string // that get a shim, where they are installed
	Rules    []byte   // for those that judge: see Rules
	// Report is a file that gets a line for whatever agents do to the history: see
	// Reports. "": nobody wants to know.
	Report string
	// Plain are calls, word for word, that are known to be held by nothing: they become the
	// program at once, without a start of ralph.
	Plain map[string][][]string
	// Lookups are shared by the turns of a session; nil: each turn looks for all programs anew.
	Lookups *Lookups
}

// Put fills dir, a folder of one turn, and returns env with PATH, GIT_CONFIG_* and
// EnvFolder leading there. Without programs there are only the hooks of git. What an earlier turn
// left there stays if it is what would be written, to the last byte: no agent chooses what the
// next one's programs are. One turn at a time may have dir.
func (s Set) Put(dir string, env []string) ([]string, error) {
	if err := os.WriteFile(filepath.Join(dir, rulesFile), s.Rules, 0o600); err != nil {
		return nil, fmt.Errorf("write the rules of the shims: %w", err)
	}
	if s.Report != "" {
		if err := closedFile(s.Report); err != nil {
			return nil, fmt.Errorf("make the folder for what the agent's git tells: %w", err)
		}
		// behind a link, since a script here is written before it is known what is to be in it
		if err := os.Symlink(s.Report, filepath.Join(dir, reportLink)); err != nil {
			return nil, fmt.Errorf("lead the git hooks to their report: %w", err)
		}
	}
	stamp := s.Lookups.stampOf(env)
	out := slices.Clone(env)
	if git, err := s.Lookups.real("git", stamp, env); err == nil { // else there is nothing to hook into
		n := settings(env)
		hooks := s.hooks(dir, git, n)
		if err := hooks.put(); err != nil {
			return nil, fmt.Errorf("make the git hooks: %w", err)
		}
		at := strconv.Itoa(n)
		out = append(out, "GIT_CONFIG_COUNT="+strconv.Itoa(n+1), "GIT_CONFIG_KEY_"+at+"=core.hooksPath", "GIT_CONFIG_VALUE_"+at+"="+hooks.dir)
	}
	if len(s.Programs) == 0 {
		return out, nil
	}
	path := proc.Getenv(env, "PATH")
	shims := s.shims(dir, path, stamp, env)
	if err := shims.put(); err != nil {
		return nil, fmt.Errorf("make the shims: %w", err)
	}
	return append(out, EnvFolder+"="+shims.dir, "PATH="+shims.dir+string(filepath.ListSeparator)+path), nil
}

// shims are those of the programs that are installed.
func (s Set) shims(dir, path, stamp string, env []string) folder {
	f := folder{dir: filepath.Join(dir, binDir), texts: map[string]string{}}
	ask := "exec " + quote(s.Self) + " " + fastpath.Command + " " + quote(dir) + " "
	shared := s.interpreted(dir, "#!/bin/sh\n"+ask+"\"${0##*/}\" \"$@\"\n") // of all that have no plain calls
	for _, name := range s.Programs {
		real, err := s.Lookups.real(name, stamp, env)
		if err != nil {
			continue // not installed: it shall stay unknown, as programs that look for it expect
		}
		f.texts[name] = shared
		if calls := s.Plain[name]; len(calls) > 0 {
			f.texts[name] = "#!/bin/sh\n" + atOnce(calls, f.dir+string(filepath.ListSeparator)+path, real) + ask + quote(name) + " \"$@\"\n"
		}
	}
	return f
}

// longestLine is what every system reads of a script's first line.
const longestLine = 127

// interpreted is a shim whose interpreter is ralph itself, which spares the start of a shell;
// where the first line of a script cannot say that, it is the script for sh.
func (s Set) interpreted(dir, script string) string {
	line := "#!" + s.Self + " " + fastpath.Script + dir
	if len(line) >= longestLine || strings.Count(line, " ") != 1 || strings.ContainsAny(line, "\t\n\r") || !filepath.IsAbs(s.Self) {
		return script
	}
	return line + "\n"
}

// atOnce is what a shim begins with: a call that is plain becomes the real program, as long as
// what stands behind the shims in PATH is what it was, with whatever the agent put around it. How many words there are and what
// they are, with single spaces between, says which they are, since none of these has a space.
func atOnce(calls [][]string, path, real string) string {
	var words []string
	for _, call := range calls {
		text := strings.Join(call, " ")
		if strings.Count(text, " ") == len(call)-1 && !slices.Contains(call, "") {
			words = append(words, quote(strconv.Itoa(len(call))+","+text))
		}
	}
	if len(words) == 0 {
		return ""
	}
	return "case $#,$* in " + strings.Join(words, " | ") + ")\n" +
		"\tcase $PATH in " + quote(path) + " | *:" + quote(path) + " | " + quote(path) + ":* | *:" + quote(path) + ":*) [ -x " + quote(real) + " ] && exec " + quote(real) + " \"$@\" ;; esac ;;\nesac\n"
}

// Rules returns what was put into dir.
func Rules(dir string) ([]byte, error) {
	b, err := os.ReadFile(filepath.Join(dir, rulesFile))
	if err != nil {
		return nil, fmt.Errorf("read the rules of the shims: %w", err)
	}
	return b, nil
}

// Real finds the program that the shim in a folder of a turn stands before: the first
// in PATH behind its own folder, so that the shims of a turn within a turn pass a call
// on and never back, and none that EnvFolder names. dir "" is no shim. The error is a
// *proc.StartError.
func Real(name, dir string, env []string) (string, error) {
	dirs := filepath.SplitList(proc.Getenv(env, "PATH"))
	if dir != "" {
		bin := filepath.Join(dir, binDir)
		for i, d := range slices.Backward(dirs) {
			if filepath.Clean(d) == bin {
				dirs = dirs[i+1:]
				break
			}
		}
	}
	own := proc.Getenv(env, EnvFolder)
	dirs = slices.DeleteFunc(dirs, func(d string) bool {
		return d == "" || own != "" && filepath.Clean(d) == filepath.Clean(own)
	})
	return proc.LookPath(name, "", []string{"PATH=" + strings.Join(dirs, string(filepath.ListSeparator))})
}

// quote makes one word of a script for sh: what POSIX has no other way to say stands in
// single quotes.
func quote(s string) string {
	q, err := syntax.Quote(s, syntax.LangPOSIX)
	if err != nil {
		return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
	}
	return q
}

// hooksDir is where git finds our hooks.
const hooksDir = "hooks"

// clientHooks are the hooks of a work tree that git's commands run. Others (fsmonitor,
// push-to-checkout, reference-transaction) are left alone: to be there changes what git
// does, or costs a process for each reference.
func clientHooks() []string {
	return []string{
		"applypatch-msg", "pre-applypatch", "post-applypatch", "pre-commit", "pre-merge-commit", "prepare-commit-msg", "commit-msg",
		"post-commit", "pre-rebase", "post-checkout", "post-merge", "pre-push", "post-rewrite", "sendemail-validate",
	}
}

// settings is how many settings git has from an environment.
func settings(env []string) int {
	n, err := strconv.Atoi(proc.Getenv(env, "GIT_CONFIG_COUNT"))
	if err != nil {
		return 0
	}
	return max(n, 0)
}

// hooks are git hooks before those of the repository, by the environment alone: no file
// of git's settings changes, and a person's own git never sees them. What core.hooksPath
// is without us is found out when a hook runs, so that husky and its like keep working.
func (s Set) hooks(dir, git string, n int) folder {
	f := folder{dir: filepath.Join(dir, hooksDir), texts: map[string]string{}}
	text := s.hook(dir, git, n)
	for _, name := range clientHooks() {
		f.texts[name] = text
	}
	return f
}

// hook is the script that every git hook is: its name says which. n is how many settings git
// has from the environment without ours.
func (s Set) hook(dir, git string, n int) string {
	var tells, takes strings.Builder
	for _, name := range clientHooks() {
		tell, reads := reporting(name, git, filepath.Join(dir, reportLink))
		if tell != "" {
			tells.WriteString(name + ")\n" + tell + ";;\n")
		}
		if reads {
			takes.WriteString(name + ") printf '%s\\n' \"$said\" | \"$own\" \"$@\" ;;\n")
		}
	}
	return "#!/bin/sh\nhook=${0##*/}\ncase $hook in\n" + tells.String() +
		"pre-push) refs=$(cat)\nprintf '%s\\n' \"$refs\" | " + quote(s.Self) + " pre-push " + quote(dir) + " \"$@\" || exit 1 ;;\nesac\n" +
		"own=$(GIT_CONFIG_COUNT=" + strconv.Itoa(n) + " " + quote(git) + " rev-parse --git-path \"hooks/$hook\") && [ -x \"$own\" ] || exit 0\n" +
		"case $hook in\n" + takes.String() +
		"pre-push) printf '%s' \"${refs:+$refs\n}\" | \"$own\" \"$@\" ;;\n" +
		"*) exec \"$own\" \"$@\" ;;\nesac\n"
}

// PushCall returns the folder and the words behind push of a call of git that pushes. ok is
// false of any other call, and of one that names its repository by hand.
func PushCall(argv []string, dir string) (at string, args []string, ok bool) {
	for i := 1; i < len(argv); i++ {
		switch arg := argv[i]; {
		case arg == "push":
			return dir, argv[i+1:], true
		case arg == "-C" && i+1 < len(argv):
			i++
			if filepath.IsAbs(argv[i]) {
				dir = argv[i]
			} else {
				dir = filepath.Join(dir, argv[i])
			}
		case arg == "-c" && i+1 < len(argv):
			i++ // settings of a call say nothing to ralph
		case arg == "--no-pager" || arg == "-p" || arg == "-P" || arg == "--paginate":
		default:
			return "", nil, false
		}
	}
	return "", nil, false
}

// Push is one reference that a pre-push hook is told of.
type Push struct {
	Local, LocalID, Remote, RemoteID string
}

// ErrPushes is that a pre-push hook was told what nobody can read.
var ErrPushes = errors.New("git told the pre-push hook something that cannot be read")

// Pushes reads what git tells a pre-push hook.
func Pushes(text string) ([]Push, error) {
	var out []Push
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if len(f) == 0 {
			continue
		}
		if len(f) != 4 {
			return nil, fmt.Errorf("%w: %q", ErrPushes, line)
		}
		out = append(out, Push{f[0], f[1], f[2], f[3]})
	}
	return out, nil
}

// Deletes reports a push that takes the reference away.
func (p Push) Deletes() bool { return none(p.LocalID) }

// Creates reports a push of a reference that is not there yet.
func (p Push) Creates() bool { return none(p.RemoteID) }

func none(id string) bool { return strings.Trim(id, "0") == "" }

// Argv is the push as the git call that asks for just that. forced: what the remote has
// would be lost.
func (p Push) Argv(remote string, forced bool) []string {
	argv := []string{"git", "push"}
	switch {
	case p.Deletes():
		return append(argv, "--delete", remote, p.Remote)
	case forced:
		argv = append(argv, "--force")
	}
	return append(argv, remote, p.Local+":"+p.Remote)
}

// ExitHeld is what a shim ends with when the program was not run: as a shell has it for
// one that it may not run.
const ExitHeld = 126
