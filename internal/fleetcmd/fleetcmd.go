// Package fleetcmd owns what commands know of the machines that work together: what a worker is started
// with, what is seen of a fleet, the words for it, and becoming the program that has one.
//
// It does NOT own how steps are carried out there (internal/fleet), nor the commands (cli).
package fleetcmd

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/config"
	"github.com/ralph-loop/ralph/internal/exit"
	"github.com/ralph-loop/ralph/internal/labels"
	"github.com/ralph-loop/ralph/internal/proc"
	"github.com/ralph-loop/ralph/internal/session"
	"github.com/ralph-loop/ralph/internal/text"
	"github.com/ralph-loop/ralph/internal/workers"
	"github.com/ralph-loop/ralph/internal/workers/match"
	"github.com/ralph-loop/ralph/internal/workspace"
)

// Fleet is work on other machines, which only the program ralph-fleet can do: ralph becomes that
// program where a command asks for it, so that no other command starts later.
type Fleet interface {
	session.Fleet
	// Worker carries out steps until ctx ends or somebody drains it.
	Worker(ctx context.Context, env workspace.Env, o WorkerOptions) error
	// Look is what the server knows of workers and steps.
	Look(ctx context.Context, env workspace.Env, at At) (View, error)
	// Ask asks one worker something.
	Ask(ctx context.Context, env workspace.Env, at At, what Ask) (Answer, error)
	// Act has the coordinator of a repository do something, or say how things stand.
	Act(ctx context.Context, env workspace.Env, at At, what Act) (Acted, error)
	// Remote is the address of a remote of the repository.
	Remote(ctx context.Context, env workspace.Env, root, name string) (string, error)
}

// WorkerOptions are what a worker is started with.
type WorkerOptions struct {
	At

	Name   string
	Home   string
	Repos  []string
	Agents []string // none: those whose program is here
	Labels []string // as they were given; Fill adds those that the machine has by itself
	Slots  int
	Drain  time.Duration   // how long steps under way may take to end once it is to end
	Hard   <-chan struct{} // closed: end at once
}

// At is where a fleet is. What is "" comes from Temporal's variables, or is as usual.
type At struct{ Address, Namespace, Queue string }

// Settled is it with what somebody has set for what the command line leaves open. A default is
// no such word: Temporal's variables count before it.
func (a At) Settled(c config.Config) At {
	given := func(key, value string) string {
		if c.Where(key).Given() {
			return value
		}
		return ""
	}
	return At{
		Address:   cmp.Or(a.Address, given("fleet.address", c.Fleet.Address)),
		Namespace: cmp.Or(a.Namespace, given("fleet.namespace", c.Fleet.Namespace)),
		Queue:     cmp.Or(a.Queue, given("fleet.task_queue", c.Fleet.TaskQueue)),
	}
}

// View is a fleet as it is now.
type View struct {
	Address      string         `json:"address"`
	Namespace    string         `json:"namespace"`
	Coordinators []Coordinator  `json:"coordinators,omitempty"` // that have a lease
	Workers      []match.Worker `json:"workers"`
	Steps        []Step         `json:"steps"`
}

// Coordinator is who has the lease of a repository and a branch.
type Coordinator struct {
	Of    string    `json:"of"` // the repository's address and the branch
	Who   string    `json:"who"`
	Lease int64     `json:"lease"` // its number
	Since time.Time `json:"since"`
	Heard time.Time `json:"last_heard"`
	Lost  bool      `json:"lost,omitempty"`  // it was not heard of for so long that the next one that asks gets the lease
	Wrong string    `json:"wrong,omitempty"` // why nothing else is known of it, since when there is a lease but for
}

// Step is a step that is carried out, or waits for a worker.
type Step struct {
	Journal string      `json:"journal"`
	Task    string      `json:"task"`
	Since   time.Time   `json:"since"`
	Worker  string      `json:"worker,omitempty"`
	Attempt int         `json:"attempt,omitempty"`
	Waits   bool        `json:"waits,omitempty"`
	Trouble string      `json:"trouble,omitempty"` // why the attempt before did not work out
	Needs   match.Needs `json:"needs,omitzero"`
	Missing string      `json:"missing,omitempty"` // it waits, and no worker has what it needs: which, and what to do
}

// Ask is what one worker is asked: to take no more steps, or whether it could carry one out.
type Ask struct {
	Worker, Repo string
	Drain        bool
}

// Answer is what it says.
type Answer struct {
	Words []string `json:"words,omitempty"`
	Wrong []string `json:"wrong,omitempty"`
}

// fleetProgram is the program with the fleet.
const fleetProgram = "ralph-fleet"

