package git

import "strings"

// IsOwn reports whether a file is ralph's own. Those never get into a snapshot, a commit, a stash or a reset,
// tracked or not: losing or reverting them would lose the queue.
func IsOwn(path string) bool {
	switch path {
	case "ralph/inbox.jsonl", "ralph/plan.jsonl", "ralph/.agent-session":
		return true
	}
	for _, dir := range []string{"ralph/.state/", "ralph/.worktrees/", "build/ralph-logs/"} {
		if strings.HasPrefix(path, dir) {
			return true
		}
	}
	return false
}

// OwnPaths names the same files for git, to put their entries back.
func OwnPaths() []string {
	return []string{
		":(top)ralph/inbox.jsonl", ":(top)ralph/plan.jsonl", ":(top)ralph/.agent-session",
		":(top)ralph/.state", ":(top)ralph/.worktrees", ":(top)build/ralph-logs",
	}
}

// WithoutOwn names everything but those files. A pattern that begins with a
// wildcard is no hint to git add that somebody wants an ignored path: with
// plain names it ends with "paths are ignored" and exit 1.
func WithoutOwn() []string {
	return []string{
		":(top)",
		":(top,exclude)[r]alph/inbox.jsonl", ":(top,exclude)[r]alph/plan.jsonl", ":(top,exclude)[r]alph/.agent-session",
		":(top,exclude)[r]alph/.state/*", ":(top,exclude)[r]alph/.worktrees/*", ":(top,exclude)[b]uild/ralph-logs/*",
	}
}

// OwnFolders are what a failed spec must not take away: the specs in the queue,
// settings, logs.
func OwnFolders() []string { return []string{":(top)ralph/", ":(top)build/ralph-logs/"} }

// WithoutOwnFolders names everything outside them.
func WithoutOwnFolders() []string {
	return []string{":(top)", ":(top,exclude)[r]alph/*", ":(top,exclude)[b]uild/ralph-logs/*"}
}

// MergeNote, in a worktree's git folder, says which conflicts were left there for
// an agent: two commits, then paths, each with a zero byte behind it.
const MergeNote = "ralph-merge"

// SetUpName is the note in a worktree's git folder of how it was set up.
const SetUpName = "ralph-setup"

// LandedName is the note in a worktree's git folder of the commit at which it stands, when that has
// landed as a part of another commit.
const LandedName = "ralph-landed"

// UnreadyName is the note in a worktree's git folder that it is not ready, and why.
const UnreadyName = "ralph-unready"
