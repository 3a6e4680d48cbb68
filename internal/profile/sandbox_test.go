package profile

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/ralph-loop/ralph/internal/config"
)

// Each turn has a PATH of its own, with its shims: what is known of a home is one thing all
// the same, or a long session would look anew for each turn, and forget nothing.
func TestAHomeIsLookedAtOnce(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	token := filepath.Join(home, ".tool")
	if err := os.WriteFile(token, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	g := &Sandbox{Set: config.Sandbox{HidePrivate: true}, Root: t.TempDir()}
	for turn := range 20 {
		list := g.Logins([]string{"HOME=" + home, fmt.Sprintf("PATH=/tmp/ralph-%d/bin:/usr/bin", turn)})
		if !slices.Equal(list, []string{token}) {
			t.Fatalf("turn %d: %q", turn, list)
		}
	}
	if len(g.private) != 1 {
		t.Errorf("%d looks are kept of one home", len(g.private))
	}
}
