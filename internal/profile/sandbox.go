// Package profile makes the sandbox of each process from the settings: what an agent, a
// check, a hook may write, what of the home is hidden, which caches and doors stay open, and
// which kind this machine offers.
//
// It does not own how a sandbox is made (internal/sandbox), nor which process gets one.
package profile

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/ralph-loop/ralph/internal/agentsock"
	"github.com/ralph-loop/ralph/internal/config"
	"github.com/ralph-loop/ralph/internal/proc"
	"github.com/ralph-loop/ralph/internal/regular"
	"github.com/ralph-loop/ralph/internal/sandbox"
	"github.com/ralph-loop/ralph/internal/step"
	"github.com/ralph-loop/ralph/internal/web/guard"
	"github.com/ralph-loop/ralph/internal/workspace"
)

// LandlockInPlace is what Landlock leaves open where agents work in the checkout.
const LandlockInPlace = "landlock cannot take a folder out of one that can be written: in your checkout (isolation: none) agents can write " +
	".git/config, .git/hooks, ralph/hooks and ralph/.state, and so run programs outside of the sandbox and answer their own gates"

// Sandbox starts agents, and what runs what they wrote, inside the sandbox of this system.
type Sandbox struct {
	Kind        string // landlock or bubblewrap
	Bwrap, Self string
	Set         config.Sandbox
	Root        string
	Isolated    bool     // agents work in worktrees
	Doors       []string // ways out that the person's environment names
	Programs    []string // of the agents in use, as far as ralph knows them

	mu      sync.Mutex
	private map[string]privateFiles // by home
}

// Access is what a process may write, and what of that stays read only, by where it works.
type Access struct{ Write, Keep []string }

// Tree is the access of a process that works in dir. One that works for several worktrees
// (Codex) is started in the checkout, of which it needs no more than these.
func (g *Sandbox) Tree(dir string, turn bool) Access {
	if g.Isolated && dir == g.Root && !turn {
		var p Access
		git := filepath.Join(g.Root, ".git")
		if b, err := regular.ReadFile(git, regular.Large); err == nil { // the checkout is a worktree itself
			if own, ok := strings.CutPrefix(strings.TrimSpace(string(b)), "gitdir: "); ok {
				git = filepath.Join(own, "..", "..")
			}
		}
		p.Write = []string{filepath.Join(g.Root, "ralph/.worktrees")}
		for _, name := range []string{"worktrees", "objects", "refs", "logs/refs"} {
			p.Write = append(p.Write, filepath.Join(git, name))
		}
		return p
	}
	write, keep := sandbox.Tree(dir)
	return Access{write, keep}
}

// Wrap is a command as it is started inside the sandbox. One that cannot be started is
// refused here, so that its own name is in the error.
func (g *Sandbox) Wrap(c proc.Command, at Access) proc.Command {
	path, err := proc.LookPath(c.Args[0], c.Dir, c.Env)
	if err == nil {
		err = proc.Startable(path, c)
	}
	if err != nil {
		c.Refused = err
		return c
	}
	args, err := g.around(path, c.Args, c.Dir, c.Env, at)
	if err != nil { // it fails instead of running without
		c.Refused = fmt.Errorf("make the sandbox: %w", err)
		return c
	}
	c.Args, c.Inner = args, g.Kind == sandbox.Bubblewrap
	return c
}

// Argv is the command of a hook of git, which works in dir.
func (g *Sandbox) Argv(dir string, argv, environ []string) ([]string, error) {
	return g.around(argv[0], argv, dir, environ, g.Tree(dir, true))
}

func (g *Sandbox) around(path string, argv []string, dir string, env []string, at Access) ([]string, error) {
	box, err := g.Box(dir, env, at)
	if err != nil {
		return nil, err
	}
	if g.Kind == sandbox.Bubblewrap {
		return sandbox.Bwrap(g.Bwrap, box, append([]string{path}, argv[1:]...)), nil
	}
	b, err := json.Marshal(box)
	if err != nil {
		return nil, err
	}
	return append([]string{g.Self, "sandbox-exec", string(b), path}, argv...), nil
}

// Logins are what of the home cannot be read: what the settings name, and what is private.
func (g *Sandbox) Logins(env []string) []string { return g.logins(env, sandbox.Links{}) }

