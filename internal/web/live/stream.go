package live

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ralph-loop/ralph/internal/text"
)

// A stream carries the changes of one page, or of all pages that a browser has open: each event names in its id the
// pages that it is for, by their place in the request, and what they are up to with it: `0,2 life.17`.

// follower is how far a stream has come with a view.
type follower struct {
	v     *view
	pages []page // that show it
	begun bool   // they have their first picture
	seen  int64
	over  bool // nothing comes any more
}

// page is a page of a stream: its place in the request, and what it has. That is from Have, or what an earlier event's id
// said, or nothing.
type page struct {
	place int
	have  string
}

// Serve streams the changes of views until the request ends, or all of them do: first, for each page, the parts that
// differ from those that it has, or all where nobody knows, then those that changed. What a page has is the query's
// `have` at the place of its view.
func (h *Hub) Serve(w http.ResponseWriter, r *http.Request, keys ...string) {
	header := w.Header()
	header.Set("Content-Type", "text/event-stream")
	header.Set("Cache-Control", "no-store")
	out := http.NewResponseController(w)
	// Each write has its time: a reader that is gone without a word holds nothing for long.
	soon := func() { _ = out.SetWriteDeadline(time.Now().Add(h.opt.Patience)) }
	soon()
	told := make(ear, 1)
	list := h.followers(r, keys, told)
	defer func() {
		for _, f := range list {
			h.leave(f.v, told)
		}
	}()
	if _, err := fmt.Fprintf(w, "retry: 1000\nid: 0\nevent: hello\ndata: %s\n\n", text.OneLine(h.opt.Build)); err != nil {
		return
	}
	beat := time.NewTicker(h.opt.Beat)
	defer beat.Stop()
	for {
		soon()
		for _, f := range list {
			for _, d := range h.news(f) {
				if _, err := w.Write(d); err != nil {
					return
				}
			}
		}
		if out.Flush() != nil || !slices.ContainsFunc(list, func(f *follower) bool { return !f.over }) {
			return
		}
		select {
		case <-r.Context().Done():
			return
		case <-told:
		case <-beat.C:
			soon()
			if _, err := fmt.Fprint(w, "event: beat\ndata:\n\n"); err != nil {
				return
			}
		}
	}
}

// followers joins the views of a request, each once.
func (h *Hub) followers(r *http.Request, keys []string, told ear) []*follower {
	have := r.URL.Query()["have"]
	if r.Header.Get("Last-Event-ID") != "" {
		have = nil // it comes back: the pages have changed since they were made
	}
	var list []*follower
	at := map[string]*follower{}
	for i, key := range keys {
		f := at[key]
		if f == nil {
			f = &follower{v: h.join(key, told)}
			at[key], list = f, append(list, f)
		}
		p := page{place: i}
		if i < len(have) {
			p.have = have[i]
		}
		f.pages = append(f.pages, p)
	}
	return list
}

// news are the events that the pages of a view have not had.
func (h *Hub) news(f *follower) (out [][]byte) {
	h.mu.Lock()
	defer h.mu.Unlock()
	v := f.v
	switch {
	case f.over:
	case v.over != nil:
		f.over = true
		word := "trouble" // the browser comes back
		if errors.Is(v.over, ErrGone) {
			word = "gone"
		}
		out = append(out, id(v, f.seen, f.pages...), fmt.Appendf(nil, "event: %s\ndata: %s\n\n", word, text.OneLine(v.over.Error())))
	case v.parts == nil: // the first picture is on its way
	case !f.begun:
		for _, p := range f.pages {
			for _, d := range h.first(v, p.have) {
				out = append(out, id(v, d.n, p), d.data)
			}
		}
		f.begun, f.seen = true, v.next
	default:
		for _, d := range v.after(f.seen) {
			out = append(out, id(v, d.n, f.pages...), d.data)
		}
		f.seen = v.next
	}
	return out
}

// first is what a page needs to be up to date; one that is, and does not know where that is, is told.
func (h *Hub) first(v *view, have string) []patch {
	if life, n, ok := strings.Cut(have, "."); ok {
		if seen, err := strconv.ParseInt(n, 10, 64); err == nil && life == v.life && seen <= v.next {
			return v.after(seen)
		}
		have = ""
	}
	if parts := h.unlike(v.parts, have); len(parts) > 0 {
		return []patch{{v.next, event(parts)}}
	}
	return []patch{{v.next, []byte("event: at\ndata:\n\n")}}
}

// after are the patches after one, or all parts when there are too many. The hub's mu is held.
func (v *view) after(seen int64) []patch {
	if len(v.log) > 0 && v.log[0].n > seen+1 {
		return []patch{{v.next, event(v.parts)}}
	}
	for i, p := range v.log {
		if p.n > seen {
			return v.log[i:]
		}
	}
	return nil
}

// id is the line of an event that says which pages it is for, and where they are with it.
func id(v *view, n int64, pages ...page) []byte {
	var b bytes.Buffer
	for i, p := range pages {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(strconv.Itoa(p.place))
	}
	return fmt.Appendf(nil, "id: %s %s.%d\n", b.Bytes(), v.life, n)
}
