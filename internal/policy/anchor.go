package policy

import (
	"fmt"
	"iter"

	"github.com/ralph-loop/ralph"
)

// Anchor is what git remembers of a journal: its line Seq had Hash.
type Anchor struct {
	Journal, Checkout string // which journal, and of which checkout
	Seq               int64
	Hash              string
	Commit            string // that says so
	Signature         string // git's letter for it: G good, B bad, N none, ...
}

// Trailed is a commit that names a receipt; Journal is "" where it does not say of which journal.
type Trailed struct{ Commit, Journal, Receipt string }

// Remembered is what git remembers of journals, in one repository.
type Remembered struct {
	Checkout string // this one
	Anchors  []Anchor
	Trailed  []Trailed
}

// Kept is what comes of holding a history against what git remembers of it. Broken are
// the links that do not hold.
type Kept struct {
	Anchors int // of this journal, all of them where they were
	Signed  int // of those, with a good signature
	Others  int // commits with receipts of other journals, or that do not say of which
	Lost    int // commits and anchors whose lines went with what `ralph recover journal` moved aside
	Broken  []Broken
}

// Hold looks that nothing is gone from a history, or written anew, since git heard of it
// (S9): each line that an anchor names is there as it was, each anchor that a session began
// on is still in git, and each receipt of this journal that a commit names is in it.
func (m Remembered) Hold(events iter.Seq[ralph.Event]) Kept {
	var out Kept
	broken := func(seq int64, format string, args ...any) {
		out.Broken = append(out.Broken, Broken{Seq: seq, Link: "anchor", Why: fmt.Sprintf(format, args...)})
	}
	var journal string
	var last int64
	lines := map[int64]string{} // of anchors' lines
	missing := map[string]bool{}
	there := map[string]bool{}
	for _, a := range m.Anchors {
		lines[a.Seq] = ""
		there[a.Commit] = true
	}
	for _, t := range m.Trailed {
		missing[t.Receipt] = true
	}
	cut := int64(0) // from here on lines may be gone: `ralph recover journal` said so; 0: none
	for e := range events {
		if e.Seq == 1 {
			journal = ralph.JournalID(e.Hash)
		}
		last = e.Seq
		if _, ok := lines[e.Seq]; ok {
			lines[e.Seq] = e.Hash
		}
		delete(missing, e.Hash)
		switch f := e.Fact.(type) {
		case ralph.SessionStarted:
			if f.Anchor != "" && !there[f.Anchor] {
				broken(e.Seq, "git has no anchor %.9s any more, which it had when this session began", f.Anchor)
			}
		case ralph.JournalCut:
			if cut == 0 || f.Lost < cut {
				cut = f.Lost
			}
		}
	}
	for _, a := range m.Anchors {
		own, moved := a.Journal == journal, cut > 0 && a.Seq >= cut
		switch {
		case !own && a.Checkout != m.Checkout: // of another checkout
		case !own && cut == 1, own && moved && lines[a.Seq] != a.Hash:
			out.Lost++
		case !own:
			broken(0, "the journal %s that this checkout had is gone, or was written anew: it had come to fact %d (anchor %.9s)", a.Journal, a.Seq, a.Commit)
		case a.Seq > last:
			broken(0, "the journal ends at fact %d, and had come to fact %d (anchor %.9s): what was behind it is gone", last, a.Seq, a.Commit)
		case lines[a.Seq] != a.Hash:
			broken(a.Seq, "is not the line that it was when the session ended (anchor %.9s)", a.Commit)
		case a.Signature == "B":
			broken(a.Seq, "the signature of anchor %.9s is wrong", a.Commit)
		default:
			out.Anchors++
			if a.Signature == "G" || a.Signature == "U" {
				out.Signed++
			}
		}
	}
	m.trailed(&out, journal, cut > 0, missing)
	return out
}

// trailed looks at commits whose receipts are in no line of the journal.
func (m Remembered) trailed(out *Kept, journal string, cut bool, missing map[string]bool) {
	for _, t := range m.Trailed {
		switch {
		case !missing[t.Receipt]:
		case t.Journal != journal:
			out.Others++
		case cut:
			out.Lost++
		default:
			out.Broken = append(out.Broken, Broken{Link: "anchor", Why: fmt.Sprintf(
				"commit %.9s names receipt %.9s of this journal, which is not in it: the journal was cut or written anew", t.Commit, t.Receipt)})
		}
	}
}
