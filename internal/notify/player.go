package notify

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/google/renameio/v2"

	"github.com/ralph-loop/ralph/internal/notice"
	"github.com/ralph-loop/ralph/internal/proc"
)

const (
	soundName = "sound" // of the sink
	// soundLimit is the time after which a player is ended that hangs on its device.
	soundLimit = 5 * time.Second
	// maxSounds bounds how many wait for the one that plays: what is heard long
	// after it happened says nothing.
	maxSounds = 8
)

// players are the programs that play a WAV file, with their arguments, the best
// first. Those of a sound server come before what talks to the device itself.
func players() [][]string {
	return [][]string{
		{"pw-play"},
		{"paplay"},
		{"afplay"},
		{"aplay", "-q"},
		{"play", "-q"},
		{"ffplay", "-nodisp", "-autoexit", "-loglevel", "error"},
	}
}

// findPlayer returns the command of the first player that is installed.
func findPlayer(environ []string) ([]string, error) {
	var names []string
	for _, p := range players() {
		if path, err := proc.LookPath(p[0], "", environ); err == nil {
			return append([]string{path}, p[1:]...), nil
		}
		names = append(names, p[0])
	}
	return nil, fmt.Errorf("there is no program that plays sounds; install one of %s", strings.Join(names, ", "))
}

// speaker plays sounds, one at a time, with the system's player. bell, where there
// is a terminal, is what is heard when that does not work.
type speaker struct {
	player []string // nil: none is installed
	procs  *proc.Runner
	env    []string
	dir    string // where the WAV files are written; its parent has to be there
	bell   func()
}

func (p *speaker) Name() string { return soundName }

// Send plays the message's sound and returns when it has ended.
func (p *speaker) Send(ctx context.Context, m Message) error {
	err := p.play(ctx, m.Sound)
	if err != nil && p.bell != nil && ctx.Err() == nil {
		p.bell()
		return nil
	}
	return err
}

func (p *speaker) play(ctx context.Context, sound notice.Sound) error {
	if p.player == nil {
		return errors.New("no player is installed")
	}
	file, err := p.file(sound)
	if err != nil {
		return err
	}
	args := append(append([]string{}, p.player...), file)
	_, stderr, res, err := p.procs.Output(ctx, proc.Command{Args: args, Env: p.env, Timeout: soundLimit, Grace: 100 * time.Millisecond})
	name := filepath.Base(p.player[0])
	switch {
	case err != nil:
		return fmt.Errorf("play a sound: %w", err)
	case res.Ended == proc.EndedTimeout:
		return fmt.Errorf("%s took more than %s", name, soundLimit)
	case res.Ended == proc.EndedCancelled:
		return context.Cause(ctx)
	case res.Code != 0:
		lines := strings.Split(string(bytes.TrimSpace(stderr)), "\n")
		return fmt.Errorf("%s ended with exit code %d: %s", name, res.Code, oneLine(lines[len(lines)-1], 200))
	}
	return nil
}

// file is the WAV file of a sound, written when it is first needed. The folder's
// parent is not made: it is gone when a person has removed ralph's state.
func (p *speaker) file(sound notice.Sound) (string, error) {
	path, content := filepath.Join(p.dir, string(sound)+".wav"), wave(sound)
	if there, err := os.ReadFile(path); err == nil && bytes.Equal(there, content) {
		return path, nil
	}
	if err := os.Mkdir(p.dir, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", fmt.Errorf("make the folder of the sounds: %w", err)
	}
	if err := renameio.WriteFile(path, content, 0o644); err != nil {
		return "", fmt.Errorf("write a sound: %w", err)
	}
	return path, nil
}
