package past

import (
	"crypto/sha256"
	"slices"
	"sync"
)

// Kept are the last things that were made of texts: a page is made anew with each fact,
// and what it shows of a text mostly stays the same.
type Kept[T any] struct {
	mu   sync.Mutex
	list []kept[T] // the one used last at the end
}

type kept[T any] struct {
	kind string
	sum  [sha256.Size]byte
	made T
}

// maxKept bounds how many there are.
const maxKept = 16

// Of is what make makes of a text; the kind tells apart what else goes into it.
func (k *Kept[T]) Of(kind string, text []byte, make func([]byte) T) T {
	sum := sha256.Sum256(text)
	k.mu.Lock()
	i := slices.IndexFunc(k.list, func(x kept[T]) bool { return x.kind == kind && x.sum == sum })
	if i >= 0 {
		x := k.list[i]
		k.list = append(slices.Delete(k.list, i, i+1), x)
		k.mu.Unlock()
		return x.made
	}
	k.mu.Unlock() // others need not wait while it is made
	made := make(text)
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.list) == maxKept {
		k.list = slices.Delete(k.list, 0, 1)
	}
	k.list = append(k.list, kept[T]{kind, sum, made})
	return made
}
