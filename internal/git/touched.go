package git

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// Touched is a file that differs between two trees: what it is in each, "" where it is not.
// Mode and blob are whole, so that the same Now is the same content.
type Touched struct{ Path, Was, Now string }

// Touched lists the files that differ between two trees or commits, as far as want wants
// them, and the differences of these as a patch of at most max bytes. Nothing that stands
// in the trees, or how much else differs, keeps a file out of the list.
func (r *Repo) Touched(ctx context.Context, from, to string, want func(path string) bool, max int64) (files []Touched, patch []byte, err error) {
	if err := errors.Join(CheckHash("tree", from), CheckHash("tree", to)); err != nil {
		return nil, nil, fmt.Errorf("list what differs: %w", err)
	}
	if from == to {
		return nil, nil, nil
	}
	if err := errors.Join(r.written(ctx, from), r.written(ctx, to)); err != nil {
		return nil, nil, fmt.Errorf("list what differs: %w", err)
	}
	list, err := r.differences(ctx, from, to)
	if err != nil {
		return nil, nil, fmt.Errorf("list what differs: %w", err)
	}
	for _, c := range list {
		if !want(c.Path) {
			continue
		}
		wasMode, nowMode, _ := strings.Cut(strings.TrimPrefix(c.Modes, ":"), " ")
		wasID, nowID, _ := strings.Cut(c.IDs, " ")
		files = append(files, Touched{Path: c.Path, Was: content(wasMode, wasID), Now: content(nowMode, nowID)})
	}
	if len(files) == 0 {
		return nil, nil, nil
	}
	args := []string{from, to, "--"}
	for _, f := range files {
		args = append(args, ":(literal)"+f.Path)
	}
	const most = 64 // of them in the patch: a command line is no list without end
	if len(args) > 3+most {
		args = args[:3+most]
	}
	patch, err = r.compare(ctx, max, []string{"-p"}, args...)
	if err != nil {
		return nil, nil, fmt.Errorf("list what differs: %w", err)
	}
	return files, patch, nil
}

// content names what a path has, "" for nothing.
func content(mode, blob string) string {
	if strings.Trim(blob, "0") == "" {
		return ""
	}
	return mode + " " + blob
}

// Patch returns the difference of two commits for reading: renamed files as such,
// with ten lines around each change; at most max bytes, cut after a whole line.
func (r *Repo) Patch(ctx context.Context, from, to string, max int64) ([]byte, error) {
	if err := errors.Join(CheckHash("commit", from), CheckHash("commit", to)); err != nil {
		return nil, fmt.Errorf("patch: %w", err)
	}
	if from == to || max <= 0 {
		return nil, nil
	}
	if err := errors.Join(r.written(ctx, from), r.written(ctx, to)); err != nil {
		return nil, fmt.Errorf("patch: %w", err)
	}
	patch, err := r.patch(ctx, max, from, to, "-p", "-M", fmt.Sprintf("-U%d", PatchContext))
	if err != nil {
		return nil, fmt.Errorf("patch: %w", err)
	}
	return patch, nil
}

// PatchContext is how many lines around a change a patch shows: enough to see in which test it is.
const PatchContext = 10
