package step

import (
	"errors"
	"fmt"
	"strings"
	"syscall"

	"github.com/ralph-loop/ralph"
)

// diskSpace fails when the disk is full.
func (x *Executor) diskSpace() error {
	if x.DiskSpace == nil {
		return nil
	}
	return x.DiskSpace()
}

// NoSpace reports whether an error comes of a full disk or a quota that is used up.
// It also knows the words of git, which come as text.
func NoSpace(err error) bool {
	if err == nil {
		return false
	}
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || saysNoSpace(err.Error())
}

func saysNoSpace(text string) bool {
	for _, words := range []string{"Out of diskspace", "No space left on device", "no space left on device", "isk quota exceeded"} {
		if strings.Contains(text, words) {
			return true
		}
	}
	return false
}

// noSpace is the error of an outcome that a full disk has caused. Git takes back
// what it could not finish, so there may be room again by now: its words count.
// Agents and checks may speak of any disk: they are believed when this one is full.
func (x *Executor) noSpace(facts []ralph.Fact) error {
	for _, fact := range facts {
		text, bad := "", false
		switch f := fact.(type) {
		case ralph.Prepared:
			text = f.Error
		case ralph.Committed:
			text = f.Error
		case ralph.Merged:
			text = f.Error
		case ralph.Advanced:
			text = f.Error
		case ralph.Landed:
			text = f.Error
		case ralph.Shelved:
			text = f.Error
		case ralph.TurnEnded:
			bad = f.Failed()
		case ralph.ChecksRan:
			bad = !f.Pass
		case ralph.BaselineRan:
			bad = len(f.Red) > 0
		case ralph.Compacted:
			bad = f.Error != ""
		}
		if saysNoSpace(text) {
			return fmt.Errorf("%s: %w", text, syscall.ENOSPC)
		}
		if bad || text != "" {
			return x.diskSpace()
		}
	}
	return nil
}
