package ralph

import (
	"fmt"
	"strings"
	"time"
)

// Elapsed writes a duration for people: `32s`, `15m 32s`, `1h 23m`.
func Elapsed(d time.Duration) string {
	s := int64(max(0, d) / time.Second)
	switch {
	case s >= 3600:
		return fmt.Sprintf("%dh %dm", s/3600, s%3600/60)
	case s >= 60:
		return fmt.Sprintf("%dm %ds", s/60, s%60)
	}
	return fmt.Sprintf("%ds", s)
}

// ClockTime writes a length of time as settings have it: `1h30m`, `45m`, `90s` as `1m30s`.
func ClockTime(d time.Duration) string {
	words := d.String()
	if strings.HasSuffix(words, "m0s") {
		words = strings.TrimSuffix(words, "0s")
	}
	if strings.HasSuffix(words, "h0m") {
		words = strings.TrimSuffix(words, "0m")
	}
	return words
}

// Dollars writes money: `$0.82`.
func Dollars(c float64) string { return fmt.Sprintf("$%.2f", c) }
