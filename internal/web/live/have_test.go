package live

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// told is what a stream sends first to a page that was made with some parts.
func told(t *testing.T, hub *Hub, query, lastEvent string) string {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	r := httptest.NewRequest(http.MethodGet, "/live"+query, nil).WithContext(ctx)
	if lastEvent != "" {
		r.Header.Set("Last-Event-ID", lastEvent)
	}
	w := &untilBeat{ResponseRecorder: httptest.NewRecorder(), done: cancel}
	hub.Serve(w, r, "/")
	return w.Body.String()
}

// untilBeat ends a stream with its second beat: the first picture is there by then.
type untilBeat struct {
	*httptest.ResponseRecorder
	done context.CancelFunc
}

func (w *untilBeat) SetWriteDeadline(time.Time) error { return nil }

func (w *untilBeat) Write(p []byte) (int, error) {
	n, err := w.ResponseRecorder.Write(p)
	if strings.Count(w.Body.String(), "event: beat") == 2 {
		w.done()
	}
	return n, err
}

// A page gets first what differs from what it was made with, and all when it comes back.
func TestAPageIsNotSentWhatItHas(t *testing.T) {
	t.Parallel()
	synctest.Test(t, sentWhatItHasNot)
}

func sentWhatItHasNot(t *testing.T) {
	a, b, old := Part{ID: "a", HTML: []byte("<a>1</a>")}, Part{ID: "b", HTML: []byte("<b>1</b>")}, Part{ID: "b", HTML: []byte("<b>0</b>")}
	rendered := make(chan struct{}, 8)
	hub := New(Options{
		Changed: once, Beat: time.Second,
		Render: func(context.Context, string, int64) ([]Part, error) {
			rendered <- struct{}{}
			return []Part{a, b}, nil
		},
	})
	for _, c := range []struct{ name, query, last, want string }{
		{"nothing is known", "", "", "a b"},
		{"it has all", "?have=" + hub.Have([]Part{a, b}), "", ""},
		{"it has an old one", "?have=" + hub.Have([]Part{a, old}), "", "b"},
		{"it has other parts", "?have=" + hub.Have([]Part{a}), "", "a b"},
		{"it comes back", "?have=" + hub.Have([]Part{a, b}), "0", "a b"},
		{"another ralph made it", "?have=" + New(Options{}).Have([]Part{a, b}), "", "a b"},
	} {
		said, got := told(t, hub, c.query, c.last), []string{}
		for _, id := range []string{"a", "b"} {
			if strings.Contains(said, "data: <"+id+">") {
				got = append(got, id)
			}
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: it was sent %q, want %q\n%s", c.name, got, c.want, said)
		}
		<-rendered
	}
}
