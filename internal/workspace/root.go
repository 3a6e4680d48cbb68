package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/config"
	"github.com/ralph-loop/ralph/internal/git"
	"github.com/ralph-loop/ralph/internal/git/info"
	"github.com/ralph-loop/ralph/internal/journal"
	"github.com/ralph-loop/ralph/internal/locate"
	"github.com/ralph-loop/ralph/internal/proc"
)

// FindRoot walks up to the top of the repository without starting git, so that
// queries stay fast. Engine commands ask git itself.
func FindRoot(env Env) (string, error) {
	if root, ok := locate.Root(env.Dir); ok {
		return root, nil
	}
	if top := bare(env.Dir); top != "" {
		return "", &ralph.Refusal{
			Why:  top + " is a bare repository: it has no files to work on, and ralph needs a work tree",
			Hint: "make one, with `git worktree add <folder>` there or `git clone` elsewhere, and run ralph in it", Kind: ralph.ErrUsage,
		}
	}
	return "", &ralph.Refusal{Why: env.Dir + " is not in a git repository", Hint: "run `git init` first, or go to the repository", Kind: ralph.ErrUsage}
}

// bare is the top of the repository without a work tree that a folder is in, "" for none.
func bare(dir string) string {
	for ; ; dir = filepath.Dir(dir) {
		head, err := os.Stat(filepath.Join(dir, "HEAD"))
		if err == nil && head.Mode().IsRegular() && isFolder(filepath.Join(dir, "objects")) && isFolder(filepath.Join(dir, "refs")) {
			return dir
		}
		if dir == filepath.Dir(dir) {
			return ""
		}
	}
}

func isFolder(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.IsDir()
}

// OpenJournal opens the journal for commands that append facts.
func OpenJournal(env Env, inbox, plan bool) (*journal.File, error) {
	root, err := FindRoot(env)
	if err != nil {
		return nil, err
	}
	if err := ExcludeRuntime(root, env.Environ); err != nil {
		return nil, err
	}
	return journal.Open(journalOptions(env, root, inbox, plan))
}

// OpenReader opens the journal for commands that write nothing.
func OpenReader(env Env, inbox, plan bool) (*journal.File, error) {
	root, err := FindRoot(env)
	if err != nil {
		return nil, err
	}
	o := journalOptions(env, root, inbox, plan)
	o.Read = true
	return journal.Open(o)
}

func journalOptions(env Env, root string, inbox, plan bool) journal.Options {
	return journal.Options{Root: root, Inbox: inbox, Plan: plan, NewID: NewID, Me: locate.Me(), Alive: proc.Alive, Redact: RedactFacts(RedactorOf(env, root))}
}

// ReadState folds the journal without writing anything.
func ReadState(env Env, inbox, plan bool) (*ralph.State, *journal.File, error) {
	j, err := OpenReader(env, inbox, plan)
	if err != nil {
		return nil, nil, err
	}
	return j.State(), j, nil
}

// LoadConfig reads the settings; flags are dotted keys.
func LoadConfig(env Env, root string, flags map[string]string) (config.Config, error) {
	return config.Load(root+"/ralph/config.yaml", env.Environ, flags)
}

// SettingsOf reads the settings of the repository that the person is in.
func SettingsOf(env Env) (config.Config, error) {
	root, err := FindRoot(env)
	if err != nil {
		return config.Config{}, err
	}
	return LoadConfig(env, root, nil)
}

// StateDir is where ralph keeps what it knows of a repository.
func StateDir(root string) string { return filepath.Join(root, "ralph/.state") }

// RuntimePaths are ralph's own files that git must never see.
func RuntimePaths() []string {
	return []string{"/ralph/.state/", "/ralph/.worktrees/", "/ralph/.agent-session", "/ralph/.agent-session.tmp", "/build/ralph-logs/"}
}

// ExcludeRuntime lists them in .git/info/exclude, once per repository.
func ExcludeRuntime(root string, environ []string) error {
	if _, err := os.Stat(filepath.Join(root, "ralph/.state")); err == nil {
		return nil
	}
	repo, err := git.Open(context.Background(), proc.NewRunner(""), root, environ)
	if err != nil {
		return err
	}
	return info.Exclude(repo, RuntimePaths())
}

// NeedsSetup refuses a repository in which ralph was never set up, and says how that is
// done: everything else that is missing there follows from it.
func NeedsSetup(root string) error {
	_, err := os.Stat(filepath.Join(root, "ralph"))
	if errors.Is(err, fs.ErrNotExist) {
		return &ralph.Refusal{Why: "ralph is not set up in " + root, Hint: "run `ralph init` first", Kind: ralph.ErrUsage}
	}
	return nil
}

// Owner is this process, for taking the session lock. Its session has no name yet.
func Owner(now time.Time) (journal.Owner, error) {
	o := locate.Me()
	start, err := proc.Identity(o.Pid)
	if err != nil && !errors.Is(err, errors.ErrUnsupported) {
		return o, fmt.Errorf("read this process's start time: %w", err)
	}
	o.Start, o.StartedAt, o.HeartbeatAt = start, now.UTC(), now.UTC()
	return o, nil
}
