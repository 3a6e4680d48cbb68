package secrets

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// Issue 17, 2: one pass over a text finds the rules that looking for each keyword would.
func TestKeywords(t *testing.T) {
	t.Parallel()
	slow := func(list [][]string, text string) []bool {
		out := make([]bool, len(list))
		for i, words := range list {
			out[i] = len(words) == 0 || slices.ContainsFunc(words, func(w string) bool { return strings.Contains(text, w) })
		}
		return out
	}
	all := make([][]string, len(rules().Rules))
	for i := range all {
		all[i] = rules().Rules[i].Keywords
	}
	for _, words := range all {
		for _, w := range words {
			for _, text := range []string{w, w[:len(w)-1], w[1:], "é" + w[:1] + w, w + "\x00", strings.ToUpper(w)} {
				if got, want := ruleKeywords().in(text), slow(all, text); !slices.Equal(got, want) {
					t.Fatalf("%q: %v, want %v", text, got, want)
				}
			}
		}
	}
	word := rapid.StringMatching(`[abc]{1,4}`)
	rapid.Check(t, func(t *rapid.T) {
		list := rapid.SliceOfN(rapid.SliceOfN(word, 0, 4), 0, 6).Draw(t, "keywords")
		text := rapid.StringMatching(`[abcd]{0,20}`).Draw(t, "text")
		if got, want := newKeywords(list).in(text), slow(list, text); !slices.Equal(got, want) {
			t.Fatalf("%v, want %v", got, want)
		}
	})
}

// BenchmarkKeywords is what a MiB costs that has no secret: prose of programs, and one in which each
// line has many keywords.
func BenchmarkKeywords(b *testing.B) {
	for name, line := range map[string]string{
		"plain": "func add(a, b int) int { return a + b } // the sum of both\n",
		"rich":  "api_key token password secret aws github slack config value = os.Getenv(\"NAME\") // auth key access client\n",
	} {
		text := strings.Repeat(line, (1<<20)/len(line))
		var f Finder
		f.Find(text) // patterns are compiled
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				if found := f.Find(text); len(found) > 0 {
					b.Fatal(found)
				}
			}
		})
	}
}
