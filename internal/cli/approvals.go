package cli

import (
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/config"
	"github.com/ralph-loop/ralph/internal/policy"
	"github.com/ralph-loop/ralph/internal/proc"
	"github.com/ralph-loop/ralph/internal/profile"
	"github.com/ralph-loop/ralph/internal/sandbox"
	"github.com/ralph-loop/ralph/internal/workspace"
	"github.com/spf13/cobra"
)

const (
	approvalsAuto = "auto"
	approvalsAsk  = "ask"
)

// approvalsHere is who answers agents in this place: what gate.approvals says, and of `auto`
// what it comes to. It stands on a sandbox: kind is the one in which agents run.
func approvalsHere(c config.Config, kind string, o profile.Offered) (word, why string) {
	switch {
	case c.Gate.Approvals != approvalsAuto:
		return c.Gate.Approvals, c.Where("gate.approvals").String()
	case kind == sandbox.Landlock && c.Isolation == "none":
		return approvalsAsk, "landlock keeps nothing in your checkout (isolation: none), and auto stands on what a sandbox keeps"
	case kind != sandbox.Off:
		return approvalsAuto, "agents run in a sandbox (" + kind + "): what stays in it needs nobody"
	case c.Sandbox.Kind == sandbox.Off:
		return approvalsAsk, "sandbox.kind is off, and auto stands on a sandbox"
	}
	return approvalsAsk, o.Words() + ", and auto stands on a sandbox"
}

// approvalsNow is approvalsHere before a session begins: a sandbox that is asked for and
// not there ends its start anyway.
func approvalsNow(c config.Config, environ []string) (word, why string) {
	if c.Sandbox.Kind == sandbox.Off || c.Gate.Approvals != approvalsAuto {
		return approvalsHere(c, sandbox.Off, profile.Offered{})
	}
	o := profile.Offers(environ)
	kind, err := o.Choose(c.Sandbox.Kind)
	if err != nil {
		return approvalsAsk, err.Error()
	}
	return approvalsHere(c, kind, o)
}

// whoAnswers is a line for init: which way of answering agents holds here, and why.
func whoAnswers(env workspace.Env, root string) string {
	c, err := workspace.LoadConfig(env, root, nil)
	if err != nil {
		return "" // the doctor says it better
	}
	word, why := approvalsNow(c, env.Environ)
	return "agents   gate.approvals is " + word + " here: " + why + "\n"
}

// whoAnswers says which way of answering agents holds here, and why.
func (x *examination) whoAnswers(env workspace.Env, c config.Config) {
	word, why := approvalsNow(c, env.Environ)
	if word != approvalsAsk || c.Gate.Approvals != approvalsAuto {
		x.ok("approvals", "gate.approvals is %s here: %s", word, why)
		return
	}
	fix := "install bubblewrap"
	switch {
	case c.Sandbox.Kind == sandbox.Off:
		fix = "set sandbox.kind: auto"
	case c.Isolation == "none":
		fix = "isolation: auto, or install bubblewrap"
	}
	x.note("approvals", "gate.approvals is ask here: "+why+"; each command that does more than read waits for you", fix+", or gate.approvals: policy")
}

// bound adds to what policy decides with where agents of this session run.
func (p *parts) bound(pc *policy.Config, environ []string) {
	pc.Approvals = p.approvals
	if p.kind == sandbox.Off {
		return
	}
	pc.Sandbox, pc.Write = p.kind, writable(p.config, environ)
}

// writable are the folders and files, beside the work tree, that the sandbox lets agents
// write: of the settings what is there.
func writable(c config.Config, environ []string) []string {
	list := sandbox.Temp(proc.Getenv(environ, "TMPDIR"))
	list = append(list, sandbox.Found(sandbox.Home(c.Sandbox.Writes(), proc.Getenv(environ, "HOME")))...)
	for _, dir := range profile.CachesOf(environ) {
		if _, err := os.Stat(dir); err == nil {
			list = append(list, dir)
		}
	}
	return list
}

