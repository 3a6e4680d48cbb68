//go:build e2e && linux

package main

import (
	"context"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/cookiejar"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// multiplexer is a tmux of the test's own, with a shell in it.
type multiplexer struct {
	t       *testing.T
	socket  string
	environ []string
	dir     string // of the repository
}

func openTmux(t *testing.T, columns, rows int, environ []string, dir string) *multiplexer {
	t.Helper()
	if _, err := exec.LookPath("tmux"); err != nil {
		t.Fatalf("there is no tmux: %v (.ci/run e2e installs it)", err)
	}
	folder, err := os.MkdirTemp("", "tmux") // the path of a socket is short
	if err != nil {
		t.Fatal(err)
	}
	x := &multiplexer{t, filepath.Join(folder, "s"), environ, dir}
	t.Cleanup(func() {
		_, _ = x.try("kill-server")
		_ = os.RemoveAll(folder)
	})
	x.run("new-session", "-d", "-x", strconv.Itoa(columns), "-y", strconv.Itoa(rows), "-s", "work", "-c", dir, "env PS1='shell$ ' bash --norc --noprofile")
	x.want("shell$")
	return x
}

func (x *multiplexer) try(args ...string) (string, error) {
	ctx := context.WithoutCancel(x.t.Context()) // it has ended when the server is
	cmd := exec.CommandContext(ctx, "tmux", append([]string{"-S", x.socket, "-f", "/dev/null"}, args...)...)
	cmd.Env, cmd.Dir = x.environ, x.dir
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func (x *multiplexer) run(args ...string) string {
	x.t.Helper()
	out, err := x.try(args...)
	if err != nil {
		x.t.Fatalf("tmux %v: %v\n%s", args, err, out)
	}
	return out
}

// press sends keys by the names that tmux has for them; type sends words.
func (x *multiplexer) press(keys ...string) {
	x.t.Helper()
	x.run(append([]string{"send-keys"}, keys...)...)
}
func (x *multiplexer) words(words string) { x.t.Helper(); x.run("send-keys", "-l", words) }

func (x *multiplexer) screen() string { return x.run("capture-pane", "-p") }

// want waits until the pane has all of the words.
func (x *multiplexer) want(words ...string) {
	x.t.Helper()
	x.until(strings.Join(words, ", "), func(screen string) bool {
		for _, w := range words {
			if !strings.Contains(screen, w) {
				return false
			}
		}
		return true
	})
}

func (x *multiplexer) until(what string, is func(string) bool) {
	x.t.Helper()
	var screen string
	for end := time.Now().Add(time.Minute); time.Now().Before(end); {
		if screen = x.screen(); is(screen) {
			return
		}
		<-time.After(50 * time.Millisecond) // tmux tells nobody when a pane changes
	}
	x.t.Fatalf("the pane never has %q:\n%s", what, screen)
}

// play is what the scripted agents do: one asks for a push, one has a question, one fails until
// its task is written anew.
const play = `
rules:
  - when: {stage: build, task: Push it}
    do:
      - say: I would like to push.
      - write: {pushed.txt: "a line to be read before the word\n"}
      - ask: {command: git push origin HEAD, allow: [{say: may push}], deny: [{say: may not}]}
      - usage: {input: 100, output: 20, cost: 0.01}
      - signal: COMPLETE
  - when: {stage: build, task: Ask me}
    do:
      - ask: {question: "Which colour?", options: [red, blue], answers: {"*": [{write: {colour.txt: "{{.Answer}}\n"}}]}}
      - signal: COMPLETE
  - when: {stage: build, task: "*mended*"}
    do:
      - write: {mended.txt: "mended\n"}
      - signal: COMPLETE
  - when: {stage: build, task: "Break*"}
    do:
      - stderr: it is broken
      - exit: 3
  - do:
      - say: "{{.TaskName}}"
      - signal: COMPLETE
`

const settings = `version: 1
parallel: 3
agent: {primary: me, fallback: []}
agents:
  me: {driver: scripted, scenario: ralph/play.yaml}
quality: {commands: ["true"]}
errors: {max_retries: 0}
gate: {patterns: [git push]}
`

// uiRepository is a repository with a plan of three tasks, and nobody at work.
func uiRepository(t *testing.T) (dir string, environ []string, run func(args ...string) string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "repo")
	environ = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "TERM=xterm-256color", "LANG=C.UTF-8", "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b",
	}
	run = func(args ...string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), args[0], args[1:]...)
		cmd.Env, cmd.Dir = environ, dir
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %v\n%s", args, err, out)
		}
		return string(out)
	}
	for name, words := range map[string]string{"ralph/config.yaml": settings, "ralph/play.yaml": play, "README.md": "A repository.\n"} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(words), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	run("git", "init", "-q", "-b", "main")
	run("git", "add", "-A")
	run("git", "commit", "-qm", "first")
	for _, name := range []string{"Push it", "Ask me", "Break it"} {
		run("ralph", "task", "add", name)
	}
	t.Cleanup(func() {
		after := func(args ...string) string {
			cmd := exec.Command("ralph", args...)
			cmd.Env, cmd.Dir = environ, dir
			out, _ := cmd.Output() // it may have ended
			return string(out)
		}
		after("stop", "--now")
		for strings.Contains(after("status", "--json"), `"alive": true`) { // it writes in the folder that goes now
		}
	})
	return dir, environ, run
}

