package landing

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ralph-loop/ralph/internal/git"
	"github.com/ralph-loop/ralph/internal/git/commits"
	"github.com/ralph-loop/ralph/internal/git/diff"
	"github.com/ralph-loop/ralph/internal/lazyregexp"
	"github.com/ralph-loop/ralph/internal/regular"
)

// landing is one Land in a checkout, with a copy of the index that becomes the
// checkout's own at the end.
type landing struct {
	*git.Repo
	in   LandInput
	head git.Head // at From, or at To when only the index is missing
	next string   // the copy
	lock *indexLock

	aside []string // changed settings that this landing has nothing to do with

	copied os.FileInfo // the person's index when it was copied
}

func (l *landing) copyIndex() (err error) {
	if l.copied, err = git.CopyIndex(l.RealIndex(), l.next); err != nil {
		return fmt.Errorf("copy the git index: %w", err)
	}
	return nil
}

// begin locks the person's index for what comes, and sees to it that nobody wrote
// it, or moved HEAD, since it was looked at.
func (l *landing) begin(ctx context.Context) (busy string, err error) {
	if busy, err := l.lock.take(ctx); err != nil || busy != "" {
		return busy, err
	}
	h, err := l.Head(ctx)
	if err == nil && (h != l.head || !git.SameFile(l.copied, git.Stat(l.RealIndex()))) {
		busy = "somebody is at work in " + l.Root()
	}
	return busy, err
}

// land brings files, the copy and the branch from one commit to the other. In a
// checkout that is as committed, git does it all in one command; whatever else
// there is to see was left by a kill, or is the person's.
func (l *landing) land(ctx context.Context) (Landed, error) {
	if err := l.copyIndex(); err != nil {
		return Landed{}, fmt.Errorf("land: %w", err)
	}
	dirty, err := l.look(ctx)
	if err != nil {
		return Landed{}, fmt.Errorf("land: %w", err)
	}
	var failed error
	if !slices.ContainsFunc(dirty, func(d dirtyFile) bool { return !isSetting(d.path) || d.unmerged }) {
		if l.head.Commit == l.in.To {
			return Landed{How: LandedAlready}, nil
		}
		if busy, err := l.begin(ctx); err != nil || busy != "" {
			return Landed{Busy: busy}, err
		}
		if failed = l.forward(ctx); failed == nil {
			return Landed{How: LandedForward}, nil
		}
		if ctx.Err() != nil {
			return Landed{}, fmt.Errorf("land: %w", failed)
		}
		if err := l.copyIndex(); err != nil {
			return Landed{}, fmt.Errorf("land: %w", err)
		}
	}
	out, err := l.mend(ctx, dirty)
	if err != nil {
		return Landed{}, fmt.Errorf("land: %w", errors.Join(failed, err))
	}
	return out, nil
}

// dirtyFile is a tracked file that is not as HEAD has it.
type dirtyFile struct {
	path     string
	unmerged bool
}

// isSetting reports a file that people change with ralph while it works, or agents for
// them: settings, learnings. What stands there is theirs, and in the way of a landing only
// when that brings another version of the same file.
func isSetting(path string) bool { return path == "ralph/config.yaml" || path == progressFile }

// look lists the changes of tracked files, staged or not, without ralph's own
// files and without what happens inside submodules, which landing leaves alone.
func (l *landing) look(ctx context.Context) ([]dirtyFile, error) {
	out, err := l.Run(ctx, git.Call{
		Args:  []string{"status", "--porcelain=v2", "-z", "--untracked-files=no", "--no-renames", "--ignore-submodules=dirty"},
		Index: l.next, Write: true,
	})
	if err != nil {
		return nil, fmt.Errorf("look for changes: %w", err)
	}
	var list []dirtyFile
	for record := range strings.SplitSeq(out, "\x00") {
		n := map[string]int{"1": 9, "u": 11}[record[:min(1, len(record))]] // fields, the path is the last
		f := strings.SplitN(record, " ", n)
		if n == 0 || len(f) != n {
			continue
		}
		submodule := n == 9 && f[2][0] == 'S' && f[1][0] == '.'
		if p := f[n-1]; !git.IsOwn(p) && !submodule {
			list = append(list, dirtyFile{p, n == 11})
		}
	}
	return list, nil
}

// forward lets git do all of it. What a person sets for their own merges does not
// count, and ignored files are theirs: nothing is written over them.
func (l *landing) forward(ctx context.Context) error {
	// git notes where HEAD was even when it then refuses.
	orig := filepath.Join(l.GitDir(), "ORIG_HEAD")
	old, noted := regular.ReadFile(orig, regular.Large)
	_, err := l.Run(ctx, git.Call{
		Args: []string{
			"merge", "-q", "--ff-only", "--no-overwrite-ignore", "--no-squash", "--no-autostash", "--no-verify-signatures", l.in.To,
		},
		Conf:  append(git.RefConf(), "maintenance.auto=false", "gc.auto=0"),
		Index: l.next, Write: true,
	})
	if err != nil {
		_ = os.Remove(orig)
		if noted == nil {
			_ = os.WriteFile(orig, old, 0o644)
		}
		return err
	}
	if h, err := l.Head(ctx); err != nil || h.Commit != l.in.To {
		return errors.Join(err, fmt.Errorf("git merge --ff-only succeeded, but HEAD is at %.12s", h.Commit))
	}
	return nil
}

