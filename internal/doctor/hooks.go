package doctor

import (
	"fmt"
	"strings"

	"github.com/ralph-loop/ralph/internal/bootstrap"
	"github.com/ralph-loop/ralph/internal/config"
	"github.com/ralph-loop/ralph/internal/hook"
	"github.com/ralph-loop/ralph/internal/journal"
	"github.com/ralph-loop/ralph/internal/notify"
	"github.com/ralph-loop/ralph/internal/workspace"
)

// hooks lists the hooks that would be run, and what in ralph/hooks would not.
func (x *examination) hooks(root string) {
	set, err := hook.Look(root)
	if err != nil {
		x.problem("hook", err.Error(), "")
		return
	}
	for _, h := range set.Hooks {
		x.ok("hook", "%s", h.Name)
	}
	for _, f := range set.Flaws {
		x.note("hook", fmt.Sprintf("%s is not run: %s", f.File, f.Why), f.Fix)
	}
}

// notify says what is set and whether it can work here.
func (x *examination) notify(env workspace.Env, root string, c config.Config) {
	seen := notify.Look(bootstrap.NoticeOptions(env, root, c, nil))
	if len(seen) == 0 {
		x.ok("notify", "off: no sounds, desktop or webhooks are set")
	}
	for _, o := range seen {
		switch {
		case o.Error == "":
			x.ok("notify", "%s: %s", o.Sink, o.Saw)
		case strings.HasPrefix(o.Sink, "webhook"):
			x.problem("notify", o.Sink+": "+o.Error, "")
		default:
			x.note("notify", o.Sink+": "+o.Error, "it stays silent; notify."+settingOf(o.Sink)+" switches it off")
		}
	}
}

func settingOf(sink string) string {
	if sink == "desktop" {
		return sink
	}
	return sink + "s"
}

// lock is who holds the session lock, or left it behind.
func (x *examination) lock(j *journal.File) {
	info, err := j.Look()
	switch {
	case err != nil:
		x.refused("lock", err)
	case info == nil:
	case !info.Live:
		x.note("lock", "left behind by "+workspace.OwnerWords(info)+", which is gone", "the next start takes it over; `ralph unlock` removes it")
	case info.Place == journal.Elsewhere:
		x.note("lock", "held by "+workspace.OwnerWords(info), "`ralph stop` ends it; if "+info.Owner.Host+" will not come back, `ralph unlock --force`")
	default:
		x.ok("lock", "held by %s", workspace.OwnerWords(info))
	}
}