func (g *Sandbox) logins(env []string, links sandbox.Links) []string {
	home := proc.Getenv(env, "HOME")
	hide, show := links.Found(sandbox.Home(g.Set.Hides(), home)), links.Found(sandbox.Home(g.Set.Show, home))
	if g.Set.HidePrivate && filepath.IsAbs(home) && home != "/" {
		hide = append(hide, g.privateIn(home, env)...)
	}
	return slices.DeleteFunc(hide, func(p string) bool {
		return slices.ContainsFunc(show, func(s string) bool { return sandbox.Within(s, p) })
	})
}

// privateFiles are what was found at a time.
type privateFiles struct {
	at   time.Time
	list []string
}

// privateFor is how long what was found of private files holds: a large home costs 20 ms,
// and a task starts a dozen processes. A login of this very moment is hidden a moment later.
const privateFor = 30 * time.Second

// privateIn is what is private in a home, by the first environment that asks: others of the
// same home differ only in the shims of their turn.
func (g *Sandbox) privateIn(home string, env []string) []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := time.Now()
	if known, ok := g.private[home]; ok && now.Sub(known.at) <= privateFor {
		return known.list
	}
	real, err := filepath.EvalSymlinks(home)
	if err != nil {
		return nil // there is no home to look at
	}
	open := slices.Concat(sandbox.Found(sandbox.Home(slices.Concat(g.Set.Hides(), g.Set.Show, g.Set.Writes(), g.ownFolders()), home)), sandbox.Found(CachesOf(env)), []string{g.Root})
	list := sandbox.Private(real, open, sandbox.Found(filepath.SplitList(proc.Getenv(env, "PATH"))))
	if g.private == nil {
		g.private = map[string]privateFiles{}
	}
	g.private[home] = privateFiles{now, list}
	return list
}

// ownFolders are where the agents in use keep what is theirs, their login included: by the
// name of their program, as nearly all do. Of programs that ralph does not know there are none.
func (g *Sandbox) ownFolders() []string {
	var out []string
	for _, program := range g.Programs {
		base := filepath.Base(program)
		for _, name := range []string{base, strings.TrimSuffix(base, "-agent")} {
			out = append(out, "~/."+name, "~/."+name+".*", "~/.config/"+name, "~/.local/share/"+name)
		}
	}
	return out
}

// Box is what a process may write and not read.
func (g *Sandbox) Box(dir string, env []string, at Access) (sandbox.Box, error) {
	home := proc.Getenv(env, "HOME")
	state, links := workspace.StateDir(g.Root), sandbox.Links{}
	b := sandbox.Box{
		Write: slices.Concat(at.Write, sandbox.Temp(proc.Getenv(env, "TMPDIR")), sandbox.Named(sandbox.Home(g.Set.Writes(), home)), CachesOf(env)), // links as they are: who made them counts
		Hide:  append(g.logins(env, links), g.Doors...),
	}
	if cargo := proc.Getenv(env, "CARGO_HOME"); cargo != "" {
		b.Hide = append(b.Hide, links.Found([]string{filepath.Join(cargo, "credentials*")})...)
	}
	// Who reads the dashboard's token acts as the person.
	b.Hide = append(b.Hide, filepath.Join(state, guard.FileName))
	if ask := proc.Getenv(env, "RALPH_ASK_DIR"); ask != "" {
		b.Write = append(b.Write, ask) // where the scripted agent makes the pipes it is answered by
	}
	if g.Kind == sandbox.Landlock {
		return b, nil
	}
	open := links.Found(sandbox.Home(g.Set.ExtraWrite, home))
	for _, p := range sandbox.Sockets(os.Getuid(), time.Now()) {
		if !slices.ContainsFunc(open, func(dir string) bool { return sandbox.Within(dir, p) }) {
			b.Hide = append(b.Hide, p) // a program that does as it is told: outside
		}
	}
	b.Keep = slices.Concat(at.Keep, links.Found(sandbox.Home(settingsOfAgents(env), home)))
	if !slices.Contains(at.Write, g.Root) {
		b.Keep = append(b.Keep, g.Root) // should it lie in a temporary folder
	}
	for _, name := range []string{".state", ".worktrees", "hooks", "prompts", "config.yaml"} {
		if own := filepath.Join(g.Root, "ralph", name); own != dir && !strings.HasPrefix(dir, own+"/") && !slices.Contains(at.Write, own) {
			b.Keep = append(b.Keep, own)
		}
	}
	if socket := proc.Getenv(env, agentsock.EnvSocket); socket != "" {
		b.Keep = append(b.Keep, agentsock.Folder(socket)) // shims, what they judge by, and git hooks: its own, and those of other slots
	}
	if !g.Isolated {
		b.Write = append(b.Write, filepath.Join(g.Root, step.StateGit))
	}
	var err error
	if b.NoFile, b.NoFolder, err = g.nothing(); err != nil {
		return b, err
	}
	if slices.Contains(at.Write, g.Root) {
		err = errors.Join(sandbox.Prepare(g.Root), makeKept(g.Root))
	}
	return b, err
}

