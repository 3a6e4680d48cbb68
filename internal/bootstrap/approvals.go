package bootstrap

import (
	"os"

	"github.com/ralph-loop/ralph/internal/config"
	"github.com/ralph-loop/ralph/internal/policy"
	"github.com/ralph-loop/ralph/internal/proc"
	"github.com/ralph-loop/ralph/internal/profile"
	"github.com/ralph-loop/ralph/internal/sandbox"
	"github.com/ralph-loop/ralph/internal/workspace"
)

const (
	ApprovalsAuto = "auto"
	ApprovalsAsk  = "ask"
)

// ApprovalsHere is who answers agents in this place: what gate.approvals says, and of `auto`
// what it comes to. It stands on a sandbox: kind is the one in which agents run.
func ApprovalsHere(c config.Config, kind string, o profile.Offered) (word, why string) {
	switch {
	case c.Gate.Approvals != ApprovalsAuto:
		return c.Gate.Approvals, c.Where("gate.approvals").String()
	case kind == sandbox.Landlock && c.Isolation == "none":
		return ApprovalsAsk, "landlock keeps nothing in your checkout (isolation: none), and auto stands on what a sandbox keeps"
	case kind != sandbox.Off:
		return ApprovalsAuto, "agents run in a sandbox (" + kind + "): what stays in it needs nobody"
	case c.Sandbox.Kind == sandbox.Off:
		return ApprovalsAsk, "sandbox.kind is off, and auto stands on a sandbox"
	}
	return ApprovalsAsk, o.Words() + ", and auto stands on a sandbox"
}

// ApprovalsNow is approvalsHere before a session begins: a sandbox that is asked for and
// not there ends its start anyway.
func ApprovalsNow(c config.Config, environ []string) (word, why string) {
	if c.Sandbox.Kind == sandbox.Off || c.Gate.Approvals != ApprovalsAuto {
		return ApprovalsHere(c, sandbox.Off, profile.Offered{})
	}
	o := profile.Offers(environ)
	kind, err := o.Choose(c.Sandbox.Kind)
	if err != nil {
		return ApprovalsAsk, err.Error()
	}
	return ApprovalsHere(c, kind, o)
}

// WhoAnswers is a line for init: which way of answering agents holds here, and why.
func WhoAnswers(env workspace.Env, root string) string {
	c, err := workspace.LoadConfig(env, root, nil)
	if err != nil {
		return "" // the doctor says it better
	}
	word, why := ApprovalsNow(c, env.Environ)
	return "agents   gate.approvals is " + word + " here: " + why + "\n"
}

// Bound adds to what policy decides with where agents of this session run.
func (p *Parts) Bound(pc *policy.Config, environ []string) {
	pc.Approvals = p.Approvals
	if p.kind == sandbox.Off {
		return
	}
	pc.Sandbox, pc.Write = p.kind, writable(p.Config, environ)
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
func (p *Parts) settle(environ []string) {
	var o profile.Offered
	p.kind = sandbox.Off
	switch {
	case p.Sandbox != nil:
		p.kind = p.Sandbox.Kind
	case p.Config.Sandbox.Kind != sandbox.Off:
		o = profile.Offers(environ) // for the words: there is none
	}
	if p.Approvals, p.Why = ApprovalsHere(p.Config, p.kind, o); p.Approvals != p.Config.Gate.Approvals && p.Config.Where("gate.approvals").Given() {
		p.Notices = append(p.Notices, "gate.approvals: auto is ask here: "+p.Why)
	}
}
