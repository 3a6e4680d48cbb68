// Package tail is the output of a turn on a worker while the turn goes on: pieces of it that are asked
// for only while somebody looks, and the copy at the coordinator that everybody reads.
//
// It does NOT own who looks (internal/observe/wanted), what is shown (observe, web, ui), nor the way
// between the machines (fleet). What counts are the files that come by git when the turn has ended
// (internal/fleet/note); they go on where the copy stands.
package tail

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/step"
)

// Want is a turn whose output is asked for.
type Want struct {
	Ref     string // of the step
	Attempt string `json:",omitempty"` // whose output is there; "" for none
	From    int64  `json:",omitempty"` // how many bytes of it are there
	Feed    string `json:",omitempty"` // which feed is there
}

// Part is what came of it.
type Part struct {
	Ref     string
	Attempt string // which attempt at the step it is of; another one begins anew
	From    int64  `json:",omitempty"` // where it goes on: 0 where the asked one does not fit what is there
	Output  []byte `json:",omitempty"` // gzip
	More    bool   `json:",omitempty"` // there is more already
	Feed    string `json:",omitempty"` // names Doing
	Doing   []byte `json:",omitempty"` // the feed, gzip; nil where it is as before
}

// Bounds of an answer. Its parts are base64 in JSON: a third more.
const (
	maxAnswer = 180 << 10 // bytes of all parts
	maxPiece  = 8 << 20   // bytes of one output before it is made small
	maxFeed   = 1 << 20   // bytes of a feed
	lookEvery = 100 * time.Millisecond
)

// Source is a turn under way on this machine.
type Source struct {
	Attempt   string
	Repo      string // its address
	Root      string // the folder that it is in here
	Task      ralph.TaskID
	Iteration int
}

// folder is that of the turn; it is made some time after the turn has begun.
func (s Source) folder() string {
	return path.Join(step.RecordsOf(s.Task), filepath.Base(filepath.Dir(step.OutputOf(s.Root, s.Task, s.Iteration))))
}

// Sources are the turns under way on this machine, by the ref of their step.
type Sources struct {
	mu   sync.Mutex
	open map[string]Source
}

// Show has a turn answered for until it is hidden. A newer attempt at the same step takes its place.
func (x *Sources) Show(ref string, s Source) (hide func()) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.open == nil {
		x.open = map[string]Source{}
	}
	x.open[ref] = s
	return func() {
		x.mu.Lock()
		defer x.mu.Unlock()
		if x.open[ref] == s {
			delete(x.open, ref)
		}
	}
}

// Read returns what is there of the turns of a repository that are asked for, as soon as there is
// anything, at the latest after wait. A turn that is not under way here is left out, at once.
func (x *Sources) Read(ctx context.Context, wait time.Duration, repo string, wants []Want) []Part {
	for until := time.Now().Add(wait); ; {
		parts, news := x.look(repo, wants)
		if news || !time.Now().Before(until) {
			return parts
		}
		select {
		case <-ctx.Done():
			return parts
		case <-time.After(lookEvery):
		}
	}
}

func (x *Sources) look(repo string, wants []Want) (parts []Part, news bool) {
	room := maxAnswer
	for i, w := range wants {
		x.mu.Lock()
		s, ok := x.open[w.Ref]
		x.mu.Unlock()
		if !ok || s.Repo != repo {
			news = true
			continue
		}
		p, used := s.part(w, room/(len(wants)-i))
		room -= used
		news = news || used > 0 || w.Attempt != "" && w.Attempt != p.Attempt
		parts = append(parts, p)
	}
	return parts, news
}

// part is what is there of one turn in so many bytes. What cannot be read is not there.
func (s Source) part(w Want, room int) (p Part, used int) {
	p = Part{Ref: w.Ref, Attempt: s.Attempt, Feed: w.Feed}
	if w.Attempt != s.Attempt {
		w.From, w.Feed, p.Feed = 0, "", ""
	}
	at, err := os.OpenRoot(s.Root) // a link must not lead out of the repository
	if err != nil {
		return p, 0
	}
	defer at.Close()
	folder := s.folder()
	if f, size, stamp := open(at, path.Join(folder, step.FeedName)); f != nil {
		if stamp != w.Feed && size <= maxFeed {
			if b, n, err := squeeze(f, room/2); err == nil && n == size {
				p.Feed, p.Doing = stamp, b
			}
		}
		_ = f.Close()
	}
	f, size, _ := open(at, path.Join(folder, step.OutputName))
	if f == nil {
		return p, len(p.Doing)
	}
	defer f.Close()
	if w.From <= size {
		p.From = w.From
	}
	if p.From == size {
		return p, len(p.Doing)
	}
	b, n, err := squeeze(io.NewSectionReader(f, p.From, size-p.From), room-len(p.Doing))
	if err != nil || n == 0 {
		p.More = err == nil
		return p, len(p.Doing)
	}
	p.Output, p.More = b, p.From+n < size
	return p, len(p.Doing) + len(b)
}

// open opens a regular file, and says what tells it from the one before.
func open(at *os.Root, name string) (f *os.File, size int64, stamp string) {
	info, err := at.Lstat(name)
	if err != nil || !info.Mode().IsRegular() { // a pipe would never end
		return nil, 0, ""
	}
	if f, err = at.Open(name); err != nil {
		return nil, 0, ""
	}
	return f, info.Size(), strconv.FormatInt(info.ModTime().UnixNano(), 36) + "-" + strconv.FormatInt(info.Size(), 36)
}

// squeeze makes what it reads small, until that has most bytes; n is how much was read.
func squeeze(r io.Reader, most int) (out []byte, n int64, err error) {
	const frame = 64 // what gzip adds to a chunk at the most, and at its end
	chunk := make([]byte, min(32<<10, max(256, most/8)))
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	for err == nil && b.Len()+len(chunk)+2*frame <= most && n < maxPiece {
		var k int
		k, err = io.ReadFull(r, chunk)
		n += int64(k)
		_, wrong := z.Write(chunk[:k])
		if wrong == nil {
			wrong = z.Flush() // how much it is by now
		}
		if wrong != nil {
			return nil, 0, wrong
		}
	}
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, 0, err
	}
	err = z.Close()
	return b.Bytes(), n, err
}

// unsqueeze is what squeeze made small. It comes from another machine: a little that becomes very much is
// an error.
func unsqueeze(b []byte, most int64) ([]byte, error) {
	if len(b) == 0 {
		return nil, nil
	}
	z, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		return nil, fmt.Errorf("read what a worker sent of an output: %w", err)
	}
	out, err := io.ReadAll(io.LimitReader(z, most+1))
	if err != nil {
		return nil, fmt.Errorf("read what a worker sent of an output: %w", err)
	}
	if int64(len(out)) > most {
		return nil, fmt.Errorf("a worker sent more than %d bytes of an output at once", most)
	}
	return out, nil
}
