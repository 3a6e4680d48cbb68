// Package person tells a person from a turn: whether the process that answers a gate,
// or the one at the other end of a connection, descends from an agent's, and what is known
// of who decided.
//
// It does not own what only a person may do: commands and pages say that.
package person

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/google/renameio/v2"
	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/agentsock"
	"github.com/ralph-loop/ralph/internal/journal"
	"github.com/ralph-loop/ralph/internal/locate"
	"github.com/ralph-loop/ralph/internal/proc"
	"github.com/ralph-loop/ralph/internal/workspace"
)

// A person decides: never a process that comes from a turn, whatever it did to its
// environment, its session, its group and its parents. An engine adopts the orphans of its
// agents, so that on Linux each of them has it among its ancestors.

// Required refuses the word of an agent where a person's is wanted.
func Required(env workspace.Env) error {
	root, err := workspace.FindRoot(env)
	if err != nil {
		root = env.Dir
	}
	if _, err := agentsock.Find(env.Environ); err == nil {
		return fromTurn("its environment says so")
	}
	if why, err := comesFromTurn(root, os.Getpid()); err == nil && why != "" {
		return fromTurn(why)
	}
	return nil
}

func fromTurn(why string) error {
	return &ralph.Refusal{Why: "this is inside a turn of ralph, and a person decides this (" + why + ")", Hint: "answer from a terminal of your own", Kind: ralph.ErrUsage}
}

// Witness is by what this process is known as a person's.
func Witness(env workspace.Env) ralph.Witness {
	w := ralph.Witness{Way: ralph.WayCommand, Pid: os.Getpid()}
	line, err := proc.Lineage(w.Pid)
	if err != nil {
		w.Unknown = "this system does not tell where a process comes from"
		return w
	}
	if line[0].Terminal != "" {
		w.Way, w.Name = ralph.WayTerminal, line[0].Terminal
	}
	return w
}

// comesFromTurn says why a process belongs to a turn, as far as it concerns the repository:
// an engine is among its ancestors, or it is in what one has left behind. "" is that it
// does not; an error, that the system does not tell.
func comesFromTurn(root string, pid int) (string, error) {
	line, err := proc.Lineage(pid)
	if err != nil {
		return "", err
	}
	root = workspace.RealFolder(root)
	holder, err := journal.Holding(root)
	if err != nil {
		return "", err
	}
	if why := leftBehind(root, line); why != "" {
		return why, nil
	}
	if holder != nil && strangeSpace(holder, line[0]) {
		return "it is in a space of processes of its own, in which nobody sees where it comes from", nil
	}
	for _, p := range line[1:] {
		at := engineAt(p, root, holder)
		if at == "" {
			continue
		}
		if at != root && !outside(holder, p) {
			continue // the engine whose gate it is belongs to the very same turn
		}
		return fmt.Sprintf("the engine in %s, pid %d, has started it", at, p.Pid), nil
	}
	return "", nil
}

// engineAt is the repository in which a process is the engine, "" when it is none.
func engineAt(p proc.Process, root string, holder *journal.Owner) string {
	if isEngine(p, holder) {
		return root
	}
	for dir := startedIn(p); len(dir) > 1; dir = filepath.Dir(dir) {
		if o, err := journal.Holding(dir); err == nil && isEngine(p, o) {
			return workspace.RealFolder(dir)
		}
	}
	return ""
}

// startedIn is the folder that a process of ralph works in.
func startedIn(p proc.Process) string {
	if len(p.Args) > 2 && (p.Args[1] == "-C" || p.Args[1] == "--directory") {
		if filepath.IsAbs(p.Args[2]) {
			return filepath.Clean(p.Args[2])
		}
		return filepath.Join(p.Dir, p.Args[2])
	}
	return p.Dir
}

func isEngine(p proc.Process, o *journal.Owner) bool {
	return o != nil && o.Pid == p.Inner && o.Start == p.Start && (o.PidSpace == "" || p.Space == "" || o.PidSpace == p.Space)
}

// outside reports whether the engine that holds a lock is a living one that does not come
// from the process: its gates are none of that one's own making.
func outside(holder *journal.Owner, engine proc.Process) bool {
	if holder == nil || !proc.Alive(holder.Pid, holder.Start) {
		return false
	}
	line, err := proc.Lineage(holder.Pid)
	return err != nil || !slices.ContainsFunc(line, func(p proc.Process) bool { return p.Pid == engine.Pid && p.Start == engine.Start })
}

