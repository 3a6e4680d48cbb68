package replay

import (
	"slices"
	"strings"
	"testing"

	"github.com/ralph-loop/ralph"
)

// S9: what is gone from a history, or written anew, does not fit what git remembers of it.
func TestHold(t *testing.T) {
	t.Parallel()
	facts := []ralph.Fact{
		ralph.SessionStarted{ID: "s-1"},
		ralph.Noted{Text: "a"},
		ralph.SessionEnded{Reason: ralph.ReasonComplete},
		ralph.SessionStarted{ID: "s-2", Anchor: "c3"},
		ralph.Noted{Text: "b"},
		ralph.SessionEnded{Reason: ralph.ReasonComplete},
	}
	events := chain(t, facts)
	journal := ralph.JournalID(events[0].Hash)
	anchor := func(commit string, seq int64) Anchor {
		return Anchor{Journal: journal, Checkout: "here", Seq: seq, Hash: events[seq-1].Hash, Commit: commit, Signature: "N"}
	}
	whole := []Anchor{anchor("c6", 6), anchor("c3", 3)}
	commits := []Trailed{{"d1", journal, events[1].Hash}, {"d2", journal, events[4].Hash}}
	rewritten := slices.Clone(facts)
	rewritten[5] = ralph.SessionEnded{Reason: ralph.ReasonError}
	begun := slices.Clone(facts)
	begun[0] = ralph.SessionStarted{ID: "s-9"}
	cutAt := func(lost int64) []ralph.Event {
		return chain(t, append(slices.Clone(facts[:lost-1]), ralph.JournalCut{Lost: lost, Lines: 1}))
	}
	signed, wrong := anchor("c6", 6), anchor("c6", 6)
	signed.Signature, wrong.Signature = "G", "B"
	elsewhere := anchor("c9", 6)
	elsewhere.Journal, elsewhere.Checkout = "other", "there"
	for _, tt := range []struct {
		name    string
		events  []ralph.Event
		anchors []Anchor
		trailed []Trailed
		want    Kept
		broken  []string
	}{
		{name: "whole", events: events, anchors: whole, trailed: commits, want: Kept{Anchors: 2}},
		{name: "signed", events: events, anchors: []Anchor{signed, whole[1]}, want: Kept{Anchors: 2, Signed: 1}},
		{name: "a wrong signature", events: events, anchors: []Anchor{wrong, whole[1]}, want: Kept{Anchors: 1}, broken: []string{"the signature of anchor c6 is wrong"}},
		{name: "the last fact is gone", events: events[:5], anchors: whole, trailed: commits, want: Kept{Anchors: 1}, broken: []string{"ends at fact 5, and had come to fact 6"}},
		{name: "cut below a commit", events: events[:4], anchors: whole[1:], trailed: commits, want: Kept{Anchors: 1}, broken: []string{"commit d2 names receipt"}},
		{name: "all is gone", anchors: whole[:1], broken: []string{"that this checkout had is gone"}},
		{name: "the last fact is another", events: chain(t, rewritten), anchors: whole, trailed: commits, want: Kept{Anchors: 1}, broken: []string{"is not the line that it was"}},
		{name: "written anew from the start", events: chain(t, begun)[:3], anchors: whole[:1], broken: []string{"was written anew"}},
		{name: "an anchor is gone", events: events, anchors: whole[:1], trailed: commits, want: Kept{Anchors: 1}, broken: []string{"git has no anchor c3 any more"}},
		{name: "in a clone without anchors", events: events, trailed: commits, want: Kept{Absent: 1}, broken: []string{"fetch them and look again: git fetch <where the journal is from> 'refs/ralph/journal/*:refs/ralph/journal/*'"}},
		{name: "in a clone with another journal's anchors", events: events, anchors: []Anchor{elsewhere}, want: Kept{Absent: 1}, broken: []string{"git has no anchor of this journal"}},
		{name: "another checkout's", events: events, anchors: append(slices.Clone(whole), elsewhere), trailed: append(slices.Clone(commits), Trailed{"d9", "other", "ab"}, Trailed{"d8", "", "cd"}), want: Kept{Anchors: 2, Others: 2}},
		{name: "a receipt that never was", events: events, anchors: whole, trailed: []Trailed{{"d3", journal, "ab"}}, want: Kept{Anchors: 2}, broken: []string{"commit d3 names receipt ab"}},
		{name: "moved aside by recover journal", events: cutAt(5), anchors: whole, trailed: commits, want: Kept{Anchors: 1, Lost: 2}},
		{name: "moved aside, and one before that is another", events: cutAt(5), anchors: []Anchor{{Journal: journal, Checkout: "here", Seq: 3, Hash: "x", Commit: "c3"}}, broken: []string{"is not the line that it was"}},
	} {
		h := Remembered{Checkout: "here", Anchors: tt.anchors, Trailed: tt.trailed}.Hold()
		for range 2 { // as verify goes through them
			for range h.Along(slices.Values(tt.events)) { //nolint:revive // only gone through
			}
		}
		got := h.Kept()
		var why []string
		for _, b := range got.Broken {
			why = append(why, b.Why)
		}
		ok := len(why) == len(tt.broken)
		for i := range min(len(why), len(tt.broken)) {
			ok = ok && strings.Contains(why[i], tt.broken[i])
		}
		if got.Broken = nil; !ok || got.Anchors != tt.want.Anchors || got.Signed != tt.want.Signed || got.Others != tt.want.Others || got.Absent != tt.want.Absent || got.Lost != tt.want.Lost {
			t.Errorf("%s: %+v, broken %q; want %+v, broken %q", tt.name, got, why, tt.want, tt.broken)
		}
	}
}
