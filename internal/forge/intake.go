package forge

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/policy/breaker"
	"github.com/ralph-loop/ralph/internal/specfile"
	"github.com/ralph-loop/ralph/internal/tracker"
)

// service is where its issues are.
func (src Source) service() ralph.Service { return cmp.Or(src.Service, ralph.GitHub) }

// name is that of a source, for people.
func (src Source) name() string {
	if src.service() == ralph.GitHub {
		return src.Repo + " " + src.Words
	}
	return string(src.Service) + " " + src.Words
}

// query is what the service is asked for.
func (src Source) query() string {
	if src.service() == ralph.GitHub {
		return src.Words + " repo:" + src.Repo
	}
	return src.Words
}

// source looks at the issues of a source.
func (w *Watcher) source(ctx context.Context, src Source) error {
	what := "issues " + src.name()
	if x := w.reach(src.service()); x.Client == nil {
		return w.polled(ctx, src, x.Why)
	}
	if !w.mayAsk(src.service()) || !w.isDue(what, src.Every) {
		return nil
	}
	err := w.askedOf(ctx, src.service(), func() error { return w.takeAll(ctx, src, what) })
	switch {
	case err == nil:
		w.worked(what)
		return w.polled(ctx, src, "")
	case w.cut(ctx, what):
		return nil
	}
	w.failed(what, err)
	return w.polled(ctx, src, err.Error())
}

// takeAll takes in what a source has.
func (w *Watcher) takeAll(ctx context.Context, src Source, what string) error {
	page, err := w.reach(src.service()).Client.Search(ctx, src.query(), w.tags[what])
	if err != nil || page.Unchanged {
		return err
	}
	items := slices.DeleteFunc(page.Items, func(i tracker.Item) bool { return i.Pull })
	for _, i := range items {
		if err := w.take(ctx, src, i); err != nil {
			return err
		}
	}
	if err := w.missing(ctx, src, items, page.More); err != nil {
		return err
	}
	w.tags[what] = page.ETag // not before all of it is taken in
	return nil
}

// polled records that a source cannot be asked, and when it can again: once each.
func (w *Watcher) polled(ctx context.Context, src Source, why string) error {
	name := src.name()
	why = w.Redact.String(why)
	if (why == "") == (w.told[name] == "") {
		return nil
	}
	w.told[name] = why
	until, _ := breaker.MayCall(w.Journal.State().Outside(src.service()), w.by(), w.Now())
	f := ralph.Polled{Source: name, Error: why, Until: until}
	return w.record(ctx, func(*ralph.State) []ralph.Fact { return []ralph.Fact{f} })
}

// take queues an issue that is new, and tells what has changed of one that is known.
func (w *Watcher) take(ctx context.Context, src Source, i tracker.Item) error {
	known := w.Journal.State().Item(i.Ref.String())
	if known != nil && !i.Updated.After(known.Updated) {
		return nil
	}
	if known == nil && !src.lets(i) {
		f := ralph.IssueSeen{Issue: tracked(i), What: "is passed over: its author " + i.Author + " is not among those that inbox.sources allows"}
		return w.record(ctx, func(*ralph.State) []ralph.Fact { return []ralph.Fact{f} })
	}
	read := w.whole
	if i.Ref.Service != ralph.GitHub { // a list has less of an item than its page
		read = func(ctx context.Context, i tracker.Item) (Issue, error) { return w.issue(ctx, i.Ref) }
	}
	full, err := read(ctx, i)
	if err != nil {
		return err
	}
	if known == nil {
		_, err := w.queue(ctx, full, src, false)
		return err
	}
	return w.changed(ctx, *known, full, "")
}

// queue makes a spec of an issue and queues it; again: also one that was queued before.
func (w *Watcher) queue(ctx context.Context, i Issue, src Source, again bool) (ralph.Tracked, error) {
	issue := tracked(i.Item)
	if src.service() != ralph.GitHub {
		issue.Source = src.name()
	}
	file, spec := Spec(i)
	if there := w.spec(file); there != "" {
		if head, _ := specfile.Parse(there); head.Issue != issue.Ref {
			return issue, &ralph.Refusal{Why: "ralph/specs/" + file + " is there, and is not about " + issue.Ref, Hint: "move it away", Kind: ralph.ErrUsage}
		}
	}
	if err := w.write(file, spec); err != nil {
		return issue, err
	}
	issue.File, issue.Body = file, sum(w.Redact.String(spec))
	err := w.record(ctx, func(s *ralph.State) []ralph.Fact {
		if len(s.Queued(file)) > 0 || !again && s.Item(issue.Ref) != nil {
			return nil
		}
		issue.Spec = w.NewID(s)
		return append(s.AddSpec(issue.Spec, file, w.Now()), ralph.IssueSeen{Issue: issue, What: "is queued as " + file})
	})
	return issue, err
}