// reversed returns how the one tree differs when seen from the other.
func reversed(list []diff.Change) []diff.Change {
	back := slices.Clone(list)
	for i, c := range back {
		a, b, _ := strings.Cut(strings.TrimPrefix(c.Modes, ":"), " ")
		x, y, _ := strings.Cut(c.IDs, " ")
		back[i].Modes, back[i].IDs = ":"+b+" "+a, y+" "+x
		switch c.Status {
		case 'A':
			back[i].Status = 'D'
		case 'D':
			back[i].Status = 'A'
		}
	}
	return back
}

// mend finishes a landing whose files, index or branch are half way. A file that
// is neither From's nor To's version is the person's, and then nothing happens.
func (l *landing) mend(ctx context.Context, dirty []dirtyFile) (Landed, error) {
	list, err := diff.Changes(ctx, l.Repo, l.in.From, l.in.To)
	if err != nil {
		return Landed{}, err
	}
	before, err := l.entries(ctx)
	if err != nil {
		return Landed{}, err
	}
	if l.head.Commit == l.in.To && !slices.ContainsFunc(list, func(c diff.Change) bool { from, _ := c.Sides(); return before[c.Path] == from }) {
		return Landed{How: LandedAlready}, nil
	}
	theirs := append(l.unknown(list, before, dirty), diff.InTheWay(l.Repo, reversed(list))...)
	if len(theirs) == 0 {
		if err := l.addChanged(ctx, list, before); err != nil {
			return Landed{}, err
		}
	}
	var halves []diff.Change
	if len(theirs) == 0 {
		if theirs, halves, err = l.neither(ctx, list, before); err != nil {
			return Landed{}, err
		}
	}
	if len(theirs) > 0 {
		if l.head.Commit == l.in.To && !l.lock.interrupted { // it landed; what is changed came later
			return Landed{How: LandedAlready}, nil
		}
		slices.Sort(theirs)
		return Landed{Dirty: slices.Compact(theirs)}, nil
	}
	if busy, err := l.begin(ctx); err != nil || busy != "" {
		return Landed{Busy: busy}, err
	}
	if err := l.clear(ctx, halves); err != nil {
		return Landed{}, err
	}
	return l.finish(ctx)
}

// unknown returns the changed files that have nothing to do with this landing, or
// have something else staged.
func (l *landing) unknown(list []diff.Change, before map[string]git.TreeEntry, dirty []dirtyFile) (theirs []string) {
	known, touched := map[string]bool{}, map[string]bool{}
	for _, c := range list {
		from, to := c.Sides()
		touched[c.Path], known[c.Path] = true, before[c.Path] == from || before[c.Path] == to
	}
	for _, d := range dirty {
		if aside := isSetting(d.path) && !touched[d.path]; d.unmerged || !known[d.path] && !aside {
			theirs = append(theirs, d.path)
		} else if aside {
			l.aside = append(l.aside, ":(top,literal)"+d.path)
		}
	}
	return theirs
}

// entries returns what the copy of the index has, by path.
func (l *landing) entries(ctx context.Context) (map[string]git.TreeEntry, error) {
	out, err := l.Run(ctx, git.Call{Args: []string{"ls-files", "--stage", "-z"}, Index: l.next})
	if err != nil {
		return nil, fmt.Errorf("read the index: %w", err)
	}
	list := map[string]git.TreeEntry{}
	for record := range strings.SplitSeq(out, "\x00") {
		info, name, ok := strings.Cut(record, "\t")
		if f := strings.Fields(info); ok && len(f) == 3 && f[2] == "0" {
			list[name] = git.TreeEntry{Mode: f[0], ID: f[1]}
		}
	}
	return list, nil
}

// addChanged makes the copy say what the files are now, as far as this landing
// changes them.
func (l *landing) addChanged(ctx context.Context, list []diff.Change, before map[string]git.TreeEntry) error {
	var names strings.Builder
	for _, c := range list {
		info, err := os.Lstat(l.File(c.Path))
		_, tracked := before[c.Path]
		if strings.Contains(c.Modes, git.ModeLink) || err == nil && info.IsDir() && !tracked || l.behindLink(c.Path) {
			continue
		}
		names.WriteString(c.Path + "\x00")
	}
	if names.Len() == 0 {
		return nil
	}
	_, err := l.Run(ctx, git.Call{
		Args:  []string{"update-index", "--add", "--remove", "--replace", "--ignore-skip-worktree-entries", "-z", "--stdin"},
		Conf:  []string{"core.safecrlf=false"},
		Stdin: names.String(), Index: l.next, Write: true,
	})
	if err != nil {
		return fmt.Errorf("compare files: %w", err)
	}
	return nil
}

