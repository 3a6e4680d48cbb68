package fastpath

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// What is said to the engine is JSON that reads as what was meant, or nothing.
func TestEncode(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.OneOf(rapid.String(), rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) }))
		argv, dir, home := rapid.SliceOfN(word, 1, 5).Draw(t, "argv"), word.Draw(t, "dir"), word.Draw(t, "home")
		line, ok := encode("n", dir, argv, []string{"A=1", "HOME=" + home, "HOMER=2", "PATH=/bin", "RALPH_SHIMS=/s"})
		if valid := utf8.ValidString(strings.Join(append(argv, dir, home), "")) && utf8.ValidString(dir) && utf8.ValidString(home); ok && !valid {
			t.Fatalf("said %q", line)
		}
		if !ok {
			return
		}
		var got struct {
			Op, Nonce, Dir string
			Argv, Env      []string
		}
		if err := json.Unmarshal(line, &got); err != nil {
			t.Fatalf("%v in %q", err, line)
		}
		env := []string{"HOME=" + home, "PATH=/bin", "RALPH_SHIMS=/s"}
		if home == "" {
			env = env[1:]
		}
		if got.Op != Op || got.Nonce != "n" || got.Dir != dir || !slices.Equal(got.Argv, argv) || !slices.Equal(got.Env, env) || strings.Count(string(line), "\n") != 1 {
			t.Fatalf("%q reads as %+v", line, got)
		}
	})
	if _, ok := encode("n", "/", []string{"a", "\xff"}, nil); ok {
		t.Error("what is no text was said")
	}
	if _, ok := encode("n", "/", []string{strings.Repeat("x", maxMessage)}, nil); ok {
		t.Error("more than the engine reads was said")
	}
}

// Only a plain yes names a program.
func TestAnswer(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"{\"run\":\"/usr/bin/git\"}\n": "/usr/bin/git",
		"{\"run\":\"\"}\n":             "",
		"{}\n":                         "",
		"":                             "",
		"{\"error\":\"no\"}\n":         "",
		"{\"run\":\"/usr/bin/git\"}":   "",
		"{\"run\":\"/usr/bin/git\",\"error\":\"no\"}\n": "",
		"{\"run\":\"/a\\u0026b\"}\n":                    "",
	} {
		if got := answer([]byte(line)); got != want {
			t.Errorf("%q runs %q, want %q", line, got, want)
		}
	}
}

// A script's first line comes to the same as the command.
func TestArguments(t *testing.T) {
	before := os.Args
	defer func() { os.Args = before }()
	for _, c := range []struct{ args, argv, after []string }{
		{[]string{"ralph", "shim=/t/ralph-1", "/t/ralph-1/bin/npm", "ci"}, []string{"npm", "ci"}, []string{"ralph", "shim", "/t/ralph-1", "npm", "ci"}},
		{[]string{"ralph", "shim", "/t/ralph-1", "npm"}, []string{"npm"}, nil},
		{[]string{"ralph", "shim", "/t/ralph-1"}, nil, nil},
		{[]string{"ralph", "shim", "--help"}, nil, nil},
		{[]string{"ralph", "shim=", "x", "y"}, nil, nil},
		{[]string{"ralph", "status", "--json", "x"}, nil, nil},
	} {
		os.Args = slices.Clone(c.args)
		folder, argv := arguments()
		if c.after == nil {
			c.after = c.args
		}
		if !slices.Equal(argv, c.argv) || !slices.Equal(os.Args, c.after) || argv != nil && folder != "/t/ralph-1" {
			t.Errorf("%q: %q in %q, and %q after it", c.args, argv, folder, os.Args)
		}
	}
}
