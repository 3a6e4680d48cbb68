package operation_test

import (
	"strings"
	"testing"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/approval"
	"github.com/ralph-loop/ralph/internal/lookup"
	"github.com/ralph-loop/ralph/internal/operation"
)

// choices are the bytes of the fuzzer as decisions; behind their end all are the first one.
type choices struct {
	b []byte
}

func (c *choices) next(n int) int {
	if len(c.b) == 0 {
		return 0
	}
	v := int(c.b[0]) % n
	c.b = c.b[1:]
	return v
}

func (c *choices) of(list ...string) string { return list[c.next(len(list))] }

// quoted spells a word in one of the ways in which the shell reads the same.
func (c *choices) quoted(w string) string {
	if strings.HasPrefix(w, "~") || strings.ContainsAny(w, "*$") {
		return w // quoted, these are something else
	}
	at := c.next(len(w)) // not behind the last letter
	switch c.next(9) {
	case 1:
		return "'" + w + "'"
	case 2:
		return `"` + w + `"`
	case 3:
		return w[:at] + `\` + w[at:]
	case 4:
		return w[:at] + `""` + w[at:]
	case 5:
		return w[:at] + "'" + w[at:at+1] + "'" + w[at+1:]
	case 6:
		return "$'" + w + "'"
	case 7:
		const hex = "0123456789abcdef"
		ch := w[at]
		return "$'" + w[:at] + `\x` + string(hex[ch>>4]) + string(hex[ch&15]) + w[at+1:] + "'"
	case 8:
		return w[:at] + "\\\n" + w[at:]
	}
	return w
}

// dangerous is a command that is on the never list, by the grammar it is made of.
func (c *choices) dangerous() []string {
	switch c.next(7) {
	case 0:
		out := []string{c.of("git", "/usr/bin/git", "GIT")}
		out = append(out, strings.Fields(c.of("", "-C sub", "-c a.b=c", "--no-pager", "--git-dir .git -p"))...)
		return append(append(out, "push"), strings.Fields(c.of("-f", "--force", "-uf origin", "origin +main", "origin main --force-with-lease", "--mirror x", "-q --force origin a:b"))...)
	case 1:
		return append([]string{c.of("rm", "/bin/rm", "RM")}, strings.Fields(c.of("-rf", "-fr", "-r -f", "-R", "--recursive --force", "-rf --no-preserve-root", "-vrf --")+" "+c.of("/", "//", "/.", "/*", "/tmp/..", "build /", "/./"))...)
	case 2:
		return append([]string{"rm"}, strings.Fields(c.of("-rf", "-f -r", "-Rf")+" "+c.of("~", "~/", "$HOME", "${HOME}/", "/home/me", "~/*", "/home/me/*", "/home"))...)
	case 3:
		return []string{c.of("psql", "mysql", "sqlite3"), "-c", c.of("drop database x", "DROP  DATABASE x", "select 1; Drop Database x")}
	case 4:
		return append([]string{c.of("format", "FORMAT", "format.com")}, strings.Fields(c.of("c:", "C:", "/q c:"))...)
	case 5:
		return strings.Fields(c.of("deploy", "./deploy.sh", "make deploy", "npm run deploy") + " " + c.of("production", "--env production", "--env=prod", "PROD"))
	}
	return append([]string{c.of("npm", "yarn", "pnpm", "bun", "/usr/bin/npm")}, strings.Fields(c.of("publish", "publish --access public", "--tag next publish", "-w a publish"))...)
}

// command is the text of one, in places where a shell runs it.
func (c *choices) command() string {
	var words []string
	for _, w := range c.dangerous() {
		if strings.Contains(w, " ") {
			words = append(words, "'"+w+"'")
			continue
		}
		words = append(words, c.quoted(w))
	}
	text := strings.Join(words, c.of(" ", "  ", "\t", " \\\n"))
	for range c.next(5) {
		text = c.wrapped(text)
	}
	return text
}

func (c *choices) wrapped(text string) string {
	single := "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
	line := !strings.Contains(text, "\n")
	switch c.next(28) {
	case 0:
		return "true && " + text
	case 1:
		return text + c.of(" || true", "; ls", " | cat", " 2>/dev/null", " > log", " # why")
	case 2:
		return "(" + text + "\n)"
	case 3:
		return "{ " + text + "\n}"
	case 4:
		return "if true; then " + text + "\nfi"
	case 5:
		return "for i in 1 2; do " + text + "\ndone"
	case 6:
		return c.of("bash -c ", "sh -lc ", "zsh -xc ", "/bin/bash -o pipefail -c ", "dash -e -c ") + single
	case 7:
		return "eval " + single
	case 8:
		return c.of("echo", "ls", "x=1; git commit -m") + ` "$(` + text + "\n" + `)"`
	case 9:
		return "cat <(" + text + "\n)"
	case 10:
		return "f() { " + text + "\n}; f"
	case 11:
		return "case a in a) " + text + "\n;; esac"
	case 12:
		return "bash <<'END'\n" + text + "\nEND"
	case 13:
		return "bash <<< " + single
	case 14:
		return "trap " + single + " EXIT"
	case 15:
		return "while true; do " + text + "\nbreak; done"
	case 16:
		return "! { " + text + "\n}"
	case 17:
		return "echo a\n" + text
	case 18:
		return "ssh host " + single
	case 19:
		return "sudo -u bob sh -c " + single
	case 20:
		return "cat <<END | sh\n$(" + text + "\n)\nEND"
	case 21:
		return "X=$(" + text + "\n) ls"
	case 22:
		return "git -c alias.x='!sh -c '" + single + " x"
	case 23:
		return "find . -exec sh -c " + single + ` \;`
	case 24:
		return "docker exec box sh -c " + single
	case 25:
		return "coproc { " + text + "\n}"
	case 26:
		if line {
			return "time " + text
		}
	case 27:
		return "echo " + single + " | sh"
	}
	return text
}

// config is any settings.
func (c *choices) config() approval.Settings {
	all := []string{"git", "git push", "rm", "rm -rf", "rm -rf /", "npm publish", "npm", "deploy", "production", "bash", "sh", "bash -c", "eval", "/", "format c:", "psql", ".*", "true", "push --force"}
	pick := func() []string {
		from := c.next(len(all))
		return all[from : from+c.next(len(all)-from+1)]
	}
	return approval.Settings{Approvals: c.of("never", "policy", "ask", ""), Patterns: pick(), Allow: pick(), PreApproved: pick()}
}

// FuzzNever makes commands that are on the never list by the grammar they come from, and
// settings: none of them passes (C-034, C-035, C-036, X-77).
func FuzzNever(f *testing.F) {
	for i := range 400 { // places in the grammar, spread by two primes
		f.Add([]byte{byte(i), byte(i * 7), byte(i * 31), byte(i / 3), byte(i * 13), byte(i * 101), byte(i * 17), byte(i * 3), byte(i * 53), byte(i * 211), byte(i * 5), byte(i * 89), byte(i * 19)})
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		c := &choices{b}
		text, config := c.command(), c.config()
		word, _ := lookup.Disk{Work: "/home/me/repo", Home: "/home/me"}.Clear(command(text), config, nil)
		if word.Verdict != "" || word.Gate != ralph.ApprovalOperation || !word.Never {
			t.Errorf("%q with %+v passes the never list: %+v", text, config, word)
		}
	})
}

// FuzzLook gives any text at all: nothing panics, and what a shell cannot read is held.
func FuzzLook(f *testing.F) {
	for _, name := range []string{"evasions.txt", "harmless.txt"} {
		for _, text := range lines(f, name) {
			f.Add(text, "")
			f.Add("", text)
		}
	}
	p, err := operation.Compile([]string{"deploy", "api.*key"})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text, detail string) {
		p.Look(command(text), "/home/me")
		p.Look(ralph.Request{Kind: ralph.RequestApproval, Op: ralph.OpTool, Tool: text, Detail: detail}, "")
		for _, prefix := range []string{"git push -f\n", "rm -rf /\n", "npm publish; "} {
			if !held(p.Look(command(prefix+text), "/home/me")) {
				t.Errorf("%q before %q is not held", prefix, text)
			}
		}
	})
}
