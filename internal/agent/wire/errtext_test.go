package wire

import (
	"strings"
	"testing"

	"github.com/ralph-loop/ralph"
)

// One sample that matches and one near miss per pattern of document A.
func TestClassify(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]ralph.ErrorClass{
		"Rate limit reached":                  ralph.ErrClassLimit,
		"rate-limited, wait":                  ralph.ErrClassLimit,
		"error: rate_limit_error":             ralph.ErrClassLimit,
		"cannot build package ratelimit":      ralph.ErrClassOther,
		"Too Many Requests":                   ralph.ErrClassLimit,
		"too many open requests":              ralph.ErrClassOther,
		"status 429":                          ralph.ErrClassLimit,
		"line 4291":                           ralph.ErrClassOther,
		"model overloaded":                    ralph.ErrClassBusy,
		"ambiguous overloadedness":            ralph.ErrClassOther,
		"Quota exceeded":                      ralph.ErrClassLimit,
		"disk quota is low":                   ralph.ErrClassOther,
		"anthropic: your rate is too high":    ralph.ErrClassLimit,
		"anthropic client generated an error": ralph.ErrClassOther,
		"OpenAI says: rate too high":          ralph.ErrClassLimit,
		"openai integrated badly":             ralph.ErrClassOther,
		"ECONNREFUSED 127.0.0.1":              ralph.ErrClassOther,
		"401 Unauthorized":                    ralph.ErrClassAuth,
		"Error: Invalid API key provided":     ralph.ErrClassAuth,
		"Incorrect API key provided.":         ralph.ErrClassAuth,
		"4010 unauthorized edits":             ralph.ErrClassOther,
		"":                                    ralph.ErrClassOther,
	} {
		if got := Classify(text); got != want {
			t.Errorf("%q is %s, want %s", text, got, want)
		}
	}
}

// Row 31 of the messages: of a long error people read the cause, in one line. A short one, and
// what makes it a limit or a login, stays as it is.
func TestCause(t *testing.T) {
	t.Parallel()
	frames := strings.Repeat("  File \"/home/dev/agent.py\", line 5, in f\n    if n: return f(n-1)\n           ^^^^^^\n", 20)
	at := strings.Repeat("    at Module._load (node:internal/modules/cjs/loader:1038:27)\n", 20)
	for name, x := range map[string]struct{ text, want string }{
		"short":      {"boom\nand more\n", "boom\nand more"},
		"colours":    {"\x1b[31mboom\x1b[0m", "boom"},
		"blank":      {" \n", ""},
		"python":     {"Traceback (most recent call last):\n" + frames + "ModuleNotFoundError: No module named 'yaml'\n", "ModuleNotFoundError: No module named 'yaml'"},
		"python cut": {frames + "ModuleNotFoundError: No module named 'yaml'\n", "ModuleNotFoundError: No module named 'yaml'"},
		"node":       {"node:internal/modules/cjs/loader:1210\n  throw err;\n  ^\n\nError: Cannot find module './nothing-there'\nRequire stack:\n" + at + "\nNode.js v20.20.2\n", "Error: Cannot find module './nothing-there'"},
		"go":         {"panic: runtime error: index out of range [3]\n\ngoroutine 1 [running]:\nmain.main()\n\t/x/main.go:3 +0x1\nexit status 2\n", "panic: runtime error: index out of range [3]"},
		"a limit":    {strings.Repeat("a line\n", 9) + "429 Too Many Requests\nError: gave up\n", "429 Too Many Requests"},
		"a login":    {strings.Repeat("a line\n", 9) + "error_type: authentication_error\nError: gave up\n", "error_type: authentication_error"},
		"one line":   {strings.Repeat("word ", 300), strings.Repeat("word ", 59) + "wo..."},
	} {
		if got := Failure(x.text, "").Message; got != x.want {
			t.Errorf("%s: %q, want %q", name, got, x.want)
		}
	}
	if got := Failure(" ", "on stdout").Message; got != "on stdout" {
		t.Errorf("%q", got)
	}
}
