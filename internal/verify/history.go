// Package verify owns the proof of a history, read from the journal, git and the records of turns.
//
// It does NOT own what a link is or when it holds (policy), or how it is told (cli, web).
package verify

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/git"
	"github.com/ralph-loop/ralph/internal/git/anchor"
	"github.com/ralph-loop/ralph/internal/git/commits"
	"github.com/ralph-loop/ralph/internal/journal"
	"github.com/ralph-loop/ralph/internal/policy"
	"github.com/ralph-loop/ralph/internal/policy/replay"
	"github.com/ralph-loop/ralph/internal/proc"
	"github.com/ralph-loop/ralph/internal/records"
	"github.com/ralph-loop/ralph/internal/report"
	"github.com/ralph-loop/ralph/internal/text"
	"github.com/ralph-loop/ralph/internal/workspace"
)

// Result is the outcome of `ralph verify`, with what git bears out.
type Result struct {
	Version int  `json:"version"`
	Holds   bool `json:"holds"`
	Commits int  `json:"commits"` // landed, and held against git
	Anchors int  `json:"anchors"` // that git has of this journal, each with its line
	Signed  int  `json:"signed"`  // of those, with a good signature
	Others  int  `json:"others"`  // commits with receipts of other journals
	Lost    int  `json:"lost"`    // commits and anchors whose facts `ralph recover journal` moved aside
	Records int  `json:"records"` // files of turns that are as they were
	replay.Verified
}

// History proves the history; step, if there is one, is called for each fact that is read, twice.
func History(ctx context.Context, env workspace.Env, step func() error) (Result, error) {
	v := Result{Version: 1}
	// Before the journal: an engine at work writes the receipt, then makes the commit.
	repo, root, remembers, noGit := rememberedHere(ctx, env)
	j, err := workspace.OpenReader(env, false, false)
	if err != nil {
		return v.brokenChain(err)
	}
	defer j.Close()
	held := remembers.Hold()
	events := &eventReader{journal: j, step: step}
	v.Verified, err = replay.Verify(held.Along(events.all()))
	switch {
	case events.err != nil:
		return v.brokenChain(events.err)
	case err != nil: // they follow each other by hash, and make no sense all the same
		return v.brokenChain(&ralph.CorruptError{File: "the journal", Why: err.Error()})
	}
	if last := j.State(); last.Seq < v.Facts || last.Seq == v.Facts && last.Hash != events.hash {
		v.Broken = append(v.Broken, replay.Broken{Link: "chain", Why: "the snapshot of the state is of another history than the journal"})
	}
	if noGit != nil { // told only now: a broken chain is worse
		return v, noGit
	}
	if err := v.hold(ctx, repo); err != nil {
		return v, err
	}
	if err := v.files(root); err != nil {
		return v, err
	}
	v.whole(held.Kept())
	v.Holds = len(v.Broken) == 0
	return v, nil
}

// whole takes over what came of looking that nothing is gone that git remembers.
func (v *Result) whole(kept replay.Kept) {
	v.Anchors, v.Signed, v.Others, v.Lost = kept.Anchors, kept.Signed, kept.Others, kept.Lost
	v.Broken = append(v.Broken, kept.Broken...)
}

// brokenChain: a journal that cannot be followed is the first broken link itself.
func (v Result) brokenChain(err error) (Result, error) {
	var corrupt *ralph.CorruptError
	if !errors.As(err, &corrupt) {
		return v, err
	}
	v.Broken = []replay.Broken{{Link: "chain", Why: corrupt.Error()}}
	return v, nil
}

// eventReader reads the journal as policy wants it.
type eventReader struct {
	journal *journal.File
	hash    string       // of the last event
	step    func() error // called for each event; nil for nothing
	err     error
}

// note keeps why the journal could not be read to its end.
func (r *eventReader) note(err error) {
	if err != nil && !errors.Is(err, errStop) {
		r.err = err
	}
}

