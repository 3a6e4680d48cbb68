package notify

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/notice"
	"github.com/ralph-loop/ralph/internal/proc"
)

// Options say how people want to be told.
type Options struct {
	Root     string // the repository
	Environ  []string
	Sounds   bool
	Desktop  bool
	Webhooks []string
	Events   map[string]string // event, by any of its names, to sound; "" and "none" for silence
	SoundDir string            // where the files of the sounds are kept; the folder above it has to be there
	Bell     func()            // rings the terminal's bell; nil without a terminal
}

// Open makes a dispatcher of what is wanted and possible here. Sounds without a player
// and a bell, and a desktop without a session bus, are left out in silence: Look
// tells of them. An address that cannot be right is a *ralph.Refusal.
func Open(o Options) (*Dispatcher, error) {
	c, repository := &Dispatcher{}, filepath.Base(o.Root)
	if o.Sounds {
		if s := newSpeaker(o); s.player != nil || s.bell != nil {
			c.Sounds = newSounds(s, soundsOf(o.Events))
		}
	}
	if o.Desktop && desktopThere(o.Environ) == nil {
		c.Letters = append(c.Letters, newLetter(newDesktop(), repository))
	}
	sinks, err := webhooks(o.Webhooks)
	if err != nil {
		return nil, err
	}
	for _, s := range sinks {
		c.Letters = append(c.Letters, newLetter(s, repository))
	}
	return c, nil
}

func newSpeaker(o Options) *speaker {
	player, _ := findPlayer(o.Environ)
	return &speaker{player: player, procs: proc.NewRunner(""), env: o.Environ, dir: o.SoundDir, bell: o.Bell}
}

// soundsOf brings the settings under the events' own names.
func soundsOf(events map[string]string) map[string]notice.Sound {
	out := map[string]notice.Sound{}
	for name, sound := range events {
		if sound == "none" {
			sound = ""
		}
		if e, ok := notice.Named(name); ok {
			out[e.Name] = notice.Sound(sound)
		}
	}
	return out
}

// webhooks opens the addresses. Two of the same service get a number.
func webhooks(settings []string) ([]Sink, error) {
	var sinks []Sink
	seen := map[string]int{}
	for i, setting := range settings {
		a, err := parse(setting)
		if err != nil {
			return nil, &ralph.Refusal{
				Why:  fmt.Sprintf("item %d of `notify.webhooks` %v", i+1, err),
				Hint: "write it like slack://hook:T-B-X@webhook, ntfy://ntfy.sh/topic, discord://token@id or https://host/path", Kind: ralph.ErrUsage,
			}
		}
		seen[a.name]++
		if n := seen[a.name]; n > 1 {
			a.name = fmt.Sprintf("%s #%d", a.name, n)
		}
		if a.kind == "https" {
			sinks = append(sinks, newHook(a))
		} else {
			sinks = append(sinks, &service{a})
		}
	}
	return sinks, nil
}

// Outcome is what is known of one sink.
type Outcome struct {
	Sink  string `json:"sink"`
	Saw   string `json:"saw,omitempty"`
	Error string `json:"error,omitempty"` // why it cannot work
}

// Look says of each sink that is wanted whether it can work, without using it.
func Look(o Options) []Outcome {
	var out []Outcome
	if o.Sounds {
		player, err := findPlayer(o.Environ)
		out = append(out, outcome(soundName, "played with "+first(player), err))
	}
	if o.Desktop {
		out = append(out, outcome(desktopName, "a session bus is there", desktopThere(o.Environ)))
	}
	for i, setting := range o.Webhooks {
		sinks, err := webhooks([]string{setting})
		if err != nil {
			out = append(out, Outcome{Sink: fmt.Sprintf("webhook %d", i+1), Error: strings.Replace(err.Error(), "item 1 of `notify.webhooks`", "it", 1)})
			continue
		}
		out = append(out, Outcome{Sink: fmt.Sprintf("webhook %d", i+1), Saw: sinks[0].Name()})
	}
	return out
}

func first(words []string) string {
	if len(words) == 0 {
		return ""
	}
	return words[0]
}

func outcome(sink, saw string, err error) Outcome {
	if err != nil {
		return Outcome{Sink: sink, Error: err.Error()}
	}
	return Outcome{Sink: sink, Saw: saw}
}

// Try sends one test notice to every sink that is wanted, once, and says what came
// of each.
func Try(ctx context.Context, o Options, now time.Time) ([]Outcome, error) {
	sinks, err := webhooks(o.Webhooks)
	if err != nil {
		return nil, err
	}
	m := together([]Notice{{
		Event: "test", Title: "A test", Body: "This is a test of the notifications: nothing needs you.", Command: "ralph status", Urgency: Info, At: now,
	}}, filepath.Base(o.Root))
	m.Sound = notice.SoundNotice
	var out []Outcome
	if o.Sounds {
		out = append(out, Play(ctx, o, m.Sound))
	}
	if o.Desktop {
		err := desktopThere(o.Environ)
		if err == nil {
			err = send(ctx, newDesktop(), m)
		}
		out = append(out, outcome(desktopName, "shown", err))
	}
	for _, s := range sinks {
		out = append(out, outcome(s.Name(), "sent", send(ctx, s, m)))
	}
	return out, nil
}

// Play plays one sound, or says why it cannot.
func Play(ctx context.Context, o Options, sound notice.Sound) Outcome {
	player, err := findPlayer(o.Environ)
	if err == nil {
		o.Bell = nil
		err = send(ctx, newSpeaker(o), Message{Sound: sound})
	}
	return outcome(soundName, string(sound)+" played with "+first(player), err)
}
