package past

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/ralph-loop/ralph/internal/screen/history"
	"github.com/ralph-loop/ralph/internal/web/index"
)

// maxWindows is how many pages of the log's past are kept: a page that somebody looks at
// is made anew again and again, and the past does not change.
const maxWindows = 16

// Windows keeps pages of the log's past.
type Windows struct {
	mu   sync.Mutex
	keys []string // the one that was used last comes first
	list map[string][]index.Line
}

// Read reads pages of the past, those that are not kept. One at a time is read: each is bounded.
func (w *Windows) Read(x *index.Index) history.Window {
	return func(ctx context.Context, key string, first, last int64, match func(*index.Line) bool, most int, oldest bool) ([]index.Line, error) {
		key = fmt.Sprintf("%d %d %t %s", first, last, oldest, key)
		w.mu.Lock()
		defer w.mu.Unlock()
		lines, ok := w.list[key]
		if !ok {
			var err error
			if lines, err = x.Window(ctx, first, last, match, most, oldest); err != nil {
				return nil, err
			}
		}
		if w.list == nil {
			w.list = map[string][]index.Line{}
		}
		w.list[key] = lines
		w.keys = slices.Insert(slices.DeleteFunc(w.keys, func(k string) bool { return k == key }), 0, key)
		for _, k := range w.keys[min(len(w.keys), maxWindows):] {
			delete(w.list, k)
		}
		w.keys = w.keys[:min(len(w.keys), maxWindows)]
		return lines, nil
	}
}
