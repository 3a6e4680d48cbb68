package commits

import (
	"context"
	"fmt"
	"strings"

	"github.com/ralph-loop/ralph/internal/git"
)

// MadeHere reports whether what a file has was written in this clone: it is not committed,
// or the commit that changed it last was made here, as the reflog of HEAD says. No clone,
// fetch or pull brings a reflog along. landed knows commits that were made here otherwise. What
// cannot be told was not made here.
func MadeHere(ctx context.Context, r *git.Repo, path string, landed func(commit string) bool) (bool, error) {
	changed, err := r.Run(ctx, git.Call{Args: []string{"status", "--porcelain=v1", "--ignored", "--untracked-files=all", "--", ":(literal)" + path}})
	if err != nil {
		return false, fmt.Errorf("ask git who made %s: %w", path, err)
	}
	if strings.TrimSpace(changed) != "" {
		return true, nil
	}
	last, err := r.Run(ctx, git.Call{Args: []string{"log", "-1", "--format=%H", "--", ":(literal)" + path}})
	if err != nil {
		return false, fmt.Errorf("ask git who made %s: %w", path, err)
	}
	if last = strings.TrimSpace(last); last == "" {
		return false, nil
	}
	// Without a reflog git tells of an error, and nobody knows.
	if log, err := r.Run(ctx, git.Call{Args: []string{"reflog", "show", "--format=%H %gs", "HEAD"}}); err == nil {
		for line := range strings.Lines(log) {
			hash, how, _ := strings.Cut(strings.TrimSpace(line), " ")
			if hash == last && strings.HasPrefix(how, "commit") {
				return true, nil
			}
		}
	}
	return landed(last), nil // last, since the whole journal may have to be read for it
}
