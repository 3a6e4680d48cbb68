package shim

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ralph-loop/ralph/internal/regular"
)

// reportLink leads, in the folder of a turn, to Set.Report.
const reportLink = "report"

// reporting is what a hook adds to the report, as lines of sh; takes is that it reads what
// git tells it, into $said. Git runs these hooks whatever --no-verify says.
func reporting(hook, git, report string) (tell string, takes bool) {
	git, report = quote(git), quote(report)
	switch hook {
	case "post-commit": // the picks of a rebase are told by post-rewrite, with what they were before
		return "{ at=$(" + git + " rev-parse HEAD --git-path rebase-merge --git-path rebase-apply) && printf '%s\\n' \"$at\" | " +
			"{ read -r id; read -r a; read -r b; [ -e \"$a\" ] || [ -e \"$b\" ] || printf 'commit %s\\n' \"$id\"; }; } 2>/dev/null >> " + report + "\n", false
	case "post-merge": // a merge makes no post-commit; a fast-forward and --squash make no commit
		return "[ \"$1\" = 1 ] || case $(" + git + " reflog -1 --format=%gs HEAD) in ''|*Fast-forward*) ;; *) at=$(" + git + " rev-parse --verify --quiet HEAD^2) && " +
			"printf 'merge %s\\n' \"$(" + git + " rev-parse HEAD)\" 2>/dev/null >> " + report + " ;; esac\n", false
	case "post-rewrite":
		return "said=$(cat)\nprintf '%s\\n' \"$said\" | while read -r old new rest; do printf 'rewrite %s %s\\n' \"$old\" \"$new\"; done 2>/dev/null >> " + report + "\n", true
	case "post-checkout":
		return "[ \"$3\" != 1 ] || printf 'switch %s\\n' \"$(" + git + " symbolic-ref -q --short HEAD || " + git + " rev-parse HEAD)\" 2>/dev/null >> " + report + "\n", false
	case "pre-rebase":
		return "printf 'op rebase\\n' 2>/dev/null >> " + report + "\n", false
	}
	return "", false
}

// TellGit adds to the report of a turn that one of its processes runs git: an operation
// that is left half done has no hook that would tell, and a reset has none at all.
func TellGit(dir string, argv []string) {
	ops := map[string][]string{
		"merge": {"merge"}, "rebase": {"rebase"}, "cherry-pick": {"cherry-pick"}, "revert": {"revert"}, "am": {"am"},
		"pull": {"merge", "rebase"}, "reset": {"reset"},
	}
	var lines strings.Builder
	for _, arg := range argv {
		for _, op := range ops[arg] {
			lines.WriteString("op " + op + "\n")
		}
	}
	if lines.Len() == 0 {
		return
	}
	report, err := os.Readlink(filepath.Join(dir, reportLink))
	if err != nil {
		return // nobody wants to know, or the turn is over
	}
	f, err := os.OpenFile(report, os.O_APPEND|os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		return
	}
	_, _ = f.WriteString(lines.String())
	_ = f.Close()
}

// Report is what the git of agents told of itself.
type Report struct {
	Commits []string // made by agents: new ones, and theirs as amended or rebased
	Rewrote []string // of others, that agents amended or rebased
	On      string   // the branch, or the commit of a detached HEAD, of the newest switch
	Ops     []string // operations that agents began
}

// Read adds what a report says, in the order that it was told in. A commit that is another
// one rewritten is an agent's only when that was: whoever amends a commit of somebody
// else's has not made it.
func (r *Report) Read(text string) {
	for line := range strings.Lines(text) {
		if !strings.HasSuffix(line, "\n") {
			return // it was being written
		}
		f := strings.Fields(line)
		switch {
		case len(f) == 2 && (f[0] == "commit" || f[0] == "merge"):
			r.add(f[1])
		case len(f) == 3 && f[0] == "rewrite" && slices.Contains(r.Commits, f[1]):
			r.add(f[2])
		case len(f) == 3 && f[0] == "rewrite":
			r.Rewrote = append(r.Rewrote, f[1])
			r.Commits = slices.DeleteFunc(r.Commits, func(c string) bool { return c == f[2] })
		case len(f) == 2 && f[0] == "switch":
			r.On = f[1]
		case len(f) == 2 && f[0] == "op" && !slices.Contains(r.Ops, f[1]):
			r.Ops = append(r.Ops, f[1])
		}
	}
}

func (r *Report) add(commit string) {
	if !slices.Contains(r.Commits, commit) {
		r.Commits = append(r.Commits, commit)
	}
}

// maxReport bounds what is read of a report, in bytes: agents can write it.
const maxReport = 8 << 20

// ReadFile adds what the report in a file says; one that is not there says nothing.
func (r *Report) ReadFile(name string) error {
	b, err := regular.ReadFile(name, maxReport)
	if err != nil && !os.IsNotExist(err) {
		return fmt.Errorf("read what the agent's git told: %w", err)
	}
	r.Read(string(b))
	return nil
}

// closedFile makes a file that only this user may read, where there is none: hooks of git
// append to it with whatever umask the agent has.
func closedFile(name string) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(name, os.O_CREATE|os.O_RDONLY, 0o600)
	if err != nil {
		return err
	}
	return f.Close()
}
