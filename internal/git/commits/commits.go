package commits

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ralph-loop/ralph/internal/git"
)

// Record is a commit as git has it, for holding a history against it.
type Record struct {
	Tree    string
	Parents []string
	Message string
}

// Trailer returns the values of a trailer, in order.
func (c Record) Trailer(name string) []string {
	var values []string
	for line := range strings.Lines(c.Message) {
		if value, ok := strings.CutPrefix(line, name+":"); ok {
			values = append(values, strings.TrimSpace(value))
		}
	}
	return values
}

// Commits reads many commits with one process. What is no commit, or not there,
// is not in the result.
func Commits(ctx context.Context, r *git.Repo, hashes []string) (map[string]Record, error) {
	hashes = slices.Compact(slices.Sorted(slices.Values(hashes)))
	found := make(map[string]Record, len(hashes))
	if len(hashes) == 0 {
		return found, nil
	}
	for _, hash := range hashes {
		if err := git.CheckHash("commit", hash); err != nil {
			return nil, err
		}
	}
	out, err := r.Run(ctx, git.Call{Args: []string{"cat-file", "--batch"}, Stdin: strings.Join(hashes, "\n") + "\n"})
	if err != nil {
		return nil, fmt.Errorf("read commits: %w", err)
	}
	for _, hash := range hashes {
		head, rest, ok := strings.Cut(out, "\n")
		fields := strings.Fields(head)
		if !ok || len(fields) < 2 || fields[0] != hash {
			return nil, fmt.Errorf("read commits: git answers %.80q for %s", head, hash)
		}
		if out = rest; fields[1] == "missing" {
			continue
		}
		size, err := strconv.Atoi(fields[len(fields)-1])
		if err != nil || size >= len(out) {
			return nil, fmt.Errorf("read commits: git answers %.80q for %s", head, hash)
		}
		text := out[:size]
		if out = out[size+1:]; fields[1] != "commit" { // behind it stands a line end
			continue
		}
		c, err := git.ParseCommit(text)
		if err != nil {
			return nil, fmt.Errorf("read commit %s: %w", hash, err)
		}
		found[hash] = Record{Tree: c.Tree, Parents: c.Parents, Message: c.Message}
	}
	return found, nil
}

// Unreached returns those of the commits that are not in the history of any of
// the tips, with one process. Without tips it is held against every branch.
// Commits and tips that are not there any more count as unreached and as nothing.
func Unreached(ctx context.Context, r *git.Repo, commits, tips []string) (map[string]bool, error) {
	there, err := Commits(ctx, r, append(slices.Clone(commits), tips...))
	if err != nil {
		return nil, err
	}
	out := map[string]bool{}
	var in strings.Builder
	for _, c := range commits {
		if _, ok := there[c]; !ok {
			out[c] = true
			continue
		}
		in.WriteString(c + "\n")
	}
	if in.Len() == 0 {
		return out, nil
	}
	args := []string{"rev-list", "--stdin"}
	if len(tips) == 0 {
		args = append(args, "--not", "--branches") // behind --stdin: it does not turn what is read there
	}
	for _, tip := range tips {
		if _, ok := there[tip]; ok {
			in.WriteString("^" + tip + "\n")
		}
	}
	list, err := r.Run(ctx, git.Call{Args: args, Stdin: in.String()})
	if err != nil {
		return nil, fmt.Errorf("look which commits are merged: %w", err)
	}
	unreached := map[string]bool{}
	for line := range strings.Lines(list) {
		unreached[strings.TrimSpace(line)] = true
	}
	for _, c := range commits {
		if unreached[c] {
			out[c] = true
		}
	}
	return out, nil
}
