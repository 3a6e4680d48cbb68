package proc_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/ralph-loop/ralph/internal/proc"
)

// S3: whatever a process does to its session, its group, its environment and its parents,
// it stays below the one that adopts orphans; its session is not that one's any more, and
// is seen from there.
func TestLineageOfAnOrphan(t *testing.T) {
	if err := proc.AdoptOrphans(); err != nil {
		t.Fatal(err)
	}
	in, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	hold, held, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	c := exec.CommandContext(t.Context(), "sh", "-c", `env -i PATH="$PATH" setsid sh -c '(nohup sh -c "echo \$\$; read x" <&3 2>/dev/null &) ; exit' &`)
	c.ExtraFiles, c.Stdout = []*os.File{hold}, out // background commands have no stdin
	if err := c.Run(); err != nil {
		t.Fatal(err)
	}
	_ = out.Close()
	_ = hold.Close()
	b := make([]byte, 32)
	n, err := in.Read(b)
	pid, _ := strconv.Atoi(strings.TrimSpace(string(b[:n])))
	if err != nil || pid == 0 {
		t.Fatalf("%q: %v", b[:n], err)
	}
	line, err := proc.Lineage(pid)
	if err != nil {
		t.Fatal(err)
	}
	at := slices.IndexFunc(line, func(p proc.Process) bool { return p.Pid == os.Getpid() })
	if line[0].Pid != pid || at < 1 {
		t.Fatalf("not below this process: %+v", line)
	}
	if id, err := proc.Identity(pid); err != nil || id != line[0].Start || line[0].Inner == 0 || line[0].Space == "" || line[0].Dir == "" {
		t.Errorf("%+v", line[0])
	}
	if line[0].Session == line[at].Session {
		t.Error("setsid left it in the session")
	}
	if !slices.ContainsFunc(proc.SessionsBelow(), func(s proc.Session) bool { return s.Within(line[0]) && !s.Within(line[at]) }) {
		t.Errorf("%+v is in none of %+v", line[0], proc.SessionsBelow())
	}
	_ = held.Close() // it ends; this process reaps it
	_, _ = io.Copy(io.Discard, in)
	if p, err := os.FindProcess(pid); err == nil {
		_, _ = p.Wait()
	}
	if _, err := proc.Lineage(pid); err == nil {
		t.Error("a process that is gone has a lineage")
	}
}

// S3: who connects over loopback is found by its end of the connection, over IPv4 and IPv6.
// Not beside other tests: a process that they start has this one's sockets until it execs.
func TestPeersOf(t *testing.T) {
	for _, at := range []string{"127.0.0.1:0", "[::1]:0", "[::]:0"} {
		listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", at)
		if err != nil {
			t.Log(err) // a machine without IPv6
			continue
		}
		found := make(chan proc.Peers, 1)
		server := &http.Server{Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			local, _ := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
			peers, err := proc.PeersOf(netip.MustParseAddrPort(r.RemoteAddr), netip.MustParseAddrPort(local.String()))
			if err != nil {
				t.Error(err)
			}
			found <- peers
		})}
		go func() { _ = server.Serve(listener) }()
		_, port, _ := net.SplitHostPort(listener.Addr().String())
		host := strings.Trim(strings.TrimSuffix(at, ":0"), "[]")
		if host == "::" {
			host = "127.0.0.1"
		}
		request, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+net.JoinHostPort(host, port)+"/", http.NoBody)
		answer, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		_ = answer.Body.Close()
		if peers := <-found; !peers.Sure || !slices.Equal(peers.Pids, []int{os.Getpid()}) {
			t.Errorf("%s: %+v, want this process", at, peers)
		}
		_ = server.Shutdown(context.WithoutCancel(t.Context()))
	}
	server := netip.MustParseAddrPort("127.0.0.1:2")
	if _, err := proc.PeersOf(netip.MustParseAddrPort("127.0.0.1:1"), server); !errors.Is(err, proc.ErrGone) {
		t.Errorf("a client of this machine that is gone: %v", err)
	}
	if _, err := proc.PeersOf(netip.MustParseAddrPort("192.0.2.1:1"), server); !errors.Is(err, proc.ErrUntold) {
		t.Errorf("another machine's: %v", err)
	}
}

// S3: of what is left of a turn git's own processes are spared, and none that only calls itself git.
func TestEndSessionsSparesGitAlone(t *testing.T) { // alone: sweeps of other tests reap what has ended, git too
	sleep, err := exec.LookPath("sleep")
	if err != nil {
		t.Fatal(err)
	}
	called := filepath.Join(t.TempDir(), "git")
	if out, err := exec.Command("cp", sleep, called).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	hold, held, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	start := func(name string, args ...string) *exec.Cmd {
		c := exec.Command(name, args...)
		c.Stdin, c.SysProcAttr = hold, &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		return c
	}
	liar, git := start(called, "600"), start("git", "hash-object", "--stdin")
	var sessions []proc.Session
	for _, c := range []*exec.Cmd{liar, git} {
		id, err := proc.Identity(c.Process.Pid)
		if err != nil {
			t.Fatal(err)
		}
		sessions = append(sessions, proc.Session{ID: c.Process.Pid, Start: id})
	}
	swept := proc.NewRunner("").EndSessions(t.Context(), sessions)
	if len(swept) != 1 || swept[0].Pid != liar.Process.Pid {
		t.Errorf("ended %+v, want pid %d alone", swept, liar.Process.Pid)
	}
	_ = held.Close()
	if err := git.Wait(); err != nil {
		t.Errorf("git: %v", err)
	}
	_ = liar.Wait()
}
