package guard

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"
)

const (
	cookieLife = 30 * 24 * time.Hour
	linkLife   = 10 * time.Minute
	maxLinks   = 64 // that wait to be used; the oldest make room
)

// visitor is who sent a request. The zero value is nobody.
type visitor struct {
	id      string // of the browser's cookie
	program bool   // it has the bearer token
}

func (v visitor) nobody() bool { return v == visitor{} }

// sum authenticates words of one kind with the repository's key: what was made for one
// purpose is worth nothing for another.
func (g *Guard) sum(kind string, words ...string) string {
	mac := hmac.New(sha256.New, g.key)
	mac.Write([]byte("ralph " + kind + "\x00" + strings.Join(words, "\x00")))
	return textOf(mac.Sum(nil))
}

// cookieName carries the port that the browser sees: cookies do not know ports, and two
// repositories on one machine, or two that are reached through tunnels, must not
// overwrite each other's.
func cookieName(r *http.Request) string {
	_, port, err := net.SplitHostPort(r.Host)
	if err != nil {
		port = "80"
	}
	return "ralph_" + port
}

// newCookie lets a browser in.
func (g *Guard) newCookie(r *http.Request) *http.Cookie {
	id, until := rand.Text(), g.opt.Now().Add(cookieLife)
	end := strconv.FormatInt(until.Unix(), 10)
	return &http.Cookie{
		Name: cookieName(r), Value: id + "." + end + "." + g.sum("cookie", id, end), Path: "/", Expires: until, MaxAge: int(cookieLife / time.Second),
		HttpOnly: true, SameSite: http.SameSiteStrictMode,
	}
}

// idOf is the ID in a cookie that this repository gave and that is not too old, else "".
func (g *Guard) idOf(value string) string {
	parts := strings.Split(value, ".")
	if len(parts) != 3 || !equal(parts[2], g.sum("cookie", parts[0], parts[1])) {
		return ""
	}
	end, err := strconv.ParseInt(parts[1], 10, 64)
	if err != nil || !g.opt.Now().Before(time.Unix(end, 0)) {
		return ""
	}
	return parts[0]
}

// csrf is what the forms of a browser have to carry.
func (g *Guard) csrf(id string) string { return g.sum("csrf", id) }

// visitorOf says who sent a request. Programs have a token for /api and for new links;
// one that sends a wrong token is nobody, whatever else it sends.
func (g *Guard) visitorOf(r *http.Request) visitor {
	if token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); ok && forPrograms(r.URL.Path) {
		return visitor{program: equal(token, g.token)}
	}
	for _, c := range r.CookiesNamed(cookieName(r)) { // another server of this machine may have set one of the same name
		if id := g.idOf(c.Value); id != "" {
			return visitor{id: id}
		}
	}
	return visitor{}
}

// equal compares in a time that does not tell where the first difference is.
func equal(a, b string) bool {
	x, y := sha256.Sum256([]byte(a)), sha256.Sum256([]byte(b))
	return subtle.ConstantTimeCompare(x[:], y[:]) == 1
}

// Link is a new one-time link: whoever opens it within ten minutes comes in, once.
func (g *Guard) Link() string {
	token, now := random(), g.opt.Now()
	g.mu.Lock()
	defer g.mu.Unlock()
	g.links = append(g.links, link{sha256.Sum256([]byte(token)), now.Add(linkLife)})
	g.links = g.links[max(0, len(g.links)-maxLinks):]
	return g.URL() + "enter/" + token
}

// link is one that waits to be used: what is kept does not open anything.
type link struct {
	sum   [sha256.Size]byte
	until time.Time
}

// use takes a link's token away and reports whether it was good. All are looked at, so
// that the time says nothing.
func (g *Guard) use(token string) bool {
	sum, now, good := sha256.Sum256([]byte(token)), g.opt.Now(), false
	g.mu.Lock()
	defer g.mu.Unlock()
	left := g.links[:0]
	for _, l := range g.links {
		hit := subtle.ConstantTimeCompare(l.sum[:], sum[:]) == 1
		fresh := now.Before(l.until)
		good = good || hit && fresh
		if !hit && fresh {
			left = append(left, l)
		}
	}
	g.links = left
	return good
}
