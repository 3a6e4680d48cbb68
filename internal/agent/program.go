package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/agent/wire"
	"github.com/ralph-loop/ralph/internal/lazyregexp"
	"github.com/ralph-loop/ralph/internal/proc"
	"github.com/ralph-loop/ralph/internal/text"
)

// program is a program that ralph knows: what may be asked of it, and where its login lies.
type program struct {
	name   string   // of the file that is run
	mute   bool     // it has no --version: it would wait for messages
	tested []string // versions that ralph was tested with, oldest first
	exact  bool     // its protocol is one of this version; others only tell less when they are older
	keys   []string // variables that are a login by themselves
	files  []string // of a login, relative to HOME; $NAME/ at the start is a variable, used where it is set
	fix    string   // how to log in
	login  string   // the command that does
}

func knownPrograms() []program {
	return []program{
		{
			name: "claude", tested: []string{"2.1.197", "2.1.329"}, keys: []string{"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"},
			files: []string{"$CLAUDE_CONFIG_DIR/.credentials.json", ".claude/.credentials.json"},
			fix:   "run `claude` once and log in, or set ANTHROPIC_API_KEY", login: "claude /login",
		},
		{
			name: "codex", tested: []string{"0.169.0"}, exact: true, files: []string{"$CODEX_HOME/auth.json", ".codex/auth.json"},
			fix: "run `codex login`", login: "codex login",
		},
		{
			name: "opencode", tested: []string{"1.18.33"}, keys: []string{"ANTHROPIC_API_KEY", "OPENAI_API_KEY", "OPENCODE_CONFIG_CONTENT", "OPENCODE_CONFIG"},
			files: []string{"$XDG_DATA_HOME/opencode/auth.json", ".local/share/opencode/auth.json"}, fix: "run `opencode auth login`", login: "opencode auth login",
		},
		{
			name: "gemini", tested: []string{"0.61.0"}, keys: []string{"GEMINI_API_KEY", "GOOGLE_API_KEY"}, files: []string{".gemini/oauth_creds.json"},
			fix: "run `gemini` once and log in, or set GEMINI_API_KEY", login: "gemini",
		},
		{
			name: "copilot", tested: []string{"1.0.102"}, keys: []string{"COPILOT_PROVIDER_BASE_URL", "COPILOT_GITHUB_TOKEN", "GH_TOKEN", "GITHUB_TOKEN"},
			fix: "run `copilot` and /login", login: "copilot /login",
		},
		{name: "aider", keys: []string{"ANTHROPIC_API_KEY", "OPENAI_API_KEY"}, fix: "set the key of the model's service"},
		{name: "cursor-agent", keys: []string{"CURSOR_API_KEY"}, fix: "run `cursor-agent login`, or set CURSOR_API_KEY", login: "cursor-agent login"},
		{name: "goose", fix: "run `goose configure`", login: "goose configure"},
		{name: "claude-agent-acp", mute: true, tested: []string{"0.49.0"}, keys: []string{"ANTHROPIC_API_KEY"}, files: []string{".claude/.credentials.json"}, fix: "run `claude` once and log in, or set ANTHROPIC_API_KEY", login: "claude /login"},
		{name: "codex-acp", mute: true, tested: []string{"2.6.0"}, files: []string{"$CODEX_HOME/auth.json", ".codex/auth.json"}, fix: "run `codex login`", login: "codex login"},
	}
}

// lookUp finds what is known about the program of an agent. A person's own script is
// not known: it may do anything when it is started.
func lookUp(spec ralph.AgentSpec) (program, bool) {
	if len(spec.Command) == 0 {
		return program{}, false
	}
	base := filepath.Base(spec.Command[0])
	programs := knownPrograms()
	i := slices.IndexFunc(programs, func(k program) bool { return k.name == base })
	if i < 0 {
		return program{}, false
	}
	return programs[i], true
}

// Known reports whether ralph knows the program of an agent by its name.
func Known(spec ralph.AgentSpec) bool {
	_, ok := lookUp(spec)
	return ok
}

// Tested is the versions that ralph was tested with; "" when there are none.
func Tested(spec ralph.AgentSpec) string {
	k, _ := lookUp(spec)
	return strings.Join(k.tested, ", ")
}

// LoginFix says how a person logs in to an agent.
func LoginFix(spec ralph.AgentSpec) string {
	if k, ok := lookUp(spec); ok {
		return k.fix
	}
	return "see its own documentation"
}

