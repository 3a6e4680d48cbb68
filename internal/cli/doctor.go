package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/agent"
	"github.com/ralph-loop/ralph/internal/config"
	"github.com/ralph-loop/ralph/internal/gate"
	"github.com/ralph-loop/ralph/internal/git"
	"github.com/ralph-loop/ralph/internal/journal"
	"github.com/ralph-loop/ralph/internal/proc"
	"github.com/ralph-loop/ralph/internal/report"
)

// finding is one line of the doctor: what it looked at, what it saw, and the fix.
type finding struct {
	Level string `json:"level"` // ok, note, problem
	What  string `json:"what"`
	Saw   string `json:"saw"`
	Fix   string `json:"fix,omitempty"`
}

type examination struct{ findings []finding }

func (x *examination) ok(what, format string, args ...any) {
	x.findings = append(x.findings, finding{"ok", what, fmt.Sprintf(format, args...), ""})
}

func (x *examination) note(what, saw, fix string) {
	x.findings = append(x.findings, finding{"note", what, saw, fix})
}

func (x *examination) problem(what, saw, fix string) {
	x.findings = append(x.findings, finding{"problem", what, saw, fix})
}

func newDoctor(env Env) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "doctor", Short: "Look at git, agents, checks, settings, lock and leftovers; say how to mend what is wrong", Args: cobra.NoArgs,
		Example: "  ralph doctor",
		RunE:    func(cmd *cobra.Command, _ []string) error { return runDoctor(cmd.Context(), env, asJSON) },
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func runDoctor(ctx context.Context, env Env, asJSON bool) error {
	var x examination
	if root, ok := x.git(ctx, env); ok {
		c := x.config(env, root)
		x.agents(ctx, env, root, c)
		x.checks(root, c)
		x.hooks(root)
		x.notify(env, root, c)
		x.state(env, root)
	}
	if asJSON {
		if err := printJSON(env.Stdout, x.findings); err != nil {
			return err
		}
	} else {
		x.print(env.Stdout)
	}
	for _, f := range x.findings {
		if f.Level == "problem" {
			return exitError{exitFailures}
		}
	}
	return nil
}

func (x *examination) print(w io.Writer) {
	mark := map[string]string{"ok": "ok     ", "note": "note   ", "problem": "PROBLEM"}
	for _, f := range x.findings {
		fmt.Fprintf(w, "%s  %-9s %s\n", mark[f.Level], f.What, f.Saw)
		if f.Fix != "" {
			fmt.Fprintf(w, "         %-9s -> %s\n", "", f.Fix)
		}
	}
}

func (x *examination) git(ctx context.Context, env Env) (string, bool) {
	repo, err := git.Open(ctx, proc.NewRunner(""), env.Dir, env.Environ)
	if err != nil {
		x.refused("git", err)
		return "", false
	}
	if err := repo.Ready(ctx); err != nil {
		x.refused("git", err)
	} else if head, err := repo.Head(ctx); err == nil {
		x.ok("git", "%s on branch %s", repo.Root(), head.Branch)
	}
	if err := repo.CanMerge(ctx); err != nil {
		x.note("git", err.Error(), "only `ralph autopilot` and `parallel` above 1 need it")
	}
	if dirty, err := repo.Dirty(ctx); err == nil && len(dirty) > 0 {
		x.note("git", report.Files(len(dirty))+" changed and not committed", "commit or stash them before `ralph agent` (or --allow-dirty)")
	}
	return repo.Root(), true
}

func (x *examination) refused(what string, err error) {
	var r *ralph.Refusal
	if errors.As(err, &r) {
		x.problem(what, r.Why, r.Hint)
		return
	}
	x.problem(what, err.Error(), "")
}

func (x *examination) config(env Env, root string) config.Config {
	c, err := loadConfig(env, root, nil)
	var list *config.Error
	switch {
	case errors.As(err, &list):
		for _, p := range list.Problems {
			x.problem("config", p.Error(), "")
		}
		return c
	case err != nil:
		x.problem("config", err.Error(), "")
		return c
	}
	if _, err := os.Stat(filepath.Join(root, "ralph/config.yaml")); err != nil {
		x.note("config", "no ralph/config.yaml: the defaults hold", "ralph init writes one with every setting explained")
	} else {
		x.ok("config", "ralph/config.yaml is valid")
	}
	for _, l := range config.Later(c) {
		x.note("config", l, "")
	}
	if c.Gate.Approvals == "never" { // E-076
		x.note("config", "gate.approvals is never: agents do what they want to do, and nobody is asked", "set it to policy (what only reads needs nobody) or ask")
	}
	return c
}

