package forge

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/lazyregexp"
	"github.com/ralph-loop/ralph/internal/outgoing"
	"github.com/ralph-loop/ralph/internal/regular"
	"github.com/ralph-loop/ralph/internal/specdoc"
	"github.com/ralph-loop/ralph/internal/specfile"
	"github.com/ralph-loop/ralph/internal/text"
	"github.com/ralph-loop/ralph/internal/tracker"
	"github.com/ralph-loop/ralph/internal/tracker/github"
)

// pull brings the pull request of a branch to what it should be, and looks at what came back.
func (w *Watcher) pull(ctx context.Context, p *ralph.Pull) error {
	what := "pull " + p.Branch
	if p.How != ralph.LandPull || p.Over() || p.Pushed == "" || p.Waits() || p.Request.Parked || atWork(w.Journal.State(), p.Branch) {
		return nil
	}
	if w.Client == nil {
		return w.noted(ctx, p, p.Request, w.Why, true)
	}
	body, _ := os.ReadFile(filepath.Join(w.Root, filepath.FromSlash(outgoing.TextFile(p.Branch)))) // gone: the text there stays
	stale := p.Request.Number == 0 || len(body) > 0 && sum(string(body)) != p.Request.Text
	if !w.may() || !stale && !w.isDue(what, w.Set.Poll) || stale && w.Now().Before(w.due["open "+p.Branch]) {
		return nil
	}
	seen := ralph.PullSeen{Branch: p.Branch, Request: p.Request}
	do := w.look
	if stale {
		what = "open " + p.Branch
		do = func(ctx context.Context, p *ralph.Pull, f *ralph.PullSeen) error {
			return w.open(ctx, p, string(body), f)
		}
	}
	err := w.asked(ctx, func() error { return do(ctx, p, &seen) })
	switch {
	case err == nil:
		w.worked(what)
		return w.seen(ctx, p, seen)
	case w.cut(ctx, what):
		return nil
	}
	w.failed(what, err)
	e, is := errors.AsType[*tracker.Error](err)
	return w.noted(ctx, p, p.Request, err.Error(), is && e.Ours() && stale)
}

// noted records why the service does not have what it should, once.
func (w *Watcher) noted(ctx context.Context, p *ralph.Pull, r ralph.PullRequest, why string, parked bool) error {
	if why = w.Redact.String(why); why == r.Error && parked == r.Parked {
		return nil
	}
	r.Error, r.Parked = why, parked
	return w.record(ctx, func(*ralph.State) []ralph.Fact { return []ralph.Fact{ralph.PullSeen{Branch: p.Branch, Request: r}} })
}

// seen records what is new, and nothing when nothing is.
func (w *Watcher) seen(ctx context.Context, p *ralph.Pull, f ralph.PullSeen) error {
	f.Request.Error, f.Request.Parked = "", false
	return w.record(ctx, func(s *ralph.State) []ralph.Fact {
		now := s.Pull(p.Branch)
		if now == nil || f.Round == 0 && !f.Opened && f.Request == now.Request {
			return nil
		}
		if f.Round == 0 {
			return []ralph.Fact{f}
		}
		if spec := s.Spec(now.Spec); f.Round <= now.Round || spec != nil && (spec.Status == ralph.SpecPending || spec.Status == ralph.SpecActive) {
			return nil // it is on its way already
		}
		f.Spec = w.NewID(s)
		return append(s.AddSpec(f.Spec, roundFile(p, f.Round), w.Now()), f)
	})
}

// open opens the pull request, or gives the one that is open the newest text.
func (w *Watcher) open(ctx context.Context, p *ralph.Pull, body string, f *ralph.PullSeen) error {
	r := &f.Request
	if r.Repo == "" {
		r.Repo = w.Repo
	}
	if r.Number == 0 {
		if p.Onto == "" {
			return &tracker.Error{Service: ralph.GitHub, Doing: "open a pull request of " + p.Branch, Status: http.StatusUnprocessableEntity, Message: "no branch was checked out when the work began: set base_branch"}
		}
		at, opened, err := w.Client.Open(ctx, r.Repo, github.NewPull{Title: titleOf(p, w.spec(firstFile(p.File))), Head: p.Branch, Base: p.Onto, Body: body, Draft: w.Set.Draft})
		if err != nil {
			return err
		}
		r.Number, r.URL, r.State, r.Head, f.Opened = at.Number, at.URL, ralph.PullOpen, at.Head.SHA, true
		if err := w.Client.Set(ctx, refOf(*r), tracker.Change{Add: w.Set.Labels}); err != nil {
			return err
		}
		if err := w.Client.Ask(ctx, refOf(*r), w.Set.Reviewers); err != nil {
			return err
		}
		if opened {
			r.Text = sum(body)
			return nil
		}
	}
	if body != "" {
		if err := w.Client.SetText(ctx, refOf(*r), body); err != nil {
			return err
		}
		r.Text = sum(body)
	}
	r.Head, r.Checks = p.Pushed, "" // what was said of the commit before says nothing of it
	return nil
}

