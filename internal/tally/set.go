package tally

import (
	"iter"
	"math/bits"
	"slices"
)

// Set is places in a list, a bit for each: of ten thousand it is a kilobyte.
type Set struct {
	words  []uint64
	n      int
	shared bool // who was given a copy has the same words
}

// Len is how many places there are.
func (s *Set) Len() int { return s.n }

// Has reports whether a place is one of them.
func (s *Set) Has(i int) bool { return i/64 < len(s.words) && s.words[i/64]&(1<<(i%64)) != 0 }

// First is the first of the places, -1 for none.
func (s *Set) First() int {
	for i := range s.All() {
		return i
	}
	return -1
}

// All yields the places in the order of the list.
func (s *Set) All() iter.Seq[int] {
	return func(yield func(int) bool) {
		if s.n == 0 {
			return
		}
		for w, word := range s.words {
			for ; word != 0; word &= word - 1 {
				if !yield(64*w + bits.TrailingZeros64(word)) {
					return
				}
			}
		}
	}
}

func (s *Set) put(i int, in bool) {
	if s.Has(i) == in {
		return
	}
	if s.shared {
		s.words, s.shared = slices.Clone(s.words), false
	}
	for i/64 >= len(s.words) {
		s.words = append(s.words, 0)
	}
	s.words[i/64] ^= 1 << (i % 64)
	if in {
		s.n++
	} else {
		s.n--
	}
}
