package notify

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/notice"
	"github.com/ralph-loop/ralph/internal/ralphtest"
)

// Every sound is a whole WAV file of less than a second, neither silent nor
// clipped, that begins and ends without a click; and no two are alike.
func TestSounds(t *testing.T) {
	t.Parallel()
	seen := map[string]notice.Sound{}
	for _, sound := range notice.Sounds() {
		b := wave(sound)
		if twin, twice := seen[string(b)]; twice {
			t.Errorf("%s sounds like %s", sound, twin)
		}
		seen[string(b)] = sound
		var head struct {
			Riff           [4]byte
			Size           uint32
			Wave           [8]byte
			FormatSize     uint32
			Format, Tracks uint16
			Rate, Bytes    uint32
			Block, Bits    uint16
			Data           [4]byte
			DataSize       uint32
		}
		r := bytes.NewReader(b)
		if err := binary.Read(r, binary.LittleEndian, &head); err != nil {
			t.Fatal(err)
		}
		if string(head.Riff[:]) != "RIFF" || string(head.Wave[:]) != "WAVEfmt " || string(head.Data[:]) != "data" || head.FormatSize != 16 ||
			int(head.Size) != len(b)-8 || int(head.DataSize) != r.Len() || head.Format != 1 || head.Tracks != 1 || head.Bits != 16 ||
			head.Rate != sampleRate || head.Bytes != sampleRate*2 || head.Block != 2 {
			t.Errorf("%s: %+v of %d bytes", sound, head, len(b))
		}
		mix := make([]int16, r.Len()/2)
		if err := binary.Read(r, binary.LittleEndian, mix); err != nil {
			t.Fatal(err)
		}
		length := time.Duration(len(mix)) * time.Second / sampleRate
		peak, step := 0, 0
		for i, x := range mix {
			peak = max(peak, int(math.Abs(float64(x))))
			if i > 0 {
				step = max(step, int(math.Abs(float64(x)-float64(mix[i-1]))))
			}
		}
		if length < 200*time.Millisecond || length >= time.Second {
			t.Errorf("%s: %s long", sound, length)
		}
		if peak < math.MaxInt16/4 || peak > math.MaxInt16/2 {
			t.Errorf("%s: peak %d", sound, peak)
		}
		if first, last := mix[0], mix[len(mix)-1]; first != 0 || last < -50 || last > 50 || step > peak {
			t.Errorf("%s: begins at %d, ends at %d, jumps by %d", sound, first, last, step)
		}
	}
	if wave("other") == nil || len(samples("other")) != 0 {
		t.Error("a sound that nobody knows is not silent")
	}
}

// place is a folder with a player of the person's own in it.
func place(t *testing.T, script string) (Options, string) {
	t.Helper()
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "bin"), 0o755); err != nil {
		t.Fatal(err)
	}
	if script != "" {
		ralphtest.Program(t, filepath.Join(dir, "bin/paplay"), "#!/bin/sh\n"+script+"\n")
	}
	return Options{Root: dir, SoundDir: filepath.Join(dir, "sounds"), Environ: []string{"PATH=" + filepath.Join(dir, "bin") + ":/usr/bin:/bin", "OUT=" + dir}, Sounds: true}, dir
}

// A sound is played by the system's player, from a file that is there, one at a
// time.
func TestPlayer(t *testing.T) {
	t.Parallel()
	o, dir := place(t, `mkdir "$OUT/busy" || echo two at a time >> "$OUT/played"
cmp -s "$1" "$1" && echo "${1##*/}" >> "$OUT/played"
rmdir "$OUT/busy"`)
	c, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	c.Sounds.start(func(f ralph.NoticeFailed) { t.Error(f) })
	for i := range 3 {
		c.Sounds.See(ralph.Event{Seq: int64(i), Fact: ralph.TaskEnded{ID: "t-1", Status: ralph.TaskDone}}, plan())
	}
	c.Sounds.See(ralph.Event{Seq: 9, Fact: fail("t-2")}, plan())
	c.Sounds.Close(time.Minute)
	got, err := os.ReadFile(filepath.Join(dir, "played"))
	if err != nil {
		t.Fatal(err)
	}
	if want := strings.Repeat("aiComplete.wav\n", 3) + "aiError.wav\n"; string(got) != want {
		t.Errorf("played\n%s", got)
	}
}