// agents looks which agents are installed and what each supports.
func (x *examination) agents(ctx context.Context, env Env, root string, c config.Config) {
	used := c.Chain()
	for _, name := range c.AgentNames() {
		spec, _ := c.AgentSpec(name)
		inUse := ""
		for i, u := range used {
			if u == name {
				inUse = map[bool]string{true: ", primary", false: ", fallback"}[i == 0]
			}
		}
		supports, built := agent.Of(spec.Driver)
		if spec.Driver == "scripted" {
			if inUse != "" || name != "demo" {
				x.ok("agent", "%s: scenario %s%s", name, spec.Scenario, inUse)
			}
			continue
		}
		path, err := proc.LookPath(spec.Command[0], root, env.Environ)
		switch {
		case err != nil && inUse == ", primary":
			x.problem("agent", fmt.Sprintf("%s (primary): %s is not there", name, spec.Command[0]), "install it, or set agent.primary in ralph/config.yaml to one that is")
		case err != nil:
			if inUse != "" {
				x.note("agent", fmt.Sprintf("%s%s: %s is not there", name, inUse, spec.Command[0]), "it is left out")
			}
		case !built:
			x.note("agent", fmt.Sprintf("%s%s: %s is installed, but driver %s is not built in yet", name, inUse, path, spec.Driver), "use exec or claude")
		default:
			x.ok("agent", "%s%s: %s%s, %s", name, inUse, path, programVersion(ctx, env, root, spec), supportWords(supports))
		}
	}
}

// programVersion asks the real agents for their version; a person's own script
// may do anything when it is started, so it is not.
func programVersion(ctx context.Context, env Env, root string, spec ralph.AgentSpec) string {
	if spec.Driver != "claude" {
		return ""
	}
	out, _, res, err := proc.NewRunner("").Output(ctx, proc.Command{
		Args: []string{spec.Command[0], "--version"}, Dir: root, Env: env.Environ, Timeout: 10 * time.Second,
	})
	first, _, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
	if err != nil || res.Code != 0 || first == "" {
		return " (version unknown)"
	}
	return " " + first
}

func supportWords(s agent.Supports) string {
	var words []string
	for _, w := range []struct {
		has  bool
		word string
	}{{s.Structured, "structured answers"}, {s.Resume, "resume"}, {s.Cost, "cost"}, {s.Usage, "tokens"}, {s.Tools, "tool calls"}, {s.Context, "context"}, {s.Compact, "compacting"}} {
		if w.has {
			words = append(words, w.word)
		}
	}
	if len(words) == 0 {
		return "text only; it reports no cost"
	}
	return strings.Join(words, ", ")
}

func (x *examination) checks(root string, c config.Config) {
	specs := checksOf(c, root)
	if len(specs) == 0 {
		x.note("checks", "none: an agent's COMPLETE would be believed as it is", "set quality.commands in ralph/config.yaml, like [go test ./...]")
	}
	for _, s := range specs {
		from := "configured"
		if len(c.Quality.Commands) == 0 && c.Test.Command != s.Command {
			from = "detected"
		}
		x.ok("checks", "%s (%s)", s.Command, from)
	}
	for _, why := range gate.Detect(root).Why {
		x.ok("detected", "%s", why)
	}
}

func (x *examination) state(env Env, root string) {
	s, j, err := readState(env, true, true)
	if err != nil {
		x.problem("state", err.Error(), "mend or remove the line; nothing was changed")
		return
	}
	if owner := j.Holder(); owner != nil {
		x.ok("engine", "running, pid %d since %s", owner.Pid, owner.StartedAt.Local().Format("15:04:05"))
	} else if s.Session.Live() {
		x.note("engine", "the last one was cut", fmt.Sprintf("`ralph %s` goes on where it was", s.Session.Mode))
	}
	x.ok("state", "%d facts, %s in the inbox, %s in the plan", s.Seq, report.Specs(len(s.Inbox)), report.Tasks(len(s.Plan.Tasks)))
	x.lock(j)
	x.leftovers(root, j)
	if err := roomIn(root); err != nil {
		x.problem("disk", err.Error(), "free some space")
	}
}

// leftovers are processes that a dead engine's registry still names.
func (x *examination) leftovers(root string, j *journal.File) {
	entries, err := os.ReadDir(filepath.Join(root, "ralph/.state/procs"))
	if err != nil || len(entries) == 0 || j.Holder() != nil {
		return
	}
	words := "1 process"
	if len(entries) > 1 {
		words = fmt.Sprintf("%d processes", len(entries))
	}
	x.note("leftovers", words+" of an engine that died may still run", "the next start ends what does")
}
