// Package records owns the files that facts name by their hash: what checks printed and both
// sides of conflicts, whole, in the folders of turns below ralph/.state. It does not own what
// is in a turn's folder besides, which is step's, nor what facts say of it.
package records

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/text"
)

// maxRead is the most of a file that is read, in bytes: outputs are bounded when they are
// kept, so that a longer one is not what was kept.
const maxRead = 64 << 20

// Keep writes a text into a folder, relative to the repository, under a name that nothing
// else has: <stem>.json where that is free, else one with its hash. When it returns, the
// file is there whole, and a fact may name it; needed: also when the power goes, as the fact
// lacks something that the file has.
func Keep(root, dir, stem string, text []byte, needed bool) (ralph.Whole, error) {
	h := sha256.Sum256(text)
	w := ralph.Whole{Record: hex.EncodeToString(h[:]), Dir: dir}
	for _, name := range []string{stem + ".json", stem + "-" + w.Record[:16] + ".json"} {
		w.File = name
		if name == ralph.ChecksFile {
			w.File = ""
		}
		there, err := Sum(root, w.Path())
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return w, write(filepath.Join(root, filepath.FromSlash(w.Path())), text, needed)
		case err == nil && there == w.Record:
			return w, nil
		}
	}
	// A file has the name of the hash and is not of it: nobody's but somebody's who changed it.
	return w, write(filepath.Join(root, filepath.FromSlash(w.Path())), text, needed)
}

// write makes a file that is there whole or not at all, whatever ends this process; durable:
// and whatever ends the machine.
func write(name string, text []byte, durable bool) (err error) {
	dir := filepath.Dir(name)
	if err := os.MkdirAll(dir, 0o700); err != nil { // an agent may have deleted it
		return fmt.Errorf("write %s: %w", name, err)
	}
	f, err := os.CreateTemp(dir, ".kept-*")
	if err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	_, err = f.Write(text)
	err = errors.Join(err, f.Chmod(0o600))
	if durable {
		err = errors.Join(err, f.Sync())
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", name, errors.Join(err, os.RemoveAll(f.Name())))
	}
	if !durable {
		return nil
	}
	return syncDir(dir)
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return fmt.Errorf("write %s: %w", dir, err)
	}
	return errors.Join(d.Sync(), d.Close())
}

// Sum is the SHA-256 sum of a file of the records, in hexadecimal, by its path relative to
// the repository. An error that is fs.ErrNotExist: it is gone.
func Sum(root, rel string) (string, error) {
	f, err := os.Open(filepath.Join(root, filepath.FromSlash(rel)))
	if err != nil {
		return "", fmt.Errorf("read the record of the turn: %w", err)
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", fmt.Errorf("read the record of the turn: %w", err)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// read returns what a fact keeps, into v. The words say why there is nothing.
func read(root string, w ralph.Whole, v any) (words string) {
	name := w.Path()
	if name == "" {
		return "the fact does not say where"
	}
	f, err := os.Open(filepath.Join(root, filepath.FromSlash(name)))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return path.Clean(name) + " is gone"
	case err != nil:
		return name + " cannot be read"
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxRead))
	if err != nil {
		return name + " cannot be read"
	}
	if h := sha256.Sum256(text); hex.EncodeToString(h[:]) != w.Record || json.Unmarshal(text, v) != nil {
		return name + " is not as it was then"
	}
	return ""
}

// missed is the brief form of a text with the words that the rest is not to be had.
func missed(brief, words string) string {
	if brief != "" && !strings.HasSuffix(brief, "\n") {
		brief += "\n"
	}
	return brief + "... the whole is not to be had: " + words + " ...\n"
}

// Results are results of checks with their outputs whole, as far as they are to be had; the
// others say why not.
func Results(root string, w ralph.Whole, results []ralph.CheckResult) []ralph.CheckResult {
	if !slices.ContainsFunc(results, func(r ralph.CheckResult) bool { return r.Brief > 0 }) {
		return results
	}
	var kept struct {
		Results []ralph.CheckResult `json:"results"`
	}
	words := read(root, w, &kept)
	out := slices.Clone(results)
	for i, r := range out {
		switch {
		case r.Brief == 0:
		case words == "" && i < len(kept.Results) && kept.Results[i].Name == r.Name:
			out[i].Output, out[i].Brief = kept.Results[i].Output, 0
		case words == "":
			out[i].Output = missed(r.Output, w.Path()+" has no such check")
		default:
			out[i].Output = missed(r.Output, words)
		}
	}
	return out
}

// Checks is a run of checks with its outputs whole.
func Checks(root string, ran *ralph.ChecksRan) *ralph.ChecksRan {
	if ran == nil {
		return nil
	}
	out := *ran
	out.Results = Results(root, ran.Whole, ran.Results)
	return &out
}

// Conflict is a conflict with both sides whole.
func Conflict(root string, c *ralph.Conflict) *ralph.Conflict {
	if c == nil || !slices.ContainsFunc(c.Files, func(f ralph.ConflictFile) bool { return f.Brief > 0 }) {
		return c
	}
	var kept struct {
		Files []ralph.ConflictFile `json:"files"`
	}
	words := read(root, c.Whole, &kept)
	out := *c
	out.Files = slices.Clone(c.Files)
	for i, f := range out.Files {
		switch {
		case f.Brief == 0:
		case words == "" && i < len(kept.Files) && kept.Files[i].Path == f.Path:
			out.Files[i].Marked, out.Files[i].Brief = kept.Files[i].Marked, 0
		case words == "":
			out.Files[i].Marked = missed(f.Marked, c.Path()+" has no such file")
		default:
			out.Files[i].Marked = missed(f.Marked, words)
		}
	}
	return &out
}

// Task is a task as the state has it, with all of this whole: for who shows it.
func Task(root string, t *ralph.Task) *ralph.Task {
	if t == nil {
		return nil
	}
	out := *t
	same := out.Run.Red == out.Run.Checks
	out.Run.Checks = Checks(root, t.Run.Checks)
	if out.Run.Red = out.Run.Checks; !same {
		out.Run.Red = Checks(root, t.Run.Red)
	}
	if m := t.Run.Queue.Merged; m != nil && m.Conflict != nil {
		merged := *m
		merged.Conflict = Conflict(root, m.Conflict)
		out.Run.Queue.Merged = &merged
	}
	return &out
}

// Detail is the detail of a gate with the outputs whole that it quotes in brief, at most so
// many bytes of each.
func Detail(root string, t *ralph.Task, detail string, most int) string {
	if t == nil {
		return detail
	}
	whole := Task(root, t)
	quote := func(brief, all string) {
		if brief != "" && brief != all {
			all, _ = ralph.Shorten(all, most)
			detail = strings.Replace(detail, brief, all, 1)
		}
	}
	for _, pair := range [][2]*ralph.ChecksRan{{t.Run.Checks, whole.Run.Checks}, {t.Run.Red, whole.Run.Red}} {
		if pair[0] == nil {
			continue
		}
		for i, r := range pair[0].Results {
			quote(text.Plain(r.Output), text.Plain(pair[1].Results[i].Output))
		}
	}
	return detail
}