// changed tells what is otherwise of an issue that is known. gone says why it is in no source
// any more. As long as the work has not begun, the spec follows.
func (w *Watcher) changed(ctx context.Context, was ralph.Tracked, i Issue, gone string) error {
	now := tracked(i.Item)
	now.Spec, now.File, now.Body, now.Source = was.Spec, was.File, was.Body, was.Source
	_, spec := Spec(i)
	text := w.Redact.String(spec)
	edited := was.File != "" && sum(text) != was.Body
	s := w.Journal.State()
	x := s.Spec(was.Spec)
	waits := x != nil && x.Status == ralph.SpecPending
	var what []string
	switch {
	case now.Closed && !was.Closed:
		gone = "was closed"
	case !now.Closed && was.Closed:
		what = append(what, "was opened again")
	case gone == "" && !slices.Equal(now.Labels, was.Labels):
		what = append(what, "has other labels: "+strings.Join(now.Labels, ", "))
	}
	if gone != "" {
		what = append(what, gone)
	}
	if edited {
		now.Body = sum(text)
		switch mine := w.spec(was.File); {
		case waits && sum(mine) == was.Body:
			if err := w.write(was.File, text); err != nil {
				return err
			}
			what = append(what, "was edited: its spec is written anew")
		case waits:
			what = append(what, "was edited: its spec stays as you changed it")
		case x != nil && x.Status == ralph.SpecActive:
			what = append(what, "was edited while it is worked on: the work goes on with the old text")
		}
	}
	return w.record(ctx, func(s *ralph.State) []ralph.Fact {
		var facts []ralph.Fact
		if y := s.Spec(was.Spec); gone != "" && y != nil && y.Status == ralph.SpecPending {
			facts = append(facts, ralph.SpecRemoved{ID: y.ID})
			what = append(what, "taken out of the queue")
		}
		words := strings.Join(what, ", ")
		if words == "" {
			words = "was touched"
		}
		return append(facts, ralph.IssueSeen{Issue: now, What: words})
	})
}

// atHand reports whether a spec of an issue waits or is worked on, and nothing has closed the issue.
func atHand(s *ralph.State, t *ralph.Tracked) bool {
	x := s.Spec(t.Spec)
	return !t.Closed && x != nil && (x.Status == ralph.SpecPending || x.Status == ralph.SpecActive)
}

// of reports whether an issue came from a source, or could have.
func (src Source) of(s *ralph.State, t *ralph.Tracked) bool {
	if src.service() != ralph.GitHub {
		return t.Source == src.name()
	}
	repo, _, ok := strings.Cut(t.Ref, "#")
	return ok && (repo == src.Repo || s.Renamed(ralph.GitHub, repo) == src.Repo)
}

// missing looks at issues that wait or are worked on and that the source has no more. more says that it
// has more than it lists.
func (w *Watcher) missing(ctx context.Context, src Source, list []tracker.Item, more bool) error {
	s := w.Journal.State()
	there := map[*ralph.Tracked]bool{}
	for _, i := range list {
		there[s.Item(i.Ref.String())] = true
	}
	for _, t := range s.Tracked {
		if there[t] || !src.of(s, t) || !atHand(s, t) {
			continue
		}
		i, err := w.issue(ctx, tracker.Ref{Service: src.service(), Key: keyOf(t.Ref)})
		if err != nil {
			return err
		}
		if !i.Updated.After(t.Updated) {
			continue // it is known
		}
		gone := ""
		switch now := tracked(i.Item); {
		case i.Closed:
		case src.service() == ralph.GitHub && src.finds(*t) && !src.finds(now), src.service() != ralph.GitHub && !more && !slices.Equal(now.Labels, t.Labels):
			gone = "has other labels (" + strings.Join(now.Labels, ", ") + ")"
		case src.service() != ralph.GitHub && !more:
			gone = "is no longer found by " + src.Words
		}
		if err := w.changed(ctx, *t, i, gone); err != nil {
			return err
		}
	}
	return nil
}

// keyOf is the key of an item by how people write it.
func keyOf(ref string) string { return strings.TrimPrefix(ref, "ado:") }

// lonely reports whether an issue is at hand that no source looks at: a person named it.
func (w *Watcher) lonely(s *ralph.State, t *ralph.Tracked) bool {
	return atHand(s, t) && !slices.ContainsFunc(w.Set.Sources, func(src Source) bool { return src.of(s, t) })
}