// Beside finds another program of ralph's: in the folder of this one, else by PATH.
func Beside(self, name string, environ []string) (string, error) {
	if real, err := filepath.EvalSymlinks(self); err == nil {
		self = real
	}
	there := filepath.Join(filepath.Dir(self), name)
	if info, err := os.Stat(there); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
		return there, nil
	}
	found, err := proc.LookPath(name, filepath.Dir(self), environ)
	if err != nil {
		return "", &ralph.Refusal{
			Why:  "the program " + name + " is not installed: it is neither in " + filepath.Dir(self) + " nor in PATH",
			Hint: "go install github.com/ralph-loop/ralph/cmd/...@" + "latest installs ralph and ralph-fleet together (docs/fleet.md)", Kind: ralph.ErrUsage,
		}
	}
	return found, nil
}

// Become becomes the program with the fleet, with the same command line. It only comes back
// with an error.
func Become(env workspace.Env) error {
	program, err := Beside(env.Self, fleetProgram, env.Environ)
	if err != nil {
		return err
	}
	if err := os.Chdir(env.Dir); err != nil { // -C is read already
		return fmt.Errorf("go to %s: %w", env.Dir, err)
	}
	if env.Path != "" { // as it was given: it is looked through once more
		env.Environ = env.OfPerson(env.Environ)
	}
	if err := syscall.Exec(program, append([]string{fleetProgram}, env.Args...), env.Environ); err != nil {
		return fmt.Errorf("run %s: %w", program, err)
	}
	return nil
}

// Fill checks what a worker is started with.
func (o *WorkerOptions) Fill(env workspace.Env) error {
	switch {
	case len(o.Repos) == 0:
		return usage("name the repository to work for: ralph worker --repo ADDRESS, just as `git remote get-url origin` says it at the coordinator")
	case o.Slots < 1 || o.Slots > 64:
		return usage("--slots %d: give a whole number from 1 to 64", o.Slots)
	}
	if o.Name == "" {
		o.Name, _ = os.Hostname()
	}
	plain := func(r rune) bool {
		return !strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_", r)
	}
	if o.Name == "" || len(o.Name) > 60 || strings.ContainsFunc(strings.ReplaceAll(o.Name, ".", "-"), plain) || strings.Contains(o.Name, "..") {
		return usage("--name %q: letters, digits, dots and dashes, at most 60", o.Name)
	}
	for _, l := range o.Labels {
		if wrong := labels.Wrong(l); wrong != "" {
			return usage("--label %q %s", l, wrong)
		}
	}
	if o.Labels = labels.Of(o.Labels); len(o.Labels) > labels.Most {
		return usage("--label: %d labels, at most %d with os and arch", len(o.Labels), labels.Most)
	}
	if o.Home == "" {
		cache := proc.Getenv(env.Environ, "XDG_CACHE_HOME")
		if home := proc.Getenv(env.Environ, "HOME"); cache == "" && home != "" {
			cache = filepath.Join(home, ".cache")
		}
		if cache == "" {
			return usage("there is no HOME: say where the worker's folder is, --home DIR")
		}
		o.Home = filepath.Join(cache, "ralph", "worker")
	}
	if !filepath.IsAbs(o.Home) {
		o.Home = filepath.Join(env.Dir, o.Home)
	}
	return nil
}

// TwoSignals ends ctx with the first Ctrl+C or SIGTERM, and closes hard with the second.
func TwoSignals(parent context.Context) (ctx context.Context, hard <-chan struct{}, stop func()) {
	ctx, cancel := context.WithCancel(parent)
	ch, end, over := make(chan os.Signal, 4), make(chan struct{}), make(chan struct{})
	signal.Notify(ch, os.Interrupt, syscall.SIGTERM)
	go func() {
		for n := 0; ; n++ {
			select {
			case <-over:
				return
			case <-ch:
				if cancel(); n == 1 {
					close(end)
				}
			}
		}
	}()
	return ctx, end, func() { signal.Stop(ch); close(over); cancel() }
}

