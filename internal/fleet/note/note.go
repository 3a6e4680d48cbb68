// Package note is what travels beside Temporal, in the commits of git: what a step depends on, with
// the files that it needs of the checkout, and on the way back what came of it with the records of
// its turns.
//
// It does NOT own the commits (internal/git/carry) nor their refs (internal/git/push), and knows
// nothing of Temporal.
package note

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/fleet/seal"
	"github.com/ralph-loop/ralph/internal/redact"
	"github.com/ralph-loop/ralph/internal/regular"
)

// Note is what goes with the files of a worktree, to a worker and back.
type Note struct {
	Version string // of the ralph that wrote it
	Branch  string
	Dir     string // of the worktree, relative to the repository
	// To a worker: the step, and all that it depends on.
	Step     json.RawMessage   `json:",omitempty"` // as in its receipt
	Task     ralph.TaskID      `json:",omitempty"`
	State    *ralph.State      `json:",omitempty"`
	Policy   json.RawMessage   `json:",omitempty"`
	Flags    map[string]string `json:",omitempty"` // settings of the command line
	Name     string            `json:",omitempty"` // who commits
	Email    string            `json:",omitempty"`
	Turns    []string          `json:",omitempty"` // folders of turns that are there already
	SentAt   time.Time         `json:",omitzero"`
	Anywhere bool              `json:",omitempty"` // the session of the agent is not needed
	// Both ways: files by their path, relative to the repository.
	Files map[string][]byte `json:",omitempty"`
	// Back: the outcome.
	Facts []json.RawMessage `json:",omitempty"`
	Where string            `json:",omitempty"` // who did it
	Lease int64             `json:",omitempty"` // for which
}

// most bounds what a note may be when it is open: records of turns are bounded each, too.
const most = 512 << 20

// Encode makes a note small, and seals it where there is a key.
func (n Note) Encode(k seal.Sealer) ([]byte, error) {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if err := errors.Join(json.NewEncoder(z).Encode(n), z.Close()); err != nil {
		return nil, fmt.Errorf("write what travels: %w", err)
	}
	return k.Seal(b.Bytes())
}

// Decode reads what Encode wrote. What has another seal than k, or none where there is a key, is
// refused: it may be anybody's.
func Decode(b []byte, k seal.Sealer) (Note, error) {
	var n Note
	b, err := k.Open(b)
	if err != nil {
		return n, err
	}
	z, err := gzip.NewReader(bytes.NewReader(b))
	if err == nil {
		err = json.NewDecoder(io.LimitReader(z, most)).Decode(&n)
	}
	if err != nil {
		return n, fmt.Errorf("read what travelled: %w", err)
	}
	return n, nil
}

// MayTravel says of texts whether they may be put into a payload of Temporal beside this note: not what looks like a
// secret, in files that go with it or in the work. Facts and states have none.
func (n Note) MayTravel(r *redact.Redactor) func(text string) bool {
	clean := func(text string) bool { return r.String(text) == text }
	all := true
	for _, text := range n.Files {
		all = all && clean(string(text))
	}
	for _, text := range n.Flags {
		all = all && clean(text)
	}
	return func(text string) bool { return all && clean(text) }
}

// EncodeFacts writes facts as the journal has them.
func EncodeFacts(facts []ralph.Fact) ([]json.RawMessage, error) {
	var out []json.RawMessage
	for _, f := range facts {
		line, err := ralph.MarshalEvent(&ralph.Event{Fact: f})
		if err != nil {
			return nil, err
		}
		out = append(out, line)
	}
	return out, nil
}

// DecodeFacts reads what EncodeFacts wrote.
func DecodeFacts(lines []json.RawMessage) ([]ralph.Fact, error) {
	var out []ralph.Fact
	for _, l := range lines {
		e, err := ralph.UnmarshalEvent(l)
		if err != nil {
			return nil, fmt.Errorf("read the outcome of a step: %w", err)
		}
		out = append(out, e.Fact)
	}
	return out, nil
}

// Took says in facts which worker they came from. A turn has ended when that is heard of, by the clock here: what
// follows is decided on it.
func Took(facts []ralph.Fact, worker string) {
	for i, f := range facts {
		switch f := f.(type) {
		case ralph.TurnEnded:
			f.Ended, f.Worker = time.Now().UTC().Truncate(time.Microsecond), worker
			facts[i] = f
		case ralph.ChecksRan:
			f.Worker = worker
			facts[i] = f
		case ralph.Compacted:
			f.Worker = worker
			facts[i] = f
		}
	}
}

// Settings are the files that a step needs of the checkout: how ralph is set up, and the spec.
func Settings(root, spec string) (map[string][]byte, error) {
	files := map[string][]byte{}
	names := []string{"ralph/config.yaml"}
	if spec != "" {
		names = append(names, "ralph/specs/"+spec)
	}
	prompts, err := filepath.Glob(filepath.Join(root, "ralph/prompts/*.md"))
	if err != nil {
		return nil, err
	}
	for _, p := range prompts {
		names = append(names, "ralph/prompts/"+filepath.Base(p))
	}
	return files, Take(root, names, files)
}

