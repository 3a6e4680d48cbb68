package workspace

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/labels"
	"github.com/ralph-loop/ralph/internal/specfile"
	"github.com/ralph-loop/ralph/internal/specs"
)

// SpecThere checks that a spec named by a person can be queued or worked on, and
// returns its file relative to ralph/specs.
func SpecThere(env Env, name string) (string, error) {
	root, failed := FindRoot(env)
	if failed == nil && filepath.IsAbs(name) {
		name = belowSpecs(root, name)
	}
	file, err := ralph.SpecFile(name)
	if err = cmp.Or(err, failed); err != nil {
		return "", err
	}
	text, err := specs.Read(root, file)
	if errors.Is(err, fs.ErrNotExist) {
		return "", &ralph.Refusal{Why: fmt.Sprintf("ralph/specs/%s does not exist", file), Hint: "write the spec there first" + nearSpecs(root), Kind: ralph.ErrUsage}
	} else if err != nil {
		return "", fmt.Errorf("spec %q cannot be used: %w", name, err)
	}
	return file, checkHead(file, text)
}

// checkHead refuses a spec that asks for what no worker can have: its work would wait for good.
func checkHead(file, text string) error {
	head, _ := specfile.Parse(text)
	for _, label := range head.Worker {
		if wrong := labels.Wrong(label); wrong != "" {
			return &ralph.Refusal{Why: fmt.Sprintf("ralph/specs/%s:%d: worker: %q %s", file, lineOf(text, label), label, wrong), Hint: "say there which labels a worker must have, as in `worker: [gpu, os=windows]`, or take the line out", Kind: ralph.ErrUsage}
		}
	}
	if len(head.Worker) > labels.Most {
		return &ralph.Refusal{Why: fmt.Sprintf("ralph/specs/%s:%d: worker: has more than %d labels", file, lineOf(text, ""), labels.Most), Kind: ralph.ErrUsage}
	}
	return nil
}

// lineOf is the line of a head that says a label of its `worker:`, from 1.
func lineOf(text, label string) int {
	key := 0
	for n, line := range strings.Split(text, "\n") {
		if strings.HasPrefix(line, "worker:") {
			key = n + 1
		}
		if key > 0 && strings.Contains(line, label) {
			return n + 1
		}
	}
	return key
}

// SpecLabels are those that the head of a spec asks of workers. A spec that cannot be read asks for none.
func SpecLabels(root, file string) []string {
	if file == "" {
		return nil
	}
	text, err := specs.Read(root, file)
	if err != nil {
		return nil
	}
	head, _ := specfile.Parse(text)
	return head.Worker
}

// belowSpecs is the name in ralph/specs of a file that is given by its whole path, as editors
// and shells give it; the path itself where it is not in there. The folders above may be links.
func belowSpecs(root, name string) string {
	folder := filepath.Join(root, "ralph/specs")
	inside := func(folder, file string) (string, bool) {
		rel, err := filepath.Rel(folder, file)
		return filepath.ToSlash(rel), err == nil && filepath.IsLocal(rel)
	}
	if rel, ok := inside(folder, name); ok {
		return rel
	}
	real, err := filepath.EvalSymlinks(folder)
	dir, failed := filepath.EvalSymlinks(filepath.Dir(name))
	if rel, ok := inside(real, filepath.Join(dir, filepath.Base(name))); ok && err == nil && failed == nil {
		return rel
	}
	return name
}

// nearSpecs names the specs that are there, for a mistyped name.
func nearSpecs(root string) string {
	entries, err := os.ReadDir(filepath.Join(root, "ralph/specs"))
	if err != nil {
		return " (`ralph init` makes the folder)"
	}
	var names []string
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), ".md") {
			names = append(names, e.Name())
		}
	}
	if len(names) == 0 || len(names) > 12 {
		return ""
	}
	return "; there are " + strings.Join(names, ", ")
}
