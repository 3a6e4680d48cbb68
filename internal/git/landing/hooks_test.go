package landing

import (
	"testing"
)

// The one commit of a spec that a hook changed before ralph was killed is no commit of the
// work: it is made again.
func TestSquashAgainAfterAHook(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	base := b.Head()
	b.branch("ralph/t-1", base, write("one.txt", "1\n"))
	tip := b.Tip("ralph/t-1")
	w := b.linked("scratch", base)
	w.Git("checkout", "-q", "--detach", tip)
	w.Git("reset", "-q", "--soft", base)
	w.Write("one.txt", "of the hook\n")
	w.Git("add", "-A")
	w.Git("commit", "-q", "-m", "x\n\nRalph-Receipt: r1")
	c, err := SquashOnto(t.Context(), w.repo, SquashInput{Base: base, Tip: tip, Trailer: "Ralph-Receipt", Key: "r1", Message: "x\n\nRalph-Receipt: r1\n"})
	b.Must(err)
	b.Equal("tree", c.Tree, b.Git("rev-parse", tip+"^{tree}"))
}
