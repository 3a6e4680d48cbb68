// Package fastpath owns what a shim's process does before anything else of ralph: it asks the
// engine whether the call passes, and becomes the program. Nearly all calls of agents' programs
// go that way, and none of them has to wait for what other packages make before main.
//
// It does NOT own the word on a call (internal/interceptor, in the engine): whatever is not a
// plain yes, also of an engine that is gone, busy or unsure, leads on into main, where the same
// judge is asked again, and people where he holds the call.
//
// Its imports are few on purpose. Packages are initialised in the order of their paths, each as
// soon as its imports are: with these this one comes before nearly all. TestBeforeShim in
// cmd/ralph holds that.
package fastpath

import (
	"os"
	"path"
	"syscall"
	"unicode/utf8"
)

// The words and names that lead from a shim to the engine of its turn.
const (
	// Command is the word for `ralph shim <folder> <program> [argument ...]`.
	Command = "shim"
	// Script is what the first line of a shim gives to ralph, before the folder; the shim's own
	// path and the arguments follow. One word, since systems differ in how they split a line.
	Script = Command + "="
	// Socket is the name of the engine's socket in the folder of a turn.
	Socket = "s"
	// EnvNonce says to the engine that a process belongs to the turn.
	EnvNonce = "RALPH_NONCE"
	// Op is the operation on that socket.
	Op = "call"
	// Yes is what an answer that lets a call pass begins with; the program's path follows, and the
	// end. What has to be escaped in JSON is no such answer.
	Yes = `{"run":"`
	end = "\"}\n"
)

// wait is for how long an engine may say nothing: then the call is judged here.
const wait = 2 // seconds

// maxMessage bounds a message, as the engine does.
const maxMessage = 1 << 20

// init is the one of ralph: a variable that is never read would be the same, and hide it.
func init() {
	if folder, argv := arguments(); len(argv) > 0 {
		try(folder, argv)
	}
}

// arguments are the folder and the words of a shim's call, none of other commands. Those of a
// script become the command's, for what is behind this.
func arguments() (folder string, argv []string) {
	if len(os.Args) < 3 {
		return "", nil
	}
	word, rest := os.Args[1], os.Args[2:]
	switch {
	case len(word) > len(Script) && word[:len(Script)] == Script:
		folder, argv = word[len(Script):], append([]string{path.Base(rest[0])}, rest[1:]...)
		os.Args = append([]string{os.Args[0], Command, folder}, argv...)
	case word == Command && len(rest) > 1:
		folder, argv = rest[0], rest[1:]
	}
	return folder, argv
}

// try becomes the program, or does nothing.
func try(folder string, argv []string) {
	nonce, ok := syscall.Getenv(EnvNonce)
	if !ok || nonce == "" {
		return
	}
	dir, err := os.Getwd()
	if err != nil {
		return
	}
	message, ok := encode(nonce, dir, argv, syscall.Environ())
	if !ok {
		return
	}
	if program := answer(ask(path.Join(folder, Socket), message)); program != "" {
		_ = syscall.Exec(program, argv, syscall.Environ()) // what went wrong is said in main, which tries again
	}
}

// encode is the message to the engine, a line; false: it cannot say what is meant.
func encode(nonce, dir string, argv, environ []string) ([]byte, bool) {
	b := make([]byte, 0, 4096)
	text := func(s string) (ok bool) {
		b, ok = quote(b, s)
		return ok
	}
	list := func(words []string) bool {
		for i, w := range words {
			if i > 0 {
				b = append(b, ',')
			}
			if !text(w) {
				return false
			}
		}
		return true
	}
	b = append(b, `{"op":"`+Op+`","nonce":`...)
	ok := text(nonce)
	b = append(b, `,"dir":`...)
	ok = ok && text(dir)
	b = append(b, `,"argv":[`...)
	ok = ok && list(argv)
	b = append(b, `],"env":[`...)
	ok = ok && list(telling(environ))
	return append(b, "]}\n"...), ok && len(b) < maxMessage-len("]}\n")
}

// telling are the variables that the word on a call depends on.
func telling(environ []string) []string {
	var out []string
	for _, kv := range environ {
		for _, name := range [...]string{"PATH=", "HOME=", "RALPH_SHIMS="} {
			if len(kv) > len(name) && kv[:len(name)] == name {
				out = append(out, kv)
			}
		}
	}
	return out
}

// quote adds a JSON string. False: it has bytes that JSON has no word for.
func quote(b []byte, s string) ([]byte, bool) {
	if !utf8.ValidString(s) {
		return b, false
	}
	const hex = "0123456789abcdef"
	b = append(b, '"')
	for i := range len(s) {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			b = append(b, '\\', c)
		case c < ' ':
			b = append(b, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		default:
			b = append(b, c)
		}
	}
	return append(b, '"'), true
}

// answer is the program that a line of the engine lets run, "" for any other line.
func answer(line []byte) string {
	if len(line) < len(Yes)+len(end) || string(line[:len(Yes)]) != Yes || string(line[len(line)-len(end):]) != end {
		return ""
	}
	program := line[len(Yes) : len(line)-len(end)]
	for _, c := range program {
		if c == '"' || c == '\\' || c < ' ' {
			return ""
		}
	}
	return string(program)
}

// ask says a line to a socket and returns the line that comes back, nil for none in time.
func ask(socket string, line []byte) []byte {
	fd, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err != nil {
		return nil
	}
	defer func() { _ = syscall.Close(fd) }()
	soon := syscall.Timeval{Sec: wait}
	for _, option := range [...]int{syscall.SO_RCVTIMEO, syscall.SO_SNDTIMEO} {
		if syscall.SetsockoptTimeval(fd, syscall.SOL_SOCKET, option, &soon) != nil {
			return nil
		}
	}
	if syscall.Connect(fd, &syscall.SockaddrUnix{Name: socket}) != nil {
		return nil
	}
	for len(line) > 0 {
		n, err := syscall.Write(fd, line)
		if err != nil && err != syscall.EINTR {
			return nil
		}
		line = line[max(n, 0):]
	}
	var got []byte
	for buf := make([]byte, 4096); len(got) < maxMessage; {
		n, err := syscall.Read(fd, buf)
		switch {
		case err == syscall.EINTR:
			continue
		case err != nil || n == 0:
			return nil
		}
		if got = append(got, buf[:n]...); got[len(got)-1] == '\n' {
			return got
		}
	}
	return nil
}
