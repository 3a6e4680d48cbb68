package text

import "strings"

// HasAnyFold reports whether one of the words, of two letters or more, in ASCII and lower case, stands in
// a text in upper or lower case: a small part of the time that a regular expression takes to say no.
func HasAnyFold(s string, words ...string) bool {
	var first [256]bool
	for _, w := range words {
		first[w[0]] = true
		if 'a' <= w[0] && w[0] <= 'z' {
			first[w[0]-'a'+'A'] = true
		}
	}
	for i := range len(s) - 1 {
		if !first[s[i]] {
			continue
		}
		for _, w := range words {
			if s[i+1]|0x20 == w[1]|0x20 && len(s)-i >= len(w) && strings.EqualFold(s[i:i+len(w)], w) {
				return true
			}
		}
	}
	return false
}
