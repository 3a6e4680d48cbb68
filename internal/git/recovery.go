package git

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/ralph-loop/ralph/internal/lazyregexp"
)

// RecoveryRefs is where commits go that no branch holds any more.
const RecoveryRefs = "refs/ralph/recovery/"

// plainID are ids that can be the last part of a ref name as they are.
var plainID = lazyregexp.New(`^[A-Za-z0-9]+([-_][A-Za-z0-9]+)*$`)

// RecoveryRef returns the ref for an id: the id itself where it makes a good
// name, else its hash.
func RecoveryRef(id string) string {
	if len(id) > 100 || !plainID.MatchString(id) {
		sum := sha256.Sum256([]byte(id))
		id = hex.EncodeToString(sum[:16])
	}
	return RecoveryRefs + id
}

// Keep makes a commit reachable below refs/ralph/recovery/ and returns the
// ref. A ref of that id which holds another commit stays as it is, and the
// name gets the commit's id as well.
func (r *Repo) Keep(ctx context.Context, id, commit string) (string, error) {
	ref := RecoveryRef(id)
	var failed error
	for _, name := range []string{ref, ref + "-" + commit[:12]} {
		r.FreeRefs(ctx, name)
		_, err := r.Run(ctx, Call{Args: []string{"update-ref", name, commit, ""}, Write: true})
		if err == nil {
			return name, nil
		}
		failed = err
		if held, err := r.Ref(ctx, name); err == nil && held == commit {
			return name, nil
		}
	}
	return "", fmt.Errorf("keep commit %s for recovery: %w", commit, failed)
}

// OneLine reports text that is safe as a reflog message.
func OneLine(s string) bool { return strings.TrimSpace(s) != "" && !strings.ContainsAny(s, "\r\n\x00") }

// Saved is work that no branch holds any more, and where it is now.
type Saved struct {
	Ref    string // below refs/ralph/recovery/, "" when it is no commit
	Commit string // what the ref holds
	Path   string // folder it was moved to, absolute: a repository inside the worktree
	What   string // in words
}
