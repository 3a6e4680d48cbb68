package report

import (
	"fmt"

	"github.com/ralph-loop/ralph"
)

// outsideLines are the lines of what is sent to trackers. What is wanted and tried is no line:
// what became of it is.
func outsideLines(e ralph.Event) []string {
	switch f := e.Fact.(type) {
	case ralph.Pushed:
		how := "sent"
		if f.Found {
			how = "was there already"
		}
		return []string{OneLine(fmt.Sprintf("SYNC: %s: %s", f.Item, how))}
	case ralph.PushFailed:
		return []string{OneLine(fmt.Sprintf("SYNC: %s waits: %s", f.Item, f.Why))}
	case ralph.PushRefused:
		return []string{OneLine(fmt.Sprintf("SYNC: parked: %s (`[[breakers]]`)", f.Why))}
	case ralph.PushDropped:
		return []string{OneLine(fmt.Sprintf("SYNC: %s: an entry is dropped", f.Item))}
	case ralph.ServiceLimited:
		return []string{OneLine(fmt.Sprintf("SYNC: nothing to %s before %s: %s", f.Service.Title(), f.Until.UTC().Format("2006-01-02T15:04:05Z07:00"), f.Why))}
	case ralph.RepoRenamed:
		return []string{OneLine(fmt.Sprintf("RENAMED: %s is called %s at %s now: it is followed there; change sync.github.repo and the address of the remote", f.From, f.To, f.Service.Title()))}
	case ralph.ServiceRetried:
		return []string{fmt.Sprintf("SYNC: %s is asked again", f.Service.Title())}
	case ralph.BreakerMoved:
		if f.From == f.Breaker.Now() {
			return nil // it counts
		}
		line := fmt.Sprintf("BREAKER: %s: %s -> %s", f.Service.Title(), f.From, f.Breaker.Now())
		if f.Breaker.Now() == ralph.BreakerOpen {
			line += fmt.Sprintf(" until %s: %s", f.Breaker.Until.UTC().Format("2006-01-02T15:04:05Z07:00"), f.Breaker.Why)
		}
		return []string{OneLine(line)}
	}
	return nil
}
