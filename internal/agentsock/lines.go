package agentsock

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/ralph-loop/ralph/internal/fastpath"
)

// topPrefix begins the name of the folder that all folders of a session's turns are in.
const topPrefix = "ralph-"

// longestSocket is the longest path that a socket may have on every system, and longestInTop what of
// it a turn's folder and its socket take.
const (
	longestSocket = 100
	longestInTop  = "/99999/" + fastpath.Socket
)

// shortTemp is where lines are made whose sockets would have too long a path in the folder for temporary files.
const shortTemp = "/tmp"

// again is how long to wait after an accept that failed.
const again = 50 * time.Millisecond

// Lines are the lines of a session: a turn that begins takes the folder and the socket of one that
// is over. What lies there in folders stays, so that who puts something below agents need not make it
// anew each time, but look whether it is as it was; files go with their turn. Nil: each
// line is for itself alone. The zero value is ready; use by several turns at once is safe.
type Lines struct {
	alone bool // one line, and its end is theirs

	mu   sync.Mutex
	top  string // the folder of them all
	made int
	free []*endpoint
	over bool
}

// endpoint is a folder with a socket. It is listened to as long as it is there, also between two
// turns, by which it is known that its engine lives (Sweep).
type endpoint struct {
	lines    *Lines
	dir      string
	listener net.Listener
	is       os.FileInfo // of the socket
	gone     chan struct{}

	mu  sync.Mutex
	now *Server // whose turn it is; nil: nobody is heard
}

// Listen is Listen on a line of these.
func (s *Lines) Listen(ctx context.Context, t Turn) (*Server, error) {
	if s == nil {
		s = &Lines{alone: true}
	}
	at, err := s.take(ctx)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("make the turn's socket: %w", err), s.left())
	}
	l := &Server{at: at, nonce: rand.Text(), turn: t, places: make(chan struct{}, maxOpen)}
	l.ctx, l.end = context.WithCancel(ctx)
	at.give(l)
	return l, nil
}

// Close ends all lines whose turn is over.
func (s *Lines) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.over = true
	var err error
	for _, p := range s.free {
		err = errors.Join(err, p.close())
	}
	s.free = nil
	if s.top == "" {
		return err
	}
	return errors.Join(err, os.RemoveAll(s.top))
}

// left is Close of a line that is alone.
func (s *Lines) left() error {
	if s.alone {
		return s.Close()
	}
	return nil
}

// take is an endpoint for a turn: one that is free and still as it was left, else a new one.
func (s *Lines) take(ctx context.Context) (*endpoint, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.free) > 0 {
		p := s.free[len(s.free)-1]
		s.free = s.free[:len(s.free)-1]
		if p.stands() {
			return p, nil
		}
		_ = p.close() // an agent without a sandbox may do what it likes there
	}
	if s.top == "" {
		top, err := topFolder()
		if err != nil {
			return nil, err
		}
		s.top = top
	}
	s.made++
	p := &endpoint{lines: s, dir: filepath.Join(s.top, strconv.Itoa(s.made)), gone: make(chan struct{})}
	if err := os.Mkdir(p.dir, 0o700); err != nil {
		return nil, err
	}
	var err error
	if p.listener, err = (&net.ListenConfig{}).Listen(ctx, "unix", p.socket()); err != nil {
		return nil, errors.Join(err, os.RemoveAll(p.dir))
	}
	if p.is, err = os.Lstat(p.socket()); err != nil {
		return nil, errors.Join(err, p.listener.Close(), os.RemoveAll(p.dir))
	}
	go p.accept()
	return p, nil
}

func topFolder() (string, error) {
	dir, err := os.MkdirTemp("", topPrefix)
	if err == nil && len(dir)+len(longestInTop) > longestSocket {
		_ = os.Remove(dir)
		dir, err = os.MkdirTemp(shortTemp, topPrefix)
	}
	return dir, err
}

// Temps are the folders in which lines are made, each once.
func Temps() []string { return slices.Compact([]string{os.TempDir(), shortTemp}) }

// back takes an endpoint whose turn is over.
func (s *Lines) back(p *endpoint) error {
	if s.alone {
		return errors.Join(p.close(), s.Close())
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over || p.empty() != nil {
		return p.close()
	}
	s.free = append(s.free, p)
	return nil
}

func (p *endpoint) socket() string { return filepath.Join(p.dir, fastpath.Socket) }

// empty removes what of a turn lies there in files.
func (p *endpoint) empty() error {
	list, err := os.ReadDir(p.dir)
	for _, e := range list {
		if err == nil && !e.IsDir() && e.Name() != fastpath.Socket {
			err = os.Remove(filepath.Join(p.dir, e.Name()))
		}
	}
	return err
}

// stands reports whether the folder is one that only this user may enter, and its socket the one
// that is listened to.
func (p *endpoint) stands() bool {
	dir, err := os.Lstat(p.dir)
	if err != nil || !dir.IsDir() || dir.Mode().Perm() != 0o700 {
		return false
	}
	is, err := os.Lstat(p.socket())
	return err == nil && os.SameFile(is, p.is)
}

func (p *endpoint) close() error {
	close(p.gone)
	return errors.Join(p.listener.Close(), os.RemoveAll(p.dir))
}

// give says whose turn it is.
func (p *endpoint) give(l *Server) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.now = l
}

func (p *endpoint) accept() {
	for {
		conn, err := p.listener.Accept()
		if err != nil {
			if errors.Is(err, net.ErrClosed) {
				return
			}
			select { // of one caller, or the system has no more files: it may have some later
			case <-p.gone:
			case <-time.After(again):
			}
			continue
		}
		p.mu.Lock()
		heard := p.now != nil && p.now.hear(conn)
		p.mu.Unlock()
		if !heard {
			_ = conn.Close()
		}
	}
}

// Folder is what of a turn's socket no agent may change: all that its engine put there, for its
// own turn and for those beside and after it.
func Folder(socket string) string {
	dir := filepath.Dir(socket)
	if _, err := strconv.Atoi(filepath.Base(dir)); err == nil && strings.HasPrefix(filepath.Base(filepath.Dir(dir)), topPrefix) {
		return filepath.Dir(dir)
	}
	return dir // of an engine of an older version, which this one runs below
}
