package fleet

import (
	"errors"
	"testing"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/fleetcmd"
)

// Whoever asks from elsewhere sees the coordinator's own repository, and only status and log of it.
func TestLooksAtItsOwnRepositoryAlone(t *testing.T) {
	t.Parallel()
	for _, words := range [][]string{
		nil, {"config"}, {"status", "--directory=/etc"}, {"log", "--lines=3", "-C/etc"}, {"log", "--directory", "/etc"}, {"status", "/etc"},
	} {
		err := answerer{}.look(t.Context(), Act{Act: fleetcmd.Act{Look: words}}, &Acted{})
		if !errors.Is(err, ralph.ErrUsage) {
			t.Errorf("%q: %v", words, err)
		}
	}
	if elsewhere([]string{"log", "--lines=3", "--at=7", "--", "-C"}) {
		t.Error("a word to look for is taken for a folder")
	}
}
