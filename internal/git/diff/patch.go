package diff

import (
	"bufio"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"

	"github.com/ralph-loop/ralph/internal/git"
	"github.com/ralph-loop/ralph/internal/git/coprocess"
)

// Plain returns the difference of two trees or commits as a patch of at most
// max bytes, cut after a whole line.
func Plain(ctx context.Context, r *git.Repo, fromTree, toTree string, max int64) ([]byte, error) {
	if err := errors.Join(git.CheckHash("tree", fromTree), git.CheckHash("tree", toTree)); err != nil {
		return nil, fmt.Errorf("diff: %w", err)
	}
	if fromTree == toTree || max <= 0 {
		return nil, nil
	}
	if err := errors.Join(r.Written(ctx, fromTree), r.Written(ctx, toTree)); err != nil {
		return nil, fmt.Errorf("diff: %w", err)
	}
	text, err := patch(ctx, r, max, fromTree, toTree, "-p")
	if err != nil {
		return nil, fmt.Errorf("diff: %w", err)
	}
	return text, nil
}

// File is one that differs between two trees: what it is in each, "" where it is not.
// Mode and blob are whole, so that the same Now is the same content.
type File struct{ Path, Was, Now string }

// Touched lists the files that differ between two trees or commits, as far as want wants
// them, and the differences of these as a patch of at most max bytes. Nothing that stands
// in the trees, or how much else differs, keeps a file out of the list.
func Touched(ctx context.Context, r *git.Repo, from, to string, want func(path string) bool, max int64) (files []File, patch []byte, err error) {
	if err := errors.Join(git.CheckHash("tree", from), git.CheckHash("tree", to)); err != nil {
		return nil, nil, fmt.Errorf("list what differs: %w", err)
	}
	if from == to {
		return nil, nil, nil
	}
	if err := errors.Join(r.Written(ctx, from), r.Written(ctx, to)); err != nil {
		return nil, nil, fmt.Errorf("list what differs: %w", err)
	}
	list, err := differences(ctx, r, from, to)
	if err != nil {
		return nil, nil, fmt.Errorf("list what differs: %w", err)
	}
	for _, c := range list {
		if !want(c.Path) {
			continue
		}
		files = append(files, File{Path: c.Path, Was: c.Before(), Now: c.After()})
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
	patch, err = r.AskOnce(ctx, max, slices.Concat(diffTree(), []string{"-p"}, args)...)
	if err != nil {
		return nil, nil, fmt.Errorf("list what differs: %w", err)
	}
	return files, patch, nil
}

// Patch returns the difference of two commits for reading: renamed files as such,
// with ten lines around each change; at most max bytes, cut after a whole line.
func Patch(ctx context.Context, r *git.Repo, from, to string, max int64) ([]byte, error) {
	if err := errors.Join(git.CheckHash("commit", from), git.CheckHash("commit", to)); err != nil {
		return nil, fmt.Errorf("patch: %w", err)
	}
	if from == to || max <= 0 {
		return nil, nil
	}
	if err := errors.Join(r.Written(ctx, from), r.Written(ctx, to)); err != nil {
		return nil, fmt.Errorf("patch: %w", err)
	}
	text, err := patch(ctx, r, max, from, to, "-p", "-M", fmt.Sprintf("-U%d", PatchContext))
	if err != nil {
		return nil, fmt.Errorf("patch: %w", err)
	}
	return text, nil
}

// PatchContext is how many lines around a change a patch shows: enough to see in which test it is.
const PatchContext = 10

// patch is how two trees or commits differ, whole, by a git that stays.
func patch(ctx context.Context, r *git.Repo, max int64, from, to string, form ...string) ([]byte, error) {
	a, err := r.TreeAt(ctx, from)
	if err != nil {
		return nil, err
	}
	b, err := r.TreeAt(ctx, to)
	if err != nil || a == b {
		return nil, err
	}
	// What is no id git gives back as it is: nothing that stands in a patch begins a line so.
	end := rand.Text() + "\n"
	out := coprocess.NewHead(max)
	err = r.Ask(ctx, []byte(a+" "+b+"\n"+end), func(from *bufio.Reader) error {
		for first := true; ; {
			part, err := from.ReadSlice('\n')
			if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
				return err
			}
			switch {
			case string(part) == end:
				return nil
			case first && string(part) == a+" "+b+"\n":
			default:
				if _, err := out.Write(part); err != nil {
					return err
				}
			}
			first = false
		}
	}, slices.Concat(diffTree(), form, []string{"--stdin"})...)
	if out.Full() {
		return out.Lines(), nil
	}
	return out.Bytes(), err
}

func diffTree() []string {
	return []string{"diff-tree", "-r", "--no-color", "--no-ext-diff", "--no-textconv"}
}
