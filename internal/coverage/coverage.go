// Package coverage reads how much of the code its tests reach from what test programs
// write: Go's profiles, istanbul, lcov, cobertura, jacoco, coverage.py. It owns which
// reports there are, where they lie, how they add up, and the one flag that makes a
// tool write one. It does not own how the tests are run (internal/check), nor how much
// is enough (internal/policy).
package coverage

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/ralph-loop/ralph"
)

// sizeLimit bounds a report in bytes: what is longer is not read.
const sizeLimit = 64 << 20

// Read returns what a run of the tests in dir says of coverage, nil when it says
// nothing (C-061). profile is what Prepare named, or "". When there is none, reports
// that the run wrote at their usual places in dir count: those not older than since,
// the time when the run began. An error says which report cannot be read and why; it
// is no reason to call the tests red.
func Read(dir string, since time.Time, profile string) (*ralph.Coverage, error) {
	if profile != "" && isFresh(profile, since) {
		return sum(dir, kind{format: "go", read: readGo}, []string{profile})
	}
	k, files := find(dir, func(path string) bool { return isFresh(path, since) })
	if len(files) == 0 {
		return nil, nil
	}
	return sum(dir, k, files)
}

// isFresh reports whether a regular file was written at since or later. File systems
// keep times in coarse steps, rounded down: of the kernel's clock, or of a second.
func isFresh(path string, since time.Time) bool {
	info, err := os.Lstat(path)
	if err != nil || !info.Mode().IsRegular() {
		return false
	}
	const tick = 20 * time.Millisecond
	t := info.ModTime()
	if t.Nanosecond() == 0 {
		since = since.Truncate(time.Second)
	}
	return !t.Before(since.Add(-tick))
}

// sum reads the reports of one run and adds them up. Coverage.File is the first one's
// name, relative to dir where it is inside.
func sum(dir string, k kind, files []string) (*ralph.Coverage, error) {
	parts := make([]figures, len(files))
	for i, name := range files {
		var err error
		if parts[i], err = readFile(name, k.read); err != nil {
			return nil, fmt.Errorf("read coverage report %s: %w", shown(dir, name), err)
		}
	}
	total, err := add(parts).checked()
	if err != nil {
		return nil, fmt.Errorf("add up coverage reports like %s: %w", shown(dir, files[0]), err)
	}
	if total.total == 0 {
		return nil, nil
	}
	return &ralph.Coverage{
		Percent: 100 * float64(total.covered) / float64(total.total),
		Covered: total.covered, Total: total.total, Format: k.format, File: shown(dir, files[0]),
	}, nil
}

func readFile(name string, read func(io.Reader) (figures, error)) (figures, error) {
	f, err := os.Open(name)
	if err != nil {
		return figures{}, err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil {
		return figures{}, err
	} else if info.Size() > sizeLimit {
		return figures{}, fmt.Errorf("has %d MiB, more than %d are not read", info.Size()>>20, sizeLimit>>20)
	}
	return read(io.LimitReader(f, sizeLimit))
}

// shown is a file's name for people.
func shown(dir, name string) string {
	if rel, err := filepath.Rel(dir, name); err == nil && filepath.IsLocal(rel) {
		return filepath.ToSlash(rel)
	}
	return filepath.Base(name)
}
