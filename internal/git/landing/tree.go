package landing

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ralph-loop/ralph/internal/git"
)

// merged is what `git merge-tree --write-tree` answers.
type merged struct {
	tree  string // with conflict markers in it when it is not clean
	clean bool
	files []staged
	said  []remark
}

// staged is a path whose versions git could not make one of.
type staged struct {
	path   string
	stages [4]git.TreeEntry // 1 base, 2 ours, 3 theirs
}

// remark is a message of git's about some paths.
type remark struct {
	paths []string
	kind  string // "CONFLICT (contents)", "Auto-merging", ...
	text  string
}

// mergeTree merges two commits into a tree.
func mergeTree(ctx context.Context, r *git.Repo, ours, theirs string) (merged, error) {
	args := []string{"merge-tree", "-z", "--write-tree", ours, theirs}
	stdout, stderr, res, err := r.Output(ctx, git.Call{Args: args, Tied: true})
	said := string(stderr)
	if err := git.Failed(ctx, args, res, err, stderr); err != nil && (git.ExitOf(err) != 1 || len(stdout) == 0) {
		if strings.Contains(said, "unrelated histories") {
			return merged{}, git.Refuse(fmt.Sprintf("%.12s and %.12s have no common history", ours, theirs),
				"merge them by hand with `git merge --allow-unrelated-histories`, or leave that branch out")
		}
		return merged{}, err
	}
	m, err := parseMerged(string(stdout), res.Code == 0)
	if err != nil {
		return merged{}, fmt.Errorf("read the answer of git merge-tree: %w", err)
	}
	return m, nil
}

var errAnswer = errors.New("it ends too early")

// parseMerged reads the answer: the tree, an entry for each version of a path in
// conflict, an empty field, then remarks. Fields end with a zero byte.
func parseMerged(out string, clean bool) (merged, error) {
	fields := strings.Split(strings.TrimSuffix(out, "\x00"), "\x00")
	m := merged{tree: fields[0], clean: clean}
	if err := git.CheckHash("tree", m.tree); err != nil || clean {
		return m, err
	}
	i := 1
	for ; i < len(fields) && fields[i] != ""; i++ {
		if err := m.addStage(fields[i]); err != nil {
			return m, err
		}
	}
	for i++; i < len(fields); {
		var n int
		if _, err := fmt.Sscanf(fields[i], "%d", &n); err != nil {
			break // git's advice about submodules comes last, in no such form
		}
		if n < 0 || i+n+2 >= len(fields) {
			return m, errAnswer
		}
		m.said = append(m.said, remark{paths: fields[i+1 : i+1+n], kind: fields[i+1+n], text: fields[i+2+n]})
		i += n + 3
	}
	return m, nil
}

// addStage takes "mode id stage\tpath".
func (m *merged) addStage(field string) error {
	info, path, ok := strings.Cut(field, "\t")
	f := strings.Fields(info)
	if !ok || len(f) != 3 || len(f[2]) != 1 || f[2] < "1" || f[2] > "3" {
		return fmt.Errorf("%q is no version of a file", field)
	}
	i := slices.IndexFunc(m.files, func(s staged) bool { return s.path == path })
	if i < 0 {
		i = len(m.files)
		m.files = append(m.files, staged{path: path})
	}
	m.files[i].stages[f[2][0]-'0'] = git.TreeEntry{Mode: f[0], ID: f[1]}
	return nil
}

// open returns the conflicts that somebody has to decide. ralph's own files are
// as Into has them whatever the sides did, and the log of what was learned stays
// when only one side deletes it.
func (m merged) open() []staged {
	return slices.DeleteFunc(slices.Clone(m.files), func(s staged) bool {
		return git.IsOwn(s.path) || s.path == progressFile && m.kind(s) == "modify/delete"
	})
}
