package agentsock

import (
	"bufio"
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/ralph-loop/ralph/internal/fastpath"
)

// longestSocket is the longest path that a socket may have on every system.
const longestSocket = 100

// maxOpen is how many processes of a turn are heard at once: more get an end instead of an
// answer, so that no agent takes the files of the engine. saySoon is how long one may take
// to say what it wants.
const (
	maxOpen = 256
	saySoon = 30 * time.Second
	again   = 50 * time.Millisecond // after an accept that failed
)

// Server is the listening end of one turn.
type Server struct {
	dir      string
	nonce    string
	turn     Turn
	listener net.Listener
	ctx      context.Context
	end      context.CancelFunc
	open     sync.WaitGroup
	places   chan struct{} // of those that are heard
}

// Listen makes the line of a turn: a socket in a folder that only this user may enter.
// Close ends it; whoever waits for an answer then gets an error.
func Listen(ctx context.Context, t Turn) (*Server, error) {
	dir, err := socketDir()
	if err != nil {
		return nil, fmt.Errorf("make the turn's socket: %w", err)
	}
	l := &Server{dir: dir, nonce: rand.Text(), turn: t, places: make(chan struct{}, maxOpen)}
	if l.listener, err = (&net.ListenConfig{}).Listen(ctx, "unix", l.socket()); err != nil {
		_ = os.RemoveAll(dir)
		return nil, fmt.Errorf("make the turn's socket: %w", err)
	}
	l.ctx, l.end = context.WithCancel(ctx)
	l.open.Go(l.accept)
	return l, nil
}

func socketDir() (string, error) {
	dir, err := os.MkdirTemp("", "ralph-")
	if err == nil && len(dir)+len("/"+fastpath.Socket) > longestSocket {
		_ = os.Remove(dir)
		dir, err = os.MkdirTemp("/tmp", "ralph-")
	}
	return dir, err
}

func (l *Server) socket() string { return filepath.Join(l.dir, fastpath.Socket) }

// Dir is the folder of the socket, for a sandbox to let in.
func (l *Server) Dir() string { return l.dir }

// Env is what tells a process of the turn how to speak, K=V.
func (l *Server) Env() []string {
	return []string{EnvSocket + "=" + l.socket(), EnvNonce + "=" + l.nonce}
}

// Close ends the line and waits until nobody is heard any more.
func (l *Server) Close() error {
	l.end()
	err := l.listener.Close()
	l.open.Wait()
	return errors.Join(err, os.RemoveAll(l.dir))
}

func (l *Server) accept() {
	for {
		conn, err := l.listener.Accept()
		if err != nil {
			if l.ctx.Err() != nil || errors.Is(err, net.ErrClosed) {
				return
			}
			select { // of one caller, or the system has no more files: it may have some later
			case <-l.ctx.Done():
			case <-time.After(again):
			}
			continue
		}
		select {
		case l.places <- struct{}{}:
			l.open.Go(func() { defer func() { <-l.places }(); l.serve(conn) })
		default:
			_ = conn.Close()
		}
	}
}

// serve answers one message. The caller's end of the connection is that nobody waits.
func (l *Server) serve(conn net.Conn) {
	ctx, cancel := context.WithCancel(l.ctx)
	defer cancel()
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	_ = conn.SetReadDeadline(time.Now().Add(saySoon))
	read := bufio.NewReader(io.LimitReader(conn, maxMessage))
	line, err := read.ReadBytes('\n')
	if err != nil {
		return // it left, or said too much
	}
	_ = conn.SetReadDeadline(time.Time{})
	go func() {
		_, _ = io.Copy(io.Discard, read)
		cancel() // the caller is gone
	}()
	m, err := decode(line)
	if err == nil && subtle.ConstantTimeCompare([]byte(m.Nonce), []byte(l.nonce)) != 1 {
		err = errors.New("this nonce is not of the turn that is under way")
	}
	var a answer
	if err == nil {
		a, err = carry(ctx, l.turn, l.dir, m)
	}
	if err != nil {
		a = answer{Error: err.Error()}
	}
	b, err := json.Marshal(a)
	if err != nil {
		b = []byte(`{"error":"the answer cannot be encoded"}`)
	}
	_, _ = conn.Write(append(b, '\n'))
}
