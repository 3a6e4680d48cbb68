// Package info owns what one clone of a repository is told that no commit has: files that it
// ignores, attributes, merge drivers. They are in the folder info of git's, and in its settings.
package info

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/google/renameio/v2"

	"github.com/ralph-loop/ralph/internal/git"
)

// Exclude adds the patterns that are not there yet to info/exclude, the
// ignore list of this clone that is never committed. All else in it stays.
func Exclude(r *git.Repo, patterns []string) error { return add(r, "exclude", patterns) }

// Include takes patterns out of it again.
func Include(r *git.Repo, patterns []string) error {
	name := filepath.Join(r.Common(), "info", "exclude")
	old, err := os.ReadFile(name)
	if os.IsNotExist(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read git's info/exclude: %w", err)
	}
	lines := slices.DeleteFunc(strings.SplitAfter(string(old), "\n"), func(line string) bool {
		return slices.Contains(patterns, strings.TrimRight(line, "\r\n"))
	})
	text := strings.Join(lines, "")
	if text == string(old) {
		return nil
	}
	if target, err := filepath.EvalSymlinks(name); err == nil {
		name = target
	}
	if err := renameio.WriteFile(name, []byte(text), 0o644); err != nil {
		return fmt.Errorf("write git's info/exclude: %w", err)
	}
	return nil
}

// MergeDriver names a program by which git merges files, in the settings of this clone.
func MergeDriver(ctx context.Context, r *git.Repo, name, words, command string) error {
	for key, value := range map[string]string{"name": words, "driver": command} {
		if _, err := r.Run(ctx, git.Call{Args: []string{"config", "--local", "merge." + name + "." + key, value}, Write: true}); err != nil {
			return fmt.Errorf("set git's merge driver %s: %w", name, err)
		}
	}
	return nil
}

// Attributes likewise adds lines to info/attributes, which comes before every
// .gitattributes.
func Attributes(r *git.Repo, lines []string) error { return add(r, "attributes", lines) }

// add adds the lines that are missing to a file in the folder info.
func add(r *git.Repo, file string, lines []string) error {
	name := filepath.Join(r.Common(), "info", file)
	if target, err := filepath.EvalSymlinks(name); err == nil {
		name = target // a link stays one
	}
	old, err := os.ReadFile(name)
	if err != nil && !os.IsNotExist(err) {
		return fmt.Errorf("read git's info/%s: %w", file, err)
	}
	have := strings.Split(strings.ReplaceAll(string(old), "\r\n", "\n"), "\n")
	b := bytes.NewBuffer(bytes.Clone(old))
	if len(old) > 0 && !bytes.HasSuffix(old, []byte("\n")) {
		b.WriteByte('\n')
	}
	for _, p := range lines {
		if strings.ContainsAny(p, "\r\n") || strings.TrimSpace(p) == "" {
			return fmt.Errorf("%q is not one line for git's info/%s", p, file)
		}
		if !slices.Contains(have, p) {
			have = append(have, p)
			b.WriteString(p + "\n")
		}
	}
	if bytes.Equal(bytes.TrimSuffix(b.Bytes(), []byte("\n")), bytes.TrimSuffix(old, []byte("\n"))) {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return fmt.Errorf("write git's info/%s: %w", file, err)
	}
	if err := renameio.WriteFile(name, b.Bytes(), 0o644); err != nil {
		return fmt.Errorf("write git's info/%s: %w", file, err)
	}
	return nil
}
