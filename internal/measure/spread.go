// Package measure owns figures about a machine and a repository: what git, processes, the disk
// and whole tasks of ralph cost there, and what the settings could do about it. It never
// changes the repository that it measures: it works in a copy that shares its objects.
//
// It does NOT own the benchmarks by which ralph is compared with others (internal/bench),
// which use its machine, spread and rounds.
package measure

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Spread is the middle of some measurements, and the smallest and largest.
type Spread struct {
	Min    float64 `json:"min"`
	Median float64 `json:"median"`
	Max    float64 `json:"max"`
}

// SpreadOf is the spread of what value says of each; of none it is zero.
func SpreadOf[T any](list []T, value func(T) float64) Spread {
	if len(list) == 0 {
		return Spread{}
	}
	v := make([]float64, len(list))
	for i, x := range list {
		v[i] = value(x)
	}
	slices.Sort(v)
	return Spread{v[0], v[len(v)/2], v[len(v)-1]}
}

func (s Spread) String() string { return fmt.Sprintf("%.2f [%.2f-%.2f]", s.Median, s.Min, s.Max) }

// Milliseconds is a duration as figures have it.
func Milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// Load is how busy the machine was in the last minute, with what is measured: two runs
// compare only when it is alike. "unknown" where the system does not say.
func Load() string {
	b, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	load, _, _ := strings.Cut(string(b), " ")
	return load
}

// Machine is what figures depend on: the system, the cores.
func Machine() string {
	kernel := runtime.GOOS
	var u unix.Utsname
	if unix.Uname(&u) == nil {
		release, _, _ := strings.Cut(unix.ByteSliceToString(u.Release[:]), "-") // without who built it
		kernel = unix.ByteSliceToString(u.Sysname[:]) + " " + release
	}
	model := ""
	if b, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		_, rest, _ := strings.Cut(string(b), "model name")
		line, _, _ := strings.Cut(rest, "\n")
		model = " of " + strings.Trim(line, "\t :")
	}
	return fmt.Sprintf("%s, %d cores%s", kernel, runtime.NumCPU(), model)
}
