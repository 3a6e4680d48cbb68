// Package guard owns who may come in to the dashboard: which names it may be asked by,
// which sites may send it something, the one-time link, the cookie and the token, and
// how much one visitor may take. It knows nothing of what lies behind it.
package guard

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"time"
)

// Options are what the guard needs from outside.
type Options struct {
	Next  http.Handler // the dashboard
	Open  http.Handler // what everybody may read below /assets/, and nothing else
	Lock  *InstanceLock
	Addr  net.Addr // where it listens
	Names []string // host names that it may be asked by, beside localhost
	Style string   // address of the dashboard's style sheet, which everybody may read
	// WithCSRF gives a request the token that its forms have to carry.
	WithCSRF func(ctx context.Context, token string) context.Context
	// Acts looks at a request that would change something: from where on this machine it
	// comes. Its error refuses it; program is true of the API's token. nil: nobody looks.
	Acts func(ctx context.Context, client, server netip.AddrPort, program bool) (context.Context, error)
	// Now is the time; nil: the system's.
	Now func() time.Time
	// Patience is how long a client may take for its headers, and for its body; 0: ten seconds.
	Patience time.Duration
}

const (
	maxBody     = 1 << 20
	maxText     = 4 << 20 // a spec, or the file of settings, may have 1 MiB, and a form may write each of its bytes as three
	maxHeader   = 32 << 10
	maxStreams  = 512
	maxOwn      = 128 // live pages of one browser: 64, which count twice while another stream takes them over
	patience    = 10 * time.Second
	answerLimit = time.Minute // for a client to take an answer that is no stream
	idle        = 2 * time.Minute
	farewell    = time.Second // for answers under way, at the end
)

// Guard stands in front of the dashboard.
type Guard struct {
	opt   Options
	key   []byte // signs
	token string // of programs
	about Running
	hosts hosts
	cross *http.CrossOriginProtection
	over  context.Context // ends with Run; streams end with it
	end   context.CancelFunc

	mu      sync.Mutex
	links   []link         // oldest first
	streams map[string]int // live pages, by visitor
	all     int
}

// New returns the guard of a dashboard.
func New(opt Options) *Guard {
	if opt.Now == nil {
		opt.Now = time.Now
	}
	if opt.Patience == 0 {
		opt.Patience = patience
	}
	over, end := context.WithCancel(context.Background())
	return &Guard{
		opt: opt, key: bytesOf(opt.Lock.record.Key), token: opt.Lock.record.Token, about: opt.Lock.record.Running, hosts: hostsOf(opt.Addr, opt.Names),
		cross: http.NewCrossOriginProtection(), over: over, end: end, streams: map[string]int{},
	}
}

// URL is the dashboard's address as this machine knows it.
func (g *Guard) URL() string { return "http://" + reach(g.opt.Addr.String()) + "/" }

// reach is the address that this machine finds a listener at.
func reach(address string) string {
	host, port, err := net.SplitHostPort(address)
	if ip := net.ParseIP(host); err == nil && ip != nil && ip.IsUnspecified() {
		return net.JoinHostPort("127.0.0.1", port) // a listener on [::] takes both kinds
	}
	return address
}

// Run answers requests until ctx ends; streams end with it.
func (g *Guard) Run(ctx context.Context, listener net.Listener) error {
	h := &http.Server{
		Handler: g, ReadHeaderTimeout: g.opt.Patience, IdleTimeout: idle, MaxHeaderBytes: maxHeader,
		ErrorLog: log.New(io.Discard, "", 0), // clients that break off are no news for a terminal
	}
	ended := make(chan error, 1)
	go func() { ended <- h.Serve(listener) }()
	select {
	case err := <-ended:
		return fmt.Errorf("serve the dashboard: %w", err)
	case <-ctx.Done():
	}
	g.end()
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), farewell)
	defer cancel()
	if err := h.Shutdown(last); err != nil {
		_ = h.Close()
	}
	if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve the dashboard: %w", err)
	}
	return nil
}

// ServeHTTP lets a request in to the dashboard, or says why not.
func (g *Guard) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	protect(w.Header())
	if r.ContentLength != 0 { // also for who is refused: what is left of a body is read before the answer goes out
		_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(g.opt.Patience)) // a test's recorder has none
	}
	switch {
	case !safe(r.Method) && r.Method != http.MethodPost:
		w.Header().Set("Allow", "GET, HEAD, POST")
		g.refuse(w, r, http.StatusMethodNotAllowed, "the dashboard does not know "+r.Method, "Use GET or POST.")
		return
	case !g.hosts.allow(r.Host):
		g.refuse(w, r, http.StatusMisdirectedRequest, "the dashboard does not go by the name "+shown(r.Host), "Open it as localhost, or by the address that `ralph serve` printed.")
		return
	}
	if err := g.origin(r); err != nil {
		g.refuse(w, r, http.StatusForbidden, "refused: "+err.Error(), "Nothing was changed. Go to the dashboard itself and do it there.")
		return
	}
	who := g.visitorOf(r)
	switch {
	case r.URL.Path == "/enter" || strings.HasPrefix(r.URL.Path, "/enter/"):
		g.enter(w, r, who)
	case strings.HasPrefix(r.URL.Path, "/assets/") && safe(r.Method): // they are the same in every ralph; this package's own pages need the style
		g.opt.Open.ServeHTTP(w, r)
	case who.nobody():
		g.outside(w, r)
	case isStream(r):
		g.stream(w, r, who)
	default:
		g.let(w, r, who)
	}
}

