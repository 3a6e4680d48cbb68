package workspace

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/specfile"
	"github.com/ralph-loop/ralph/internal/specs"
)

// NewSpec makes a new file in ralph/specs; a name that is not given is made from the text.
func NewSpec(root, name string, text []byte) (string, error) {
	switch {
	case len(text) > specfile.MaxSize:
		return "", &ralph.Refusal{Why: "the spec is larger than 1 MiB", Hint: "split it", Kind: ralph.ErrUsage}
	case specs.Check(text) != "":
		return "", &ralph.Refusal{Why: "the spec " + specs.Check(text), Kind: ralph.ErrUsage}
	}
	if name == "" {
		name = nameFrom(string(text))
	}
	file, err := ralph.SpecFile(name)
	if err == nil {
		err = checkHead(file, string(text))
	}
	if err != nil {
		return "", err
	}
	err = writeSpec(root, file, text)
	if errors.Is(err, fs.ErrExist) {
		return "", &ralph.Refusal{Why: fmt.Sprintf("ralph/specs/%s exists already", file), Hint: "choose another --name, or queue it: ralph inbox add " + file, Kind: ralph.ErrUsage}
	}
	if err != nil {
		return "", fmt.Errorf("write the spec: %w", err)
	}
	return file, nil
}

// writeSpec makes a new file in ralph/specs. os.Root keeps symbolic links in the
// name from leading out of the folder.
func writeSpec(root, file string, text []byte) error {
	folder := filepath.Join(root, "ralph/specs")
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	dir, err := os.OpenRoot(folder)
	if err != nil {
		return err
	}
	defer dir.Close()
	if sub := path.Dir(file); sub != "." {
		if err := dir.MkdirAll(sub, 0o755); err != nil {
			return err
		}
	}
	f, err := dir.OpenFile(file, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	return errors.Join(err, f.Close())
}

// nameFrom makes a file name from the first line that has words.
func nameFrom(text string) string {
	for line := range strings.Lines(text) {
		words := strings.FieldsFunc(strings.ToLower(line), func(r rune) bool {
			return (r < 'a' || r > 'z') && (r < '0' || r > '9')
		})
		if len(words) > 0 {
			return strings.Join(words[:min(len(words), 6)], "-") + ".md"
		}
	}
	return "spec.md"
}
