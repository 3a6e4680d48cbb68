package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/text"
)

// maxNamed is how many files or commits one line names.
const maxNamed = 5

// Found are the lines of what others did in the checkout while agents worked there.
func Found(f ralph.CheckoutFound) []string {
	var lines []string
	say := func(format string, args ...any) { lines = append(lines, "FOUND: "+fmt.Sprintf(format, args...)) }
	if f.From != "" {
		now := "on " + f.Branch
		if f.Branch == "" {
			now = "detached at " + text.ShortHash(f.Head)
		}
		say("the checkout is %s, it was on %s: it stays there", OneLine(now), OneLine(f.From))
	}
	if f.Gone {
		say("the history was rewritten by others: it stays as it is now, at %s", text.ShortHash(f.Head))
	}
	if len(f.Commits) > 0 {
		say("%s of others: %s: kept", text.Count(len(f.Commits)+f.More, "commit"), OtherCommits(f.Commits, f.More))
	}
	if len(f.Files) > 0 {
		say("changed by others: %s: left out of ralph's commit", OneLine(text.List(f.Files, maxNamed)))
	}
	if len(f.Mixed) > 0 {
		say("changed since a step was cut, by it or by others: %s: taken for the agent's", OneLine(text.List(f.Mixed, maxNamed)))
	}
	return lines
}

// CommittedBeside says what a commit found that others did.
func CommittedBeside(f ralph.Committed, s *ralph.State) []string {
	var lines []string
	say := func(format string, args ...any) { lines = append(lines, "COMMIT: "+fmt.Sprintf(format, args...)) }
	if f.Gone != "" {
		say("%s, on which the work began, is not in the history any more: it stays so; `git reflog` has what was there", text.ShortHash(f.Gone))
	}
	if len(f.Kept) > 0 {
		say("the branch has moved while agents worked: %s: kept, ralph's commit is on top", OtherCommits(f.Kept, f.KeptMore))
	}
	if len(f.Apart) > 0 {
		say("%s of agents stay as they are, since a commit of others or a remote has them: %s", text.Count(len(f.Apart), "commit"), hashes(f.Apart))
	}
	// What checks wrote was told when they had run.
	if left := slices.DeleteFunc(slices.Clone(f.Left), s.Checkout.ByChecks); len(left) > 0 {
		say("not in it, since others changed them: %s", OneLine(text.List(left, maxNamed)))
	}
	if len(f.Shared) > 0 {
		say("in it, and changed by commits of others meanwhile: %s: look whether all of that is the agent's", OneLine(text.List(f.Shared, maxNamed)))
	}
	if f.Stale {
		say("git's index is as before it, since `.git/index.lock` is there: when no git is at work, remove it, then `git reset -q`; a commit of yours before that takes ralph's back")
	}
	return lines
}

// checksWrote says what became of what checks wrote in files that git sees.
func checksWrote(f ralph.ChecksRan) []string {
	var lines []string
	say := func(list []string, format string, args ...any) {
		if len(list) > 0 {
			lines = append(lines, "CHECK: "+fmt.Sprintf(format, append([]any{OneLine(text.List(list, maxNamed))}, args...)...))
		}
	}
	kept := ""
	if len(f.Saved) > 0 {
		kept = ", what was in them is " + refsOf(f.Saved)
	}
	say(f.Restored, "changed by the checks: %s; put back%s", kept)
	say(f.Taken, "changed by the checks: %s; taken in, and checked again")
	say(f.Other, "changed while the checks ran: %s; not committed, they may be yours: look at them")
	say(f.Left, "made by the checks, not committed: %s; put them into .gitignore")
	return lines
}

// shelvedBeside says what was not put away, since it is not the agents'.
func shelvedBeside(f ralph.Shelved) []string {
	var lines []string
	if len(f.Kept) > 0 {
		lines = append(lines, fmt.Sprintf("KEPT: %s of others stay on the branch: %s", text.Count(len(f.Kept)+f.KeptMore, "commit"), OtherCommits(f.Kept, f.KeptMore)))
	}
	if len(f.Apart) > 0 {
		lines = append(lines, fmt.Sprintf("KEPT: %s of agents too, since those stand on them: %s", text.Count(len(f.Apart), "commit"), hashes(f.Apart)))
	}
	if len(f.Left) > 0 {
		lines = append(lines, "KEPT: changes of others stay in the files: "+OneLine(text.List(f.Left, maxNamed)))
	}
	return lines
}

// OtherCommits names commits of others in one line.
func OtherCommits(list []ralph.OtherCommit, more int) string {
	var parts []string
	for _, c := range list[:min(len(list), maxNamed)] {
		parts = append(parts, fmt.Sprintf("%.7s %q by %s", c.Commit, OneLine(c.Subject), OneLine(c.By)))
	}
	if more += len(list) - len(parts); more > 0 {
		parts = append(parts, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(parts, ", ")
}

func hashes(list []string) string {
	parts := make([]string, len(list))
	for i, h := range list {
		parts[i] = fmt.Sprintf("%.7s", h)
	}
	return OneLine(text.List(parts, maxNamed))
}