// Show writes a fleet for people.
func Show(w io.Writer, v View, now time.Time) {
	fmt.Fprintf(w, "Temporal at %s, namespace %s\n", v.Address, v.Namespace)
	if len(v.Coordinators) == 0 {
		fmt.Fprintln(w, "no coordinator is at work; in a repository: ralph autopilot --fleet")
	}
	for _, c := range v.Coordinators {
		if c.Wrong != "" {
			fmt.Fprintf(w, "a coordinator, or one that was there since %s: %s\n", c.Since.Local().Format(time.DateTime), text.OneLine(c.Wrong))
			continue
		}
		fmt.Fprintf(w, "coordinator of %s: %s since %s, lease %d, last heard of %s ago", text.Visible(c.Of), text.Visible(c.Who), c.Since.Local().Format(time.DateTime), c.Lease, max(0, now.Sub(c.Heard)).Round(time.Second))
		if c.Lost {
			fmt.Fprint(w, ": it is lost, and the next one that asks gets the lease")
		}
		fmt.Fprintln(w)
	}
	ShowWorkers(w, v.Workers, now)
	if len(v.Steps) == 0 {
		fmt.Fprintln(w, "no step is under way")
	}
	for _, s := range v.Steps {
		who := "on " + s.Worker
		if s.Worker == "" || s.Waits {
			who = "waits for a worker"
		}
		fmt.Fprintf(w, "  %s  %s, for %s", text.Visible(s.Task), text.Visible(who), now.Sub(s.Since).Round(time.Second))
		if s.Attempt > 1 {
			fmt.Fprintf(w, ", attempt %d", s.Attempt)
		}
		if s.Missing != "" {
			fmt.Fprintf(w, ": %s", text.OneLine(s.Missing))
		}
		if s.Trouble != "" {
			fmt.Fprintf(w, "; before: %s", text.OneLine(s.Trouble))
		}
		fmt.Fprintln(w)
	}
}

// ShowWorkers writes its workers.
func ShowWorkers(w io.Writer, list []match.Worker, now time.Time) {
	if len(list) == 0 {
		fmt.Fprintln(w, "no worker has been seen in the last minutes; on a machine with an agent: ralph worker --repo ADDRESS")
	}
	for _, x := range list {
		state := ""
		switch x.State {
		case "":
		case string(workers.Lost):
			state = ", lost since " + x.Seen.Local().Format(time.DateTime)
		default:
			state = ", " + text.Visible(x.State)
		}
		fmt.Fprintf(w, "  %-16s %s, %s, ralph %s, seen %s ago%s\n", text.Visible(x.Name), text.Count(x.Slots, "slot"), text.Visible(x.Offers()), text.Visible(x.Version), now.Sub(x.Seen).Round(time.Second), state)
		if len(x.Labels) > 0 {
			fmt.Fprintf(w, "    labels %s\n", text.Visible(strings.Join(x.Labels, ", ")))
		}
		for _, wrong := range x.Wrong {
			fmt.Fprintf(w, "    it %s\n", text.Visible(wrong))
		}
	}
}

// Examine tries each worker, and says which labels that any step of this repository or one that waits
// asks for no worker has.
func Examine(ctx context.Context, f Fleet, env workspace.Env, at At, v View, needs match.Needs) error {
	url := needs.Repo
	fmt.Fprintf(env.Stdout, "ok    Temporal at %s, namespace %s\n", v.Address, v.Namespace)
	bad := len(v.Workers) == 0
	if bad {
		fmt.Fprintf(env.Stdout, "miss  no worker has been seen -> ralph worker --repo %s\n", text.Visible(url))
	}
	var there []match.Worker
	for _, w := range v.Workers {
		if w.State == string(workers.Lost) { // it would only be waited for
			bad = true
			fmt.Fprintf(env.Stdout, "miss  %s: it is lost since %s -> start it again on its machine, or look there\n", text.Visible(w.Name), w.Seen.Local().Format(time.DateTime))
			continue
		}
		there = append(there, w)
		a, err := f.Ask(ctx, env, at, Ask{Worker: w.Name, Repo: url})
		wrong := slices.Concat(w.Wrong, a.Wrong)
		if err != nil {
			wrong = append(wrong, err.Error())
		}
		if len(wrong) == 0 {
			fmt.Fprintf(env.Stdout, "ok    %s: %s\n", text.Visible(w.Name), text.Visible(strings.Join(a.Words, ", ")))
		}
		for _, words := range wrong {
			bad = true
			fmt.Fprintf(env.Stdout, "miss  %s: %s\n", text.Visible(w.Name), text.OneLine(words))
		}
	}
	said := map[string]bool{"": true}
	if len(v.Workers) > 0 {
		if words := needs.Missing(there); words != "" {
			bad, said[words] = true, true
			fmt.Fprintf(env.Stdout, "miss  fleet.labels: %s\n", text.OneLine(words))
		}
	}
	for _, s := range v.Steps {
		if !said[s.Missing] && len(v.Workers) > 0 {
			bad, said[s.Missing] = true, true
			fmt.Fprintf(env.Stdout, "miss  %s waits: %s\n", text.Visible(s.Task), text.OneLine(s.Missing))
		}
	}
	if bad {
		return exit.Error{Code: exit.Failures}
	}
	return nil
}

func usage(format string, args ...any) error {
	return &ralph.Refusal{Why: fmt.Sprintf(format, args...), Kind: ralph.ErrUsage}
}