// look reads how a pull request stands. What came back becomes another round.
func (w *Watcher) look(ctx context.Context, p *ralph.Pull, f *ralph.PullSeen) error {
	r := &f.Request
	at, err := w.Client.Pull(ctx, refOf(*r))
	if err != nil {
		return err
	}
	r.State, r.Head = at.Stands(), at.Head.SHA
	if r.State != ralph.PullOpen {
		return w.over(ctx, p, r.State)
	}
	var red []github.Run
	if r.Checks, red, err = w.Client.Checks(ctx, r.Repo, r.Head); err != nil {
		return err
	}
	reviews, lines, err := w.Client.Reviews(ctx, refOf(*r))
	if err != nil {
		return err
	}
	said, heard := unheard(reviews, lines, r.Heard)
	said = slices.DeleteFunc(said, func(c tracker.Said) bool { return !allowed(w.Set.Allow, c.Author, c.Association) })
	back := r.Checks == ralph.ChecksRed && r.Went != r.Head || len(said) > 0
	switch {
	case back && w.Set.Follow:
		return w.round(p, f, red, said, heard)
	case w.Set.AutoMerge && r.Checks == ralph.ChecksGreen && r.Head == p.Pushed && len(said) == 0 && !opposed(reviews) && !w.before(p):
		if err := w.Client.Merge(ctx, refOf(*r), r.Head); err != nil {
			return err
		}
		r.State = ralph.PullMerged
		return w.over(ctx, p, r.State)
	}
	return nil
}

// unheard is what reviewers said since what was heard, and what is heard then.
func unheard(reviews, lines []tracker.Said, heard ralph.Heard) (said []tracker.Said, now ralph.Heard) {
	now = heard
	for _, x := range reviews {
		wants := x.State == "CHANGES_REQUESTED" || x.State == "COMMENTED" && strings.TrimSpace(x.Text) != ""
		if x.ID > heard.Review && wants {
			said = append(said, x)
		}
		now.Review = max(now.Review, x.ID)
	}
	for _, x := range lines {
		if x.ID > heard.Line {
			said = append(said, x)
		}
		now.Line = max(now.Line, x.ID)
	}
	return said, now
}

// opposed reports whether somebody asked for changes and has not taken that back since.
func opposed(reviews []tracker.Said) bool {
	last := map[string]string{}
	for _, x := range reviews {
		if x.State == "CHANGES_REQUESTED" || x.State == "APPROVED" || x.State == "DISMISSED" {
			last[x.Author] = x.State
		}
	}
	return slices.Contains(slices.Collect(maps.Values(last)), "CHANGES_REQUESTED")
}

// before reports whether a branch has the work of others whose pull requests are not merged: to merge
// it would merge theirs, whatever is said of them.
func (w *Watcher) before(p *ralph.Pull) bool {
	s := w.Journal.State()
	return slices.ContainsFunc(p.On, func(branch string) bool {
		other := s.Pull(branch)
		return other != nil && other.Request.State != ralph.PullMerged
	})
}

// refOf names a pull request.
func refOf(r ralph.PullRequest) tracker.Ref {
	return tracker.Ref{Service: ralph.GitHub, Key: fmt.Sprintf("%s#%d", r.Repo, r.Number)}
}

