//go:build linux

package sandbox_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ralph-loop/ralph/internal/proc"
	"github.com/ralph-loop/ralph/internal/ralphtest"
	"github.com/ralph-loop/ralph/internal/sandbox"
)

// boxVar has this test program become another one inside landlock, as ralph does.
const boxVar = "RALPH_TEST_BOX"

func TestMain(m *testing.M) {
	text := os.Getenv(boxVar)
	if text == "" {
		os.Exit(m.Run())
	}
	var box sandbox.Box
	err := json.Unmarshal([]byte(text), &box)
	if err == nil {
		err = sandbox.Restrict(box)
	}
	if err == nil {
		err = syscall.Exec("/bin/sh", append([]string{"sh"}, os.Args[1:]...), []string{"PATH=" + os.Getenv("PATH")})
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(99)
}

// lab is a place with something to write, something to keep, something to hide and
// something outside, that belongs to the user as whom the test runs.
type lab struct {
	dir  string
	cred *syscall.Credential
	box  sandbox.Box
}

func newLab(t *testing.T, cred *syscall.Credential) lab {
	t.Helper()
	// Not in the test's own folder, which the ordinary user cannot enter.
	dir, err := os.MkdirTemp("/var/tmp", "ralph-held-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	for _, name := range []string{"work/.git/hooks/x", "work/.git/config", "work/.git/commondir", "work/ralph/.state/journal", "work/ralph/.state/web.json", "home/.ssh/id", "home/.ssh/known", "home/.npmrc", "home/plain", "outside/file", "none/.x"} {
		write(t, filepath.Join(dir, name), "secret\n")
	}
	_ = os.Remove(filepath.Join(dir, "none/.x"))
	write(t, filepath.Join(dir, "nothing"), "")
	// By a program of its own: what this process writes, a fork of another test may still have
	// open for writing when it is run.
	if out, err := exec.Command("cp", "/proc/"+strconv.Itoa(os.Getpid())+"/exe", filepath.Join(dir, "self")).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	err = filepath.Walk(dir, func(name string, _ os.FileInfo, err error) error {
		if err == nil && cred != nil {
			err = os.Lchown(name, int(cred.Uid), int(cred.Gid))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	in := func(name string) string { return filepath.Join(dir, name) }
	return lab{dir, cred, sandbox.Box{
		Write: []string{in("work")}, Keep: []string{in("work/.git/config"), in("work/.git/hooks"), in("work/ralph/.state")},
		Hide:   []string{in("home/.ssh"), in("home/.npmrc"), in("work/ralph/.state/web.json")},
		NoFile: in("nothing"), NoFolder: in("none"),
	}}
}

// settle lets the files of a folder look as if nobody had written them lately.
func (l lab) settle(t *testing.T, folder string) {
	t.Helper()
	settle(t, filepath.Join(l.dir, folder))
}

// sh runs a script inside the sandbox, and returns what it prints.
func (l lab) sh(t *testing.T, kind, script string, env ...string) string {
	t.Helper()
	argv := []string{filepath.Join(l.dir, "self"), "-c", script}
	env = append(env, "PATH="+os.Getenv("PATH"), "D="+l.dir)
	if kind == sandbox.Bubblewrap {
		argv = sandbox.Bwrap("/usr/bin/bwrap", l.box, []string{"/bin/sh", "-c", "export " + strings.Join(env[:len(env)-2], " ") + "; " + script})
	} else {
		b, err := json.Marshal(l.box)
		if err != nil {
			t.Fatal(err)
		}
		env = append(env, boxVar+"="+string(b))
		argv[2] = "export D=" + l.dir + " " + strings.Join(env[:len(env)-3], " ") + "; " + script
	}
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir, cmd.Env = l.dir+"/work", env
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: l.cred}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return string(out)
}

// refused are what the sandbox keeps a process from.
func refused() map[string]string {
	return map[string]string{
		"write outside":                     `echo x > $D/outside/new`,
		"change outside":                    `echo x >> $D/outside/file`,
		"through a link":                    `ln -s $D/outside l && echo x > l/new`,
		"through a hard link":               `ln $D/outside/file h && echo x >> h`,
		"through /proc/self/root":           `echo x > /proc/self/root$D/outside/new`,
		"rename outside":                    `mv $D/outside/file $D/outside/file2`,
		"truncate outside":                  `: > $D/outside/file`,
		"delete outside":                    `rm -f $D/outside/file && [ ! -e $D/outside/file ]`,
		"read a key":                        `grep -q secret $D/home/.ssh/id`,
		"read a key through /proc":          `grep -q secret /proc/self/root$D/home/.ssh/id`,
		"read a token":                      `grep -q secret $D/home/.npmrc`,
		"read the dashboard's token":        `grep -q secret $D/work/ralph/.state/web.json`,
		"write the journal":                 `echo x >> $D/work/ralph/.state/journal`,
		"put another folder in its place":   `mv $D/work/ralph $D/work/ralph2`,
		"write git's settings":              `echo x >> $D/work/.git/config`,
		"replace git's settings":            `echo x > c && mv c $D/work/.git/config && grep -q x $D/work/.git/config`,
		"write a hook":                      `echo x > $D/work/.git/hooks/post-commit`,
		"put another .git in its place":     `mv $D/work/.git $D/work/git2`,
		"signal a process outside":          `kill -0 $OUT`,
		"read the environment of one":       `grep -q . /proc/$OUT/environ`,
		"see the files of one":              `ls /proc/$OUT/fd && ls -l /proc/$OUT/cwd/`,
		"write through the root of one":     `echo x > /proc/$OUT/root$D/outside/new`,
		"an abstract socket":                `[ -n "$(command -v python3)" ] && python3 -c 'import socket; socket.socket(socket.AF_UNIX).connect("\0'$SOCK'")'`,
		"mount":                             `mount -t tmpfs x $D/work`,
		"make a disk":                       `mknod $D/work/disk b 254 0`,
		"undo it in a namespace of its own": `unshare -Urm sh -c 'mount -o remount,bind,rw / ; umount -l '$D'/home/.ssh; grep -q secret '$D'/home/.ssh/id || echo x > '$D'/outside/new'`,
		"change the mode of a file outside": `chmod 777 $D/outside/file`,
		"touch a file outside":              `touch $D/outside/file`,
		"limit a process outside":           `prlimit --pid $OUT --nofile=64:64`,
		// With numbers that stop nothing: who may stop the machine is told that they are wrong, others
		// that they may not.
		"stop the machine":         `perl -e 'exit(syscall($ARGV[0], 1, 2, 3) == -1 && !$!{EINVAL} ? 1 : 0)' $([ "$(uname -m)" = x86_64 ] && echo 169 || echo 142)`,
		"name the machine":         `hostname "$(hostname)"`,
		"change how it is reached": `ip link set lo up || ifconfig lo up`,
		// Root owns the settings of the kernel, and needs no right of root to write them: the
		// program that core_pattern names runs outside, as root, when something crashes.
		"change what the kernel runs": `f=/proc/sys/kernel/core_pattern; old=$(cat $f) && printf '%s\n' "$old" > $f`,
		"change the kernel elsewhere": `[ "$(id -u)" = 0 ] && for f in $(find /proc -maxdepth 3 -path '/proc/[0-9]*' -prune -o -path /proc/self -prune -o -path /proc/thread-self -prune -o -type f -perm /222 -print); do (: >> $f) && exit 0; done; exit 1`,
	}
}

// allowed are what works as outside.
func allowed() map[string]string {
	return map[string]string{
		"write in the work tree": `echo x > new && mkdir d && mv new d/new && rm -r d`,
		// As compilers do with what they have written; mv would copy where it may not rename.
		"link and rename between folders": `mkdir d1 d2 && echo x > d1/f && ln d1/f d2/f && perl -e 'rename "d1/f", "d2/g" or die $!' && rm -r d1 d2`,
		"read elsewhere":                  `grep -q secret $D/home/plain && ls / > /dev/null && grep -q root /etc/passwd`,
		"programs and pipes":              `seq 3 | sort -r | head -1 > /dev/null && (sleep 0 & wait)`,
		"its own limits":                  `prlimit --pid $$ && ulimit -n 64 && prlimit --nofile=32:32 true`,
		"its own processes":               `sleep 9 & kill $!; [ -r /proc/self/environ ]`,
	}
}

// S3, S11: what a process can do inside the sandbox, of each kind, for root and for an
// ordinary user. open are rows that Landlock leaves open, as docs/threat-model.md says.
func TestHeld(t *testing.T) {
	t.Parallel()
	held, works := refused(), allowed()
	open := map[string]bool{
		"change the mode of a file outside": true, "touch a file outside": true,
		"write the journal": true, "put another folder in its place": true, "write git's settings": true, "replace git's settings": true,
		"write a hook": true, "put another .git in its place": true, "read the dashboard's token": true,
	}
	users := map[string]*syscall.Credential{"as who runs the test": nil}
	if os.Geteuid() == 0 {
		users["as an ordinary user"] = &syscall.Credential{Uid: 65534, Gid: 65534}
	}
	for user, cred := range users {
		for _, kind := range []string{sandbox.Landlock, sandbox.Bubblewrap} {
			t.Run(kind+" "+user, func(t *testing.T) {
				t.Parallel()
				needs(t, kind, cred)
				out := exec.Command("/bin/sleep", "600")
				out.SysProcAttr = &syscall.SysProcAttr{Credential: cred, Pdeathsig: syscall.SIGKILL}
				if err := out.Start(); err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { _ = out.Process.Kill(); _ = out.Wait() })
				sock := fmt.Sprintf("ralph-held-%d-%s", os.Getpid(), kind+user[:4])
				sock = strings.ReplaceAll(sock, " ", "")
				listener, err := net.Listen("unix", "@"+sock)
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { _ = listener.Close() })
				// Rows that move what others need come true where they are open: each has a lab.
				for name, row := range ralphtest.Named(3, held) {
					l := newLab(t, cred)
					got := l.sh(t, kind, "("+row+") > /dev/null 2>&1 && echo yes || echo no", "OUT="+strconv.Itoa(out.Process.Pid), "SOCK="+sock)
					want := "no\n"
					if kind == sandbox.Landlock && open[name] || kind == sandbox.Bubblewrap && name == "an abstract socket" {
						continue // told in docs/threat-model.md
					}
					if got != want {
						t.Errorf("%s: it could", name)
					}
					if text, err := os.ReadFile(filepath.Join(l.dir, "outside/file")); err != nil || string(text) != "secret\n" {
						t.Errorf("%s: the file outside is %q, %v", name, text, err)
					}
					if _, err := os.Stat(filepath.Join(l.dir, "outside/new")); err == nil {
						t.Errorf("%s: there is a new file outside", name)
					}
				}
				for name, row := range works {
					if got := newLab(t, cred).sh(t, kind, "("+row+") && echo yes || echo no", "OUT=1", "SOCK=x"); !strings.HasSuffix(got, "yes\n") {
						t.Errorf("%s does not work: %s", name, got)
					}
				}
			})
		}
	}
}

// Second pass of issue 15: the terminal of an engine is its agents' too with Landlock, and what
// is pushed into it runs when the engine has ended. In bubblewrap they have none of it.
func TestNobodyTypes(t *testing.T) {
	t.Parallel()
	needs(t, sandbox.Landlock, nil)
	const typed = `script -qec "perl -e 'open F, q(<), q(/dev/tty) or exit 0; \$c = q(x); exit(ioctl(F, 0x5412, \$c) ? 7 : 0)'" /dev/null > /dev/null 2>&1; [ $? != 7 ]`
	if got := newLab(t, nil).sh(t, sandbox.Landlock, typed+" && echo held || echo typed", "OUT=1", "SOCK=x"); got != "held\n" {
		t.Errorf("it types into a terminal: %s", got)
	}
}

// A file that is hidden stays so when somebody outside puts another in its place while the
// program runs (`git credential-store`, `npm login`), and what lies beside it works on.
func TestReplacedFilesStayHidden(t *testing.T) {
	t.Parallel()
	needs(t, sandbox.Bubblewrap, nil)
	l := newLab(t, nil)
	l.settle(t, "home")
	ready, replaced := filepath.Join(l.dir, "work/ready"), filepath.Join(l.dir, "work/replaced")
	done := make(chan error, 1)
	go func() {
		for {
			if _, err := os.Stat(ready); err == nil {
				break
			}
			time.Sleep(time.Millisecond)
		}
		next := filepath.Join(l.dir, "home/.npmrc.new")
		done <- errors.Join(os.WriteFile(next, []byte("secret anew\n"), 0o600), os.Rename(next, filepath.Join(l.dir, "home/.npmrc")), os.WriteFile(replaced, nil, 0o600))
	}()
	got := l.sh(t, sandbox.Bubblewrap, `echo > ready; while [ ! -e replaced ]; do sleep 0.01; done; grep -rs secret $D/home/.npmrc $D/home/.npmrc.new; cat $D/home/plain; echo x > $D/home/plain || echo x > $D/home/new || ls -A $D/home`, "OUT=1", "SOCK=x")
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(got, "secret\n") || !strings.HasSuffix(got, "\n.ssh\nplain\n") {
		t.Errorf("after another file was put in its place: %s", got)
	}
}

// needs skips where the system lacks a sandbox.
func needs(t *testing.T, kind string, cred *syscall.Credential) {
	t.Helper()
	if kind == sandbox.Landlock {
		if sandbox.ABI() < sandbox.ScopesABI {
			t.Skipf("this system has Landlock %d, which has no scopes", sandbox.ABI())
		}
		return
	}
	argv := sandbox.Bwrap("/usr/bin/bwrap", sandbox.Box{}, []string{"/bin/true"})
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: cred}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Skipf("bubblewrap does not work here: %v %s", err, out)
	}
}

