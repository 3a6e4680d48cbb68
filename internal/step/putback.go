package step

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/ralph-loop/ralph"
)

// PutBackInput says what is given back after checks. In a worktree Mine is not asked.
type PutBackInput struct {
	Tree string                 // as it was before they ran
	ID   string                 // names what is kept of what they wrote
	Mine func(path string) bool // a tracked file may be given back what it had; nil: each
	Keep func(path string) bool // what was written to a file is wanted; nil: nothing is
}

// PutBack is what became of files that checks wrote.
type PutBack struct {
	Restored []string         // tracked files with the tree's content again
	Saved    []ralph.Saved    // what was in them
	Left     []string         // new files: gone from a worktree
	Other    []string         // tracked files that stay, for they may be somebody else's
	Kept     []string         // what is wanted
	Out      []ralph.LeftFile // of Left and Other, what a commit leaves out
	Tree     string           // the work tree after it
}

// afterChecks sees to what checks wrote: a commit holds the tree that they ran on. In
// a worktree all else is put back. In the checkout that is done to tracked files of which it
// is known that checks write them; others may be a person's, who works there too: these and
// new files stay, and no commit takes them along. With quality.changes keep they become part
// of the work, and the checks have to pass once more, on the tree with them.
func (x *Executor) afterChecks(ctx context.Context, s *ralph.State, t *ralph.Task, step ralph.Check, ran *ralph.ChecksRan) error {
	if !slices.ContainsFunc(ran.Results, func(r ralph.CheckResult) bool { return r.Command != "" && !r.Reused }) {
		if x.inCheckout(t) {
			ran.After = ran.Tree // nothing was started that could have written
		}
		return nil
	}
	after, err := x.putBack(ctx, s, t, ran, x.KeepChanges && ran.Pass)
	if err != nil || len(ran.Taken) == 0 {
		return err
	}
	again, _, err := x.checkTree(ctx, s, t, step, after)
	if err != nil {
		return err
	}
	first := *ran
	again.Took += first.Took
	again.Taken, again.Left, again.Out, again.After = first.Taken, first.Left, first.Out, first.After
	*ran = again
	if _, err = x.putBack(ctx, s, t, ran, true); err != nil {
		return err
	}
	if len(ran.Taken) > len(first.Taken) {
		files := slices.Clone(ran.Taken[len(first.Taken):])
		ran.Pass = false
		why := "the checks change files each time they run: " + strings.Join(files, ", ")
		ran.Results = append(ran.Results, ralph.CheckResult{
			Name: ralph.CheckChanges, Exit: 1, Why: why, Headline: why,
			Output: "The checks change these files each time they run, so that no tree is what was checked:\n" + strings.Join(files, "\n") +
				"\nMake them write the same each time, or into a folder that .gitignore lists.\n",
		})
	}
	ran.Taken, ran.Left = distinct(ran.Taken), distinct(ran.Left)
	return nil
}

// putBack adds to ran what became of what its checks wrote, and returns the work tree after
// it.
func (x *Executor) putBack(ctx context.Context, s *ralph.State, t *ralph.Task, ran *ralph.ChecksRan, keep bool) (string, error) {
	after, _, err := x.snapshot(ctx, s, t)
	if err != nil {
		return "", err
	}
	if after != ran.Tree && x.PutBack != nil {
		in := PutBackInput{Tree: ran.Tree, ID: "checks-" + plain(t.ID), Mine: func(p string) bool { return slices.Contains(s.Written, p) }}
		if keep {
			in.Keep = func(p string) bool { return !junk(p) }
		}
		back, err := x.PutBack(ctx, x.dir(t), in)
		if err != nil {
			return "", fmt.Errorf("put back what the checks changed: %w", err)
		}
		after = back.Tree
		ran.Restored, ran.Saved, ran.Other = append(ran.Restored, back.Restored...), append(ran.Saved, back.Saved...), append(ran.Other, back.Other...)
		ran.Left, ran.Out, ran.Taken = append(ran.Left, back.Left...), append(ran.Out, back.Out...), append(ran.Taken, back.Kept...)
	}
	if x.inCheckout(t) {
		ran.After = after
	}
	return after, nil
}

func distinct(list []string) []string {
	slices.Sort(list)
	return slices.Compact(list)
}

// junk reports whether a file is a cache, byte code or the like that nobody wants in git.
func junk(name string) bool {
	for part := range strings.SplitSeq(path.Dir(name), "/") {
		switch part {
		case "__pycache__", "node_modules", ".pytest_cache", ".mypy_cache", ".ruff_cache", ".tox", ".venv", ".gradle", ".nyc_output":
			return true
		}
		if strings.HasSuffix(part, ".egg-info") {
			return true
		}
	}
	switch base := path.Base(name); base {
	case ".DS_Store", "Thumbs.db", ".coverage":
		return true
	default:
		return slices.Contains([]string{".pyc", ".pyo", ".class", ".swp", ".swo"}, path.Ext(base))
	}
}

// junkIn are the files that a patch adds and nobody wants in git, the first of them.
func junkIn(patch []byte) []string {
	var list []string
	name := ""
	for line := range strings.Lines(string(patch)) {
		line = strings.TrimRight(line, "\r\n")
		if rest, ok := strings.CutPrefix(line, "diff --git "); ok {
			_, name, _ = strings.Cut(strings.TrimSuffix(rest, `"`), " b/")
			if name == "" {
				_, name, _ = strings.Cut(strings.TrimSuffix(rest, `"`), ` "b/`)
			}
			continue
		}
		if strings.HasPrefix(line, "new file mode ") && junk(name) {
			list = append(list, name)
		}
	}
	const most = 5
	if more := len(list) - most; more > 0 {
		list = append(list[:most], fmt.Sprintf("and %d more", more))
	}
	return list
}
