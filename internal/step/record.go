package step

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/records"
)

// record is the folder of one turn: prompt, output, and what came of it.
type record struct {
	dir    string // absolute
	rel    string // relative to the repository
	output *outputFile
}

// openRecord makes ralph/.state/tasks/<task>/<name>/, where the name of a turn is
// its iteration. A turn that was cut and is done again gets a folder of its own,
// so that nothing is overwritten.
func (x *Executor) openRecord(t *ralph.Task, name, prompt string) (*record, error) {
	base := taskDir(t.ID)
	if err := os.MkdirAll(filepath.Join(x.Root, base), 0o700); err != nil {
		return nil, fmt.Errorf("make the folder of the turn: %w", err)
	}
	for try := 1; ; try++ {
		rel := filepath.Join(base, name)
		if try > 1 {
			rel = fmt.Sprintf("%s.%d", rel, try)
		}
		r := &record{dir: filepath.Join(x.Root, rel), rel: filepath.ToSlash(rel)}
		err := os.Mkdir(r.dir, 0o700)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(r.dir, promptName), []byte(x.Redact.String(prompt)), 0o600)
		}
		if err == nil {
			r.output, err = openOutput(filepath.Join(r.dir, OutputName), x.Redact)
		}
		if err != nil {
			return nil, fmt.Errorf("make the folder of the turn: %w", err)
		}
		return r, nil
	}
}

// OutputOf is where the output of a turn is kept, while it grows too: of the newest
// try of the iteration. It need not be there.
func OutputOf(root string, id ralph.TaskID, iteration int) string {
	dir := filepath.Join(root, taskDir(id), strconv.Itoa(iteration))
	for try := 2; ; try++ {
		next := fmt.Sprintf("%s.%d", filepath.Join(root, taskDir(id), strconv.Itoa(iteration)), try)
		if _, err := os.Stat(next); err != nil {
			return filepath.Join(dir, OutputName)
		}
		dir = next
	}
}

// The files of a turn's folder that a fact has the sums of. Others grow after it.
const (
	promptName  = "prompt.md"
	summaryName = "summary.json"
	diffName    = "diff.patch"
)

// sums says what the files in a turn's folder hold. The turn is over.
func (r *record) sums() ([]ralph.FileSum, error) {
	var of []ralph.FileSum
	for _, name := range []string{promptName, OutputName, summaryName, diffName} {
		if name == OutputName {
			of = append(of, ralph.FileSum{Name: name, Sum: r.output.sha256()})
			continue
		}
		s, err := records.Sum(r.dir, name)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return nil, err
		default:
			of = append(of, ralph.FileSum{Name: name, Sum: s})
		}
	}
	return of, nil
}

// OutputName is the file in the folder of a turn that has what an agent printed, byte for byte but for
// secrets. It only grows.
const OutputName = "output.log"

func (r *record) close() error {
	if err := r.output.Close(); err != nil {
		return fmt.Errorf("write output.log: %w", err)
	}
	return nil
}

// RecordsOf is the folder with the records of a task, one for each turn, relative to the
// repository.
func RecordsOf(id ralph.TaskID) string { return taskDir(id) }