// named looks at the issues at hand that people named.
func (w *Watcher) named(ctx context.Context) error {
	s := w.Journal.State()
	for _, t := range s.Tracked {
		if !w.lonely(s, t) {
			continue
		}
		ref, err := tracker.Parse(t.Ref, w.Places)
		what := "item " + t.Ref
		if err != nil || !w.mayAsk(ref.Service) || !w.isDue(what, longPause) {
			continue
		}
		err = w.askedOf(ctx, ref.Service, func() error {
			i, err := w.issue(ctx, ref)
			if err != nil || !i.Updated.After(t.Updated) {
				return err
			}
			return w.changed(ctx, *t, i, "")
		})
		if err != nil && !w.cut(ctx, what) {
			w.failed(what, err)
		}
	}
	return nil
}

// finds reports whether the labels of an issue are those that the source asks for.
func (src Source) finds(t ralph.Tracked) bool {
	return !slices.ContainsFunc(src.Labels, func(l string) bool { return !slices.Contains(t.Labels, l) })
}

// Add queues one issue that a person named, or the round of a pull request.
func (w *Watcher) Add(ctx context.Context, name string) (said string, err error) {
	w.ready()
	ref, err := tracker.Parse(name, w.Places)
	if err != nil {
		return "", err
	}
	if x := w.reach(ref.Service); x.Client == nil {
		return "", &ralph.Refusal{Why: cmp.Or(x.Why, "it is not known where "+ref.Service.Title()+" is: set `sync."+string(ref.Service)+".url`"), Kind: ralph.ErrUsage}
	}
	if at, why := breaker.MayCall(w.Journal.State().Outside(ref.Service), w.by(), w.Now()); !at.IsZero() {
		return "", &ralph.Refusal{Why: ref.Service.Title() + " is not asked before " + at.Local().Format("15:04:05") + ": " + why, Hint: "`[[breaker-retry " + string(ref.Service) + "]]` has it tried now", Kind: ralph.ErrUsage}
	}
	err = w.askedOf(ctx, ref.Service, func() error {
		said, err = w.add(ctx, ref)
		return err
	})
	return said, err
}

func (w *Watcher) add(ctx context.Context, ref tracker.Ref) (string, error) {
	i, err := w.issue(ctx, ref)
	if err != nil {
		return "", err
	}
	if i.Pull {
		return w.addRound(ctx, ref)
	}
	if known := w.Journal.State().Item(ref.String()); known != nil {
		if x := w.Journal.State().Spec(known.Spec); x != nil && (x.Status == ralph.SpecPending || x.Status == ralph.SpecActive) {
			return "", &ralph.Refusal{Why: ref.String() + " is queued already as " + string(x.ID) + " " + x.File, Kind: ralph.ErrUsage}
		}
	}
	issue, err := w.queue(ctx, i, Source{}, true)
	if err != nil {
		return "", err
	}
	if issue.Spec == "" {
		return "", &ralph.Refusal{Why: "ralph/specs/" + issue.File + " is queued already", Kind: ralph.ErrUsage}
	}
	return "Queued: " + string(issue.Spec) + " " + issue.File + " (" + issue.Ref + ")", nil
}

// addRound has a pull request of ralph's own go round once more with what came back.
func (w *Watcher) addRound(ctx context.Context, ref tracker.Ref) (string, error) {
	s := w.Journal.State()
	at := slices.IndexFunc(s.Pulls, func(p *ralph.Pull) bool { return refOf(p.Request) == ref })
	if at < 0 {
		return "", &ralph.Refusal{Why: "it is a pull request that ralph did not open here", Hint: "name an issue, or a pull request of `ralph report`", Kind: ralph.ErrUsage}
	}
	p := s.Pulls[at]
	x := *w
	x.Set.Follow, x.Set.AutoMerge = true, false
	f := ralph.PullSeen{Branch: p.Branch, Request: p.Request}
	f.Request.Went = "" // a person asks: also for what had its round
	asked := *p
	asked.Request.Went = ""
	if err := x.look(ctx, &asked, &f); err != nil {
		return "", err
	}
	if f.Round == 0 {
		return "", &ralph.Refusal{Why: "nothing came back of it: no check is red, and no reviewer said anything new", Kind: ralph.ErrUsage}
	}
	if err := w.seen(ctx, p, f); err != nil {
		return "", err
	}
	return "Queued: " + roundFile(p, f.Round) + " (" + f.Why + ")", nil
}
