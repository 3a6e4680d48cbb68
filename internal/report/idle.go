package report

import (
	"time"

	"github.com/ralph-loop/ralph"
)

// Idle are the times of standstills in which nothing else went on, each time once. A step
// that a sleep of the machine interrupted did not go on meanwhile.
func Idle(list []ralph.Still, worked []ralph.Period, now time.Time) []ralph.Period {
	var all, asleep []ralph.Period
	for _, y := range list {
		p := ralph.Period{From: y.From, To: y.EndAt(now)}
		all = append(all, p)
		if y.Kind == ralph.StillAsleep {
			asleep = append(asleep, p)
		}
	}
	return ralph.Without(ralph.Union(all), ralph.Without(ralph.Union(worked), ralph.Union(asleep)))
}
