package ralph

import (
	"strings"
)

// Nearest returns which of the known words was probably meant, "" when none is
// near. A word that differs only in its marks (`step_complete`) is the nearest.
func Nearest(word string, known []string) string {
	const longest = 64 // nobody mistypes more, and it bounds the work
	word = bare(word)
	if word == "" || len(word) > longest {
		return ""
	}
	best, least := "", max(1, len(word)/4)+1
	for _, k := range known {
		if d := Slips(word, bare(k)); d < least {
			best, least = k, d
		}
	}
	return best
}

// bare is a word in small letters and without its marks.
func bare(s string) string {
	return strings.ToLower(strings.NewReplacer("_", "", "-", "", ":", "", ".", "", "/", "").Replace(s))
}

// Slips counts the letters to insert, delete, replace or swap with their
// neighbour between a and b.
func Slips(a, b string) int {
	prev2, prev, cur := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range prev {
		prev[j] = j
	}
	for i := range len(a) {
		cur[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			cur[j+1] = min(prev[j]+cost, prev[j+1]+1, cur[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				cur[j+1] = min(cur[j+1], prev2[j-1]+1)
			}
		}
		prev2, prev, cur = prev, cur, prev2
	}
	return prev[len(b)]
}
