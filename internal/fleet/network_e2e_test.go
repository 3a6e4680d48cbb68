//go:build fleet && linux

package fleet_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// relay passes connections on, and can be cut.
type relay struct {
	listen net.Listener
	done   sync.WaitGroup
	mu     sync.Mutex
	open   []net.Conn
	cut    bool
}

func newRelay(listen net.Listener, dial func() (net.Conn, error)) *relay {
	r := &relay{listen: listen}
	r.done.Go(func() {
		for {
			in, err := listen.Accept()
			if err != nil {
				return
			}
			out, err := dial()
			if err != nil || !r.keep(in, out) {
				_ = in.Close()
				continue
			}
			for _, way := range [][2]net.Conn{{in, out}, {out, in}} {
				r.done.Go(func() {
					_, _ = io.Copy(way[0], way[1])
					_ = in.Close()
					_ = out.Close()
				})
			}
		}
	})
	return r
}

func (r *relay) keep(in, out net.Conn) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.cut {
		_ = out.Close()
		return false
	}
	r.open = append(r.open, in, out)
	return true
}

func (r *relay) close() {
	_ = r.listen.Close()
	r.mu.Lock()
	r.cut = true
	for _, c := range r.open {
		_ = c.Close()
	}
	r.mu.Unlock()
	r.done.Wait()
}

// gatesVar tells the process that has a network what leads out of it: "port socket", one a line.
const gatesVar = "RALPH_TEST_GATES"

// apart gives who is called so a network of its own, with nothing in it but its loopback, on which there
// are the addresses that it may reach; each leads out through a socket in the file system. Where that cannot be made,
// who it is shares the network of this machine.
func (l *land) apart(who string, addresses ...string) {
	l.t.Helper()
	var gates []string
	for i, address := range addresses {
		_, port, err := net.SplitHostPort(address)
		must(l.t, err)
		socket := l.path(fmt.Sprintf("%s-%d", who, i))
		n, err := net.Listen("unix", socket)
		if err != nil { // its name is too long, say
			l.t.Logf("%s has no network of its own: %v", who, err)
			return
		}
		l.t.Cleanup(newRelay(n, func() (net.Conn, error) { return net.Dial("tcp", address) }).close)
		gates = append(gates, port+" "+socket)
	}
	c := exec.Command(os.Args[0], "-test.run=^TestNetworkApart$")
	c.Env = append(os.Environ(), gatesVar+"="+strings.Join(gates, "\n"))
	c.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET}
	hold, err := c.StdinPipe()
	must(l.t, err)
	out, err := c.StdoutPipe()
	must(l.t, err)
	if _, missing := exec.LookPath("nsenter"); missing != nil {
		l.t.Logf("%s has no network of its own: %v", who, missing)
		return
	}
	if err := c.Start(); err != nil {
		l.t.Logf("%s has no network of its own: only root can make one (%v)", who, err)
		return
	}
	l.t.Cleanup(func() {
		_ = hold.Close()
		_ = c.Wait()
	})
	if said, _ := bufio.NewReader(out).ReadString('\n'); said != "ready\n" {
		l.t.Logf("%s has no network of its own: %s", who, said)
		return
	}
	l.inside[who] = []string{"nsenter", fmt.Sprintf("--net=/proc/%d/ns/net", c.Process.Pid)}
}

// TestNetworkApart is no test: it is the process that holds a network for (*land).apart, until its input ends.
func TestNetworkApart(t *testing.T) {
	gates := os.Getenv(gatesVar)
	if gates == "" {
		t.Skip("it holds a network for the other tests")
	}
	if out, err := exec.Command("ip", "link", "set", "lo", "up").CombinedOutput(); err != nil {
		fmt.Printf("its loopback cannot be used: %v %q\n", err, out)
		return
	}
	for gate := range strings.Lines(gates) {
		port, socket, _ := strings.Cut(strings.TrimSpace(gate), " ")
		n, err := net.Listen("tcp", "127.0.0.1:"+port)
		must(t, err)
		t.Cleanup(newRelay(n, func() (net.Conn, error) { return net.Dial("unix", socket) }).close)
	}
	fmt.Println("ready")
	_, _ = io.Copy(io.Discard, os.Stdin)
}

// hostOf is host and port of an address on the web.
func hostOf(t *testing.T, address string) string {
	t.Helper()
	u, err := url.Parse(address)
	must(t, err)
	return u.Host
}