// round prepares another round of a pull request.
func (w *Watcher) round(p *ralph.Pull, f *ralph.PullSeen, red []github.Run, said []tracker.Said, heard ralph.Heard) error {
	spec := w.Journal.State().Spec(p.Spec)
	if spec != nil && (spec.Status == ralph.SpecPending || spec.Status == ralph.SpecActive) {
		return nil // what came back is read when that is done
	}
	n := max(1, p.Round) + 1
	if n > w.Set.MaxRounds {
		return &ralph.Refusal{Why: fmt.Sprintf("it does not go round again: %d rounds are used (construct.max_rounds)", w.Set.MaxRounds), Hint: "look at " + f.Request.URL, Kind: ralph.ErrUsage}
	}
	if f.Request.Checks != ralph.ChecksRed {
		red = nil
	}
	head := specfile.Head{Land: p.How, Branch: p.Branch, Pull: fmt.Sprintf("%s#%d", f.Request.Repo, f.Request.Number), Round: n}
	asked := w.spec(firstFile(p.File))
	first, body := specfile.Parse(asked)
	head.Worker = first.Worker
	head.Source = first.Source
	if p.Task == "" {
		head.Issue, head.Also = first.Issue, first.Also
	} else { // one task of several closes no issue
		body = "One task of what is below: " + text.SafeLine(p.Name) + ". The others go out on branches of their own.\n\n" + body
	}
	if err := w.write(roundFile(p, n), Round(head, titleOf(p, asked), f.Request.URL, red, said, body)); err != nil {
		return err
	}
	var why []string
	if len(red) > 0 {
		names := make([]string, len(red))
		for i, r := range red {
			names[i] = text.SafeLine(r.Name)
		}
		why = append(why, "red: "+text.List(names, 3))
	}
	if len(said) > 0 {
		why = append(why, text.Count(len(said), "comment")+" of reviewers")
	}
	f.Round, f.Why, f.Request.Heard, f.Request.Went = n, strings.Join(why, ", "), heard, f.Request.Head
	return nil
}

// over looks at the issues of a pull request that is done with.
func (w *Watcher) over(ctx context.Context, p *ralph.Pull, state ralph.PullState) error {
	if state != ralph.PullMerged {
		return nil
	}
	head, _ := specfile.Parse(w.spec(firstFile(p.File)))
	for _, item := range head.Items() {
		if err := w.closed(ctx, item); err != nil {
			return err
		}
	}
	return nil
}

// closed looks whether an issue was closed by a merge.
func (w *Watcher) closed(ctx context.Context, item string) error {
	known := w.Journal.State().Item(item)
	ref, bad := tracker.Parse(item, w.Places)
	if known == nil || known.Closed || bad != nil || ref.Service != ralph.GitHub {
		return nil //nolint:nilerr // it is no issue of GitHub
	}
	i, err := w.Client.Item(ctx, ref, "")
	e, is := errors.AsType[*tracker.Error](err)
	switch {
	case is && e.Ours():
		return nil // it is gone, or not ours to read: the merge is what counts
	case err != nil:
		return err // asked again, with the pull request
	case !i.Closed:
		return nil // who keeps it open has a reason
	}
	issue := *known
	issue.Closed, issue.Updated = true, i.Updated
	return w.record(ctx, func(*ralph.State) []ralph.Fact {
		return []ralph.Fact{ralph.IssueSeen{Issue: issue, What: "is closed by the merge"}}
	})
}

var ofRound = lazyregexp.New(`(\.pull-[0-9]+)?\.round-[0-9]+\.md$`)

// firstFile is the spec of the first round.
func firstFile(file string) string {
	if at := ofRound.FindStringIndex(file); at != nil {
		return file[:at[0]] + ".md"
	}
	return file
}

// roundFile is the spec of a round of a pull request; where each task has one, its name says which.
func roundFile(p *ralph.Pull, n int) string {
	name := strings.TrimSuffix(firstFile(p.File), ".md")
	if p.Task != "" {
		name += fmt.Sprintf(".pull-%d", p.Request.Number)
	}
	return fmt.Sprintf("%s.round-%d.md", name, n)
}

// titleOf is the title of a pull request: that of its spec, and of its task where it is of one.
func titleOf(p *ralph.Pull, spec string) string {
	title := specdoc.Title(spec, firstFile(p.File))
	if p.Task != "" {
		title += ": " + text.Clip(text.SafeLine(p.Name), maxName*2)
	}
	return title
}

// spec reads a spec; "" for one that is gone.
func (w *Watcher) spec(file string) string {
	specs, err := os.OpenRoot(filepath.Join(w.Root, "ralph/specs"))
	if err != nil {
		return ""
	}
	defer specs.Close()
	b, err := regular.ReadIn(specs, file, specfile.MaxSize)
	if err != nil {
		return ""
	}
	return string(b)
}

// write writes a spec of ralph's own making, at once.
func (w *Watcher) write(file, spec string) error {
	folder := filepath.Join(w.Root, "ralph/specs")
	err := os.MkdirAll(folder, 0o755)
	if err != nil {
		return fmt.Errorf("write a spec: %w", err)
	}
	specs, err := os.OpenRoot(folder)
	if err != nil {
		return fmt.Errorf("write a spec: %w", err)
	}
	defer specs.Close()
	const beside = ".ralph-spec.tmp"
	if err = specs.WriteFile(beside, []byte(w.Redact.String(spec)), 0o644); err == nil {
		err = specs.Rename(beside, file)
	}
	if err != nil {
		return fmt.Errorf("write a spec: %w", err)
	}
	return nil
}
