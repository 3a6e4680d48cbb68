package cli

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
)

// window is the dashboard as this process serves it: in `ralph serve`, or in an engine
// that was started with --web.
type window struct {
	board    *dashboard
	seat     *guard.Seat
	server   *web.Server
	guard    *guard.Guard
	listener net.Listener
	notes    []string // for the person, before the link

	stop  context.CancelFunc // of one that runs in the background
	ended chan struct{}      // closed
}

// openWindow listens, without answering yet. The error is guard.ErrTaken when another
// process serves the dashboard of this repository.
func openWindow(env workspace.Env, root, command string, at place) (_ *window, err error) {
	w := &window{}
	defer func() {
		if err != nil {
			w.close()
		}
	}()
	if err := workspace.ExcludeRuntime(root, env.Environ); err != nil {
		return nil, err
	}
	if w.seat, err = guard.Take(workspace.StateDir(root)); errors.Is(err, guard.ErrForeign) {
		return nil, &ralph.Refusal{Why: err.Error(), Hint: "use that ralph; or move ralph/.state/web.json away, then start again and open the new link", Kind: ralph.ErrUsage}
	} else if err != nil {
		return nil, err
	}
	if w.seat.Renewed() {
		w.notes = append(w.notes, "ralph/.state/web.json was broken and is new: pages that are open need the link below.")
	}
	if err := w.listen(at); err != nil {
		return nil, err
	}
	if w.board, err = openDashboard(env, root); err != nil {
		return nil, err
	}
	opt := w.board.options()
	w.server = web.New(opt)
	err = w.seat.Announce(guard.Running{Address: w.listener.Addr().String(), Pid: os.Getpid(), Command: command, StartedAt: time.Now().UTC(), Build: opt.Build})
	if err != nil {
		return nil, err
	}
	w.guard = guard.New(guard.Options{Next: w.server, Open: w.server.Open(), Seat: w.seat, Addr: w.listener.Addr(), Names: at.names(w.listener.Addr()), Style: w.server.Style(), WithCSRF: web.WithCSRF, Acts: person.Visitors(env, root)})
	return w, nil
}

// listen takes the place; where nobody chose one, and another program has it, the next
// that is free.
func (w *window) listen(at place) error {
	first, err := at.listen(at.addr)
	if at.by == "" {
		host, port, _ := net.SplitHostPort(at.addr)
		from, _ := strconv.Atoi(port)
		if last := w.seat.Last(); at.near(last) { // where open pages look for it
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
		if err == nil && portOf(first.Addr().String()) != port {
			w.notes = append(w.notes, fmt.Sprintf("Port %s is taken by another program, so it is port %s.", port, portOf(first.Addr().String())))
		}
	}
	if err != nil {
		return at.refusal(err)
	}
	w.listener = first
	if tcp, ok := first.Addr().(*net.TCPAddr); ok && !tcp.IP.IsLoopback() {
		w.notes = append(w.notes, fmt.Sprintf("WARNING: %s is reached from other machines (%s). There is no TLS: who can read\nthe network can read along, and whoever gets hold of a link or a cookie acts as you.\nSafer: leave it out, and use ssh -L %[3]s:localhost:%[3]s from there.", first.Addr(), at.by, portOf(first.Addr().String())))
		if tcp.IP.IsUnspecified() {
			w.notes = append(w.notes, "From another machine, put the name or the address of this one into the link.")
		}
	}
	return nil
}

// place is where the dashboard is to listen.
type place struct {
	addr string // host:port
	by   string // who said so; "" for nobody
	file bool   // a file of the repository says so, which may have come from anywhere
}

// errOpens says that a file of the repository would let other machines in.
var errOpens = errors.New("other machines would reach the dashboard")

// placeOf is where settings have the dashboard listen.
func placeOf(c config.Config) place {
	at := place{addr: c.Web.Addr}
	if where := c.Where("web.addr"); where.Given() {
		at.by, at.file = where.String(), where.Kind == config.FromFile
	}
	return at
}

func (p place) listen(addr string) (net.Listener, error) {
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
func (p place) near(addr string) bool {
	host, port, err := net.SplitHostPort(addr)
	mine, begin, _ := net.SplitHostPort(p.addr)
	n, _ := strconv.Atoi(port)
	from, _ := strconv.Atoi(begin)
	return err == nil && host == mine && from < n && n <= from+portsTried
}

// names are the host names that it may be asked by, beside localhost.
func (p place) names(addr net.Addr) []string {
	if tcp, ok := addr.(*net.TCPAddr); ok && tcp.IP.IsLoopback() {
		return nil
	}
	given, _, _ := net.SplitHostPort(p.addr)
	own, _ := os.Hostname()
	return []string{given, own}
}

// refusal says why one cannot listen there, and what to do.
func (p place) refusal(err error) error {
	from := ""
	if p.by != "" {
		from = " (" + p.by + ")"
	}
	no := func(why, hint string) error {
		return &ralph.Refusal{Why: why + from, Hint: hint, Kind: ralph.ErrUsage}
	}
	switch {
	case errors.Is(err, errOpens):
		return no(fmt.Sprintf("web.addr is %s, which other machines reach; a file of the repository, which may come from anyone, does not decide that", p.addr),
			"if you want it: `ralph serve --addr "+p.addr+"`, or RALPH_WEB_ADDR="+p.addr+" in the environment; else take the line out")
	case errors.Is(err, syscall.EADDRINUSE):
		return no(p.addr+" is taken: another program listens there, perhaps the dashboard of another repository",
			"`ralph serve --addr 127.0.0.1:0` takes a port that is free; `ss -ltnp` or `lsof -i :"+portOf(p.addr)+"` says who has this one")
	case errors.Is(err, fs.ErrPermission):
		return no("you may not listen on "+p.addr, "ports below 1024 are the system's: take a higher one")
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return no("this machine does not have the address of "+p.addr, "127.0.0.1 is always there; 0.0.0.0 is all that it has")
	}
	if _, alone := strconv.ParseUint(p.addr, 10, 16); alone == nil { // a port, and whoever gave it meant this machine
		return no(p.addr+" names a port alone", "give the host too: 127.0.0.1:"+p.addr)
	}
	return no(fmt.Sprintf("cannot listen on %s: %v", p.addr, err), "give host:port, such as 127.0.0.1:7777")
}

func portOf(addr string) string {
	_, port, _ := net.SplitHostPort(addr)
	return port
}

// run answers until ctx ends.
func (w *window) run(ctx context.Context) error { return w.guard.Run(ctx, w.listener) }

// start answers in the background until the window is closed.
func (w *window) start() {
	ctx, stop := context.WithCancel(context.Background())
	w.stop, w.ended = stop, make(chan struct{})
	go func() {
		defer close(w.ended)
		_ = w.run(ctx) // pages that are open say that they are stale
	}()
}

// leave closes the window; pages that are open get the time to show how the work ended.
func (w *window) leave() {
	if w.ended != nil && w.guard.Watched() {
		select {
		case <-w.ended:
		case <-time.After(lastPicture):
		}
	}
	w.close()
}

// close ends the dashboard and gives everything back; the secrets stay.
func (w *window) close() {
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
	if w.board != nil {
		w.board.close()
	}
	if w.seat != nil {
		_ = w.seat.Leave() // the kernel frees it all the same
	}
}

// browse opens the link in the person's browser, which goes on when ralph ends. It
// returns what the person has to know, "" for nothing.
//
// An engine lets go of it at once: what comes from an engine is a turn's for all that
// ralph can see, and a person's clicks in that browser would be refused.
func browse(env workspace.Env, link string, letGo bool) string {
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
