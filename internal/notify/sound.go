package notify

import (
	"bytes"
	"encoding/binary"
	"math"
	"time"

	"github.com/ralph-loop/ralph/internal/notice"
)

// The sounds are made here, so that there is nothing to ship and nothing to
// license: soft bells, sines with an overtone that fade away.

const (
	sampleRate = 22050 // samples a second: enough for tones below 3 kHz
	loudness   = 0.45  // of full scale, for the loudest sample
)

// tone is one bell: when it is struck, its pitch in hertz, how long it rings.
type tone struct {
	at, length time.Duration
	pitch      float64
}

// score is what a sound is made of.
func score(sound notice.Sound) []tone {
	const ms = time.Millisecond
	const low, a4, c5, e5, g5, a5, b5, c6 = 233.1, 440, 523.3, 659.3, 784, 880, 987.8, 1046.5
	switch sound {
	case notice.SoundComplete: // a step up
		return []tone{{0, 160 * ms, e5}, {110 * ms, 280 * ms, a5}}
	case notice.SoundError: // a step down
		return []tone{{0, 200 * ms, a4}, {150 * ms, 350 * ms, 311.1}}
	case notice.SoundDone: // a chord, note by note
		return []tone{{0, 300 * ms, c5}, {110 * ms, 300 * ms, e5}, {220 * ms, 300 * ms, g5}, {330 * ms, 550 * ms, c6}}
	case notice.SoundNotice: // ding, dong
		return []tone{{0, 250 * ms, b5}, {180 * ms, 400 * ms, g5}}
	case notice.SoundViolation: // an alarm, but a polite one
		return []tone{{0, 180 * ms, a4}, {160 * ms, 180 * ms, low}, {320 * ms, 180 * ms, a4}, {480 * ms, 320 * ms, low}}
	}
	return nil
}

// samples mixes the tones of a sound, from -1 to 1; nil for a sound that is not known.
func samples(sound notice.Sound) []float64 {
	var mix []float64
	for _, t := range score(sound) {
		from, n := count(t.at), count(t.length)
		for len(mix) < from+n {
			mix = append(mix, 0)
		}
		for i := range n {
			mix[from+i] += t.sample(i, n)
		}
	}
	peak := 0.0
	for _, x := range mix {
		peak = max(peak, math.Abs(x))
	}
	for i := range mix {
		mix[i] *= loudness / peak
	}
	return mix
}

// sample is the i-th of n: a fast rise and a slow fall, both without a click.
func (t tone) sample(i, n int) float64 {
	const rise = sampleRate / 200 // 5 ms
	phase := 2 * math.Pi * t.pitch * float64(i) / sampleRate
	fall := math.Exp(-4*float64(i)/float64(n)) * (1 - float64(i)/float64(n))
	return (math.Sin(phase) + 0.25*math.Sin(2*phase)) * fall * min(1, float64(i)/rise)
}

func count(d time.Duration) int { return int(d * sampleRate / time.Second) }

// wave is a sound as a WAV file: 16 bit, mono.
func wave(sound notice.Sound) []byte {
	const header, sampleSize = 44, 2
	mix := samples(sound)
	size := len(mix) * sampleSize
	var b bytes.Buffer
	b.Grow(header + size)
	put := func(values ...any) {
		for _, v := range values {
			_ = binary.Write(&b, binary.LittleEndian, v) // a buffer takes it
		}
	}
	put([]byte("RIFF"), uint32(header-8+size), []byte("WAVEfmt "), uint32(16), //nolint:gosec // a sound is less than a second
		uint16(1), uint16(1), uint32(sampleRate), uint32(sampleRate*sampleSize), uint16(sampleSize), uint16(8*sampleSize),
		[]byte("data"), uint32(size)) //nolint:gosec // likewise
	for _, x := range mix {
		put(int16(math.Round(x * math.MaxInt16)))
	}
	return b.Bytes()
}
