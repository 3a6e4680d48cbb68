package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/agent"
	"github.com/ralph-loop/ralph/internal/config"
	"github.com/ralph-loop/ralph/internal/proc"
	"github.com/ralph-loop/ralph/internal/workspace"
)

// doctorLimit is how long a program may take to say its version, and again whether it
// is logged in.
const doctorLimit = 5 * time.Second

// foundAgent is one agent as the doctor sees it. Nothing of it cost anything: it comes
// from files, the environment, `--version`, and what codex answers from its own files.
type foundAgent struct {
	Name     string          `json:"name"`
	Driver   string          `json:"driver"`
	Use      string          `json:"use,omitempty"` // primary, fallback
	Path     string          `json:"path,omitempty"`
	Version  string          `json:"version,omitempty"`
	Tested   string          `json:"tested,omitempty"`    // versions that ralph was tested with
	LoggedIn *bool           `json:"logged_in,omitempty"` // absent where it is not known
	Supports *agent.Supports `json:"supports,omitempty"`

	spec       ralph.AgentSpec
	missing    error
	refused    error // its settings are none that a session would start with
	versionErr error
	login      string // the sign of a login
	kept       string // a variable that would be one, and does not reach the agent
}

// agents looks which agents are installed, which versions they are, whether they are
// logged in, and what each supports.
func (x *examination) agents(ctx context.Context, env workspace.Env, root string, c config.Config) {
	used := c.Chain()
	var found []*foundAgent
	for _, name := range c.AgentNames() {
		spec, _ := c.AgentSpec(name)
		a := &foundAgent{Name: name, Driver: spec.Driver, Tested: agent.Tested(spec), spec: spec}
		if i := slices.Index(used, name); i >= 0 {
			a.Use = map[bool]string{true: "primary", false: "fallback"}[i == 0]
		}
		if s, built := agent.Of(spec); built {
			a.Supports = &s
		}
		found = append(found, a)
	}
	p := inSandbox(env, root, c)
	lookAtAgents(ctx, env, root, p.Around(p.Procs), found)
	var absent []string
	for _, a := range found {
		if a.missing != nil && a.Use == "" {
			absent = append(absent, a.Name)
			continue
		}
		n := len(x.Findings)
		x.agent(a)
		if len(x.Findings) > n {
			x.Findings[n].Agent = a
		}
	}
	if len(absent) > 0 {
		x.ok("agent", "not installed, and not in use: %s", strings.Join(absent, ", "))
	}
}

// lookAtAgents asks all of them at once: some take seconds to say their version. They may lie in
// the work tree, where agents write.
func lookAtAgents(ctx context.Context, env workspace.Env, root string, procs *proc.Runner, found []*foundAgent) {
	var wg sync.WaitGroup
	for _, a := range found {
		if words, asks, err := agent.ModelWords(a.spec, slices.Concat(env.Environ, workspace.AgentEnv(a.spec, env.Environ))); asks {
			a.login, a.refused = words, err
			continue
		}
		if a.Driver == "scripted" || len(a.spec.Command) == 0 {
			continue
		}
		wg.Go(func() { a.look(ctx, env, root, procs) })
	}
	wg.Wait()
}

func (a *foundAgent) look(ctx context.Context, env workspace.Env, root string, procs *proc.Runner) {
	environ := append(env.OfPerson(workspace.BaseEnv(env.Environ)), workspace.AgentEnv(a.spec, env.Environ)...)
	if a.Path, a.missing = proc.LookPath(a.spec.Command[0], root, environ); a.missing != nil {
		return
	}
	if agent.CanTellVersion(a.spec) {
		a.Version, a.versionErr = agent.Version(ctx, procs, a.spec, root, environ, doctorLimit)
	}
	_, a.refused = agent.Open(a.spec, procs, "")
	yes := true
	if l := agent.LoginOf(a.spec, environ); l.Known {
		a.login, a.LoggedIn = l.Words, &yes
		return
	}
	if l := agent.LoginOf(a.spec, slices.Concat(env.Environ, environ)); l.Known {
		a.kept = strings.TrimSuffix(l.Words, " is set")
	}
	if a.Driver == "codex" && a.versionErr == nil {
		a.askAccount(ctx, procs, environ)
	}
}

// askAccount asks codex itself, which knows of providers that need no login. It answers
// from its own files.
func (a *foundAgent) askAccount(ctx context.Context, procs *proc.Runner, environ []string) {
	h, ok := agent.HandshakerOf(a.Driver, procs)
	if !ok {
		return
	}
	told, err := h.Handshake(ctx, ralph.TurnInput{Agent: a.spec, Dir: os.TempDir(), Env: agent.Quiet(environ), Timeout: doctorLimit, Grace: time.Second})
	if err == nil {
		a.LoggedIn, a.login = told.LoggedIn, told.Account
	}
}