// Stale says what is wrong with a version: older than any that was tested, or not the
// one that was. "" when nothing is, or nothing is known.
func Stale(spec ralph.AgentSpec, version string) string {
	k, _ := lookUp(spec)
	switch {
	case len(k.tested) == 0 || version == "":
		return ""
	case older(version, k.tested[0]):
		return "older than " + k.tested[0] + ", the oldest that ralph was tested with"
	case k.exact && !slices.Contains(k.tested, version):
		return "not " + strings.Join(k.tested, " or ") + ", which ralph was tested with"
	}
	return ""
}

var versionWords = lazyregexp.New(`\d+(\.\d+)+[-+.\w]*`)

// older compares numbers, part by part.
func older(a, b string) bool {
	split := func(v string) []string { return strings.FieldsFunc(v, func(r rune) bool { return r < '0' || r > '9' }) }
	return slices.CompareFunc(split(a), split(b), func(x, y string) int {
		x, y = strings.TrimLeft(x, "0"), strings.TrimLeft(y, "0")
		if len(x) != len(y) {
			return len(x) - len(y)
		}
		return strings.Compare(x, y)
	}) < 0
}

// CanTellVersion reports whether Version may start the program.
func CanTellVersion(spec ralph.AgentSpec) bool {
	k, ok := lookUp(spec)
	return ok && !k.mute
}

// Version asks a known program for its version, without network. env is what the agent
// gets in a turn. Nothing is started for a program that CanTellVersion does not name.
func Version(ctx context.Context, p *proc.Runner, spec ralph.AgentSpec, dir string, env []string, limit time.Duration) (string, error) {
	if !CanTellVersion(spec) {
		return "", fmt.Errorf("ask for a version: %w", ralph.ErrUnsupported)
	}
	out, errs, res, err := p.Output(ctx, proc.Command{
		Args: []string{spec.Command[0], "--version"}, Dir: dir, Env: Quiet(env), Timeout: limit, Grace: time.Second, Tracked: true,
	})
	name := filepath.Base(spec.Command[0])
	switch {
	case err != nil:
		return "", err
	case res.Ended == proc.EndedTimeout:
		return "", fmt.Errorf("`%s --version` said nothing within %s", name, limit)
	case res.Ended == proc.EndedCancelled:
		return "", fmt.Errorf("ask %s for its version: %w", name, context.Canceled)
	case res.Code != 0:
		return "", fmt.Errorf("`%s --version` ended with code %d: %s", name, res.Code, text.Cut(wire.Flatten(string(errs)), 200))
	}
	if v := versionWords.FindString(string(out)); v != "" {
		return v, nil
	}
	return "", fmt.Errorf("`%s --version` names no version: %q", name, text.Cut(wire.Flatten(string(out)), 200))
}

// Login is what files and the environment say about an agent's login. Nothing is
// started, and no key is read.
type Login struct {
	Known bool   // there is a sign of a login
	Words string // which
}

// LoginCommand is the command that logs in to an agent, "" where ralph knows none.
func LoginCommand(spec ralph.AgentSpec) string {
	k, _ := lookUp(spec)
	return k.login
}

// LoginOf looks for a login in what the agent gets in a turn. Without a sign it may be
// logged in all the same: keys also lie in keychains and in settings.
func LoginOf(spec ralph.AgentSpec, env []string) Login {
	k, ok := lookUp(spec)
	if !ok {
		return Login{}
	}
	for _, key := range k.keys {
		if proc.Getenv(env, key) != "" {
			return Login{true, key + " is set"}
		}
	}
	for _, file := range k.files {
		path, ok := loginFile(file, env)
		if ok && holdsObject(path) {
			return Login{true, file}
		}
	}
	return Login{}
}

// loginFile finds a login's file; false when what it is relative to is not set.
func loginFile(file string, env []string) (string, bool) {
	base, rest := "HOME", file
	if name, ok := strings.CutPrefix(file, "$"); ok {
		base, rest, _ = strings.Cut(name, "/")
	}
	folder := proc.Getenv(env, base)
	return filepath.Join(folder, rest), folder != ""
}

// holdsObject reports a JSON object with anything in it: a login that was ended leaves
// an empty one behind.
func holdsObject(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() || info.Size() > 1<<20 {
		return false
	}
	var object map[string]json.RawMessage
	return json.NewDecoder(f).Decode(&object) == nil && len(object) > 0
}

// Quiet adds to an environment what keeps agents from updating themselves and from
// calling home, where it is not set already.
func Quiet(env []string) []string {
	out := slices.Clone(env)
	for _, kv := range []string{
		"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "OPENCODE_DISABLE_AUTOUPDATE=1", "OPENCODE_DISABLE_MODELS_FETCH=1", "COPILOT_OFFLINE=true",
	} {
		name, _, _ := strings.Cut(kv, "=")
		if !slices.ContainsFunc(env, func(e string) bool { return strings.HasPrefix(e, name+"=") }) {
			out = append(out, kv)
		}
	}
	return out
}
