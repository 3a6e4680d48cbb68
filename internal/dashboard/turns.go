package dashboard

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/lazyregexp"
	"github.com/ralph-loop/ralph/internal/step"
	"github.com/ralph-loop/ralph/internal/web"
)

// turnFiles are the records of agents' turns as the dashboard sees them (web.Turns): the
// folders below ralph/.state/tasks, and nothing beside them. Names come from outside: each
// is looked at, and os.Root lets none lead out, not by a link either.
type turnFiles struct{ root string }

var (
	recordTask = lazyregexp.New(`^[A-Za-z0-9][A-Za-z0-9_.:-]{0,199}$`)
	checksFile = lazyregexp.New(`^checks(-[0-9a-f]{16})?\.json$`)
	recordName = lazyregexp.New(`^([0-9]{1,9})(?:\.([0-9]{1,6}))?$`)
)

// maxRecords bounds how many turns of a task are listed: the newest.
const maxRecords = 500

func (f turnFiles) open(id ralph.TaskID) (*os.Root, error) {
	if !recordTask.MatchString(string(id)) || strings.Contains(string(id), "..") {
		return nil, fs.ErrNotExist
	}
	return os.OpenRoot(filepath.Join(f.root, step.RecordsOf(id)))
}

// List are the turns of a task that there are records of, oldest first.
func (f turnFiles) List(id ralph.TaskID) ([]web.TurnRecord, error) {
	root, err := f.open(id)
	if os.IsNotExist(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("open the records of %s: %w", id, err)
	}
	defer root.Close()
	entries, err := fs.ReadDir(root.FS(), ".")
	if err != nil {
		return nil, fmt.Errorf("list the records of %s: %w", id, err)
	}
	var out []web.TurnRecord
	for _, e := range entries {
		m := recordName.FindStringSubmatch(e.Name())
		if m == nil || !e.IsDir() {
			continue
		}
		r := web.TurnRecord{Name: e.Name(), Try: 1}
		r.Iteration, _ = strconv.Atoi(m[1])
		if m[2] != "" {
			r.Try, _ = strconv.Atoi(m[2])
		}
		out = append(out, r)
	}
	slices.SortFunc(out, func(a, b web.TurnRecord) int {
		if a.Iteration != b.Iteration {
			return a.Iteration - b.Iteration
		}
		return a.Try - b.Try
	})
	return out[max(0, len(out)-maxRecords):], nil
}

// Open opens a file of a turn, or with the record "" one of the whole task.
func (f turnFiles) Open(id ralph.TaskID, record, name string) (web.TurnFile, int64, error) {
	if !slices.Contains(web.TurnFileNames(), name) || record != "" && !recordName.MatchString(record) {
		return nil, 0, fs.ErrNotExist
	}
	root, err := f.open(id)
	if err != nil {
		return nil, 0, err
	}
	defer root.Close()
	file := path.Join(record, name)
	if name == ralph.ChecksFile && record != "" {
		file = newestChecks(root, record)
	}
	if info, err := root.Lstat(file); err != nil || !info.Mode().IsRegular() { // a pipe would never end
		return nil, 0, fs.ErrNotExist
	}
	in, err := root.Open(file)
	if err != nil {
		return nil, 0, err
	}
	info, err := in.Stat()
	if err != nil {
		_ = in.Close()
		return nil, 0, err
	}
	return in, info.Size(), nil
}

// newestChecks is the file with the newest run of a turn's checks: a second run of the same
// turn has one of its own, since a fact names the first.
func newestChecks(root *os.Root, record string) string {
	newest, at := path.Join(record, ralph.ChecksFile), time.Time{}
	entries, _ := fs.ReadDir(root.FS(), record)
	for _, e := range entries {
		if !checksFile.MatchString(e.Name()) || !e.Type().IsRegular() {
			continue
		}
		if info, err := e.Info(); err == nil && info.ModTime().After(at) {
			newest, at = path.Join(record, e.Name()), info.ModTime()
		}
	}
	return newest
}

// Grown is how much the agents at work have said: it changes when a page has to.
func (f turnFiles) Grown(s *ralph.State) map[ralph.TaskID]int64 {
	out := map[ralph.TaskID]int64{}
	for t := range s.Work() {
		if t.Run.TurnAt.IsZero() || !recordTask.MatchString(string(t.ID)) {
			continue
		}
		output := step.OutputOf(f.root, t.ID, t.Run.Iterations+1)
		if info, err := os.Stat(output); err == nil {
			out[t.ID] = info.Size()
		}
		if info, err := os.Stat(filepath.Join(filepath.Dir(output), step.FeedName)); err == nil {
			out[t.ID] += info.ModTime().UnixNano()
		}
	}
	return out
}