// behindLink reports a path that only a link leads to, which git calls no path.
func (l *landing) behindLink(name string) bool {
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		if info, err := os.Lstat(l.File(dir)); err == nil && info.Mode()&fs.ModeSymlink != 0 {
			return true
		}
	}
	return false
}

// neither returns the files that are of neither version: those of the person, and
// those that a killed git had removed or only begun to write.
func (l *landing) neither(ctx context.Context, list []diff.Change, before map[string]git.TreeEntry) (theirs []string, halves []diff.Change, err error) {
	now, err := l.entries(ctx)
	if err != nil {
		return nil, nil, err
	}
	for _, c := range list {
		if strings.Contains(c.Modes, git.ModeLink) {
			continue
		}
		from, to := c.Sides()
		switch v := now[c.Path]; {
		case v == from && l.head.Commit == l.in.To && before[c.Path] == from && !l.lock.interrupted:
			theirs = append(theirs, c.Path) // taken back after the landing
		case v == from || v == to:
		case l.lock.interrupted && l.half(ctx, c.Path, to):
			halves = append(halves, c)
		default:
			theirs = append(theirs, c.Path)
		}
	}
	return theirs, halves, nil
}

// half reports a file that git removed and did not write again, or not to its
// end: it has nothing that the new version has not.
func (l *landing) half(ctx context.Context, name string, to git.TreeEntry) bool {
	info, err := os.Lstat(l.File(name))
	if errors.Is(err, fs.ErrNotExist) {
		return true
	}
	if err != nil || !info.Mode().IsRegular() || !strings.HasPrefix(to.Mode, "100") {
		return false
	}
	text, err := l.Run(ctx, git.Call{Args: []string{"cat-file", "blob", to.ID}})
	if err != nil || info.Size() > int64(len(text)) {
		return false
	}
	held, err := regular.ReadFile(l.File(name), regular.Large)
	return err == nil && bytes.HasPrefix([]byte(text), held)
}

// clear takes half-written files away and has the copy say what they were.
func (l *landing) clear(ctx context.Context, halves []diff.Change) error {
	if len(halves) == 0 {
		return nil
	}
	var lines strings.Builder
	for _, c := range halves {
		from, _ := c.Sides()
		if from.Mode == "" {
			from = git.TreeEntry{Mode: "0", ID: strings.Repeat("0", len(l.in.To))}
		}
		fmt.Fprintf(&lines, "%s %s\t%s\x00", from.Mode, from.ID, c.Path)
		if err := os.Remove(l.File(c.Path)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	_, err := l.Run(ctx, git.Call{Args: []string{"update-index", "--replace", "-z", "--index-info"}, Stdin: lines.String(), Index: l.next, Write: true})
	return err
}

// refusedFile is how read-tree names a file that it would not write over.
var refusedFile = lazyregexp.New(`(?m)^error: (?:Entry|Untracked working tree file) '(.+)' (?:not uptodate|would be)`)

// finish brings the files that are still From's to To, and the branch. From is
// told to git as the tree that the files are now: what is half way through
// becoming a folder, or a file, would confuse it. ralph's own files, and settings that this
// landing has nothing to do with, are the same in both trees, so that they stay, staged or not.
func (l *landing) finish(ctx context.Context) (Landed, error) {
	now, err := l.WriteTree(ctx, l.next)
	if err != nil {
		return Landed{}, err
	}
	at, err := l.ReadCommit(ctx, l.in.To)
	if err != nil {
		return Landed{}, err
	}
	if now, err = withOwnOf(ctx, l.Repo, at.Tree, now, l.aside...); err != nil {
		return Landed{}, err
	}
	if err := l.readTree(ctx, now, l.in.To); err != nil {
		if m := refusedFile.FindStringSubmatch(git.StderrOf(err)); m != nil {
			return Landed{Dirty: []string{m[1]}}, nil
		}
		return Landed{}, err
	}
	if l.head.Commit == l.in.To {
		return Landed{How: LandedForward}, nil
	}
	ref := "HEAD"
	if l.in.Branch != "" {
		ref = "refs/heads/" + l.in.Branch
	}
	out, err := landRef(ctx, l.Repo, l.in, ref, LandedForward)
	if out.How == "" {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), commits.UndoTime)
		defer cancel()
		err = errors.Join(err, l.readTree(ctx, l.in.To, l.in.From))
	}
	return out, err
}

// readTree moves files and the copy between two commits: a file that is at the
// second already stays, and one that is at neither makes git refuse all of it.
func (l *landing) readTree(ctx context.Context, from, to string) error {
	_, err := l.Run(ctx, git.Call{Args: []string{"read-tree", "-m", "-u", "--no-recurse-submodules", from, to}, Index: l.next})
	return err
}