// Take reads files below root; one that is not there is none.
func Take(root string, names []string, into map[string][]byte) error {
	at, err := os.OpenRoot(root) // a link must not lead out of the repository
	if err != nil {
		return fmt.Errorf("read what travels: %w", err)
	}
	defer at.Close()
	for _, name := range names {
		b, err := regular.ReadIn(at, filepath.FromSlash(name), regular.Large)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return fmt.Errorf("read what travels: %w", err)
		default:
			into[name] = b
		}
	}
	return nil
}

// RecordsOf are the files that the facts of a task name: outputs of checks, whole.
func RecordsOf(t *ralph.Task) []string {
	var names []string
	for _, ran := range []*ralph.ChecksRan{t.Run.Checks, t.Run.Red} {
		if ran != nil && ran.Path() != "" {
			names = append(names, ran.Path())
		}
	}
	return names
}

// NewFiles takes the files of a folder of turns that were not there before.
func NewFiles(root, folder string, before []string, into map[string][]byte) error {
	at := filepath.Join(root, filepath.FromSlash(folder))
	return filepath.WalkDir(at, func(name string, d fs.DirEntry, err error) error {
		rel, _ := filepath.Rel(at, name)
		rel = filepath.ToSlash(rel)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil || !d.Type().IsRegular() || slices.Contains(before, rel):
			return err
		}
		return Take(root, []string{path.Join(folder, rel)}, into)
	})
}

// Listed are the names in a folder of turns, files by their path in it.
func Listed(root, folder string) (turns, files []string) {
	at := filepath.Join(root, filepath.FromSlash(folder))
	_ = filepath.WalkDir(at, func(name string, d fs.DirEntry, err error) error {
		rel, _ := filepath.Rel(at, name)
		if rel = filepath.ToSlash(rel); err != nil || rel == "." {
			return nil //nolint:nilerr // it is not there: nothing is
		}
		if d.IsDir() {
			turns = append(turns, rel)
		} else {
			files = append(files, rel)
		}
		return nil
	})
	return turns, files
}

// Place writes files that travelled. Only what allowed says may come; a link must not lead it out of
// the repository. Who reads one meanwhile sees the old file or the new one whole; one that goes on
// where the old one ends is the same file made longer, as of an output that somebody follows.
func Place(root string, files map[string][]byte, allowed func(name string) bool) error {
	at, err := os.OpenRoot(root)
	if err != nil {
		return fmt.Errorf("write what travelled: %w", err)
	}
	defer at.Close()
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if path.Clean(name) != name || !fs.ValidPath(name) || !allowed(name) {
			return fmt.Errorf("write what travelled: %q has no business here", name)
		}
		err := at.MkdirAll(filepath.FromSlash(path.Dir(name)), 0o700)
		if err == nil {
			err = put(at, filepath.FromSlash(name), files[name])
		}
		if err != nil {
			return fmt.Errorf("write what travelled: %w", err)
		}
	}
	return nil
}

func put(at *os.Root, name string, text []byte) error {
	switch was, err := at.Lstat(name); {
	case errors.Is(err, fs.ErrNotExist):
		return at.WriteFile(name, text, 0o600)
	case err != nil:
		return err
	case was.Mode().IsRegular() && was.Size() <= int64(len(text)):
		there, err := at.ReadFile(name)
		if err == nil && bytes.HasPrefix(text, there) {
			return lengthen(at, name, text[len(there):])
		}
	}
	if err := at.WriteFile(name+".new", text, 0o600); err != nil {
		return err
	}
	return at.Rename(name+".new", name)
}

func lengthen(at *os.Root, name string, by []byte) error {
	f, err := at.OpenFile(name, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	_, err = f.Write(by)
	return errors.Join(err, f.Close())
}

// Turn is the name that the folder of a turn gets, among those that are there already (step).
func Turn(iteration int, there []string) string {
	name := strconv.Itoa(iteration)
	for try := 2; slices.Contains(there, name); try++ {
		name = fmt.Sprintf("%d.%d", iteration, try)
	}
	return name
}

// ForWorker are the files that may come to a worker.
func ForWorker(folder string) func(string) bool {
	return func(name string) bool {
		return name == "ralph/config.yaml" || strings.HasPrefix(name, "ralph/specs/") || strings.HasPrefix(name, "ralph/prompts/") || strings.HasPrefix(name, folder+"/")
	}
}

// ForCoordinator are those that may come back: records of the task.
func ForCoordinator(folder string) func(string) bool {
	return func(name string) bool { return strings.HasPrefix(name, folder+"/") }
}
