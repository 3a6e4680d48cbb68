package commits

import (
	"context"
	"fmt"
	"strings"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/git"
)

// leftOut is a file whose changes are somebody else's, while a commit is made without them.
type leftOut struct {
	path   string
	gets   string // the version in the commit
	staged string // the version in the user's index
	head   string // the version that HEAD had
}

// LeftOuts are those that a commit leaves out.
type LeftOuts []leftOut

// Paths names them.
func (l LeftOuts) Paths() []string {
	var out []string
	for _, f := range l {
		out = append(out, f.path)
	}
	return out
}

// LeaveOut gives the files in left, in the private index, the version that a commit on top
// of parent may have. One that changed once more since it was found is the agent's as
// much as anybody's: it is taken. The result are those that are left out.
func LeaveOut(ctx context.Context, r *git.Repo, parent string, left []ralph.LeftFile) (LeftOuts, error) {
	if len(left) == 0 || r.Ours() {
		return nil, nil
	}
	now, err := versions(ctx, r, r.PrivateIndex(), left)
	if err != nil {
		return nil, err
	}
	staged, err := versions(ctx, r, r.RealIndex(), left)
	if err != nil {
		return nil, err
	}
	head, err := versionsAt(ctx, r, parent, left)
	if err != nil {
		return nil, err
	}
	var out LeftOuts
	for _, f := range left {
		l := leftOut{path: f.Path, gets: head[f.Path], head: head[f.Path], staged: staged[f.Path]}
		if f.Was != "" && l.head == f.At {
			l.gets = f.Was
		}
		if now[f.Path] != f.Now || now[f.Path] == l.head {
			continue
		}
		out = append(out, l)
	}
	return out, setVersions(ctx, r, out, len(parent), func(l leftOut) string { return l.gets })
}

// stagedAgain gives the private index, which is about to become the user's, what the user
// had staged of files that were left out.
func stagedAgain(ctx context.Context, r *git.Repo, left LeftOuts, idLen int) error {
	var again LeftOuts
	for _, l := range left {
		if l.staged != l.head && l.staged != l.gets {
			again = append(again, l)
		}
	}
	return setVersions(ctx, r, again, idLen, func(l leftOut) string { return l.staged })
}

// setVersions writes entries of the private index.
func setVersions(ctx context.Context, r *git.Repo, left LeftOuts, idLen int, version func(leftOut) string) error {
	if len(left) == 0 {
		return nil
	}
	var in strings.Builder
	for _, l := range left {
		v := version(l)
		if v == "" {
			v = "0 " + strings.Repeat("0", idLen)
		}
		fmt.Fprintf(&in, "%s\t%s\x00", v, l.path)
	}
	_, err := r.Run(ctx, git.Call{Args: []string{"update-index", "-z", "--index-info"}, Index: r.PrivateIndex(), Stdin: in.String(), Write: true})
	if err != nil {
		return fmt.Errorf("leave files of others out: %w", err)
	}
	return nil
}

// versions returns what an index has of some files.
func versions(ctx context.Context, r *git.Repo, index string, left []ralph.LeftFile) (map[string]string, error) {
	out, err := r.Run(ctx, git.Call{Args: append([]string{"ls-files", "-s", "-z", "--"}, literal(left)...), Index: index})
	if err != nil {
		return nil, fmt.Errorf("look at files of others: %w", err)
	}
	list := map[string]string{}
	for record := range strings.SplitSeq(out, "\x00") { // mode id stage \t path
		head, path, ok := strings.Cut(record, "\t")
		if f := strings.Fields(head); ok && len(f) == 3 && f[2] == "0" {
			list[path] = f[0] + " " + f[1]
		}
	}
	return list, nil
}

// versionsAt returns what a commit has of some files.
func versionsAt(ctx context.Context, r *git.Repo, commit string, left []ralph.LeftFile) (map[string]string, error) {
	paths := make([]string, len(left)) // ls-tree takes them as they are
	for i, f := range left {
		paths[i] = f.Path
	}
	out, err := r.Run(ctx, git.Call{Args: append([]string{"ls-tree", "-r", "-z", "--full-tree", commit, "--"}, paths...)})
	if err != nil {
		return nil, fmt.Errorf("look at files of others: %w", err)
	}
	list := map[string]string{}
	for record := range strings.SplitSeq(out, "\x00") { // mode type id \t path
		head, path, ok := strings.Cut(record, "\t")
		if f := strings.Fields(head); ok && len(f) == 3 {
			list[path] = f[0] + " " + f[2]
		}
	}
	return list, nil
}

func literal(left []ralph.LeftFile) []string {
	paths := make([]string, len(left))
	for i, f := range left {
		paths[i] = ":(top,literal)" + f.Path
	}
	return paths
}