// settle finds out in which sandbox agents run, and who answers them there.
func (p *parts) settle(environ []string) {
	var o profile.Offered
	p.kind = sandbox.Off
	switch {
	case p.cage != nil:
		p.kind = p.cage.Kind
	case p.config.Sandbox.Kind != sandbox.Off:
		o = profile.Offers(environ) // for the words: there is none
	}
	if p.approvals, p.why = approvalsHere(p.config, p.kind, o); p.approvals != p.config.Gate.Approvals && p.config.Where("gate.approvals").Given() {
		p.notices = append(p.notices, "gate.approvals: auto is ask here: "+p.why)
	}
}

// unattendedFlag is --unattended.
func (x *session) unattendedFlag(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&x.unattended, "unattended", false, "nobody will come: what would wait for you is over at once, as gate.on_timeout says (skip: refused, and the agent goes on)")
}

// needsPerson refuses a start without anybody where each step waits for somebody.
func (x *session) needsPerson() error {
	if !x.unattended {
		return nil
	}
	const hint = "leave --unattended out, or use --mode autopilot"
	switch mode := ralph.Autonomy(x.config.Mode); {
	case x.config.RequireApprovalToStart:
		return &ralph.Refusal{Why: "require_approval_to_start has the start wait for a person, and with --unattended none will come", Hint: "leave one of both out", Kind: ralph.ErrUsage}
	case mode == ralph.Stepwise, mode == ralph.Semi:
		return &ralph.Refusal{Why: "in mode " + x.config.Mode + " each task waits for a person, and with --unattended none will come", Hint: hint, Kind: ralph.ErrUsage}
	}
	return nil
}

// alone is what a person should know who starts a session and goes away: what waits for
// them, how long, and how that is changed; "" where someone sits at the terminal, and in a
// demo, in which nothing waits (R-H6).
func (x *session) alone() string {
	if x.env.Terminal && !x.unattended || x.keepWeb {
		return ""
	}
	waits := "what gate.patterns or the never list hold"
	asks := slices.ContainsFunc(x.chain, func(name string) bool { return x.agents[name].Asks })
	switch {
	case !asks: // it does what it does
	case x.approvals == approvalsAuto:
		waits = "what leaves the sandbox, and " + waits + ","
	case x.approvals == approvalsAsk:
		waits = "each command that does more than read"
	case x.approvals == "policy":
		waits = "what does more than read, change the work tree or run the checks"
	}
	then := "is refused, and the agent goes on"
	if x.config.Gate.OnTimeout == "stop" {
		then = "ends the session"
	}
	if x.unattended {
		return fmt.Sprintf("unattended: %s and questions wait for nobody: each %s (gate.on_timeout: %s)", waits, then, x.config.Gate.OnTimeout)
	}
	how := "--unattended waits for nobody"
	if asks && x.approvals == approvalsAsk {
		how += "; `ralph config edit gate.approvals=policy` asks less"
		if x.config.Gate.Approvals == approvalsAuto {
			how += ", a sandbox least (" + x.why + ")"
		}
	}
	return fmt.Sprintf("nobody at the terminal: %s waits %s; questions wait %s; %s",
		waits, waited(x.config.Gate.Timeout, "for you (`ralph gates`), then "+then), waited(x.config.Gate.InputTimeout, "too"), how)
}

// waited says how long something waits, and what then.
func waited(limit time.Duration, then string) string {
	if limit <= 0 {
		return "until you answer (`ralph gates`)"
	}
	return short(limit) + " " + then
}

// short is a duration without zeros at its end.
func short(d time.Duration) string {
	s := d.String()
	for _, zero := range []string{"m0s", "h0m"} {
		if n := len(s) - len(zero); n > 0 && s[n:] == zero {
			s = s[:n+1]
		}
	}
	return s
}
