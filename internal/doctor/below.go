package doctor

import (
	"github.com/ralph-loop/ralph/internal/config"
	"github.com/ralph-loop/ralph/internal/profile"
	"github.com/ralph-loop/ralph/internal/sandbox"
	"github.com/ralph-loop/ralph/internal/shim"
	"github.com/ralph-loop/ralph/internal/text"
	"github.com/ralph-loop/ralph/internal/workspace"
)

// below says what stands between agents and the world, and what could.
func (x *examination) below(env workspace.Env, c config.Config) {
	var there []string
	for _, name := range c.Gate.Shims {
		if _, err := shim.Real(name, "", env.Environ); err == nil {
			there = append(there, name)
		}
	}
	switch {
	case len(there) > 0:
		x.ok("below", "shims before %s; a git hook before each push", text.List(there, 6))
	case len(c.Gate.Shims) > 0:
		x.ok("below", "none of gate.shims is installed; a git hook before each push")
	default:
		x.note("below", "no shims: what an exec agent's programs do is not held", "set gate.shims, or take its line out")
	}
	if c.Sandbox.Kind == sandbox.Off {
		x.note("sandbox", "off (sandbox.kind): agents, and the checks that run what they wrote, can do whatever you can", "sandbox.kind: auto")
		return
	}
	o := profile.Offers(env.Environ)
	switch kind, err := o.Choose(c.Sandbox.Kind); {
	case err != nil:
		x.refused("sandbox", err)
	case kind == sandbox.Off:
		x.note("sandbox", "off: "+o.Words()+"; agents, and the checks that run what they wrote, can do whatever you can", "install bubblewrap")
	case kind == sandbox.Landlock && c.Isolation == "none":
		x.note("sandbox", profile.LandlockInPlace, "isolation: auto, or install bubblewrap")
	default:
		x.ok("sandbox", "%s: agents, checks and hooks write in their work tree, temporary folders and sandbox.write alone", kind)
	}
}
