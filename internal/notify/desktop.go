package notify

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/gen2brain/beeep"

	"github.com/ralph-loop/ralph/internal/proc"
)

const desktopName = "desktop"

// desktopThere says why no desktop can be reached. Without a session bus the
// library would start one, which then has nobody who listens.
func desktopThere(environ []string) error {
	if runtime.GOOS == "darwin" {
		return nil
	}
	if proc.Getenv(environ, "DBUS_SESSION_BUS_ADDRESS") != "" {
		return nil
	}
	if dir := proc.Getenv(environ, "XDG_RUNTIME_DIR"); dir != "" {
		if _, err := os.Stat(filepath.Join(dir, "bus")); err == nil {
			return nil
		}
	}
	return errors.New("there is no session bus (DBUS_SESSION_BUS_ADDRESS): no desktop is logged in here")
}

// desktop shows messages through the notification service of the desktop.
type desktop struct {
	show func(title, text string) error
}

// newDesktop uses beeep's Notify also for what is urgent: its Alert beeps on the
// terminal as well, and whether there are sounds is another setting.
func newDesktop() *desktop {
	beeep.AppName = "ralph"
	return &desktop{show: func(title, text string) error { return beeep.Notify(title, text, "") }}
}

func (*desktop) Name() string { return desktopName }

// Send shows the message. A service that does not answer is left behind: the
// library cannot be interrupted.
func (d *desktop) Send(ctx context.Context, m Message) error {
	return abandon(ctx, func() error {
		// Desktops read the text as markup, and an agent may have written it.
		text := strings.NewReplacer("<", "‹", ">", "›", "&", "+").Replace(m.Text())
		if err := d.show(m.Head(), text); err != nil {
			return fmt.Errorf("show a desktop notification: %w", err)
		}
		return nil
	})
}

// abandon calls what cannot be interrupted, and no longer waits when ctx is done.
func abandon(ctx context.Context, call func() error) error {
	done := make(chan error, 1)
	go func() { done <- call() }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return errors.New("no answer in time")
	}
}
