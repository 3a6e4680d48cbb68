package replay

import (
	"fmt"
	"iter"
	"slices"

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
	Absent  int // anchors that sessions began on, where git has none of this journal at all
	Lost    int // commits and anchors whose lines went with what `ralph recover journal` moved aside
	Broken  []Broken
}

// Hold begins to look that nothing is gone from a history, or written anew, since git
// heard of it: each line that an anchor names is there as it was, each anchor that a
// session began on is still in git, and each receipt of this journal that a commit names is
// in it. It is to be asked before the history is read, which may grow meanwhile.
func (m Remembered) Hold() *Holding {
	h := &Holding{git: m, lines: map[int64]string{}, missing: map[string]bool{}, there: map[string]bool{}}
	for _, a := range m.Anchors {
		h.lines[a.Seq] = ""
		h.there[a.Commit] = true
	}
	for _, t := range m.Trailed {
		h.missing[t.Receipt] = true
	}
	return h
}

// Holding is a history that is held against what git remembers while it is read.
type Holding struct {
	git     Remembered
	journal string
	last    int64
	cut     int64            // from here on lines may be gone: `ralph recover journal` said so; 0: none
	lines   map[int64]string // hashes of the lines that anchors name
	missing map[string]bool  // receipts that no line has yet
	there   map[string]bool  // anchors that git has
	none    []int64          // sessions that began on an anchor which git does not have
	gone    []string         // those anchors
	broken  []Broken
}

// Along gives the events on, and looks at each once, however often they are gone through.
func (h *Holding) Along(events iter.Seq[ralph.Event]) iter.Seq[ralph.Event] {
	return func(yield func(ralph.Event) bool) {
		for e := range events {
			if e.Seq > h.last {
				h.look(e)
			}
			if !yield(e) {
				return
			}
		}
	}
}

func (h *Holding) look(e ralph.Event) {
	if e.Seq == 1 {
		h.journal = ralph.JournalID(e.Hash)
	}
	h.last = e.Seq
	if _, ok := h.lines[e.Seq]; ok {
		h.lines[e.Seq] = e.Hash
	}
	delete(h.missing, e.Hash)
	switch f := e.Fact.(type) {
	case ralph.SessionStarted:
		if f.Anchor != "" && !h.there[f.Anchor] {
			h.none, h.gone = append(h.none, e.Seq), append(h.gone, f.Anchor)
		}
	case ralph.JournalCut:
		if h.cut == 0 || f.Lost < h.cut {
			h.cut = f.Lost
		}
	}
}

func (h *Holding) breaks(seq int64, format string, args ...any) {
	h.broken = append(h.broken, Broken{Seq: seq, Link: "anchor", Why: fmt.Sprintf(format, args...)})
}

// Kept is what came of it, once the events have been gone through.
func (h *Holding) Kept() Kept {
	var out Kept
	for _, a := range h.git.Anchors {
		own, moved := a.Journal == h.journal, h.cut > 0 && a.Seq >= h.cut
		switch {
		case !own && a.Checkout != h.git.Checkout: // of another checkout
		case !own && h.cut == 1, own && moved && h.lines[a.Seq] != a.Hash:
			out.Lost++
		case !own:
			h.breaks(0, "the journal %s that this checkout had is gone, or was written anew: it had come to fact %d (anchor %.9s)", a.Journal, a.Seq, a.Commit)
		case a.Seq > h.last:
			h.breaks(0, "the journal ends at fact %d, and had come to fact %d (anchor %.9s): what was behind it is gone", h.last, a.Seq, a.Commit)
		case h.lines[a.Seq] != a.Hash:
			h.breaks(a.Seq, "is not the line that it was when the session ended (anchor %.9s)", a.Commit)
		case a.Signature == "B":
			h.breaks(a.Seq, "the signature of anchor %.9s is wrong", a.Commit)
		default:
			out.Anchors++
			if a.Signature == "G" || a.Signature == "U" {
				out.Signed++
			}
		}
	}
	for _, t := range h.git.Trailed {
		switch {
		case !h.missing[t.Receipt]:
		case t.Journal != h.journal:
			out.Others++
		case h.cut > 0:
			out.Lost++
		default:
			h.breaks(0, "commit %.9s names receipt %.9s of this journal, which is not in it: the journal was cut or written anew", t.Commit, t.Receipt)
		}
	}
	h.absent(&out)
	out.Broken = h.broken
	return out
}

// FetchAnchors is what brings the anchors of a journal into a copy of its repository.
const FetchAnchors = "git fetch <where the journal is from> 'refs/ralph/journal/*:refs/ralph/journal/*'"

// absent says which anchors git does not have, though sessions began on them. Where it has
// none of this journal, that is as in a clone to which the journal was copied; that they were
// deleted looks the same, so nothing is proven until they are there.
func (h *Holding) absent(out *Kept) {
	own := slices.ContainsFunc(h.git.Anchors, func(a Anchor) bool { return a.Journal == h.journal })
	switch {
	case len(h.none) == 0:
	case own:
		for n, seq := range h.none {
			h.breaks(seq, "git has no anchor %.9s any more, which it had when this session began", h.gone[n])
		}
	default:
		out.Absent = len(h.none)
		h.broken = append(h.broken, Broken{Seq: h.none[0], Link: LinkAbsent, Why: fmt.Sprintf(
			"git has no anchor of this journal, and had some when sessions began (%.9s): in a clone or a copy, fetch them and look again: %s; where the journal was written, they were deleted",
			h.gone[len(h.gone)-1], FetchAnchors)})
	}
}

// LinkAbsent is the link of a history whose anchors are not in this repository.
const LinkAbsent = "anchors"