// A day with the screen in tmux: an engine is started from it, paused, its agents get their words,
// a failed task is written anew and tried again; the screen is made small, put aside, left behind
// by a terminal that goes away, and survives its engine. The dashboard says the same (A-030, A-097,
// B-034, B-059, B-076, B-100, E-086, E-087).
func TestTmux(t *testing.T) {
	t.Parallel()
	dir, environ, run := uiRepository(t)
	x := openTmux(t, 120, 36, environ, dir)
	x.words("stty -a | tail -n +2 > ../before; ralph ui\n")
	x.want("Push it", "Ask me", "Break it", "2 Plan 0/3")

	// start, with its settings
	startAutopilot(x)
	x.want("▶ Autopilot Running", "Agent: Me", "2 need you")

	// approve, with the command and the change before one's eyes
	x.press("a")
	x.want("git push origin HEAD", "a line to be read before the word", "a approve")
	x.press("a")
	x.want("‹ Cancel ›")
	x.press("y")
	x.want("✓ Approved")

	x.want("Step 3/3") // all but the question is over: nothing moves while both are read
	theSameAsTheDashboard(t, x, run)

	// pause and go on
	x.press("p")
	x.until("it pauses", func(s string) bool { return strings.Contains(s, "Paus") && strings.Contains(s, "u undo") })
	x.press("u")
	x.want("Running")

	// answer
	x.press("3")
	x.want("Which colour?", "a answer")
	x.press("a")
	x.want("Answers to choose from")
	x.words("2")
	x.press("Enter", "Enter")
	x.want("✓ Answered")
	x.want("ended: ")
	if have := run("cat", filepath.Join(".", "ralph/.state/journal.jsonl")); !strings.Contains(have, "blue") {
		t.Error("the answer is not in the journal")
	}

	// a failed task: edit it, try it again
	x.press("2", "G")
	x.want("✗", "r retry", "e edit")
	x.press("e")
	x.want("What to do, one line")
	x.words(", mended")
	x.press("C-s")
	x.want("✓ Changed")
	x.press("r")
	x.want("○ pending")
	startAutopilot(x)
	x.want("Break it, mended", "ended: complete")

	// back through time
	x.press("t")
	x.want("AS IT WAS", "esc now")
	x.press("<", "<", "<", "<", "<")
	x.press("p")
	x.want("nothing can be done about it")
	x.press("Escape")
	x.until("now", func(s string) bool { return !strings.Contains(s, "AS IT WAS") })

	sizesInTmux(x)
	asideInTmux(t, x)
	killedInTmux(t, x, run)

	x.press("q")
	x.until("the shell again", func(s string) bool { return strings.HasSuffix(strings.TrimSpace(s), "shell$") })
	x.words("clear; stty -a | tail -n +2 > ../after; diff ../before ../after && echo the same terminal\n")
	x.want("the same terminal")
	if flags := x.run("display-message", "-p", "#{alternate_on} #{cursor_flag} #{mouse_any_flag}"); strings.TrimSpace(flags) != "0 1 0" {
		t.Errorf("the terminal has (second screen, cursor, mouse) %s after the screen", flags)
	}
}

