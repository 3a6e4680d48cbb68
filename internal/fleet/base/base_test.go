package base

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
)

// A base stays at the remote while a step needs it, and goes when another one has taken its place; a remote that
// takes none leaves the one there is.
func TestBases(t *testing.T) {
	t.Parallel()
	at := map[string]bool{}
	var refuses bool
	b := New("refs/x", func(_ context.Context, specs ...string) error {
		if refuses {
			return errors.New("the remote is away")
		}
		for _, s := range specs {
			from, ref, _ := strings.Cut(s, ":")
			if from == "" && !at[ref] {
				return errors.New("it has no such ref")
			}
		}
		for _, s := range specs {
			from, ref, _ := strings.Cut(s, ":")
			if at[ref] = from != ""; !at[ref] {
				delete(at, ref)
			}
		}
		return nil
	}, func(_ context.Context, commit string) (map[string]bool, error) {
		return map[string]bool{commit: true}, nil
	})
	has := func(want ...string) {
		t.Helper()
		var list []string
		for ref := range at {
			list = append(list, strings.TrimPrefix(ref, "refs/x/"))
		}
		if slices.Sort(list); !slices.Equal(list, want) {
			t.Errorf("at the remote: %v, want %v", list, want)
		}
	}
	renew := func(commit string) {
		b.Renew(commit, "tree of "+commit)
		b.done.Wait()
	}
	if _, _, _, ok := b.Use(); ok {
		t.Error("a base before there is one")
	}
	renew("1")
	first, known, over, _ := b.Use()
	renew("2")
	renew("3")
	has("1", "2", "3") // the second is found to be of no use with the next
	renew("4")
	has("1", "3", "4")
	over()
	over()
	refuses = true
	renew("5")
	if now, _, _, ok := b.Use(); first.Commit != "1" || !known["1"] || !ok || now != (Base{"refs/x/4", "4", "tree of 4"}) {
		t.Errorf("%+v, then %+v", first, now)
	}
	refuses = false
	delete(at, "refs/x/3") // somebody else's
	renew("6")
	has("1", "4", "6")
	b.Close()
	b.Renew("7", "")
	has("1", "4", "6")
}
