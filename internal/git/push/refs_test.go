package push

import (
	"path/filepath"
	"slices"
	"testing"
)

// A push that took nothing, as a ref that was to go is gone already, leaves what was asked for as it is:
// who sends again sends the same.
func TestWhatIsSentCanBeSentAgain(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	remote := filepath.Join(t.TempDir(), "hub.git")
	b.Git("init", "-q", "--bare", remote)
	refs := Refs{Repo: b.repo, URL: remote}
	specs := []string{b.Head() + ":" + Space + "x/in", ":" + Space + "x/gone"}
	before := slices.Clone(specs)
	first := refs.Send(t.Context(), specs...)
	if !slices.Equal(specs, before) {
		t.Fatalf("what was asked for became %q", specs)
	}
	if err := refs.Send(t.Context(), specs[0]); err != nil {
		t.Fatalf("sent again: %v (before: %v)", err, first)
	}
	if there, err := refs.List(t.Context(), Space); err != nil || !slices.Equal(there, []string{Space + "x/in"}) {
		t.Errorf("at the remote: %q, %v", there, err)
	}
}