// hold holds the journal's claims against git's commits.
func (v *Result) hold(ctx context.Context, repo *git.Repo) error {
	hashes := make([]string, len(v.Claims))
	for i, c := range v.Claims {
		hashes[i] = c.Commit
	}
	records, err := commits.Commits(ctx, repo, hashes)
	if err != nil {
		return err
	}
	for _, c := range v.Claims {
		v.Commits++
		r, ok := records[c.Commit]
		if !ok {
			v.Broken = append(v.Broken, replay.Broken{Seq: c.Seq, Link: "commit", Why: fmt.Sprintf("git has no commit %.9s, which the journal says was landed", c.Commit)})
			continue
		}
		v.Broken = append(v.Broken, c.Bear(r.Tree, r.Trailer("Ralph-Task"), r.Trailer("Ralph-Receipt"))...)
	}
	return nil
}

// Print tells a person what holds, and the first link that does not.
func (v Result) Print(w io.Writer, strict bool) error {
	fmt.Fprintf(w, "%s in one chain, %s decided again\n", text.Count(int(v.Facts), "fact"), text.Count(v.Receipts, "receipt"))
	fmt.Fprintf(w, "%s done by signal and checks", report.Tasks(v.Tasks))
	if v.ByHand > 0 {
		fmt.Fprintf(w, ", %d by hand", v.ByHand)
	}
	if v.Waived > 0 {
		fmt.Fprintf(w, ", %d of them by a person's word on a check", v.Waived)
	}
	fmt.Fprintf(w, "\n%s, %s, %s held against git\n", text.Count(v.Merges, "merge"), text.Count(v.Landings, "landing"), text.Count(v.Commits, "commit"))
	v.printRemembered(w)
	if v.Kept > 0 {
		fmt.Fprintf(w, "%s of others kept where agents worked, below ralph's: nothing is said of that\n", text.Count(v.Kept, "commit"))
	}
	if v.Left > 0 {
		fmt.Fprintf(w, "%d of ralph's commits are without files that others had changed, which the checks saw\n", v.Left)
	}
	if v.Older > 0 {
		fmt.Fprintf(w, "%d decisions followed the rules of an earlier ralph; today's would decide otherwise\n", v.Older)
	}
	const most = 10
	v.printPassedOver(w, most)
	if v.Holds {
		words := "The history holds."
		if strict && len(v.PassedOver) > 0 {
			words = "The history holds, but not strictly: red checks were passed over (--strict)."
		}
		_, err := fmt.Fprintln(w, words)
		return err
	}
	for n, b := range v.Broken {
		switch {
		case len(v.Broken) == 1 && b.Link == replay.LinkAbsent:
			fmt.Fprintln(w, "\nNOT PROVEN: all else holds, and one thing cannot be told here:")
		case n == 0:
			fmt.Fprintln(w, "\nBROKEN: the first link that does not hold:")
		case n == 1:
			fmt.Fprintln(w, "\nand after it:")
		case n == most:
			_, err := fmt.Fprintf(w, "  ... and %d more (--json has all)\n", len(v.Broken)-n)
			return err
		}
		fmt.Fprintf(w, "  %s%s: %s\n", atFact(b), b.Link, b.Why)
	}
	return nil
}

// printRemembered says what git and the folders of turns bear out beside the commits.
func (v Result) printRemembered(w io.Writer) {
	fmt.Fprintf(w, "%s of turns as they were, %s of the journal held in git", text.Count(v.Records, "file"), text.Count(v.Anchors, "anchor"))
	if v.Signed > 0 {
		fmt.Fprintf(w, " (%d signed)", v.Signed)
	}
	fmt.Fprintln(w)
	if v.Others > 0 {
		fmt.Fprintf(w, "%s with receipts of other journals, or that do not say of which: nothing is said of that\n", text.Count(v.Others, "commit"))
	}
	if v.Lost > 0 {
		fmt.Fprintf(w, "%s in git of facts that `ralph recover journal` moved aside: they can not be held against anything\n", text.Count(v.Lost, "trace"))
	}
}

// printPassedOver names the red checks that held nothing up.
func (v Result) printPassedOver(w io.Writer, most int) {
	if len(v.PassedOver) == 0 {
		return
	}
	fmt.Fprintf(w, "%s passed over:\n", report.RedChecks(len(v.PassedOver)))
	for n, p := range v.PassedOver {
		if n == most {
			fmt.Fprintf(w, "  ... and %d more (--json has all)\n", len(v.PassedOver)-n)
			return
		}
		how := "red in the same way before the work"
		if p.Person {
			how = "a person let it pass"
		}
		fmt.Fprintf(w, "  fact %d, %s, %s: %s: %s\n", p.Seq, p.Task, p.Link, p.Words(), how)
	}
}

