package git

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// cleanUp returns to the base: files, then HEAD, then the user's index.
func (r *Repo) cleanUp(ctx context.Context, base, head string, left Leftover) error {
	if err := r.restoreFiles(ctx, base, left); err != nil {
		return err
	}
	if op := r.Unfinished(); op != "" { // what an agent began ends with its work
		if _, err := r.Run(ctx, Call{Args: []string{op, "--quit"}, Write: true}); err != nil {
			return err
		}
	}
	back, err := r.committedOwn(ctx, base, head)
	if err != nil {
		return err
	}
	if len(back) > 0 {
		if _, err := r.Run(ctx, Call{Args: append([]string{"reset", "-q", base, "--"}, back...), Write: true}); err != nil {
			return err
		}
	}
	if head != base {
		if err := r.MoveHead(ctx, "back to where the failed work began", head, base); err != nil {
			return err
		}
	}
	args := append([]string{"reset", "-q", base, "--"}, withoutFolders()...)
	for _, path := range left.others { // what is staged of them stays staged
		args = append(args, ":(top,exclude,literal)"+path)
	}
	if _, err := r.Run(ctx, Call{Args: args, Write: true}); err != nil {
		return err
	}
	// Only the stat data is missing now; exit 1 says that ralph/ has changes.
	_, err = r.Run(ctx, Call{Args: []string{"update-index", "-q", "--refresh"}, Write: true})
	if ExitOf(err) == 1 {
		return nil
	}
	return err
}

// committedOwn names the files in ralph's folders that the index has only because the
// commits between base and head, which are taken back, brought them: the files stay, but
// nobody staged them (R-M8).
func (r *Repo) committedOwn(ctx context.Context, base, head string) ([]string, error) {
	if base == head {
		return nil, nil
	}
	args := append([]string{"diff-tree", "-r", "-z", "--name-only", "--no-renames", base, head, "--"}, folders()...)
	committed, err := r.Run(ctx, Call{Args: args})
	if err != nil || committed == "" {
		return nil, err
	}
	args = append([]string{"diff-index", "--cached", "-z", "--name-only", "--no-renames", head, "--"}, folders()...)
	staged, err := r.Run(ctx, Call{Args: args})
	if err != nil {
		return nil, err
	}
	var back []string
	others := strings.Split(staged, "\x00")
	for name := range strings.SplitSeq(committed, "\x00") {
		if name != "" && !slices.Contains(others, name) {
			back = append(back, ":(top,literal)"+name)
		}
	}
	return back, nil
}

// restoreFiles makes the work tree, which is as left.files says, that of the
// base. git does it by comparing the two trees: it touches only paths that
// differ between them, and stops before it changes a file that is no longer as
// left.files has it. Ignored files are no obstacle to git, so they are looked
// for first.
func (r *Repo) restoreFiles(ctx context.Context, base string, left Leftover) error {
	if left.Files == left.Base {
		return nil
	}
	changes, err := r.Changes(ctx, left.Base, left.Files)
	if err != nil {
		return err
	}
	if lost := r.InTheWay(changes); len(lost) > 0 {
		return Refuse("these are in the way of files to restore and in no commit: "+strings.Join(lost, ", "), "move them away")
	}
	_, err = r.Run(ctx, Call{
		Args:  []string{"read-tree", "-m", "-u", "--no-recurse-submodules", left.Files, base},
		Index: r.PrivateIndex(), Write: true,
	})
	return err
}

// Change is one file that differs between two trees.
type Change struct {
	Modes  string // ":100644 000000", before and after
	IDs    string // likewise
	Status byte   // A, D, M or T
	Path   string
}

// Link reports a repository inside this one, of which git knows the commit alone.
func (c Change) Link() bool { return strings.HasSuffix(c.Modes, " 160000") }

// Changes lists how one tree differs from another.
func (r *Repo) Changes(ctx context.Context, from, to string) ([]Change, error) {
	if from == to {
		return nil, nil
	}
	list, err := r.differences(ctx, from, to)
	if err != nil {
		return nil, fmt.Errorf("compare trees: %w", err)
	}
	return list, nil
}

// InTheWay returns what stands where files of the base belong and is in no
// tree: ignored files, and repositories of the agent's own.
func (r *Repo) InTheWay(changes []Change) []string {
	known := map[string]Change{} // what the leftover's tree has, where it differs
	for _, c := range changes {
		if c.Status != 'D' {
			known[c.Path] = c
		}
	}
	var lost []string
	for _, c := range changes {
		if c.Status == 'T' && c.Link() {
			lost = append(lost, r.unknownIn(c.Path, nil)...)
		}
		if c.Status != 'D' {
			continue
		}
		lost = append(lost, r.unknownIn(c.Path, known)...)
		for dir := path.Dir(c.Path); dir != "."; dir = path.Dir(dir) {
			_, ok := known[dir]
			if info, err := os.Lstat(r.File(dir)); !ok && err == nil && !info.IsDir() {
				lost = append(lost, dir)
			}
		}
	}
	slices.Sort(lost)
	return slices.Compact(lost)
}

// unknownIn returns the files below a folder that are not known.
func (r *Repo) unknownIn(name string, known map[string]Change) []string {
	if info, err := os.Lstat(r.File(name)); err != nil || !info.IsDir() {
		return nil
	}
	var lost []string
	_ = filepath.WalkDir(r.File(name), func(file string, d fs.DirEntry, err error) error {
		rel, relErr := filepath.Rel(r.root, file)
		if err != nil || relErr != nil {
			lost = append(lost, name) // what cannot be read may hold anything
			return fs.SkipAll
		}
		rel = filepath.ToSlash(rel)
		if k, ok := known[rel]; !d.IsDir() && (!ok || k.Link()) {
			lost = append(lost, rel)
		}
		return nil
	})
	return lost
}

// File is where a file of the work tree is.
func (r *Repo) File(name string) string { return filepath.Join(r.root, filepath.FromSlash(name)) }
