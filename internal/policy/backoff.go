package policy

import "time"

// Backoff is the wait before try n (from 1): base x factor^(n-1),
// at most a day.
func Backoff(base time.Duration, factor, n int) time.Duration {
	const most = 24 * time.Hour
	d := base
	for i := 1; i < n && d < most; i++ {
		d *= time.Duration(factor)
	}
	return min(d, most)
}

// The growth of the two curves: errors double, rate limits triple.
const (
	retryFactor = 2
	limitFactor = 3
)
