package dashboard

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"runtime"
	"strconv"
	"syscall"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/config"
	"github.com/ralph-loop/ralph/internal/config/setting"
	"github.com/ralph-loop/ralph/internal/person"
	"github.com/ralph-loop/ralph/internal/proc"
	"github.com/ralph-loop/ralph/internal/web"
	"github.com/ralph-loop/ralph/internal/web/guard"
	"github.com/ralph-loop/ralph/internal/workspace"
)

const (
	otherLimit  = 5 * time.Second // for another ralph to answer
	browseLimit = 2 * time.Second // for a browser that cannot be started to say so
	portsTried  = 20              // from the default one on
	lastPicture = time.Second     // for open pages to show how the work ended
	lastWrites  = time.Second     // for others to give the lock of the journal, when Run ends
)

// Server is the dashboard as this process serves it: in `ralph serve`, or in an engine
// that was started with --web.
type Server struct {
	Board    *Backend
	instance *guard.InstanceLock
	server   *web.Server
	Guard    *guard.Guard
	listener net.Listener
	Notes    []string // for the person, before the link

	stop  context.CancelFunc // of one that runs in the background
	ended chan struct{}      // closed
}

// OpenServer listens, without answering yet. The error is guard.ErrTaken when another
// process serves the dashboard of this repository.
func OpenServer(env workspace.Env, root, command string, at ListenAddr) (_ *Server, err error) {
	w := &Server{}
	defer func() {
		if err != nil {
			w.Close()
		}
	}()
	if err := workspace.ExcludeRuntime(root, env.Environ); err != nil {
		return nil, err
	}
	if w.instance, err = guard.Take(workspace.StateDir(root)); errors.Is(err, guard.ErrForeign) {
		return nil, &ralph.Refusal{Why: err.Error(), Hint: "use that ralph; or move ralph/.state/web.json away, then start again and open the new link", Kind: ralph.ErrUsage}
	} else if err != nil {
		return nil, err
	}
	if w.instance.Renewed() {
		w.Notes = append(w.Notes, "ralph/.state/web.json was broken and is new: pages that are open need the link below.")
	}
	if err := w.listen(at); err != nil {
		return nil, err
	}
	if w.Board, err = OpenBackend(env, root); err != nil {
		return nil, err
	}
	opt := w.Board.options()
	w.server = web.New(opt)
	err = w.instance.Announce(guard.Running{Address: w.listener.Addr().String(), Pid: os.Getpid(), Command: command, StartedAt: time.Now().UTC(), Build: opt.Build})
	if err != nil {
		return nil, err
	}
	w.Guard = guard.New(guard.Options{Next: w.server, Open: w.server.Open(), Lock: w.instance, Addr: w.listener.Addr(), Names: at.names(w.listener.Addr()), Style: w.server.Style(), WithCSRF: web.WithCSRF, Acts: person.Visitors(env, root)})
	return w, nil
}

// listen takes the place; where nobody chose one, and another program has it, the next
// that is free.
func (w *Server) listen(at ListenAddr) error {
	first, err := at.listen(at.Addr)
	if at.By == "" {
		host, port, _ := net.SplitHostPort(at.Addr)
		from, _ := strconv.Atoi(port)
		if last := w.instance.Last(); at.near(last) { // where open pages look for it
			if again, lastErr := at.listen(last); lastErr == nil {
				if err == nil {
					_ = first.Close()
				}
				w.listener = again
				return nil
			}
		}
		for n := 1; n <= portsTried && errors.Is(err, syscall.EADDRINUSE); n++ {
			first, err = at.listen(net.JoinHostPort(host, strconv.Itoa(from+n)))
		}
		if err == nil && PortOf(first.Addr().String()) != port {
			w.Notes = append(w.Notes, fmt.Sprintf("Port %s is taken by another program, so it is port %s.", port, PortOf(first.Addr().String())))
		}
	}
	if err != nil {
		return at.refusal(err)
	}
	w.listener = first
	if tcp, ok := first.Addr().(*net.TCPAddr); ok && !tcp.IP.IsLoopback() {
		w.Notes = append(w.Notes, fmt.Sprintf("WARNING: %s is reached from other machines (%s). There is no TLS: who can read\nthe network can read along, and whoever gets hold of a link or a cookie acts as you.\nSafer: leave it out, and use ssh -L %[3]s:localhost:%[3]s from there.", first.Addr(), at.By, PortOf(first.Addr().String())))
		if tcp.IP.IsUnspecified() {
			w.Notes = append(w.Notes, "From another machine, put the name or the address of this one into the link.")
		}
	}
	return nil
}

