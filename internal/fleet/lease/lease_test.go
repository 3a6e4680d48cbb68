package lease

import (
	"maps"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func claimOf(who string) Claim {
	return Claim{By: who + "-1", Who: who, Journal: "j-" + who, Place: who + ":/work", Lasts: 30 * time.Second}
}

// Whatever comes in whatever order: the number only grows and names one holder, and nobody takes the
// lease from one who was heard of in time, but from its own checkout.
func TestLeaseLaws(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		var have Tenure
		now := time.Unix(1e9, 0)
		owner := map[int64]string{}
		for range rapid.IntRange(1, 60).Draw(r, "claims") {
			now = now.Add(time.Duration(rapid.IntRange(0, 40).Draw(r, "seconds")) * time.Second)
			c := claimOf(rapid.SampledFrom([]string{"ada", "bob", "eve"}).Draw(r, "who"))
			c.By += rapid.SampledFrom([]string{"", "+"}).Draw(r, "again") // a second process of the same checkout
			c.Locked = rapid.Bool().Draw(r, "locked")
			for _, n := range slices.Sorted(maps.Keys(owner)) {
				if owner[n] == c.By && rapid.Bool().Draw(r, "keeps") {
					c.Number, c.Leave = n, rapid.Bool().Draw(r, "leaves")
				}
			}
			before := have
			got := have.Take(c, now)
			if got.Number < before.Number {
				r.Fatalf("number %d after %d", got.Number, before.Number)
			}
			if got.By != "" {
				if who := owner[got.Number]; who != "" && who != got.By {
					r.Fatalf("lease %d is that of %s and of %s", got.Number, who, got.By)
				}
				owner[got.Number] = got.By
			}
			taken := before.By != "" && got.By != before.By && got.By != ""
			if taken && now.Sub(before.Heard) <= before.Lasts && (!c.Locked || c.Place != before.Place) {
				r.Fatalf("%s took the lease from %s, heard of %s ago", got.By, before.By, now.Sub(before.Heard))
			}
			if taken && c.Number != 0 {
				r.Fatalf("%s had lost its lease and took it back", c.By)
			}
		}
	})
}
