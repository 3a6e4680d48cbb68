package interceptor

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/ralph-loop/ralph/internal/config"
	"github.com/ralph-loop/ralph/internal/worktree"
)

// PlainCalls are the frequent calls that nothing holds, by what shims judge by. With the
// patterns that ralph comes with these are all, which a test shows for every setting and
// folder; with others each is judged, once for a session.
type PlainCalls struct {
	mu    sync.Mutex
	known map[bool]map[string][][]string
}

// frequent are calls that agents and their programs make again and again, word for word: none
// has a word that somebody chose. Whether one is harmless is not said here: the judge says it.
func frequent() map[string][]string {
	git := []string{
		"status", "status -s", "status --short", "status -sb", "status --short --branch", "status --porcelain", "status --porcelain=v1",
		"status --porcelain -b", "status -u", "--no-optional-locks status --porcelain",
		"diff", "diff --stat", "diff --name-only", "diff --name-status", "diff --numstat", "diff --shortstat", "diff HEAD", "diff HEAD --stat", "diff --stat HEAD",
		"diff --cached", "diff --staged", "diff --cached --stat", "diff --staged --stat", "diff --cached --name-only", "--no-pager diff", "--no-pager diff --stat",
		"log", "log --oneline", "log --stat", "show", "show --stat", "show HEAD", "show HEAD --stat", "show --stat HEAD",
		"add -A", "add --all", "add .", "add -u",
		"branch", "branch -a", "branch -v", "branch -vv", "branch --show-current", "tag", "stash list", "worktree list", "worktree list --porcelain",
		"rev-parse HEAD", "rev-parse --short HEAD", "rev-parse --verify HEAD", "rev-parse --show-toplevel", "rev-parse --git-dir", "rev-parse --git-common-dir",
		"rev-parse --absolute-git-dir", "rev-parse --is-inside-work-tree", "rev-parse --abbrev-ref HEAD", "symbolic-ref --short HEAD",
		"remote", "remote -v", "remote get-url origin", "config --get remote.origin.url", "config user.name", "config user.email",
		"config --get user.name", "config --get user.email", "ls-files", "ls-files --others --exclude-standard", "--version", "version",
	}
	for _, n := range []int{1, 2, 3, 5, 10, 15, 20} {
		for _, form := range []string{"log -%d", "log -n %d", "log --oneline -%d", "log --oneline -n %d", "log -%d --oneline", "log -n %d --oneline", "--no-pager log --oneline -%d"} {
			git = append(git, fmt.Sprintf(form, n))
		}
	}
	npm := []string{"test", "--version", "-v", "run build", "run lint", "run test", "run typecheck", "run format", "run check"}
	return map[string][]string{
		"git": git, "npm": npm, "pnpm": append(npm, "build", "lint"), "yarn": append(npm, "build", "lint"), "bun": append(npm, "build"),
		"cargo": {"build", "test", "check", "clippy", "fmt", "fmt --check", "build --release", "--version"},
	}
}

// of is what of the frequent calls of these programs passes by the rules, in whichever folder
// and with whichever home folder it is made.
func (p *PlainCalls) of(rules shimRules, programs []string) map[string][][]string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if list, ok := p.known[rules.Never]; ok {
		return list
	}
	own := !slices.Equal(rules.Config.Patterns, config.Defaults().Gate.Patterns)
	plain := map[string][][]string{}
	for name, calls := range frequent() {
		if !slices.Contains(programs, name) {
			continue
		}
		for _, call := range calls {
			argv := append([]string{name}, strings.Fields(call)...)
			if !own || rules.passes(argv, []string{rules.Work, "/"}, []string{rules.Home}) {
				plain[name] = append(plain[name], argv[1:])
			}
		}
	}
	if p.known == nil {
		p.known = map[bool]map[string][][]string{}
	}
	p.known[rules.Never] = plain
	return plain
}

// passes reports whether a call is held in none of these folders, with none of these home folders.
func (r shimRules) passes(argv, dirs, homes []string) bool {
	r.Config.Approvals = "never" // a shim holds nothing by them, and they look at files
	for _, dir := range dirs {
		for _, home := range homes {
			if _, _, held := r.judge(argv, dir, worktree.Disk(r.Work, []string{"HOME=" + home})); held {
				return false
			}
		}
	}
	return true
}
