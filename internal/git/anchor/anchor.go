// Package anchor keeps in git how far a journal has come, as empty commits on a branch of its
// own, and finds the commits that name a journal: what is cut off its end, or written anew,
// does not fit any more. It does NOT own what follows from that (internal/policy).
package anchor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/ralph-loop/ralph/internal/git"
	"github.com/ralph-loop/ralph/internal/regular"
)

// anchorRefs is where anchors of journals are: a branch of empty commits for each journal.
const anchorRefs = "refs/ralph/journal/"

// Trailers of an anchor.
const (
	anchorJournal  = "Ralph-Journal"
	anchorCheckout = "Ralph-Checkout"
	anchorSeq      = "Ralph-Fact"
	anchorHash     = "Ralph-Hash"
)

// Anchor says how far a journal had come: what is cut off its end, or written anew, does
// not fit any more.
type Anchor struct {
	Journal   string // which one
	Checkout  string // whose it is, as the caller tells checkouts apart
	Seq       int64  // its last line
	Hash      string // of that
	Commit    string // of the anchor
	Signature string // git's letter for it: G good, B bad, N none, ...
	Signer    string
}

// Make notes how far a journal has come, on top of its earlier anchors. sign signs it
// as git's own settings say (gpg.format, user.signingKey).
func Make(ctx context.Context, r *git.Repo, a Anchor, sign bool) (commit string, err error) {
	r.Lock()
	defer r.Unlock()
	ref := anchorRefs + a.Journal
	before, err := Of(r, a.Journal)
	if err != nil {
		return "", err
	}
	tree, err := r.Line(ctx, git.Call{Args: []string{"hash-object", "-w", "-t", "tree", "--stdin"}, Write: true})
	if err != nil {
		return "", fmt.Errorf("anchor the journal: %w", err)
	}
	args := []string{"commit-tree", tree}
	if before != "" {
		args = append(args, "-p", before)
	}
	if sign {
		args = append(args, "-S")
	}
	text := fmt.Sprintf("ralph: the journal has come to fact %d\n\n%s: %s\n%s: %s\n%s: %d\n%s: %s\n",
		a.Seq, anchorJournal, a.Journal, anchorCheckout, a.Checkout, anchorSeq, a.Seq, anchorHash, a.Hash)
	commit, err = r.Line(ctx, git.Call{Args: args, Stdin: text, Write: true})
	if err == nil {
		_, err = r.Run(ctx, git.Call{Args: []string{"update-ref", "--create-reflog", ref, commit, old(before, len(commit))}, Write: true})
	}
	if err != nil {
		return "", fmt.Errorf("anchor the journal: %w", err)
	}
	return commit, nil
}

// old is what update-ref expects a reference to be: zeros for one that is not there.
func old(commit string, size int) string {
	if commit == "" {
		return strings.Repeat("0", size)
	}
	return commit
}

// Of is the newest anchor of a journal, "" for none. It starts no process.
func Of(r *git.Repo, journal string) (string, error) {
	if journal == "" {
		return "", nil // it has no line yet
	}
	b, err := regular.ReadFile(filepath.Join(r.Common(), anchorRefs, journal), regular.Large)
	if err == nil {
		return strings.TrimSpace(string(b)), nil
	}
	if errors.Is(err, fs.ErrNotExist) { // `git gc` packs references
		b, err = regular.ReadFile(filepath.Join(r.Common(), "packed-refs"), regular.Large)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("read the anchor of the journal: %w", err)
	}
	for line := range strings.Lines(string(b)) {
		if commit, ref, ok := strings.Cut(strings.TrimSpace(line), " "); ok && ref == anchorRefs+journal {
			return commit, nil
		}
	}
	return "", nil
}

// List are all anchors of all journals in this repository, the newest of each first.
func List(ctx context.Context, r *git.Repo) ([]Anchor, error) {
	out, err := r.Run(ctx, git.Call{
		Args: []string{
			"log", "-z", "--topo-order", "--no-show-signature", "--no-color", "--glob=" + anchorRefs + "*",
			"--format=%H%n%G?%n%GS%n%(trailers:only,unfold)",
		},
		Conf: []string{"i18n.logOutputEncoding=UTF-8"},
	})
	if err != nil {
		return nil, fmt.Errorf("read the anchors of the journal: %w", err)
	}
	var list []Anchor
	for entry := range strings.SplitSeq(out, "\x00") {
		f := strings.SplitN(entry, "\n", 4)
		if len(f) != 4 {
			continue
		}
		a := Anchor{Commit: f[0], Signature: f[1], Signer: f[2]}
		for line := range strings.Lines(f[3]) {
			key, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
			switch key {
			case anchorJournal:
				a.Journal = value
			case anchorCheckout:
				a.Checkout = value
			case anchorSeq:
				a.Seq, _ = strconv.ParseInt(value, 10, 64)
			case anchorHash:
				a.Hash = value
			}
		}
		if a.Journal != "" && a.Seq > 0 && a.Hash != "" {
			list = append(list, a)
		}
	}
	return list, nil
}

// Trailed is a commit that names a receipt of a journal; Journal is "" where the commit does
// not say which.
type Trailed struct{ Commit, Journal, Receipt string }

// ListTrailed are the commits on any branch, or below HEAD, that name a receipt.
func ListTrailed(ctx context.Context, r *git.Repo) ([]Trailed, error) {
	if h, err := r.Head(ctx); err != nil || h.Commit == "" {
		return nil, err
	}
	out, err := r.Run(ctx, git.Call{
		Args: []string{
			"log", "-z", "--no-show-signature", "--no-color", "--grep=^Ralph-Receipt: ",
			"--format=%H%n%(trailers:key=Ralph-Journal,valueonly)%x01%(trailers:key=Ralph-Receipt,valueonly)", "HEAD", "--branches",
		},
		Conf: []string{"i18n.logOutputEncoding=UTF-8"},
	})
	if err != nil {
		return nil, fmt.Errorf("read the receipts that commits name: %w", err)
	}
	var list []Trailed
	for entry := range strings.SplitSeq(out, "\x00") {
		commit, rest, _ := strings.Cut(entry, "\n")
		journals, receipts, _ := strings.Cut(rest, "\x01")
		for receipt := range strings.FieldsSeq(receipts) {
			list = append(list, Trailed{Commit: commit, Journal: strings.TrimSpace(journals), Receipt: receipt})
		}
	}
	return list, nil
}
