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

// mostTouched bounds the list of files; a longer one is an error, never a part of it.
const mostTouched = 256 << 20

// Touched lists the files that differ between two trees or commits, as far as want wants
// them, and the differences of these as a patch of at most max bytes. Nothing that stands
// in the trees, or how much else differs, keeps a file out of the list.
func (r *Repo) Touched(ctx context.Context, from, to string, want func(path string) bool, max int64) (files []Touched, patch []byte, err error) {
	if err := errors.Join(checkHash("tree", from), checkHash("tree", to)); err != nil {
		return nil, nil, fmt.Errorf("list what differs: %w", err)
	}
	if from == to {
		return nil, nil, nil
	}
	if err := errors.Join(r.written(ctx, from), r.written(ctx, to)); err != nil {
		return nil, nil, fmt.Errorf("list what differs: %w", err)
	}
	raw, err := r.compare(ctx, mostTouched, []string{"--raw", "-z", "--no-abbrev", "--no-renames"}, from, to)
	if err != nil {
		return nil, nil, fmt.Errorf("list what differs: %w", err)
	}
	if len(raw) >= mostTouched {
		return nil, nil, errors.New("list what differs: there is too much of it")
	}
	if files, err = touchedIn(string(raw), want); err != nil || len(files) == 0 {
		return nil, nil, err
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

// touchedIn reads `git diff-tree --raw -z`: ":<mode> <mode> <blob> <blob> <letter>", then the path.
func touchedIn(raw string, want func(path string) bool) ([]Touched, error) {
	var files []Touched
	fields := strings.Split(raw, "\x00")
	for i := 0; i+1 < len(fields); i += 2 {
		f := strings.Fields(strings.TrimPrefix(fields[i], ":"))
		if len(f) != 5 {
			return nil, fmt.Errorf("list what differs: git wrote %q", fields[i])
		}
		if path := fields[i+1]; want(path) {
			files = append(files, Touched{Path: path, Was: content(f[0], f[2]), Now: content(f[1], f[3])})
		}
	}
	return files, nil
}

// content names what a path has, "" for nothing.
func content(mode, blob string) string {
	if strings.Trim(blob, "0") == "" {
		return ""
	}
	return mode + " " + blob
}
