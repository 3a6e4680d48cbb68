package bootstrap

import (
	"path/filepath"

	"github.com/ralph-loop/ralph/internal/config"
	"github.com/ralph-loop/ralph/internal/notify"
	"github.com/ralph-loop/ralph/internal/workspace"
)

// NoticeOptions are the settings of notices. bell is used where there is a terminal.
func NoticeOptions(env workspace.Env, root string, c config.Config, bell func()) notify.Options {
	n := c.Notify
	o := notify.Options{
		Root: root, SoundDir: filepath.Join(root, "ralph/.state/sounds"),
		Environ: env.Environ, Sounds: n.Sounds, Desktop: n.Desktop, Webhooks: n.Webhooks, Events: n.Events,
	}
	if env.Terminal {
		o.Bell = bell
	}
	return o
}