// ListenAddr is where the dashboard is to listen.
type ListenAddr struct {
	Addr string // host:port
	By   string // who said so; "" for nobody
	file bool   // a file of the repository says so, which may have come from anywhere
}

// errOpens says that a file of the repository would let other machines in.
var errOpens = errors.New("other machines would reach the dashboard")

// AddrOf is where settings have the dashboard listen.
func AddrOf(c config.Config) ListenAddr {
	at := ListenAddr{Addr: c.Web.Addr}
	if where := c.Where("web.addr"); where.Given() {
		at.By, at.file = where.String(), where.Kind == setting.FromFile
	}
	return at
}

func (p ListenAddr) listen(addr string) (net.Listener, error) {
	if _, port, err := net.SplitHostPort(addr); err != nil {
		return nil, err
	} else if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return nil, fmt.Errorf("port %q is no number from 0 to 65535", port)
	}
	if p.file {
		to, err := net.ResolveTCPAddr("tcp", addr)
		if err != nil {
			return nil, err
		}
		if !to.IP.IsLoopback() {
			return nil, errOpens
		}
		addr = to.String() // a name may mean something else a moment later
	}
	return net.Listen("tcp", addr)
}

// near reports whether an address is one that listen would have found for the place.
func (p ListenAddr) near(addr string) bool {
	host, port, err := net.SplitHostPort(addr)
	mine, begin, _ := net.SplitHostPort(p.Addr)
	n, _ := strconv.Atoi(port)
	from, _ := strconv.Atoi(begin)
	return err == nil && host == mine && from < n && n <= from+portsTried
}

// names are the host names that it may be asked by, beside localhost.
func (p ListenAddr) names(addr net.Addr) []string {
	if tcp, ok := addr.(*net.TCPAddr); ok && tcp.IP.IsLoopback() {
		return nil
	}
	given, _, _ := net.SplitHostPort(p.Addr)
	own, _ := os.Hostname()
	return []string{given, own}
}

// refusal says why one cannot listen there, and what to do.
func (p ListenAddr) refusal(err error) error {
	from := ""
	if p.By != "" {
		from = " (" + p.By + ")"
	}
	no := func(why, hint string) error {
		return &ralph.Refusal{Why: why + from, Hint: hint, Kind: ralph.ErrUsage}
	}
	switch {
	case errors.Is(err, errOpens):
		return no(fmt.Sprintf("web.addr is %s, which other machines reach; a file of the repository, which may come from anyone, does not decide that", p.Addr),
			"if you want it: `ralph serve --addr "+p.Addr+"`, or RALPH_WEB_ADDR="+p.Addr+" in the environment; else take the line out")
	case errors.Is(err, syscall.EADDRINUSE):
		return no(p.Addr+" is taken: another program listens there, perhaps the dashboard of another repository",
			"`ralph serve --addr 127.0.0.1:0` takes a port that is free; `ss -ltnp` or `lsof -i :"+PortOf(p.Addr)+"` says who has this one")
	case errors.Is(err, fs.ErrPermission):
		return no("you may not listen on "+p.Addr, "ports below 1024 are the system's: take a higher one")
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return no("this machine does not have the address of "+p.Addr, "127.0.0.1 is always there; 0.0.0.0 is all that it has")
	}
	if _, alone := strconv.ParseUint(p.Addr, 10, 16); alone == nil { // a port, and whoever gave it meant this machine
		return no(p.Addr+" names a port alone", "give the host too: 127.0.0.1:"+p.Addr)
	}
	return no(fmt.Sprintf("cannot listen on %s: %v", p.Addr, err), "give host:port, such as 127.0.0.1:7777")
}

