package web

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/action"
	"github.com/ralph-loop/ralph/internal/lazyregexp"
	"github.com/ralph-loop/ralph/internal/observe/past"
	"github.com/ralph-loop/ralph/internal/observe/watch"
	"github.com/ralph-loop/ralph/internal/web/index"
	"github.com/ralph-loop/ralph/internal/web/view"
)

// A page that is a function of the state can be shown as it was after any fact: ?at=<seq>.
// Nothing can be done there, and nothing changes.

// atParam is the parameter with the number of the fact.
const atParam = "at"

// sliders are the pages on which one begins to go back.
func sliders(path string) bool {
	switch path {
	case "/", "/plan", "/threads", "/decisions", "/log", "/receipts", "/history":
		return true
	}
	return strings.HasPrefix(path, "/task/")
}

// ofState reports whether a page is a function of the state and of the facts that led to it. The
// others have what is no fact: settings, files.
func ofState(path string) bool {
	return sliders(path) || path == "/plan/graph" || path == "/gates" || strings.HasPrefix(path, "/gate/")
}

// lookFor is what a page is made from: what is there now, or with ?at= what was then.
func (x *Server) lookFor(ctx context.Context, address string, now *watch.Look) (*watch.Look, error) {
	u, err := url.Parse(address)
	if err != nil || !ofState(u.Path) || !u.Query().Has(atParam) {
		return now, nil //nolint:nilerr // what is no address has no page either, which is told there
	}
	text := u.Query().Get(atParam)
	seq, err := strconv.ParseInt(text, 10, 64)
	if err != nil || seq < 1 || seq > now.State.Seq {
		return nil, &ralph.Refusal{Why: fmt.Sprintf("there is no fact %.40q: the journal has 1 to %d", text, now.State.Seq), Hint: "/log shows each with its number", Kind: ralph.ErrNotFound}
	}
	s := x.index.Before(seq + 1)
	if x.opt.Past != nil && seq-s.Seq > past.FeedFold { // the history has not been read so far yet
		if s, err = x.opt.Past(seq); err != nil {
			return nil, err
		}
	}
	err = x.opt.Source.Each(s.Seq, func(e ralph.Event) error {
		if e.Seq > seq {
			return watch.ErrEnough
		}
		s.Apply(e)
		return ctx.Err()
	})
	if err != nil && !errors.Is(err, watch.ErrEnough) {
		return nil, fmt.Errorf("read what was before: %w", err)
	}
	l := watch.Past(s)
	l.Read, l.Newest = now.Read, now.State.Seq
	world := l.World
	l.World = func() action.Context { // the keys are those of now
		w := world()
		w.Keys = now.World().Keys
		return w
	}
	return l, nil
}

// asLast is the address of a task that is in no list any more, a stage that has ended or the task of
// a spec that is done, as it was last: receipts, sessions and the log go on leading there. "" for others.
func (x *Server) asLast(ctx context.Context, u *url.URL, l *watch.Look) string {
	id, ofTask := strings.CutPrefix(u.Path, "/task/")
	if !ofTask || id == "" || l.State.Task(ralph.TaskID(id)) != nil {
		return ""
	}
	seen := x.index.Seen(ralph.TaskID(id))
	if seen == 0 { // somebody opens a link that was kept, and not all has been read yet
		ctx, cancel := context.WithTimeout(ctx, patience)
		defer cancel()
		x.index.Start()
		_ = x.index.Catch(ctx) // that it was late, or why, is in its progress
		seen = x.index.Seen(ralph.TaskID(id))
	}
	if seen == 0 || seen >= l.State.Seq {
		return ""
	}
	q := u.Query()
	q.Set(atParam, strconv.FormatInt(seen, 10))
	return (&url.URL{Path: u.Path, RawQuery: q.Encode()}).String()
}

// patience is how long somebody waits for the history of a task that is in no list any more.
const patience = 5 * time.Second

// asThen is the dashboard as pages of the past ask it: with a journal that ends where they
// are, with memories of its own, and without what only knows the present.
func (x *Server) asThen(l *watch.Look) *Server {
	opt := x.opt
	opt.Source = watch.Then(x.opt.Source, l)
	opt.Gates = nil
	return &Server{opt: opt, index: x.index, watch: x.watch, panics: x.panics, jobs: x.jobs, doctor: x.doctor, reports: x.reports, histories: x.histories, assets: x.assets}
}

// pastOf is the way through time that a page has, nil for one that has none.
func (x *Server) pastOf(u *url.URL, l *watch.Look) *view.PastModel {
	if l == nil || !ofState(u.Path) || !l.Past && !sliders(u.Path) || l.State.Seq == 0 {
		return nil
	}
	q := u.Query()
	q.Del(atParam)
	m := &view.PastModel{Path: u.Path, At: l.State.Seq, When: l.State.At, Past: l.Past, Newest: max(l.Newest, l.State.Seq), First: 1, Keys: l.World().Keys}
	m.Last = m.Newest
	for name, values := range q {
		for _, v := range values {
			m.Hidden = append(m.Hidden, action.Pair{Name: name, Value: v})
		}
	}
	m.Now = u.Path
	if len(q) > 0 {
		m.Now += "?" + q.Encode()
	}
	if s, ok := sessionWith(x.index.Sessions(), l.State.Seq); ok { // the way is the session's time
		m.First, m.Session = max(1, s.First), string(s.ID)
		if s.Last < x.index.Progress().Read {
			m.Last = max(s.Last, m.At)
		}
	}
	link := func(seq int64) string {
		next := url.Values{atParam: {fmt.Sprint(seq)}}
		for name, values := range q {
			next[name] = values
		}
		return u.Path + "?" + next.Encode()
	}
	if m.At > 1 {
		m.Back = link(m.At - 1)
	}
	if l.Past && m.At < m.Newest {
		m.On = link(m.At + 1)
	}
	return m
}

// sessionWith is the newest session that began at a fact or before it.
func sessionWith(list []index.Session, seq int64) (index.Session, bool) {
	for _, s := range list { // newest first
		if s.First <= seq {
			return s, true
		}
	}
	return index.Session{}, false
}

var hrefs = lazyregexp.New(`(?:data-now )?href="(/[^"]*)"`)

// filters are forms that choose what a page shows; the way through time has its own field.
var filters = lazyregexp.New(`<form class="toolbar[^>]*method="get"[^>]*action="(/[^"]*)"[^>]*>`)

// keepAt has the links and the filters of a page of the past lead to pages of the same moment.
func keepAt(page []byte, seq int64) []byte {
	page = filters.Get().ReplaceAllFunc(page, func(found []byte) []byte {
		if path := string(filters.FindSubmatch(found)[1]); !ofState(path) {
			return found
		}
		return fmt.Appendf(found[:len(found):len(found)], `<input type="hidden" name="%s" value="%d">`, atParam, seq)
	})
	return hrefs.Get().ReplaceAllFunc(page, func(found []byte) []byte {
		text := string(found)
		path, ours := strings.CutPrefix(strings.TrimSuffix(text, `"`), `href="`)
		if !ours {
			return found // the way back to now
		}
		path, fragment, has := strings.Cut(path, "#")
		base, query, _ := strings.Cut(path, "?")
		if !ofState(base) || hasAt.MatchString(query) {
			return found
		}
		if query != "" {
			query += "&amp;"
		}
		out := `href="` + base + "?" + query + atParam + "=" + strconv.FormatInt(seq, 10)
		if has {
			out += "#" + fragment
		}
		return []byte(out + `"`)
	})
}

var hasAt = lazyregexp.New(`(?:^|&amp;|&)at=`)