// A monkey at the keys of a screen over a running engine, with any size of the terminal: the
// screen lives on and answers, and nothing is done that has a question, as none is answered (it
// has no enter, no ctrl+s, and no y in any of its words). The seed is in the name of what fails.
func TestMonkeyBesideAnEngine(t *testing.T) {
	t.Parallel()
	dir, environ, run := uiRepository(t)
	seed := uint64(time.Now().UnixNano())
	if v, err := strconv.ParseUint(os.Getenv("RAPID_SEED"), 10, 64); err == nil {
		seed = v // as that of properties
	}
	t.Logf("RAPID_SEED=%d", seed)
	rnd := rand.New(rand.NewPCG(seed, 1)) //nolint:gosec // a monkey
	x := openTerminalIn(t, dir, 110, 34, append(environ, "VISUAL=true"), "ralph", "autopilot", "--ui")
	x.want("▶ Autopilot Running", "2 need you")
	keys := strings.Fields("j k g G 1 2 3 4 5 6 7 8 tab ] [ f w z / : x u t , . < > T ? p s a d r e R X + space left right up down pgdown pgup backspace l h o ! K J x :roll :retr")
	special := map[string]string{"tab": "\t", "space": " ", "left": "\x1b[D", "right": "\x1b[C", "up": "\x1b[A", "down": "\x1b[B", "pgdown": "\x1b[6~", "pgup": "\x1b[5~", "backspace": "\x7f"}
	for i := range 500 {
		k := keys[rnd.IntN(len(keys))]
		if v, ok := special[k]; ok {
			k = v
		}
		switch {
		case i%7 == 6: // else it would type into the first form for ever
			x.Press("\x1b")
			x.settle()
		case i%31 == 30:
			x.resize(30+rnd.IntN(150), 8+rnd.IntN(50))
		default:
			x.Press(k)
		}
		if i%50 == 49 {
			x.settle()
		}
	}
	x.resize(110, 34)
	for range 6 {
		x.Press("\x1b")
		x.settle()
	}
	x.Press("?")
	x.want("Keys")
	if gates := run("ralph", "gates", "--json"); strings.Count(gates, `"id"`) < 2 {
		t.Errorf("something was answered without a word: %s\n%s", gates, run("ralph", "log"))
	}
	if !strings.Contains(run("ralph", "status", "--json"), `"alive": true`) {
		t.Error("the engine was stopped without a word")
	}
}

// settle waits until the screen has not changed for a while: behind esc a key would be taken for
// alt and that key.
func (x *terminal) settle() {
	for {
		select {
		case <-x.Moved():
		case <-time.After(100 * time.Millisecond):
			return
		}
	}
}

// startAutopilot starts an engine from the screen, by the form with its settings.
func startAutopilot(x *multiplexer) {
	x.t.Helper()
	x.press(":")
	x.words("start")
	x.want("Start …")
	x.press("Enter")
	x.want("‹autopilot›") // there is a plan
	x.press("C-s")
}

// theSameAsTheDashboard reads the page of the dashboard beside the screen.
func theSameAsTheDashboard(t *testing.T, x *multiplexer, run func(...string) string) {
	t.Helper()
	serve := exec.CommandContext(t.Context(), "ralph", "serve", "--addr", "127.0.0.1:0")
	serve.Env, serve.Dir = x.environ, x.dir
	out, err := serve.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := serve.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = serve.Process.Signal(syscall.SIGTERM); _ = serve.Wait() }()
	link := ""
	for b := make([]byte, 4096); link == ""; {
		n, err := out.Read(b)
		if err != nil {
			t.Fatalf("the dashboard says nothing: %v", err)
		}
		link = regexp.MustCompile(`http://127\.0\.0\.1:\d+/\S+`).FindString(string(b[:n]))
	}
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Jar: jar, Timeout: time.Minute}
	welcome, err := client.Get(link)
	if err != nil {
		t.Fatal(err)
	}
	_ = welcome.Body.Close()
	answer, err := client.Get(regexp.MustCompile(`^http://[^/]*/`).FindString(link))
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	page, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	words := strings.Join(strings.Fields(regexp.MustCompile(`<[^>]*>`).ReplaceAllString(string(page), "")), " ")
	state := run("ralph", "status", "--json")
	step := regexp.MustCompile(`Step \d/\d`).FindString(words)
	for _, w := range []string{"Autopilot Running", "Agent: Me", "Retries: 0", step} {
		if w == "" || !strings.Contains(words, w) {
			t.Errorf("the dashboard does not have %q: %s\n%s", w, state, words[:min(len(words), 1500)])
		}
		if w != "" {
			x.want(w)
		}
	}
}

