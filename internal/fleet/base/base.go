// Package base remembers the commit that parcels to workers are made from (internal/git/carry): one that is at the
// remote, where a worker that has it not fetches it once. When the work has gone on, a newer one takes its place;
// it is pushed beside the steps, none of which waits for it.
//
// It does NOT own how a commit is pushed (internal/git/push), nor what travels as a parcel (internal/fleet).
package base

import (
	"context"
	"path"
	"sync"
)

// Base is a commit at the remote.
type Base struct{ Ref, Commit, Tree string }

// Bases are that of new steps, and those that steps under way were made from.
type Bases struct {
	push   func(ctx context.Context, specs ...string) error
	before func(ctx context.Context, commit string) (map[string]bool, error)
	folder string // of their refs

	ctx  context.Context
	stop context.CancelFunc
	done sync.WaitGroup

	mu      sync.Mutex
	now     *held
	old     []*held // that are at the remote still
	renewal bool    // under way
}

// held is a base with how many steps under way need it.
type held struct {
	Base

	steps int
	known map[string]bool
}

// New makes Bases whose refs are in a folder; push sends refspecs, all or none, before tells which commits who has one
// has for certain.
func New(folder string, push func(ctx context.Context, specs ...string) error, before func(ctx context.Context, commit string) (map[string]bool, error)) *Bases {
	ctx, stop := context.WithCancel(context.Background())
	return &Bases{push: push, before: before, folder: folder, ctx: ctx, stop: stop}
}

// Use is the base for a new step, with the commits that come with it; the step needs it until over is called. ok is
// false while there is none.
func (b *Bases) Use() (is Base, known map[string]bool, over func(), ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.now == nil {
		return Base{}, nil, func() {}, false
	}
	x := b.now
	x.steps++
	var once sync.Once
	return x.Base, x.known, func() {
		once.Do(func() {
			b.mu.Lock()
			defer b.mu.Unlock()
			x.steps--
		})
	}, true
}

// Renew has a commit with its tree become the base, as soon as the remote has it. One is made so at a time.
func (b *Bases) Renew(commit, tree string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.renewal || b.ctx.Err() != nil || b.now != nil && b.now.Commit == commit {
		return
	}
	b.renewal = true
	specs := []string{commit + ":" + path.Join(b.folder, commit)}
	var gone, kept []*held
	for _, x := range b.old {
		if x.steps > 0 || x.Commit == commit {
			kept = append(kept, x)
			continue
		}
		gone = append(gone, x)
		specs = append(specs, ":"+x.Ref)
	}
	b.done.Go(func() {
		known, err := b.before(b.ctx, commit)
		if err == nil {
			err = b.push(b.ctx, specs...)
		}
		if err != nil && len(gone) > 0 && b.ctx.Err() == nil { // what is to go may be gone
			err = b.push(b.ctx, specs[0])
		}
		b.mu.Lock()
		defer b.mu.Unlock()
		b.renewal = false
		if err != nil {
			return // steps go by the remote until it takes one
		}
		b.old = kept
		if b.now != nil {
			b.old = append(b.old, b.now)
		}
		b.now = &held{Base: Base{Ref: path.Join(b.folder, commit), Commit: commit, Tree: tree}, known: known}
	})
}

// Close ends it. The refs are whoever's who clears the folder away.
func (b *Bases) Close() {
	b.stop()
	b.done.Wait()
}