// Without a device the player fails: then the bell of a terminal is rung, and
// without a terminal one fact says why it is silent.
func TestNoDevice(t *testing.T) {
	t.Parallel()
	o, _ := place(t, `echo "Connection refused" >&2; exit 1`)
	var facts []string
	rings := 0
	for _, bell := range []func(){nil, func() { rings++ }} {
		o.Bell = bell
		c, err := Open(o)
		if err != nil {
			t.Fatal(err)
		}
		c.Sounds.start(func(f ralph.NoticeFailed) { facts = append(facts, f.Sink+": "+f.Error) })
		for i := range 2 {
			c.Sounds.See(ralph.Event{Seq: int64(i), Fact: fail("t-1")}, plan())
		}
		c.Sounds.Close(time.Minute)
	}
	if rings != 2 || fmt.Sprint(facts) != "[sound: paplay ended with exit code 1: Connection refused]" {
		t.Errorf("%d rings, facts %q", rings, facts)
	}
}

// No player at all: a terminal has its bell, and Play says what to install.
func TestNoPlayer(t *testing.T) {
	t.Parallel()
	o, dir := place(t, "")
	o.Environ = []string{"PATH=" + filepath.Join(dir, "bin")}
	rings := 0
	o.Bell = func() { rings++ }
	c, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	c.Sounds.start(func(f ralph.NoticeFailed) { t.Error(f) })
	c.Sounds.See(ralph.Event{Seq: 1, Fact: fail("t-1")}, plan())
	c.Sounds.Close(time.Minute)
	if rings != 1 {
		t.Errorf("%d rings", rings)
	}
	if r := Play(t.Context(), o, notice.SoundDone); !strings.Contains(r.Error, "install one of pw-play, paplay") {
		t.Errorf("%+v", r)
	}
}

// The folder above the sounds is not made: a person who removed ralph's state gets
// none of it back.
func TestNoState(t *testing.T) {
	t.Parallel()
	o, dir := place(t, "exit 0")
	o.SoundDir = filepath.Join(dir, "gone/sounds")
	if r := Play(t.Context(), o, notice.SoundDone); !strings.Contains(r.Error, "folder of the sounds") {
		t.Errorf("%+v", r)
	}
	if _, err := os.Stat(filepath.Join(dir, "gone")); err == nil {
		t.Error("it was made")
	}
}

// The desktop gets head and text, without what it would read as markup; one that
// hangs is left behind.
func TestDesktop(t *testing.T) {
	t.Parallel()
	var got string
	d := &desktop{show: func(title, text string) error {
		got = title + "|" + text
		return nil
	}}
	m := question()
	m.Body = `Task t-1 asks: <img src="x"> & more?`
	if err := d.Send(t.Context(), m); err != nil || got != "ralph in shop: An agent asks: Pay|Task t-1 asks: ‹img src=\"x\"› + more?\nralph answer g-1 \"...\"" {
		t.Errorf("%q %v", got, err)
	}
	d.show = func(string, string) error { return errors.New("no service") }
	if err := d.Send(t.Context(), m); err == nil || err.Error() != "show a desktop notification: no service" {
		t.Error(err)
	}
	hang := make(chan struct{})
	defer close(hang)
	d.show = func(string, string) error {
		<-hang
		return nil
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if err := d.Send(ctx, m); err == nil {
		t.Error("it did not hang")
	}
}

// A desktop is there when a session bus is.
func TestDesktopThere(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, env := range [][]string{nil, {"XDG_RUNTIME_DIR=" + dir}, {"DBUS_SESSION_BUS_ADDRESS="}} {
		if desktopThere(env) == nil && runtime.GOOS != "darwin" {
			t.Errorf("%v: a desktop without a bus", env)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "bus"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, env := range [][]string{{"XDG_RUNTIME_DIR=" + dir}, {"DBUS_SESSION_BUS_ADDRESS=unix:path=/x"}} {
		if err := desktopThere(env); err != nil {
			t.Errorf("%v: %v", env, err)
		}
	}
}