// strangeSpace reports whether a process is where its ancestors cannot be followed to the
// engine: in a space of pids other than the engine's, on the same machine, from which
// nobody looks out. In the first one of the machine everything is seen.
func strangeSpace(holder *journal.Owner, p proc.Process) bool {
	me := locate.Me()
	return holder.Boot != "" && holder.Boot == me.Boot && holder.PidSpace != "" && p.Space != "" &&
		p.Space == me.PidSpace && p.Space != holder.PidSpace && p.Space != proc.InitialSpace
}

// leftBehind says why a process is one of those that an engine of the repository started or
// saw leave, also when that engine is gone.
func leftBehind(root string, line []proc.Process) string {
	dir := filepath.Join(root, "ralph/.state/procs")
	sessions, _ := ReadSessions(root) // where there are none, nothing is known
	for _, p := range line {
		if p.Pid != os.Getpid() && proc.Registered(dir, p) {
			return fmt.Sprintf("an engine has started pid %d", p.Pid)
		}
		if slices.ContainsFunc(sessions, func(s proc.Session) bool { return s.Within(p) }) {
			return fmt.Sprintf("pid %d is in session %d, which began in a turn", p.Pid, p.Session)
		}
	}
	return ""
}

// leftSessions is the file of the sessions that processes of turns have begun. It outlives
// its engine: what a turn left behind is known by it until the machine is started anew.
type leftSessions struct {
	Boot     string         `json:"boot"`
	Sessions []proc.Session `json:"sessions"`
}

// maxSessions bounds the file: the newest are kept.
const maxSessions = 4096

func sessionsFile(root string) string { return filepath.Join(root, "ralph/.state/sessions.json") }

// ReadSessions are the sessions of processes that turns left behind since the machine was started; none without
// the file.
func ReadSessions(root string) ([]proc.Session, error) {
	b, err := os.ReadFile(sessionsFile(root))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var f leftSessions
	if err == nil {
		err = json.Unmarshal(b, &f)
	}
	if err != nil {
		return nil, fmt.Errorf("read ralph/.state/sessions.json: %w", err)
	}
	if boot, _ := proc.Machine(); f.Boot != boot {
		return nil, nil // nobody of that time lives
	}
	return f.Sessions, nil
}

// RememberSessions adds the sessions below this process to the file.
func RememberSessions(root string) error {
	known, err := ReadSessions(root)
	if err != nil {
		known = nil // written anew
	}
	all := slices.Clone(known)
	for _, s := range proc.SessionsBelow() {
		if !slices.Contains(all, s) {
			all = append(all, s)
		}
	}
	if len(all) == len(known) && err == nil {
		return nil
	}
	boot, _ := proc.Machine()
	b, err := json.Marshal(leftSessions{boot, all[max(0, len(all)-maxSessions):]})
	if err != nil {
		return fmt.Errorf("write ralph/.state/sessions.json: %w", err)
	}
	if err := renameio.WriteFile(sessionsFile(root), b, 0o600); err != nil {
		return fmt.Errorf("write ralph/.state/sessions.json: %w", err)
	}
	return nil
}

// witnessKey is where a request of the dashboard carries its ralph.Witness.
type witnessKey struct{}

func withWitness(ctx context.Context, w ralph.Witness) context.Context {
	return context.WithValue(ctx, witnessKey{}, w)
}

// WitnessOf is who is known to make a request, the zero Witness for nobody.
func WitnessOf(ctx context.Context) ralph.Witness {
	w, _ := ctx.Value(witnessKey{}).(ralph.Witness)
	return w
}

// Guarded is the lock of an engine that, each time it looks at it, also notes the sessions
// which the processes of its turns have begun: they are known when the engine is gone.
type Guarded struct {
	*journal.SessionLock
	Root string
}

// Held reports whether the lock is still this engine's, as journal.SessionLock does.
func (w Guarded) Held() error {
	_ = RememberSessions(w.Root) // what cannot be written is asked of the ancestors alone
	return w.SessionLock.Held()
}