// agent makes findings of what was seen of one.
func (x *examination) agent(a *foundAgent) {
	name := a.Name
	if a.Use != "" {
		name += ", " + a.Use
	}
	switch {
	case a.Driver == "scripted":
		if a.Use != "" || a.Name != "demo" {
			x.ok("agent", "%s: scenario %s%s", a.Name, a.spec.Scenario, strings.TrimPrefix(name, a.Name))
		}
	case a.Driver == "api":
		x.model(a, name)
	case len(a.spec.Command) == 0 && a.Use == "": // of one in use the settings complain
		x.note("agent", a.Name+": no command is set, so there is no program to start", fmt.Sprintf("set agents.%s.command in ralph/config.yaml", a.Name))
	case len(a.spec.Command) == 0:
	case a.missing != nil:
		x.absent(a)
	case a.Supports == nil:
		x.note("agent", fmt.Sprintf("%s: %s is installed, but driver %s is not built in", name, a.Path, a.Driver), "use an agent with another driver")
	case a.refused != nil && a.Use != "":
		x.problem("agent", fmt.Sprintf("%s: %v", name, a.refused), "mend agents."+a.Name+" in ralph/config.yaml")
	default:
		x.ok("agent", "%s: %s%s, %s, %s", name, a.Path, a.versionWords(), a.loginWords(), supportWords(*a.Supports))
		x.version(a)
		x.login(a)
	}
}

// absent is an agent in use whose program cannot be started.
func (x *examination) absent(a *foundAgent) {
	why, do := a.spec.Command[0]+" is not there", "install it"
	if !errors.Is(a.missing, fs.ErrNotExist) {
		why, do = a.missing.Error(), "mend it"
	}
	if a.Use == "primary" {
		x.problem("agent", fmt.Sprintf("%s (primary): %s", a.Name, why), do+", or set agent.primary in ralph/config.yaml to one that works")
		return
	}
	x.note("agent", fmt.Sprintf("%s, %s: %s", a.Name, a.Use, why), "it is left out")
}

func (a *foundAgent) versionWords() string {
	switch {
	case a.Version != "":
		return " " + a.Version
	case a.versionErr != nil:
		return " (version unknown)"
	}
	return ""
}

func (a *foundAgent) loginWords() string {
	switch {
	case a.LoggedIn == nil:
		return "login not known"
	case !*a.LoggedIn:
		return "not logged in"
	case a.login != "":
		return "logged in (" + a.login + ")"
	}
	return "logged in"
}

func (x *examination) version(a *foundAgent) {
	if a.versionErr != nil {
		x.note("agent", a.Name+": "+a.versionErr.Error(), fmt.Sprintf("run `%s --version` yourself; install it anew when it does not work", a.spec.Command[0]))
	}
	if why := agent.Stale(a.spec, a.Version); why != "" {
		x.note("agent", fmt.Sprintf("%s: version %s is %s", a.Name, a.Version, why),
			fmt.Sprintf("install %s, or see with `ralph agent-check %s` whether it works", strings.ReplaceAll(a.Tested, ", ", " or "), a.Name))
	}
}

// login says how to log in to an agent in use. Without a sign it may be logged in all
// the same, so that is no problem.
func (x *examination) login(a *foundAgent) {
	known, fix := a.LoggedIn != nil, agent.LoginFix(a.spec)
	switch {
	case known && *a.LoggedIn:
	case a.kept != "":
		x.note("agent", fmt.Sprintf("%s: %s is set, but does not reach it", a.Name, a.kept), fmt.Sprintf("add it to agents.%s.pass_env in ralph/config.yaml", a.Name))
	case known && a.Use == "primary":
		x.problem("agent", a.Name+" (primary) is not logged in", fix)
	case known && a.Use != "":
		x.note("agent", a.Name+" is not logged in", fix)
	case a.Use != "" && a.Tested != "":
		x.note("agent", a.Name+": no key and no file of a login was found", fmt.Sprintf("`ralph agent-check %s` asks it; if it is not logged in, %s", a.Name, fix))
	}
}

func supportWords(s agent.Supports) string {
	var words []string
	for _, w := range []struct {
		has  bool
		word string
	}{
		{s.Structured, "structured answers"},
		{s.Resume, "resume"},
		{s.Cost, "cost"},
		{s.Usage, "tokens"},
		{s.Tools, "tool calls"},
		{s.Ask, "approvals"},
		{s.Context, "context"},
		{s.Compact, "compacting"},
	} {
		if w.has {
			words = append(words, w.word)
		}
	}
	if len(words) == 0 {
		return "text only; it reports no cost"
	}
	return strings.Join(words, ", ")
}

// model is a finding about an agent of ralph's own. Whether the model answers is not tried: some
// cost, and agent-check does that.
func (x *examination) model(a *foundAgent, name string) {
	switch {
	case a.refused != nil && a.Use != "":
		x.problem("agent", fmt.Sprintf("%s: %v", name, a.refused), "mend agents."+a.Name+" in ralph/config.yaml, and try it with `ralph agent-check "+a.Name+"`")
	case a.refused == nil && (a.Use != "" || a.Name != "local"):
		x.ok("agent", "%s: %s, %s", name, a.login, supportWords(*a.Supports))
	}
}
