// Package backend is the repository as actions need it (action.Backend): what decides beside the
// state which of them are offered, the journal that takes their facts, the undoing of what
// tasks left, and engines that are started. Each surface has one of its own: a command, the
// dashboard, the terminal screen.
//
// It does not own what an action is (internal/action), nor how a surface shows one.
package backend

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/action"
	"github.com/ralph-loop/ralph/internal/journal"
	"github.com/ralph-loop/ralph/internal/keymap"
	"github.com/ralph-loop/ralph/internal/observe"
	"github.com/ralph-loop/ralph/internal/person"
	"github.com/ralph-loop/ralph/internal/queue"
	"github.com/ralph-loop/ralph/internal/recovery"
	"github.com/ralph-loop/ralph/internal/report/gates"
	"github.com/ralph-loop/ralph/internal/specs"
	"github.com/ralph-loop/ralph/internal/views"
	"github.com/ralph-loop/ralph/internal/workspace"
)

// Surface is where a person acts, as facts tell of it.
type Surface struct {
	By    string // the author of the facts: cli, web, ui
	Cause string // of what changes an engine's course: "ralph pause", "the dashboard"
	// Witness is by what whoever acts is known as a person.
	Witness func(context.Context) ralph.Witness
}

// Repository implements action.Backend for one surface. It is safe for concurrent use.
type Repository struct {
	env     workspace.Env
	root    string
	journal *journal.File
	surface Surface

	mu     sync.Mutex
	around around
	fleet  observe.Fleet
}

// around is what actions are offered by beside the journal: it is looked at rarely.
type around struct {
	at    time.Time
	usual ralph.Allowance
	carry bool
	specs []string
	keys  action.Keys

	settings os.FileInfo // ralph/config.yaml as it was read; nil while it was not
}

// aroundEvery is how often files that are no facts are looked at.
const aroundEvery = 2 * time.Second

// maxSpecs bounds the specs that a form offers.
const maxSpecs = 200

// New is the repository whose journal is open, for a surface.
func New(env workspace.Env, root string, j *journal.File, surface Surface) *Repository {
	return &Repository{env: env, root: root, journal: j, surface: surface}
}

// Context is what decides beside the state which actions are offered.
func (b *Repository) Context() action.Context {
	b.mu.Lock()
	defer b.mu.Unlock()
	if now := time.Now(); now.Sub(b.around.at) >= aroundEvery || now.Before(b.around.at) {
		b.around.at, b.around.specs = now, specFiles(b.root)
		b.readSettings()
		_, err := os.Stat(filepath.Join(b.root, "ralph/.agent-session"))
		b.around.carry = err == nil
	}
	owner, clock := b.journal.Holder(), b.journal.Now()
	return action.Context{
		Engine: owner != nil, Now: clock, Usual: b.around.usual, Carry: b.around.carry,
		Specs: b.around.specs, Workers: b.fleet.Now(owner, b.root, clock).Drainable(), Keys: b.around.keys, By: b.surface.By, Cause: b.surface.Cause, ID: workspace.NewID, SpecPriority: b.specPriority,
	}
}

// readSettings reads what of the settings decides, where somebody has saved them since: a screen
// that is open all day asks every few seconds.
func (b *Repository) readSettings() {
	file, err := os.Stat(filepath.Join(b.root, "ralph/config.yaml"))
	if err == nil && b.around.settings != nil && views.SameInfo(file, b.around.settings) {
		return
	}
	b.around.settings = file
	if c, err := workspace.LoadConfig(b.env, b.root, nil); err == nil { // what is wrong with it the start says
		b.around.usual = ralph.Allowance{Iterations: c.Task.MaxIterations, Time: c.Task.Timeout}
		b.around.keys, _ = keymap.Resolve(c.UI.Keys) // it was checked when it was read
	}
}

// specPriority is what a spec says about its own priority; one that cannot be read says nothing,
// and is told of when it is worked on.
func (b *Repository) specPriority(file string) (int, error) {
	text, err := specs.Read(b.root, file)
	if err != nil {
		return 0, nil
	}
	return queue.SpecPriority(text)
}

// specFiles are the specs that are there, in the folder itself.
func specFiles(root string) []string {
	entries, err := os.ReadDir(filepath.Join(root, "ralph/specs"))
	if err != nil {
		return nil
	}
	var out []string
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), ".md") && !e.IsDir() && len(out) < maxSpecs {
			out = append(out, e.Name())
		}
	}
	return out
}

// Update appends what a person decides. An agent that reaches a surface from inside its
// turn decides nothing.
func (b *Repository) Update(ctx context.Context, decide func(*ralph.State) ([]ralph.Fact, error)) error {
	return b.journal.Update(ctx, b.surface.By, func(s *ralph.State) ([]ralph.Fact, error) {
		facts, err := decide(s)
		if err != nil || !slices.ContainsFunc(facts, personsOnly) {
			return facts, err
		}
		if err := person.Required(b.env); err != nil {
			return nil, err
		}
		return ralph.Witnessed(facts, b.surface.Witness(ctx)), nil
	})
}

// personsOnly reports whether a fact is the word of a person and of nobody else.
func personsOnly(f ralph.Fact) bool {
	switch f := f.(type) {
	case ralph.Answered, ralph.RuleAdded, ralph.RuleRevoked, ralph.ThreadContinued:
		return true
	case ralph.ThreadWanted:
		return f.Want == ralph.ThreadRun
	}
	return false
}

// Closed says why a gate takes no word any more.
func (b *Repository) Closed(id ralph.ApprovalID) error { return gates.NotOpen(id, b.journal.Each) }

// RollBack undoes the work of a task.
func (b *Repository) RollBack(ctx context.Context, id ralph.TaskID) (string, error) {
	return b.undo(ctx, id, (*recovery.Undo).Rollback)
}

// CleanUp takes the worktree of a task away.
func (b *Repository) CleanUp(ctx context.Context, id ralph.TaskID) (string, error) {
	return b.undo(ctx, id, (*recovery.Undo).Cleanup)
}

func (b *Repository) undo(ctx context.Context, id ralph.TaskID, do func(*recovery.Undo) error) (string, error) {
	// A browser that goes away does not leave git half way.
	u, err := recovery.NewUndo(context.WithoutCancel(ctx), b.env, b.journal, b.surface.By, id)
	if err == nil {
		err = do(u)
	}
	if err != nil {
		return "", err
	}
	return strings.Join(u.Said(), "; "), nil
}

// SpecFile checks that a file is in ralph/specs, or writes it.
func (b *Repository) SpecFile(name, text string) (string, error) {
	if text == "" {
		return workspace.SpecThere(b.env, name)
	}
	return workspace.NewSpec(b.root, name, []byte(text))
}
