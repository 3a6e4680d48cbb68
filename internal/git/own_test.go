package git

import (
	"strings"
	"testing"
)

// what ralph itself runs goes past the never list as well.
func TestNeverForcesAPush(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	for _, args := range [][]string{{"push", "--force"}, {"push", "origin", "+main"}, {"-c", "alias.x=push -f", "x"}, {"no-command"}} {
		_, err := b.repo.Run(t.Context(), Call{Args: args})
		if err == nil || !strings.Contains(err.Error(), "ralph does not run") {
			t.Errorf("%q: got %v, want a refusal before it runs", args, err)
		}
	}
}