// protect sets what browsers hold every answer to.
func protect(h http.Header) {
	h.Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "same-origin")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Permissions-Policy", "camera=(), display-capture=(), geolocation=(), hid=(), microphone=(), midi=(), payment=(), serial=(), usb=()")
}

// let hands a request on, with its whole body. A form of a browser has to carry the
// token that only pages of this dashboard have.
func (g *Guard) let(w http.ResponseWriter, r *http.Request, who visitor) {
	out := http.NewResponseController(w)
	_ = out.SetWriteDeadline(time.Now().Add(answerLimit)) // a test's recorder has none
	if !safe(r.Method) {
		if status, why := g.body(w, r, out); status != 0 {
			g.refuse(w, r, status, why, "Nothing was changed.")
			return
		}
		if !who.program && !equal(sentCSRF(r), g.csrf(who.id)) {
			g.refuse(w, r, http.StatusForbidden, "the form did not come from a page of this dashboard, or from one that is out of date", "Nothing was changed. Load the page again and do it there.")
			return
		}
	}
	if !safe(r.Method) {
		ctx, err := g.acts(r, who.program)
		if err != nil {
			g.refuse(w, r, http.StatusForbidden, err.Error(), "Nothing was changed.")
			return
		}
		r = r.WithContext(ctx)
	}
	if who.id != "" {
		r = r.WithContext(g.opt.WithCSRF(r.Context(), g.csrf(who.id)))
	}
	g.opt.Next.ServeHTTP(w, r)
}

// acts asks from where a request comes that would change something. What is no address of
// a socket is nobody's.
func (g *Guard) acts(r *http.Request, program bool) (context.Context, error) {
	if g.opt.Acts == nil {
		return r.Context(), nil
	}
	client, _ := netip.ParseAddrPort(r.RemoteAddr)
	var server netip.AddrPort
	if local, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr); ok {
		server, _ = netip.ParseAddrPort(local.String())
	}
	return g.opt.Acts(r.Context(), client, server, program)
}

// body reads what was sent, within bounds, before anybody looks at it.
func (g *Guard) body(w http.ResponseWriter, r *http.Request, out *http.ResponseController) (status int, why string) {
	most := maxOf(r.URL.Path)
	b, err := io.ReadAll(http.MaxBytesReader(w, r.Body, most))
	var much *http.MaxBytesError
	switch {
	case errors.As(err, &much):
		return http.StatusRequestEntityTooLarge, fmt.Sprintf("more was sent than the dashboard takes, which is %d MiB", most>>20)
	case err != nil:
		return http.StatusRequestTimeout, "what was sent did not arrive whole"
	}
	_ = out.SetReadDeadline(time.Time{})
	r.Body = io.NopCloser(bytes.NewReader(b))
	switch kind := r.Header.Get("Content-Type"); {
	case strings.HasPrefix(kind, "application/x-www-form-urlencoded"):
		err = r.ParseForm()
	case strings.HasPrefix(kind, "multipart/form-data") && most > maxBody:
		err = r.ParseMultipartForm(most) // never on a disk: there is not more of it
	}
	if err != nil {
		return http.StatusBadRequest, "the form cannot be read"
	}
	r.Body = io.NopCloser(bytes.NewReader(b)) // for whoever reads it otherwise
	return 0, ""
}

// maxOf is how much may be sent to an address.
func maxOf(path string) int64 {
	switch path {
	case "/do/queue", "/settings", "/settings/file", "/api/v1/specs", "/api/v1/inbox/queue":
		return maxText
	}
	return maxBody
}

// sentCSRF is the token that came with a request: never one in its address.
func sentCSRF(r *http.Request) string {
	if token := r.Header.Get("X-CSRF-Token"); token != "" {
		return token
	}
	return r.PostForm.Get("csrf")
}

// isStream reports whether an answer stays open.
func isStream(r *http.Request) bool {
	return safe(r.Method) && (r.URL.Path == "/live" || underAPI(r.URL.Path) && (strings.HasSuffix(r.URL.Path, "/events") || strings.HasSuffix(r.URL.Path, "/live-state")))
}

// stream hands on a request whose answer stays open, for as many pages as one may have. It ends
// with the guard.
func (g *Guard) stream(w http.ResponseWriter, r *http.Request, who visitor) {
	n := max(1, len(r.URL.Query()["view"])) // one stream may carry many pages
	if !g.count(who.id, n) {
		w.Header().Set("Retry-After", "10")
		g.refuse(w, r, http.StatusServiceUnavailable, fmt.Sprintf("too many pages are open: %d from one browser and %d in all are followed live", maxOwn, maxStreams), "Close some; this one goes on without.")
		return
	}
	defer g.count(who.id, -n)
	_ = http.NewResponseController(w).SetWriteDeadline(time.Time{})
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(g.over, cancel)()
	if who.id != "" {
		ctx = g.opt.WithCSRF(ctx, g.csrf(who.id))
	}
	g.opt.Next.ServeHTTP(w, r.WithContext(ctx))
}

// Watched reports whether somebody follows a page live.
func (g *Guard) Watched() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.all > 0
}

// count adds to the live pages of a visitor, programs being one together. It reports
// whether there is room.
func (g *Guard) count(id string, n int) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if n > 0 && (g.all+n > maxStreams || g.streams[id]+n > maxOwn) {
		return false
	}
	g.all += n
	if g.streams[id] += n; g.streams[id] == 0 {
		delete(g.streams, id)
	}
	return true
}
