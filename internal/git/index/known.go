package index

import "sync"

// Known is what was read of objects, by id: what an id has never changes, and the trees of a job
// are compared with each other all the time. Its zero value knows nothing.
type Known[T any] struct {
	mu   sync.Mutex
	have map[string]T
	size int
}

// maxKnown is how many members of trees are kept, some 150 bytes each.
const maxKnown = 2_000

// Of is what is known of an id.
func (k *Known[T]) Of(id string) (T, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	v, ok := k.have[id]
	return v, ok
}

// Keep notes what an id has, so many members. When there are too many, all others are forgotten;
// one that is too large by itself is not kept.
func (k *Known[T]) Keep(id string, v T, members int) {
	if members >= maxKnown {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.size += members + 1; k.have == nil || k.size > maxKnown {
		k.have, k.size = map[string]T{}, members+1
	}
	k.have[id] = v
}
