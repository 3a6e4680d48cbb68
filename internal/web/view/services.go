package view

import (
	"fmt"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/services"
)

func serviceBadge(r services.Row) string {
	if !r.Next.IsZero() && r.State == string(ralph.BreakerClosed) {
		return "held"
	}
	return r.State
}

func serviceStatus(r services.Row) string {
	switch serviceBadge(r) {
	case string(ralph.BreakerClosed):
		return "ok"
	case "held":
		return "held"
	case string(ralph.BreakerHalfOpen):
		return "warn"
	}
	return "red"
}

func serviceCounts(r services.Row) string {
	words := fmt.Sprintf("%d sent, %d waiting, %d parked", r.Sent, r.Waiting, r.Parked)
	if r.Pulls > 0 {
		words += fmt.Sprintf(", %d pull requests", r.Pulls)
	}
	if r.Failures > 0 {
		words += fmt.Sprintf("; %d failures count", r.Failures)
	}
	if r.Trips > 0 {
		words += fmt.Sprintf("; its breaker has opened %d times", r.Trips)
	}
	return words
}

func entryBadge(e services.Entry) string {
	if e.Parked {
		return "parked"
	}
	return "waits"
}

func entryStatus(e services.Entry) string {
	if e.Parked {
		return "red"
	}
	return "open"
}
