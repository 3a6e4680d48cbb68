package web

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/lazyregexp"
	"github.com/ralph-loop/ralph/internal/screen/page"
	"github.com/ralph-loop/ralph/internal/web/view"
)

// Turns are the records of agents' turns: what they were told, what they printed and
// changed, which checks ran. What is asked for comes from outside and is checked there.
type Turns interface {
	// List are the turns of a task that there are records of, oldest first.
	List(id ralph.TaskID) ([]TurnRecord, error)
	// Open opens a file of a turn, with its size; with the record "" one of the whole task.
	Open(id ralph.TaskID, record, name string) (TurnFile, int64, error)
	// Grown changes for each task whose agent has said more.
	Grown(s *ralph.State) map[ralph.TaskID]int64
}

// TurnRecord names the folder of a turn.
type TurnRecord = page.TurnRecord

// TurnFile is an open file of a record.
type TurnFile interface {
	io.ReadSeeker
	io.ReaderAt
	io.Closer
}

// The files of a turn.
const (
	filePrompt = "prompt.md"
	fileOutput = "output.log"
	fileDiff   = "diff.patch"
	fileChecks = "checks.json"
	fileFeed   = "feed.json"
)

// TurnFileNames are the files of a turn that can be read; there is no other way in.
func TurnFileNames() []string {
	return []string{filePrompt, fileOutput, fileDiff, fileChecks, fileFeed}
}

const (
	maxShown  = 256 << 10 // bytes of a file on a page
	maxLive   = 64 << 10  // bytes of the output of an agent at work
	liveLines = 200
	wholeTask = "all" // the record of the task itself, in addresses
)

// recordOf is a turn's folder in an address; false for what can be none.
func recordOf(name string) (string, bool) {
	if name == wholeTask {
		return "", true
	}
	return name, recordPattern.MatchString(name)
}

var recordPattern = lazyregexp.New(`^[0-9]{1,9}(\.[0-9]{1,6})?$`)

// tail reads the end of a file, in whole lines, and says how much there is before it.
func (x *Server) tail(id ralph.TaskID, record, name string, most int64) (text []byte, before int64, err error) {
	if x.opt.Turns == nil {
		return nil, 0, fs.ErrNotExist
	}
	f, size, err := x.opt.Turns.Open(id, record, name)
	if err != nil {
		return nil, 0, err
	}
	defer f.Close()
	from := max(0, size-most)
	text = make([]byte, size-from)
	n, err := f.ReadAt(text, from)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, 0, fmt.Errorf("read %s of %s: %w", name, id, err)
	}
	return text[:n], from, nil
}

// start reads the beginning of a file, and says how much there is behind it.
func (x *Server) start(id ralph.TaskID, record, name string, most int64) (text []byte, after int64, err error) {
	if x.opt.Turns == nil {
		return nil, 0, fs.ErrNotExist
	}
	f, size, err := x.opt.Turns.Open(id, record, name)
	if err != nil {
		return nil, 0, err
	}
	defer f.Close()
	text, err = io.ReadAll(io.LimitReader(f, most))
	if err != nil {
		return nil, 0, fmt.Errorf("read %s of %s: %w", name, id, err)
	}
	return text, max(0, size-int64(len(text))), nil
}

// feed reads what the agent of a turn does; nil when nobody has written that down.
func (x *Server) turnFeed(id ralph.TaskID, record string) *view.TurnFeed {
	text, after, err := x.start(id, record, fileFeed, 1<<20)
	if err != nil || after > 0 {
		return nil
	}
	var f view.TurnFeed
	if json.Unmarshal(text, &f) != nil {
		return nil
	}
	return &f
}

// turnFile serves a file of a turn whole, as nothing but text.
func (x *Server) turnFile(w http.ResponseWriter, r *http.Request) {
	id, name := ralph.TaskID(r.PathValue("id")), r.PathValue("name")
	record, ok := recordOf(r.PathValue("n"))
	if !ok || x.opt.Turns == nil || !slices.Contains(TurnFileNames(), name) {
		http.Error(w, "there is no such file", http.StatusNotFound)
		return
	}
	f, _, err := x.opt.Turns.Open(id, record, name)
	if err != nil {
		http.Error(w, "there is no such file", http.StatusNotFound)
		return
	}
	defer f.Close()
	h := w.Header()
	h.Set("Content-Type", "text/plain; charset=utf-8")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Security-Policy", "default-src 'none'; sandbox")
	h.Set("Content-Disposition", fmt.Sprintf("inline; filename=%q", strings.TrimPrefix(record+"-"+name, "-")+".txt"))
	h.Set("Cache-Control", "no-store")
	http.ServeContent(w, r, "", time.Time{}, f)
}
