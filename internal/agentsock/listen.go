package agentsock

import (
	"bufio"
	"context"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// maxOpen is how many processes of a turn are heard at once: more get an end instead of an
// answer, so that no agent takes the files of the engine. saySoon is how long one may take
// to say what it wants.
const (
	maxOpen = 256
	saySoon = 30 * time.Second
)

// Server is the listening end of one turn.
type Server struct {
	at     *endpoint
	nonce  string
	turn   Turn
	ctx    context.Context
	end    context.CancelFunc
	open   sync.WaitGroup
	places chan struct{} // of those that are heard
	ended  atomic.Bool
}

// Listen makes the line of a turn: a socket in a folder that only this user may enter.
// Close ends it; whoever waits for an answer then gets an error.
func Listen(ctx context.Context, t Turn) (*Server, error) { return (*Lines)(nil).Listen(ctx, t) }

// Dir is the folder of the socket, for a sandbox to let in.
func (l *Server) Dir() string { return l.at.dir }

// Env is what tells a process of the turn how to speak, K=V.
func (l *Server) Env() []string {
	return []string{EnvSocket + "=" + l.at.socket(), EnvNonce + "=" + l.nonce}
}

// Close ends the line and waits until nobody is heard any more.
func (l *Server) Close() error {
	if l.ended.Swap(true) {
		return net.ErrClosed // the endpoint may be another turn's by now
	}
	l.at.give(nil)
	l.end()
	l.open.Wait()
	return l.at.lines.back(l.at)
}

// hear answers a caller, and reports whether there was room for it.
func (l *Server) hear(conn net.Conn) bool {
	select {
	case l.places <- struct{}{}:
		l.open.Go(func() { defer func() { <-l.places }(); l.serve(conn) })
		return true
	default:
		return false
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
		a, err = carry(ctx, l.turn, l.at.dir, m)
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