// PortOf is the port of a listen address, "" for none.
func PortOf(addr string) string {
	_, port, _ := net.SplitHostPort(addr)
	return port
}

// Run answers until ctx ends. What a page still writes then waits for others a second at most, and is refused after it.
func (w *Server) Run(ctx context.Context) error {
	hurry := func() { w.Hurry(lastWrites) }
	never := context.AfterFunc(ctx, hurry)
	err := w.Guard.Run(ctx, w.listener)
	if never() && ctx.Err() != nil {
		hurry() // the guard was back before the goroutine which hurries had begun
	}
	return err
}

// Start answers in the background until the window is closed.
func (w *Server) Start() {
	ctx, stop := context.WithCancel(context.Background())
	w.stop, w.ended = stop, make(chan struct{})
	go func() {
		defer close(w.ended)
		_ = w.Guard.Run(ctx, w.listener) // pages that are open say that they are stale; the engine says when it is in a hurry
	}()
}

// Hurry is for a process that ends at once: what the pages still write waits no longer than that for others.
func (w *Server) Hurry(limit time.Duration) { w.Board.Hurry(limit) }

// Leave closes the window; pages that are open get the time to show how the work ended.
func (w *Server) Leave() {
	if w.ended != nil && w.Guard.Watched() {
		select {
		case <-w.ended:
		case <-time.After(lastPicture):
		}
	}
	w.Close()
}

// Close ends the dashboard and gives everything back; the secrets stay.
func (w *Server) Close() {
	if w.stop != nil {
		w.stop()
		<-w.ended
	}
	if w.listener != nil {
		_ = w.listener.Close()
	}
	if w.server != nil {
		w.server.Close()
	}
	if w.Board != nil {
		w.Board.Close()
	}
	if w.instance != nil {
		_ = w.instance.Leave() // the kernel frees it all the same
	}
}

// Browse opens the link in the person's browser, which goes on when ralph ends. It
// returns what the person has to know, "" for nothing.
//
// An engine lets go of it at once: what comes from an engine is a turn's for all that
// ralph can see, and a person's clicks in that browser would be refused.
func Browse(env workspace.Env, link string, letGo bool) string {
	const self = "open the link yourself"
	program := "xdg-open"
	switch {
	case runtime.GOOS == "darwin":
		program = "open"
	case proc.Getenv(env.Environ, "DISPLAY") == "" && proc.Getenv(env.Environ, "WAYLAND_DISPLAY") == "":
		return "There is no desktop here: " + self + "."
	}
	if _, err := proc.LookPath(program, env.Dir, env.Environ); err != nil {
		return fmt.Sprintf("There is no %s here: %s.", program, self)
	}
	failed := make(chan string, 1)
	go func() { // it may be the browser itself, which lasts
		args := []string{program, link}
		if letGo {
			args = []string{"/bin/sh", "-c", `"$0" "$1" > /dev/null 2>&1 &`, program, link}
		}
		result, err := proc.NewRunner("").Run(context.Background(), proc.Command{Args: args, Env: env.Environ})
		switch {
		case err != nil:
			failed <- err.Error()
		case result.Code != 0:
			failed <- fmt.Sprintf("%s ended with code %d", program, result.Code)
		default:
			failed <- ""
		}
	}()
	select {
	case why := <-failed:
		if why != "" {
			return fmt.Sprintf("The browser could not be opened (%s): %s.", why, self)
		}
	case <-time.After(browseLimit):
	}
	return ""
}