// What asks a program in bubblewrap to end reaches it, and not bubblewrap, whose end would be
// its own; what it leaves behind ends with it; a crash is told as one.
func TestInnerEnds(t *testing.T) {
	t.Parallel()
	needs(t, sandbox.Bubblewrap, nil)
	run := func(ctx context.Context, script string, out io.Writer) proc.Result {
		t.Helper()
		res, err := proc.NewRunner("").Run(ctx, proc.Command{
			Args: sandbox.Bwrap("/usr/bin/bwrap", sandbox.Box{}, []string{"/bin/sh", "-c", script}), Dir: "/",
			Env: []string{"PATH=" + os.Getenv("PATH")}, Stdout: out, Tracked: true, Inner: true, Grace: time.Minute,
		})
		if err != nil {
			t.Fatal(err)
		}
		return res
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	said := new(heard)
	said.on = cancel
	res := run(ctx, `trap 'echo asked; exit 3' TERM; echo ready; while :; do sleep 0.01; done`, said)
	if res.Code != 3 || res.Ended != proc.EndedCancelled || said.String() != "ready\nasked\n" {
		t.Errorf("%+v, it said %q", res, said)
	}
	mark := strconv.Itoa(600000 + os.Getpid())
	if res = run(t.Context(), "sleep "+mark+" & sleep "+mark+" < /dev/null > /dev/null 2>&1 & exit 4", nil); res.Code != 4 || res.Leftover != 0 {
		t.Errorf("%+v", res)
	}
	left, err := exec.Command("pgrep", "-f", "^sleep "+mark).Output()
	if err == nil {
		t.Errorf("there is still %s", left)
	}
	if res = run(t.Context(), "kill -9 $$", nil); res.Signal != "SIGKILL" {
		t.Errorf("killed: %+v", res)
	}
}

// heard keeps what is written, and calls on at the first word.
type heard struct {
	strings.Builder
	on func()
}

func (h *heard) Write(b []byte) (int, error) {
	defer h.on()
	return h.Builder.Write(b)
}

// bubblewrap cannot mount a file that takes another's place at that moment, and would start
// nothing: a check that was red for it, and for nothing that was wrong with the work.
func TestFilesReplacedWhileItStarts(t *testing.T) {
	t.Parallel()
	needs(t, sandbox.Bubblewrap, nil)
	l := newLab(t, nil)
	dir := filepath.Join(l.dir, "home")
	passing := filepath.Join(dir, "session.json")
	l.box = sandbox.Box{Write: []string{filepath.Join(l.dir, "work")}, Hide: []string{filepath.Join(dir, ".npmrc")}, NoFile: l.box.NoFile, NoFolder: l.box.NoFolder}
	replace := func() error {
		next := filepath.Join(dir, ".session.json.tmp")
		return errors.Join(os.WriteFile(next, []byte("{}"), 0o600), os.Rename(next, passing))
	}
	if err := replace(); err != nil {
		t.Fatal(err)
	}
	stop, done := make(chan struct{}), make(chan error, 1)
	go func() {
		for {
			select {
			case <-stop:
				done <- nil
				return
			default:
				if err := replace(); err != nil {
					done <- err
					return
				}
			}
		}
	}()
	for range 50 {
		if got := l.sh(t, sandbox.Bubblewrap, `cat $D/home/.npmrc $D/home/plain 2> $D/work/err; true`, "OUT=1", "SOCK=x"); strings.Count(got, "secret") != 1 {
			t.Fatalf("a hidden file beside a plain one: %s", got)
		}
	}
	close(stop)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}