func sizesInTmux(x *multiplexer) {
	x.t.Helper()
	x.run("resize-window", "-t", "work", "-x", "60", "-y", "20")
	x.want("7 Log", "╰──────────────────────────────────────────────────────────╯")
	x.run("resize-window", "-t", "work", "-x", "40", "-y", "10")
	x.want("40 by 10 is too small")
	x.run("resize-window", "-t", "work", "-x", "140", "-y", "40")
	x.want("7 Decisions", "Push it", "leave")
}

// asideInTmux puts the screen aside and takes it again, and leaves tmux and comes back.
func asideInTmux(t *testing.T, x *multiplexer) {
	t.Helper()
	x.press("C-z")
	x.want("Stopped", "shell$")
	x.words("clear; stty -a | tail -n +2 > ../aside; diff ../before ../aside && echo the shell has its terminal\n")
	x.until("the shell has its terminal", func(s string) bool { return strings.HasPrefix(s, "the shell has its terminal") })
	if flags := x.run("display-message", "-p", "#{alternate_on} #{cursor_flag} #{mouse_any_flag}"); strings.TrimSpace(flags) != "0 1 0" {
		t.Errorf("the terminal has (second screen, cursor, mouse) %s while the screen is aside", flags)
	}
	x.words("fg\n")
	x.want("7 Decisions", "Push it", "leave")

	seen := openTerminal(t, 100, 30, x.environ, "tmux", "-S", x.socket, "-f", "/dev/null", "attach", "-t", "work")
	seen.want("7 Decisions", "Push it")
	x.run("detach-client", "-s", "work")
	if err := seen.Wait(); err != nil {
		t.Errorf("the terminal that was detached ended with %v", err)
	}
	again := openTerminal(t, 120, 36, x.environ, "tmux", "-S", x.socket, "-f", "/dev/null", "attach", "-t", "work")
	again.Press("7")
	again.want("7 Decisions", "D-044")
	x.run("detach-client", "-s", "work")
	_ = again.Wait()
	x.press("2")
}

// killedInTmux kills an engine at work: the screen says so, and starts it again; then it kills the screen.
func killedInTmux(t *testing.T, x *multiplexer, run func(...string) string) {
	t.Helper()
	run("ralph", "task", "add", "Ask me")
	x.want("3/4")
	startAutopilot(x)
	x.want("1 needs you", "Autopilot")
	owner := run("ralph", "status", "--json")
	m := regexp.MustCompile(`"pid":\s*(\d+)`).FindStringSubmatch(owner)
	if m == nil {
		t.Fatalf("no engine works: %s", owner)
	}
	pid, _ := strconv.Atoi(m[1])
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	x.want("the engine died")
	x.press(":")
	x.words("resume")
	x.want("Resume")
	x.press("Enter")
	x.want("▶ Autopilot Running", "1 needs you")

	// the terminal of the screen that started the engine is closed: the work goes on
	x.run("respawn-pane", "-k", "-t", "work")
	x.until("a shell without a screen", func(s string) bool { return strings.HasSuffix(strings.TrimSpace(s), "shell$") })
	x.words("ralph ui\n")
	x.want("▶ Autopilot Running", "1 needs you")
	x.press("2", "a", "a")
	x.want("Answers to choose from")
	x.words("1")
	x.press("C-s")
	x.want("✓ Answered")
	x.want("ended: complete")
}
