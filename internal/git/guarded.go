package git

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/ralph-loop/ralph/internal/git/index"
	"github.com/ralph-loop/ralph/internal/lazyregexp"
	"github.com/ralph-loop/ralph/internal/proc"
	"github.com/ralph-loop/ralph/internal/regular"
)

// What an agent can write must not choose what ralph's own git runs, or where it writes.
// Agents are bounded by a sandbox; this git is not, and it works on their files. So
// every command of it is made here, and
//   - is told the repository by name (GIT_DIR, GIT_COMMON_DIR, GIT_WORK_TREE): a worktree's
//     .git file, its commondir and its gitdir lie where its agent writes,
//   - starts no monitor of files, and hooks only where a person's hooks are meant,
//   - never starts git in a repository inside the work tree: that one's settings are the
//     agent's, with filters of their own,
//   - follows no symbolic link in the folder of git that an agent has put there.

// command is one call as a process.
func (r *Repo) command(ctx context.Context, c Call) (proc.Command, error) {
	if !c.Plain {
		if err := r.verify(ctx, c); err != nil {
			return proc.Command{}, err
		}
	}
	hooks, err := r.hooksFor(ctx, c)
	if err != nil {
		return proc.Command{}, err
	}
	args := []string{r.program}
	always := []string{"core.fsmonitor=false", "submodule.recurse=false", "status.submoduleSummary=false", "diff.ignoreSubmodules=dirty"}
	if r.gitDir != "" {
		always = append(always, "safe.bareRepository=explicit") // Open says itself what is wrong with one
	}
	for _, kv := range slices.Concat(always, hooks, c.Conf) {
		args = append(args, "-c", kv)
	}
	env := r.pins(c)
	if c.Index != "" && c.Index != r.RealIndex() {
		// A split index would leave half of a private index in a file of the user's.
		args = append(args, "-c", "core.splitIndex=false")
		env = append(env, "GIT_INDEX_FILE="+c.Index)
	}
	return proc.Command{
		Args: append(args, c.Args...), Dir: r.root, Env: r.Environ(!c.Write, append(env, c.Env...)...), Tied: c.Write || c.Tied || c.Index != "",
	}, nil
}

// pins name the repository. In a person's checkout a hook would rather not be told it,
// and verify has looked at what leads git to it.
func (r *Repo) pins(c Call) []string {
	if c.Repo != "" {
		return []string{"GIT_DIR=" + c.Repo}
	}
	if r.gitDir == "" || !r.ours {
		return nil
	}
	return []string{"GIT_DIR=" + r.gitDir, "GIT_COMMON_DIR=" + r.common, "GIT_WORK_TREE=" + r.root}
}

// verify holds what a call relies on against what an agent may have done to it.
func (r *Repo) verify(ctx context.Context, c Call) error {
	if r.gitDir == "" {
		return nil // Open, which looks at what it finds
	}
	if err := r.leads(); err != nil {
		return err
	}
	if r.module {
		if err := errors.Join(r.TrimConfig(ctx, r.gitDir, r.root), r.TrimModules(ctx)); err != nil {
			return err
		}
	}
	if !c.Write {
		return nil
	}
	return r.unlink()
}

// leads reports what leads git from the work tree to another repository than the one
// that was opened.
func (r *Repo) leads() error {
	if isLink(r.gitDir) {
		return Refuse(r.gitDir+", the folder of git, has become a link", "look who made it, and put the folder back")
	}
	if r.ours {
		return r.ownSettings()
	}
	file := filepath.Join(r.root, ".git")
	if info, err := os.Lstat(file); err == nil && info.Mode().IsRegular() && !Same(GitFile(r.root), r.gitDir) {
		return Refuse(file+" leads to another repository than when the work began", "look who changed it, and put back `gitdir: "+r.gitDir+"`")
	}
	if Stat(r.gitDir) == nil {
		return nil // git says so
	}
	if r.common == r.gitDir {
		// git makes none here, and reads one that is there: the settings and programs of whatever
		// it names would be those of the person's next git as well. Nothing is lost with it.
		if err := os.Remove(filepath.Join(r.gitDir, "commondir")); err == nil || errors.Is(err, fs.ErrNotExist) {
			return nil
		}
	}
	if common, err := commonDir(r.gitDir); err != nil || common != r.common && !Same(common, r.common) {
		return strayCommon(r.gitDir)
	}
	return nil
}

