package git

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ralph-loop/ralph/internal/proc"
)

// committing is what git says of the commits that it makes here, as its settings were.
type committing struct {
	mu                sync.Mutex
	settings          []os.FileInfo
	author, committer string // "Name <mail>"
	signs             bool   // commit.gpgSign
}

// CommitTree makes a commit of a tree in ralph's words, without hooks and without a signature.
func (r *Repo) CommitTree(ctx context.Context, tree, message string, parents ...string) (string, error) {
	return r.commitTree(ctx, tree, message, false, parents)
}

// CommitTreeSigned makes a commit of a tree as CommitTree does, signed where commit.gpgSign says so. A
// git that stays writes it, unless it is to be signed or its time is set from outside: there is
// one for each task that is merged.
func (r *Repo) CommitTreeSigned(ctx context.Context, tree, message string, parents ...string) (string, error) {
	who, err := r.top().committing(ctx)
	if err != nil {
		return "", err
	}
	if !who.signs && r.plainTimes() && message != "" && !strings.ContainsRune(message, 0) {
		if commit, err := r.keepCommit(ctx, who, tree, message, parents); err == nil || ctx.Err() != nil {
			return commit, err
		}
	}
	return r.commitTree(ctx, tree, message, who.signs, parents)
}

// plainTimes reports whether a commit gets the time at which it is made.
func (r *Repo) plainTimes() bool {
	return proc.Getenv(r.env, "GIT_AUTHOR_DATE") == "" && proc.Getenv(r.env, "GIT_COMMITTER_DATE") == ""
}

// committing asks git once who commits, and whether with a signature; again when a file has
// changed in which people set that.
func (r *Repo) committing(ctx context.Context) (committingAs, error) {
	k := &r.commits
	k.mu.Lock()
	defer k.mu.Unlock()
	now := r.settingsNow()
	if k.author == "" || !slices.EqualFunc(now, k.settings, SameFile) {
		author, err := r.Line(ctx, Call{Args: []string{"var", "GIT_AUTHOR_IDENT"}})
		if err != nil {
			return committingAs{}, err
		}
		committer, err := r.Line(ctx, Call{Args: []string{"var", "GIT_COMMITTER_IDENT"}})
		if err != nil {
			return committingAs{}, err
		}
		signs, err := r.Line(ctx, Call{Args: []string{"config", "--type=bool", "--default=false", "--get", "commit.gpgSign"}})
		if err != nil {
			return committingAs{}, err
		}
		k.author, k.committer, k.signs, k.settings = untilMail(author), untilMail(committer), signs == "true", now
	}
	return committingAs{k.author, k.committer, k.signs}, nil
}

// committingAs is committing at one time.
type committingAs struct {
	author, committer string
	signs             bool
}

// untilMail leaves out the time behind a name and an address.
func untilMail(ident string) string { return ident[:strings.LastIndexByte(ident, '>')+1] }

// Author is who makes commits here, as git says it: "Name <mail>". It is asked again when a file has changed in
// which people set that.
func (r *Repo) Author(ctx context.Context) (string, error) {
	who, err := r.top().committing(ctx)
	return who.author, err
}

// keepCommit keeps a commit object as KeepObject does.
func (r *Repo) keepCommit(ctx context.Context, who committingAs, tree, message string, parents []string) (string, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "tree %s\n", tree)
	for i, p := range parents {
		if !slices.Contains(parents[:i], p) { // git leaves out a parent that it has already
			fmt.Fprintf(&b, "parent %s\n", p)
		}
	}
	at := time.Now()
	when := fmt.Sprintf("%d %s", at.Unix(), at.Format("-0700"))
	fmt.Fprintf(&b, "author %s %s\ncommitter %s %s\n\n%s", who.author, when, who.committer, when, message)
	return r.KeepObject(ctx, "commit", b.String())
}

// KeepObject has a git that stays keep an object of a kind ("commit", "blob"), which it looks over as it does its own. It
// is handed over in a file: git takes no other list of more than one.
func (r *Repo) KeepObject(ctx context.Context, kind, text string) (string, error) {
	if strings.ContainsAny(r.gitDir, "\n\"") {
		return "", ErrObject
	}
	f, err := os.CreateTemp(r.gitDir, "ralph-"+kind+"-*")
	if err != nil {
		return "", err
	}
	defer os.Remove(f.Name())
	if _, err = f.WriteString(text); err == nil {
		err = f.Close()
	}
	if err != nil {
		return "", err
	}
	var id string
	err = r.Ask(ctx, []byte(f.Name()+"\n"), func(out *bufio.Reader) error {
		line, err := out.ReadString('\n')
		id = strings.TrimSpace(line)
		return err
	}, "hash-object", "-t", kind, "-w", "--no-filters", "--stdin-paths")
	if err != nil {
		return "", err
	}
	return id, CheckHash(kind, id)
}

// WriteObject writes an object of a kind: by KeepObject, and where that cannot be by a git of its own.
func (r *Repo) WriteObject(ctx context.Context, kind, text string) (string, error) {
	id, err := r.KeepObject(ctx, kind, text)
	if err != nil && ctx.Err() == nil {
		id, err = r.Line(ctx, Call{Args: []string{"hash-object", "-t", kind, "-w", "--no-filters", "--stdin"}, Stdin: text, Write: true})
	}
	if err != nil {
		return "", fmt.Errorf("write a %s: %w", kind, err)
	}
	return id, CheckHash(kind, id)
}

// commitTree is `git commit-tree`, which signs only when it is told to.
func (r *Repo) commitTree(ctx context.Context, tree, message string, sign bool, parents []string) (string, error) {
	args := []string{"commit-tree", tree}
	for _, p := range parents {
		args = append(args, "-p", p)
	}
	if sign {
		args = append(args, "-S")
	}
	commit, err := r.Line(ctx, Call{Args: args, Stdin: message, Write: true, Conf: []string{"i18n.commitEncoding=UTF-8"}})
	if err != nil {
		return "", err
	}
	return commit, CheckHash("commit", commit)
}
