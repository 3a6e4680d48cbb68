package follow

import (
	"context"
	"fmt"
	"time"
)

// Memory follows a journal for who keeps in memory what it learns and begins anew with each
// process: there is no cursor, and nothing to deliver.
type Memory struct {
	// Read reads what is new, Wait returns when there may be more, or with ctx.
	Read func(ctx context.Context) error
	Wait func(ctx context.Context) error
	// Failed is told what went wrong, and says whether to try again after a while.
	Failed func(error) (again bool)
	// Panicked is told of a panic of Read, which is its error then; nil: nobody is.
	Panicked func(what any)
}

// tryAgain is how long to wait before a journal that could not be read is tried anew.
const tryAgain = 2 * time.Second

// Run follows until ctx ends, or what failed is not to be tried again.
func (m Memory) Run(ctx context.Context) {
	for ctx.Err() == nil {
		err := m.read(ctx)
		if err == nil {
			err = m.Wait(ctx)
		}
		if err == nil || ctx.Err() != nil {
			continue
		}
		if !m.Failed(err) {
			return
		}
		select {
		case <-ctx.Done():
		case <-time.After(tryAgain):
		}
	}
}

func (m Memory) read(ctx context.Context) (err error) {
	defer func() {
		if what := recover(); what != nil { // in the goroutine of nobody's request
			if m.Panicked != nil {
				m.Panicked(what)
			}
			err = fmt.Errorf("this is a mistake in ralph: %v", what)
		}
	}()
	return m.Read(ctx)
}
