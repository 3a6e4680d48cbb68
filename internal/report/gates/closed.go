package gates

import (
	"fmt"

	"github.com/ralph-loop/ralph"
)

// NotOpen refuses a word about a gate that takes none, with what became of it: the
// first answer wins, and whoever comes second wants to know whose it was. each reads the
// journal.
func NotOpen(id ralph.ApprovalID, each func(after int64, visit func(ralph.Event) error) error) error {
	refusal := &ralph.Refusal{Why: fmt.Sprintf("no open gate %s", id), Hint: "`[[gates]]` lists what waits", Kind: ralph.ErrNotFound}
	past := Past{Only: id}
	err := each(0, func(e ralph.Event) error {
		past.Add(e)
		return nil
	})
	end, asked := past.Of(id)
	switch {
	case err != nil:
		return err
	case end != nil:
		refusal.Why += ": " + end.Words()
		refusal.Hint = "the first answer wins"
	case asked != nil:
		refusal.Why += ": nobody waits for it any more"
	}
	return refusal
}
