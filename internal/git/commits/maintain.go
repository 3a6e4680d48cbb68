package commits

import (
	"context"
	"fmt"

	"github.com/ralph-loop/ralph/internal/git"
)

// Maintain lets git tidy its objects when it thinks that it is time, as it does
// after commits made by hand. Commits made here leave it out, since it costs a
// quarter of a small commit; so it is due once at the end of a run. git does the
// work in the background and by its own settings.
func Maintain(ctx context.Context, r *git.Repo) error {
	if _, err := r.Run(ctx, git.Call{Args: []string{"maintenance", "run", "--auto", "--quiet"}, Write: true}); err != nil {
		return fmt.Errorf("let git tidy its objects: %w", err)
	}
	return nil
}