// strayCommon refuses a folder of git whose commondir leads elsewhere than git writes it:
// settings and hooks of whatever it names would run.
func strayCommon(gitDir string) error {
	return Refuse(filepath.Join(gitDir, "commondir")+" leads to another repository than git makes it", "look who made it, and remove it (in a linked worktree it says ../..)")
}

// checkCommon is nil where commondir is as git makes it: none in a repository, ../.. in
// a linked worktree.
func checkCommon(gitDir, common string) error {
	if common == gitDir || Same(common, filepath.Join(gitDir, "..", "..")) {
		return nil
	}
	return strayCommon(gitDir)
}

// plainWorktree are the settings of one worktree that name no program.
var plainWorktree = lazyregexp.New(`^(core\.(sparsecheckout|sparsecheckoutcone|bare|ignorecase|filemode)|index\.sparse)=`)

// ownSettings refuses a config.worktree that an agent wrote: where the extension is on,
// git reads it like the repository's.
func (r *Repo) ownSettings() error {
	b, err := regular.ReadFile(filepath.Join(r.gitDir, "config.worktree"), regular.Large)
	if errors.Is(err, regular.ErrNotRegular) {
		return Refuse(filepath.Join(r.gitDir, "config.worktree")+" is no file of settings: its agent put something else there", "remove it")
	}
	if err != nil || len(strings.TrimSpace(string(b))) == 0 {
		return nil
	}
	if checkouts, err := regular.ReadFile(filepath.Join(r.common, "config.worktree"), regular.Large); err == nil && string(checkouts) == string(b) {
		return nil
	}
	section := ""
	for line := range strings.Lines(strings.ToLower(string(b))) {
		line = strings.TrimSpace(line)
		switch key, value, ok := strings.Cut(line, "="); {
		case line == "" || line[0] == '#' || line[0] == ';':
		case regexp.MustCompile(`^\[[a-z]+\]$`).MatchString(line):
			section = strings.Trim(line, "[]")
		case ok && plainWorktree.MatchString(section+"."+strings.TrimSpace(key)+"=") && !strings.HasSuffix(value, `\`):
		default:
			return Refuse(filepath.Join(r.gitDir, "config.worktree")+" has settings of git that its agent wrote: "+line, "remove the file")
		}
	}
	return nil
}

// through are the files of git's folder that git, or ralph, opens as they stand and writes.
func through() []string {
	return []string{
		"COMMIT_EDITMSG", "MERGE_MSG", "MERGE_HEAD", "MERGE_MODE", "SQUASH_MSG", "FETCH_HEAD", "AUTO_MERGE", "TAG_EDITMSG", "logs/HEAD",
		UnreadyName, SetUpName, LandedName, MergeNote,
	}
}

// unlink takes symbolic links away that git would write through, or whose target it would
// take for a branch: in these places git makes none.
func (r *Repo) unlink() error {
	var links []string
	look := through()
	if r.ours {
		look = append(look, "logs", "HEAD", "index", "refs", "rebase-merge", "rebase-apply", "sequencer")
	}
	for _, name := range look {
		if isLink(filepath.Join(r.gitDir, name)) {
			links = append(links, filepath.Join(r.gitDir, name))
		}
	}
	for _, top := range []string{"refs/heads", "refs/ralph", "refs/stash", "logs/refs/heads", "logs/refs/ralph", "logs/refs/stash", "logs/refs"} {
		dir := filepath.Join(r.common, filepath.FromSlash(top))
		if isLink(dir) {
			links = append(links, dir)
			continue
		}
		if top == "logs/refs" {
			continue
		}
		_ = filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
			if err == nil && d.Type()&fs.ModeSymlink != 0 {
				links = append(links, name)
			}
			return nil // what cannot be read, git says
		})
	}
	for _, name := range links {
		if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("take away a link in the folder of git, through which others' files would be written: %w", err)
		}
	}
	return nil
}

// wideIDs reports a repository with SHA-256.
func (r *Repo) wideIDs() bool {
	b, err := regular.ReadFile(filepath.Join(r.common, "config"), regular.Large)
	return err == nil && slices.ContainsFunc(strings.Split(strings.ToLower(string(b)), "\n"), func(line string) bool {
		key, value, _ := strings.Cut(line, "=")
		return strings.TrimSpace(key) == "objectformat" && strings.Contains(value, "sha256")
	})
}

func isLink(name string) bool {
	info, err := os.Lstat(name)
	return err == nil && info.Mode()&fs.ModeSymlink != 0
}

// WriteFile writes a file of git's folder, never through a link.
func WriteFile(name, text string) error {
	if isLink(name) {
		if err := os.Remove(name); err != nil {
			return err
		}
	}
	return os.WriteFile(name, []byte(text), 0o666)
}

// harmless are the settings of a submodule's repository in a worktree, where its agent
// writes them, that name no program, no other file and no place to write.
var harmless = lazyregexp.New(`^(core\.(repositoryformatversion|filemode|bare|logallrefupdates|ignorecase|precomposeunicode|symlinks|autocrlf|eol|safecrlf|abbrev|quotepath|sparsecheckout|sparsecheckoutcone)` +
	`|extensions\.(objectformat|compatobjectformat|refstorage)|user\.(name|email)|init\.defaultbranch|remote\..*\.(url|fetch|tagopt)|branch\..*\.(remote|merge|rebase)|submodule\..*\.(url|active))$`)

// TrimConfig leaves of the settings of a submodule those that are harmless: filters,
// monitors, includes and the like would run when git looks at its files, and core.worktree
// says where these are written. root is where they are, "" for not known.
func (r *Repo) TrimConfig(ctx context.Context, gitDir, root string) error {
	name := filepath.Join(gitDir, "config")
	info, err := os.Lstat(name)
	if err != nil {
		return fmt.Errorf("read the settings of a submodule: %w", err)
	}
	if !info.Mode().IsRegular() {
		return Refuse(name+" is no ordinary file", "remove the submodule's folder in the worktree")
	}
	out, err := r.Settings(ctx, name)
	if err != nil {
		return fmt.Errorf("read the settings of a submodule: %w", err)
	}
	var text strings.Builder
	changed := false
	for record := range strings.SplitSeq(out, "\x00") {
		key, value, _ := strings.Cut(record, "\n")
		if key == "" {
			continue
		}
		if key == "core.worktree" && r.leadsInto(gitDir, value, root) || harmless.MatchString(key) {
			at, last := strings.IndexByte(key, '.'), strings.LastIndexByte(key, '.')
			section := key[:at]
			if last > at {
				section += ` "` + escaped(key[at+1:last]) + `"`
			}
			fmt.Fprintf(&text, "[%s]\n\t%s = \"%s\"\n", section, key[last+1:], escaped(value))
			continue
		}
		changed = true
	}
	if !changed {
		return nil
	}
	if err := replaceFile(name, text.String(), 0o600); err != nil {
		return fmt.Errorf("take settings that name programs from a submodule: %w", err)
	}
	return nil
}

func escaped(s string) string {
	return strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\t", `\t`, "\b", `\b`).Replace(s)
}

// replaceFile puts a new file in the place of one.
func replaceFile(name, text string, mode fs.FileMode) error {
	f, err := os.CreateTemp(filepath.Dir(name), ".ralph-*")
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	err = errors.Join(err, f.Chmod(mode), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
	return err
}

// leadsInto reports whether core.worktree of a submodule is where its files are.
func (r *Repo) leadsInto(gitDir, value, root string) bool {
	if !filepath.IsAbs(value) {
		value = filepath.Join(gitDir, value)
	}
	if root != "" {
		return Same(value, root)
	}
	top, err := filepath.EvalSymlinks(r.root)
	real, failed := filepath.EvalSymlinks(value)
	if failed != nil { // it has no files yet
		real, failed = filepath.EvalSymlinks(filepath.Dir(value))
	}
	rel, err2 := filepath.Rel(top, real)
	return err == nil && failed == nil && err2 == nil && filepath.IsLocal(rel)
}

// TrimModules is TrimConfig for all submodules that this worktree has, before a command
// that starts git inside them.
func (r *Repo) TrimModules(ctx context.Context) error {
	if !r.ours {
		return nil // those of a checkout are the person's
	}
	return filepath.WalkDir(filepath.Join(r.gitDir, ModulesName), func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil || !d.IsDir():
			return nil // a link is not followed
		case d.Name() == "objects" || d.Name() == "refs" || d.Name() == "logs":
			return filepath.SkipDir
		case Stat(filepath.Join(name, "config")) == nil || Stat(filepath.Join(name, "objects")) == nil:
			return nil
		}
		return r.TrimConfig(ctx, name, "")
	})
}

// LinksIn are the repositories inside this one that an index names and that have files. git
// add would start git in each to see whether it is changed, with the settings and filters
// there; what they are at, update-index reads by itself.
func (r *Repo) LinksIn(ctx context.Context, file string) ([]string, error) {
	inside, _, err := r.linksIn(ctx, file)
	return inside, err
}

// linksIn are LinksIn, and the links whose folders have files and are no repositories any more.
func (r *Repo) linksIn(ctx context.Context, file string) (inside, loose []string, err error) {
	paths, err := r.linkPaths(file)
	if errors.Is(err, index.ErrOther) { // split or sparse
		paths = nil
		var out string
		if out, err = r.Run(ctx, Call{Args: []string{"ls-files", "-z", "--stage"}, Index: file}); err != nil {
			return nil, nil, err
		}
		for record := range strings.SplitSeq(out, "\x00") {
			if head, path, ok := strings.Cut(record, "\t"); ok && strings.HasPrefix(head, "160000 ") {
				paths = append(paths, path)
			}
		}
	}
	if err != nil {
		return nil, nil, fmt.Errorf("look for repositories inside: %w", err)
	}
	slices.Sort(paths)
	for _, name := range slices.Compact(paths) {
		if _, err := os.Lstat(filepath.Join(r.File(name), ".git")); err == nil {
			inside = append(inside, name)
		} else if list, _ := os.ReadDir(r.File(name)); len(list) > 0 {
			loose = append(loose, name)
		}
	}
	return inside, loose, nil
}

// WorkFrom says at which commit the work here began; "" is that of HEAD. A repository inside that the commit has not
// is of the work, also where an agent has committed a link to it.
func (r *Repo) WorkFrom(base string) { r.from = base }

// newLinks are those of the paths that were no repository inside when the work began.
func (r *Repo) newLinks(ctx context.Context, paths []string) ([]string, error) {
	if len(paths) == 0 {
		return nil, nil
	}
	out, err := r.Run(ctx, Call{Args: append([]string{"ls-tree", "-z", "--name-only", "--full-tree", cmp.Or(r.from, "HEAD"), "--"}, paths...)})
	if err != nil && r.from != "" { // the history was rewritten, and git has forgotten it
		r.from = ""
		return r.newLinks(ctx, paths)
	}
	there := strings.Split(out, "\x00")
	return slices.DeleteFunc(paths, func(name string) bool { return slices.Contains(there, name) }), err
}

// NewLinks are the repositories inside that the private index names and that are of the work, or were and
// are mere files now.
func (r *Repo) NewLinks(ctx context.Context) ([]string, error) {
	inside, loose, err := r.linksIn(ctx, r.PrivateIndex())
	if err != nil {
		return nil, err
	}
	return r.newLinks(ctx, append(inside, loose...))
}

// Unborn are the repositories inside without a commit that the newest look at all files met.
func (r *Repo) Unborn() []string { return r.past }

var unbornRepo = lazyregexp.New(`(?m)^error: '(.+)/' does not have a commit checked out$`)

// Add is `git add -A` for these pathspecs, without a look into repositories inside this one, and
// past those that have no commit (Unborn).
func (r *Repo) Add(ctx context.Context, c Call, pathspecs []string) error {
	links, loose, err := r.linksIn(ctx, c.Index)
	if err == nil {
		loose, err = r.newLinks(ctx, loose)
	}
	if err == nil && len(loose) > 0 { // git would keep the link, and none of the files
		drop := c
		drop.Args, drop.Stdin = []string{"update-index", "-z", "--force-remove", "--stdin"}, strings.Join(loose, "\x00")+"\x00"
		_, err = r.Run(ctx, drop)
	}
	if err != nil {
		return err
	}
	c.Args = append([]string{"add", "-A", "--"}, pathspecs...)
	for _, name := range links {
		c.Args = append(c.Args, ":(top,exclude,literal)"+name)
	}
	r.past = nil
	for {
		_, err = r.Run(ctx, c)
		m := unbornRepo.FindStringSubmatch(StderrOf(err))
		if m == nil || slices.Contains(r.past, m[1]) {
			break
		}
		r.past, c.Args = append(r.past, m[1]), append(c.Args, ":(top,exclude,literal)"+m[1])
	}
	if err != nil || len(links) == 0 {
		return err
	}
	c.Args, c.Stdin = []string{"update-index", "-z", "--stdin"}, strings.Join(links, "\x00")+"\x00"
	_, err = r.Run(ctx, c)
	return err
}
