package step

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"unicode/utf8"

	"github.com/ralph-loop/ralph/internal/regular"
	"github.com/ralph-loop/ralph/internal/specfile"
)

// readSpec reads a spec. os.Root keeps symbolic links from leading out of
// ralph/specs. A plan that people made may have no spec at all.
func (x *Executor) readSpec(file string) (string, error) {
	if file == "" {
		return "", nil
	}
	text, err := ReadSpec(x.Root, file)
	if errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("spec file ralph/specs/%s not found", file)
	}
	return text, err
}

// ReadSpec reads ralph/specs/<file> below root, at most 1 MiB. A name or a
// symbolic link that leads out of the folder is an error.
func ReadSpec(root, file string) (string, error) {
	dir, err := os.OpenRoot(filepath.Join(root, "ralph/specs"))
	if err != nil {
		return "", fmt.Errorf("open ralph/specs: %w", err)
	}
	defer dir.Close()
	info, err := dir.Stat(file)
	if err != nil {
		return "", fmt.Errorf("read spec: %w", err)
	}
	switch {
	case info.IsDir():
		return "", fmt.Errorf("ralph/specs/%s is a folder", file)
	case info.Size() > specfile.MaxSize:
		return "", fmt.Errorf("ralph/specs/%s is larger than 1 MiB: split it", file)
	}
	b, err := regular.ReadIn(dir, file, specfile.MaxSize)
	if err != nil {
		return "", fmt.Errorf("read spec: %w", err)
	}
	if wrong := CheckSpec(b); wrong != "" {
		return "", fmt.Errorf("ralph/specs/%s %s", file, wrong)
	}
	return string(b), nil
}

// CheckSpec says why a text can be no spec, with what to do; "" when it can. An agent
// that is given nothing, or what is no text, works on something else.
func CheckSpec(text []byte) string {
	switch {
	case bytes.HasPrefix(text, []byte("\xff\xfe")), bytes.HasPrefix(text, []byte("\xfe\xff")):
		return "is UTF-16: save it as UTF-8 (iconv -f UTF-16 -t UTF-8)"
	case len(bytes.TrimSpace(bytes.TrimPrefix(text, []byte("\ufeff")))) == 0:
		return "is empty: write down what is to be done"
	case bytes.IndexByte(text, 0) >= 0:
		return "is no text (it holds NUL bytes): a spec is markdown, write down in words what is to be done"
	}
	for line, at := 1, text; len(at) > 0; {
		r, n := utf8.DecodeRune(at)
		switch {
		case r == utf8.RuneError && n == 1:
			return fmt.Sprintf("is not UTF-8 (line %d, byte 0x%02X): save it as UTF-8, for instance with iconv -f LATIN1 -t UTF-8", line, at[0])
		case r == '\n':
			line++
		}
		at = at[n:]
	}
	return ""
}