// makeKept makes the folders of settings that are not there: what is not there cannot be kept,
// and a hook that an agent makes would run next time (S2). git neither sees them nor cleans
// them away, which would fail in the sandbox.
func makeKept(root string) error {
	for _, name := range []string{"hooks", "prompts"} {
		dir := filepath.Join(root, "ralph", name)
		switch err := os.Mkdir(dir, 0o755); {
		case errors.Is(err, fs.ErrExist), errors.Is(err, fs.ErrNotExist): // no settings are here at all
			continue
		case err != nil:
			return fmt.Errorf("make a folder that agents may not write to: %w", err)
		}
		if err := os.WriteFile(filepath.Join(dir, ".gitignore"), []byte(".gitignore\n"), 0o644); err != nil {
			return fmt.Errorf("keep a folder out of git's sight: %w", err)
		}
	}
	return nil
}

// nothing makes the empty file and folder that stand for what is hidden, and the folder
// of what agents' git tells.
func (g *Sandbox) nothing() (file, folder string, err error) {
	top := filepath.Join(workspace.StateDir(g.Root), "sandbox")
	file, folder = filepath.Join(top, "nothing"), filepath.Join(top, "none")
	if err := errors.Join(os.MkdirAll(folder, 0o700), os.MkdirAll(filepath.Join(g.Root, step.StateGit), 0o700)); err != nil {
		return "", "", fmt.Errorf("make an empty folder: %w", err)
	}
	// What is hidden has to be there when the program starts: a dashboard may begin later.
	for _, name := range []string{file, filepath.Join(workspace.StateDir(g.Root), guard.FileName)} {
		f, err := os.OpenFile(name, os.O_CREATE|os.O_RDONLY, 0o600)
		if err == nil {
			err = f.Close()
		}
		if err != nil {
			return "", "", fmt.Errorf("make an empty file: %w", err)
		}
	}
	return file, folder, nil
}

// settingsOfAgents are files in the folders of agents by which they start programs, also
// where a person starts them without ralph: at home, and where the environment says that
// these folders are.
func settingsOfAgents(env []string) []string {
	list := []string{
		"~/.claude/settings.json", "~/.claude/settings.local.json", "~/.claude/hooks", "~/.claude/commands", "~/.claude/agents", "~/.claude/skills",
		"~/.codex/config.toml", "~/.codex/hooks.json", "~/.codex/rules", "~/.codex/prompts", "~/.gemini/settings.json",
		"~/.config/opencode/*.json", "~/.config/opencode/*.jsonc", "~/.config/opencode/plugin*",
	}
	for variable, usual := range map[string]string{"CLAUDE_CONFIG_DIR": "~/.claude/", "CODEX_HOME": "~/.codex/", "XDG_CONFIG_HOME": "~/.config/"} {
		dir := proc.Getenv(env, variable)
		for _, p := range slices.Clone(list) {
			if rest, ok := strings.CutPrefix(p, usual); ok && filepath.IsAbs(dir) {
				list = append(list, filepath.Join(dir, rest))
			}
		}
	}
	return list
}

// TmuxFolder is where tmux has its sockets, whoever starts it.
func TmuxFolder() string { return "/tmp/tmux-" + strconv.Itoa(os.Getuid()) }

