package workspace

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/step"
)

// SpecThere checks that a spec named by a person can be queued or worked on, and
// returns its file relative to ralph/specs.
func SpecThere(env Env, name string) (string, error) {
	file, err := ralph.SpecFile(name)
	if err != nil {
		return "", err
	}
	root, err := FindRoot(env)
	if err != nil {
		return "", err
	}
	if _, err := step.ReadSpec(root, file); errors.Is(err, fs.ErrNotExist) {
		return "", &ralph.Refusal{Why: fmt.Sprintf("ralph/specs/%s does not exist", file), Hint: "write the spec there first" + nearSpecs(root), Kind: ralph.ErrUsage}
	} else if err != nil {
		return "", fmt.Errorf("spec %q cannot be used: %w", name, err)
	}
	return file, nil
}

// ReadSpec reads a spec of ralph/specs.
func ReadSpec(root, file string) (string, error) { return step.ReadSpec(root, file) }

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