func atFact(b replay.Broken) string {
	switch {
	case b.Seq == 0:
		return ""
	case b.Task == "":
		return fmt.Sprintf("fact %d, ", b.Seq)
	}
	return fmt.Sprintf("fact %d, %s, ", b.Seq, b.Task)
}

// CheckoutName tells the checkouts of one repository apart, and does not say where they are.
func CheckoutName(root string) string {
	h := sha256.Sum256([]byte(root))
	return hex.EncodeToString(h[:6])
}

// rememberedHere opens the repository, and asks it what it remembers of journals.
func rememberedHere(ctx context.Context, env workspace.Env) (repo *git.Repo, root string, m replay.Remembered, err error) {
	if root, err = workspace.FindRoot(env); err == nil {
		repo, err = git.Open(ctx, proc.NewRunner(""), root, env.Environ)
	}
	if err == nil {
		m, err = remembered(ctx, repo, root)
	}
	return repo, root, m, err
}

// remembered is what git remembers of journals.
func remembered(ctx context.Context, repo *git.Repo, root string) (replay.Remembered, error) {
	m := replay.Remembered{Checkout: CheckoutName(root)}
	anchors, err := anchor.List(ctx, repo)
	if err != nil {
		return m, err
	}
	for _, a := range anchors {
		m.Anchors = append(m.Anchors, replay.Anchor{Journal: a.Journal, Checkout: a.Checkout, Seq: a.Seq, Hash: a.Hash, Commit: a.Commit, Signature: a.Signature})
	}
	trailed, err := anchor.ListTrailed(ctx, repo)
	for _, t := range trailed {
		m.Trailed = append(m.Trailed, replay.Trailed(t))
	}
	return m, err
}

// files holds the records of turns against what their facts say of them.
func (v *Result) files(root string) error {
	for _, f := range v.Files {
		sum, err := records.Sum(root, f.Path)
		why := ""
		switch {
		case errors.Is(err, fs.ErrNotExist):
			why = f.Path + " is gone"
		case err != nil:
			return err
		case sum != f.Sum:
			why = f.Path + " is not the file that it was"
		default:
			v.Records++
			continue
		}
		v.Broken = append(v.Broken, replay.Broken{Seq: f.Seq, Task: f.Task, Link: "record", Why: why})
	}
	return nil
}

// errStop ends the reading of events early.
var errStop = errors.New("stop")

// all gives the events to whom wants a sequence.
func (r *eventReader) all() iter.Seq[ralph.Event] {
	return func(yield func(ralph.Event) bool) {
		err := r.journal.Each(0, func(e ralph.Event) error {
			r.hash = e.Hash
			if r.step != nil {
				if err := r.step(); err != nil {
					return err
				}
			}
			if !yield(e) {
				return errStop
			}
			return nil
		})
		r.note(err)
	}
}

// Replay decides every receipt of a session again, or all with ""; step, if there is one,
// is called for each fact.
func Replay(env workspace.Env, session ralph.SessionID, current bool, step func() error) (replay.Replayed, error) {
	var none replay.Replayed
	j, err := workspace.OpenReader(env, false, false)
	if err != nil {
		return none, err
	}
	defer j.Close()
	opt := replay.ReplayOptions{Session: session}
	if current {
		c, err := workspace.SettingsOf(env)
		if err != nil {
			return none, err
		}
		opt.With = func(recorded policy.Config) policy.Config { return workspace.PolicyUnder(recorded, c) }
	}
	events := &eventReader{journal: j, step: step}
	result, err := replay.Replay(events.all(), opt)
	if events.err != nil {
		err = events.err
	}
	if err != nil {
		return none, err
	}
	if session != "" && result.Sessions == 0 {
		return none, &ralph.Refusal{Why: "no session " + string(session) + " in the journal", Hint: "`ralph log` shows the ids (Session new: ...)", Kind: ralph.ErrNotFound}
	}
	return result, nil
}
