package git

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/google/renameio/v2"
)

// Exclude adds the patterns that are not there yet to info/exclude, the
// ignore list of this clone that is never committed. All else in it stays.
func (r *Repo) Exclude(patterns []string) error { return r.addInfo("exclude", patterns) }

// Attributes likewise adds lines to info/attributes, which comes before every
// .gitattributes.
func (r *Repo) Attributes(lines []string) error { return r.addInfo("attributes", lines) }

// addInfo adds the lines that are missing to a file in the folder info.
func (r *Repo) addInfo(file string, lines []string) error {
	name := filepath.Join(r.common, "info", file)
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
