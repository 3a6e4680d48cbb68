package cli

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"

	"github.com/ralph-loop/ralph/internal/claudehook"
	"github.com/ralph-loop/ralph/internal/workspace"
)

// FuzzPreToolUse: what claude's hook is told may be anything: it never allows by itself,
// what cannot be read is denied, and a force push is, whatever stands around it. Outside of
// a repository nobody can be asked (issue 15 point 9).
func FuzzPreToolUse(f *testing.F) {
	for _, s := range []string{
		`{"session_id":"s","cwd":"/tmp","hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":"ls"}}`,
		`{"session_id":"s","tool_name":"Edit","tool_input":{"file_path":"/etc/passwd"}}`, `{"session_id":"s","tool_name":"Bash","tool_input":[]}`,
		`{"session_id":"s","tool_name":"mcp__x__y","tool_input":null}`, `{"session_id":"","tool_name":"Bash"}`, `{"session_id":"s"}`, `{"session_id":7}`,
		`{"hook_event_name":"Stop","session_id":"s","tool_name":"Bash"}`, `{`, ``, `null`, `[]`, `"x"`, "\xff", `{"session_id":"s","tool_name":"Bash"}{"a":1}`,
	} {
		f.Add([]byte(s))
	}
	dir := f.TempDir()
	decide := func(t *testing.T, said []byte) string {
		var out, errs bytes.Buffer
		env := workspace.Env{Stdin: bytes.NewReader(said), Stdout: &out, Stderr: &errs, Dir: dir, Environ: []string{"HOME=" + dir, "PATH=/bin"}}
		if err := claudehook.PreTool(t.Context(), env, &claudehook.Flags{Wait: time.Second}); err != nil {
			return "error" // exit code 2, which denies
		}
		if out.Len() == 0 {
			return ""
		}
		var x struct {
			Out struct{ PermissionDecision string } `json:"hookSpecificOutput"`
		}
		if err := json.Unmarshal(out.Bytes(), &x); err != nil {
			t.Fatalf("%q: prints %q", said, out.String())
		}
		return x.Out.PermissionDecision
	}
	f.Fuzz(func(t *testing.T, said []byte) {
		got := decide(t, said)
		if got != "" && got != "deny" && got != "error" {
			t.Fatalf("%q: decides %q", said, got)
		}
		var in claudehook.Input
		if err := json.Unmarshal(said, &in); err != nil || in.Session == "" || in.Tool == "" {
			if got == "" {
				t.Fatalf("%q passes", said)
			}
			return
		}
		m := map[string]any{}
		if err := json.Unmarshal(said, &m); err != nil {
			t.Fatal(err)
		}
		for k := range m { // whatever letters they have: json takes any
			if len(k) >= len("tool_name") && (bytes.EqualFold([]byte(k), []byte("tool_name")) || bytes.EqualFold([]byte(k), []byte("tool_input")) || bytes.EqualFold([]byte(k), []byte("hook_event_name"))) {
				delete(m, k)
			}
		}
		m["tool_name"], m["tool_input"] = "Bash", map[string]any{"command": "git push --force origin main"}
		held, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		if got := decide(t, held); got == "" {
			t.Fatalf("%s passes", held)
		}
	})
}
