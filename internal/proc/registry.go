package proc

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// entry is one tracked process on disk: <nonce>.json in the registry folder.
type entry struct {
	Pid         int    `json:"pid"`   // 0: it is about to be started
	Start       string `json:"start"` // Identity of Pid
	Nonce       string `json:"nonce"` // its NonceVar
	Program     string `json:"program"`
	EnginePid   int    `json:"engine_pid"`
	EngineStart string `json:"engine_start"`
}

// Swept is a process that a dead engine left behind and Sweep ended.
type Swept struct {
	Pid   int
	Args  string    // its command line, shortened
	Since time.Time // when it started; zero where that is not known
}

// registry is the folder of entries. The zero dir means that there is none.
type registry struct {
	dir   string
	start string // Identity of this process
}

func (g *registry) open() error {
	if g.dir == "" {
		return nil
	}
	var err error
	if g.start, err = Identity(os.Getpid()); err != nil {
		return fmt.Errorf("identify this process: %w", err)
	}
	if err := os.MkdirAll(g.dir, 0o700); err != nil {
		return fmt.Errorf("make the process registry: %w", err)
	}
	return nil
}

func (g *registry) file(nonce string) string { return filepath.Join(g.dir, nonce+".json") }

// announce writes the entry of a process that is about to be started: an engine that is killed
// right after it leaves nobody who knows its nonce, else.
func (g *registry) announce(nonce, program string) error {
	return g.write(entry{Nonce: nonce, Program: program})
}

// add completes the entry by the process.
func (g *registry) add(pid int, nonce, program string) error {
	if g.dir == "" {
		return nil
	}
	start, err := Identity(pid)
	if err != nil {
		return fmt.Errorf("identify %s: %w", program, err)
	}
	return g.write(entry{Pid: pid, Start: start, Nonce: nonce, Program: program})
}

// write writes an entry of this engine in one rename, so that it is whole or not there. It is
// not synced: after a power cut there is no process left to find.
func (g *registry) write(e entry) error {
	if g.dir == "" {
		return nil
	}
	nonce, program := e.Nonce, e.Program
	e.EnginePid, e.EngineStart = os.Getpid(), g.start
	b, err := json.Marshal(e)
	if err != nil {
		return fmt.Errorf("register %s: %w", program, err)
	}
	temp := filepath.Join(g.dir, nonce+".tmp")
	err = os.WriteFile(temp, b, 0o600)
	if errors.Is(err, fs.ErrNotExist) { // an agent deleted the folder; it must not stop those after it
		if err = os.MkdirAll(g.dir, 0o700); err == nil {
			err = os.WriteFile(temp, b, 0o600)
		}
	}
	if err != nil {
		_ = os.Remove(temp)
		return fmt.Errorf("register %s: %w", program, err)
	}
	if err := os.Rename(temp, g.file(nonce)); err != nil {
		_ = os.Remove(temp)
		return fmt.Errorf("register %s: %w", program, err)
	}
	return nil
}

// remove forgets a process that has ended. A file that stays does no harm: the
// next Sweep finds nobody and removes it.
func (g *registry) remove(nonce string) {
	if g.dir != "" {
		_ = os.Remove(g.file(nonce))
	}
}

// orphaned returns the entries whose engine is gone, and removes what can name
// nobody: half-written files of a dead engine.
func (g *registry) orphaned() ([]entry, error) {
	if g.dir == "" {
		return nil, nil
	}
	files, err := os.ReadDir(g.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the process registry: %w", err)
	}
	var gone []entry
	for _, f := range files {
		path := filepath.Join(g.dir, f.Name())
		nonce, whole := strings.CutSuffix(f.Name(), ".json")
		if !whole {
			g.dropStale(f, path)
			continue
		}
		b, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue // its process ended meanwhile
		}
		if err != nil {
			return nil, fmt.Errorf("read the process registry: %w", err)
		}
		var e entry
		if json.Unmarshal(b, &e) != nil || e.Nonce != nonce {
			// Entries appear whole; only a power cut leaves such a file, and
			// no process outlives that.
			_ = os.Remove(path)
			continue
		}
		if !Alive(e.EnginePid, e.EngineStart) {
			gone = append(gone, e)
		}
	}
	return gone, nil
}

// dropStale removes the temporary file of an engine that died in add.
func (g *registry) dropStale(f fs.DirEntry, path string) {
	info, err := f.Info()
	if err == nil && strings.HasSuffix(path, ".tmp") && time.Since(info.ModTime()) > time.Minute {
		_ = os.Remove(path)
	}
}

// Registered reports whether a process is one that a runner with this folder started and
// tracks, or did when its engine died.
func Registered(dir string, p Process) bool {
	files, err := os.ReadDir(dir)
	if err != nil {
		return false
	}
	for _, f := range files {
		b, err := os.ReadFile(filepath.Join(dir, f.Name()))
		var e entry
		if err == nil && json.Unmarshal(b, &e) == nil && e.Start != "" && e.Pid == p.Inner && e.Start == p.Start {
			return true
		}
	}
	return false
}
