package landing

import (
	"context"

	"github.com/ralph-loop/ralph/internal/git"
)

// maxBehind is how many merges after a task began its base is looked for.
const maxBehind = 64

// trivialMerge merges a task of one commit that nothing else touches the files of, without a
// process: of each file and folder one side at most has another version than the base, and
// that is what git takes, whatever it finds out about renames, attributes and merge drivers, which
// all begin with two versions. ok is false for any other merge.
func trivialMerge(ctx context.Context, r *git.Repo, to MergeResult, side Side, at git.CommitObject) (tree string, ok bool, err error) {
	// The one commit that both have: who has a single parent has all it shares with others from there.
	if len(at.Parents) != 1 || !r.FollowsWithin(to.Commit, at.Parents[0], maxBehind) {
		return "", false, nil
	}
	base, err := r.ReadCommit(ctx, at.Parents[0])
	if err != nil {
		return "", false, err
	}
	return oneSided(ctx, r, base.Tree, to.Tree, at.Tree, true)
}

// oneSided takes of each member of three trees the version that is not the base's. A folder in
// which both sides changed something is gone through. Not ok: both have another version of the
// same thing, or both took it away, which is where two renames of one file look like nothing. Nor
// at the top, when a file went from there: a git may see the whole top move into a folder.
func oneSided(ctx context.Context, r *git.Repo, base, ours, theirs string, top bool) (tree string, ok bool, err error) {
	switch base {
	case ours:
		return theirs, true, nil
	case theirs:
		return ours, true, nil
	}
	var sides [3]map[string]git.TreeEntry
	for i, id := range []string{base, ours, theirs} {
		if sides[i], err = r.Members(ctx, id); err != nil {
			return "", false, err
		}
	}
	out := map[string]git.TreeEntry{}
	for _, members := range sides {
		for name := range members {
			if _, done := out[name]; done {
				continue
			}
			b, o, t := sides[0][name], sides[1][name], sides[2][name]
			took := git.TreeEntry{}
			switch {
			case top && b.Mode != "" && b.Mode != git.ModeDir && (o.Mode == "" || t.Mode == ""):
				return "", false, nil
			case b == o:
				took = t
			case b == t:
				took = o
			case b.Mode == git.ModeDir && o.Mode == git.ModeDir && t.Mode == git.ModeDir:
				took.Mode = git.ModeDir
				if took.ID, ok, err = oneSided(ctx, r, b.ID, o.ID, t.ID, false); err != nil || !ok {
					return "", false, err
				}
			default:
				return "", false, nil
			}
			out[name] = took
		}
	}
	for name, m := range out {
		if m.Mode == "" || m.Mode == git.ModeDir && m.ID == "" {
			delete(out, name)
		}
	}
	if len(out) == 0 {
		return "", false, nil
	}
	tree, err = r.MakeTree(ctx, out)
	return tree, err == nil, err
}