// DoorsOf are what leads out of a sandbox to programs that do as they are told: the
// person's session, keys and containers.
func DoorsOf(environ []string) []string {
	list := []string{"/run/user/" + strconv.Itoa(os.Getuid()), TmuxFolder()}
	for _, name := range []string{"XDG_RUNTIME_DIR", "SSH_AUTH_SOCK"} {
		if p := proc.Getenv(environ, name); filepath.IsAbs(p) {
			list = append(list, p)
		}
	}
	for _, name := range []string{"DOCKER_HOST", "CONTAINER_HOST", "DBUS_SESSION_BUS_ADDRESS"} {
		value := proc.Getenv(environ, name)
		for _, scheme := range []string{"unix://", "unix:path="} {
			if p, ok := strings.CutPrefix(value, scheme); ok {
				p, _, _ = strings.Cut(p, ",")
				list = append(list, p)
			}
		}
	}
	return slices.DeleteFunc(list, func(p string) bool { return !filepath.IsAbs(p) || p == "/" })
}

// CachesOf are the caches that the environment has elsewhere than they usually are.
func CachesOf(env []string) []string {
	var list []string
	home := proc.Getenv(env, "HOME")
	for _, name := range []string{
		"GOCACHE", "GOMODCACHE", "GOTMPDIR", "GOLANGCI_LINT_CACHE", "XDG_CACHE_HOME", "npm_config_cache", "NPM_CONFIG_CACHE", "YARN_CACHE_FOLDER", "PIP_CACHE_DIR",
		"UV_CACHE_DIR", "CARGO_TARGET_DIR", "CCACHE_DIR", "SCCACHE_DIR", "NUGET_PACKAGES", "DENO_DIR", "PLAYWRIGHT_BROWSERS_PATH", "CLAUDE_CONFIG_DIR", "CODEX_HOME",
	} {
		list = append(list, proc.Getenv(env, name))
	}
	if cargo := proc.Getenv(env, "CARGO_HOME"); cargo != "" {
		list = append(list, filepath.Join(cargo, "registry"), filepath.Join(cargo, "git"), filepath.Join(cargo, ".package-cache"))
	}
	if gopath := proc.Getenv(env, "GOPATH"); gopath != "" {
		list = append(list, filepath.Join(gopath, "pkg"))
	}
	if gradle := proc.Getenv(env, "GRADLE_USER_HOME"); gradle != "" {
		list = append(list, filepath.Join(gradle, "caches"), filepath.Join(gradle, "daemon"), filepath.Join(gradle, "wrapper"))
	}
	// A cache that holds the home, or all, is none.
	return slices.DeleteFunc(list, func(p string) bool {
		return !filepath.IsAbs(p) || p == "/" || home != "" && (p == home || strings.HasPrefix(home, strings.TrimSuffix(p, "/")+"/"))
	})
}

// MakeCaches makes the usual caches of the tools that are installed, and the folders of the
// agents: what is not there cannot be opened. In a fresh home no build would work, and Claude
// Code, with nowhere to note how its shell is set up, starts one that forgets the shims.
func MakeCaches(c config.Config, environ []string) {
	home := proc.Getenv(environ, "HOME")
	if home == "" {
		return
	}
	folders := map[string]string{
		"~/.cache": "sh", "~/.npm": "npm", "~/go/pkg": "go", "~/.cargo/registry": "cargo", "~/.cargo/git": "cargo", "~/.m2/repository": "mvn", "~/.gradle/caches": "gradle",
	}
	for _, a := range c.Agents {
		if len(a.Command) == 0 {
			continue
		}
		for _, folder := range foldersOf(filepath.Base(a.Command[0])) {
			folders[folder] = a.Command[0]
		}
	}
	for folder, program := range folders {
		if _, err := proc.LookPath(program, "", environ); err != nil || !slices.Contains(c.Sandbox.Write, folder) {
			continue
		}
		_ = os.MkdirAll(filepath.Join(home, folder[2:]), 0o755) // what cannot be made, the tool says
	}
}

// foldersOf are the folders that an agent's program keeps in the home.
func foldersOf(program string) []string {
	switch program {
	case "claude", "claude-agent-acp":
		return []string{"~/.claude"}
	case "codex":
		return []string{"~/.codex"}
	case "gemini":
		return []string{"~/.gemini"}
	case "copilot":
		return []string{"~/.copilot"}
	case "opencode":
		return []string{"~/.config/opencode", "~/.local/share/opencode", "~/.local/state"}
	}
	return nil
}
