package guard

import (
	"errors"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
)

// hosts are the names by which a browser may ask for the dashboard. A site elsewhere can
// make its own name mean this machine (DNS rebinding); then the name is still its own.
// The port is not looked at: a tunnel (ssh -L) may have another one at its other end.
type hosts struct {
	ip    netip.Addr // that it listens on
	names []string
}

func hostsOf(addr net.Addr, names []string) hosts {
	h := hosts{names: []string{"localhost"}}
	if a, err := netip.ParseAddrPort(addr.String()); err == nil {
		h.ip = a.Addr().Unmap()
	}
	for _, n := range names {
		if n != "" {
			h.names = append(h.names, strings.ToLower(n))
		}
	}
	return h
}

// everywhere reports whether it listens on all addresses of the machine.
func (h hosts) everywhere() bool { return h.ip.IsUnspecified() }

func (h hosts) allow(host string) bool {
	name := strings.ToLower(host)
	if n, _, err := net.SplitHostPort(name); err == nil {
		name = n
	} else if strings.HasPrefix(name, "[") && strings.HasSuffix(name, "]") {
		name = name[1 : len(name)-1]
	}
	ip, err := netip.ParseAddr(name)
	if err != nil {
		return slices.Contains(h.names, name)
	}
	ip = ip.Unmap()
	switch {
	case ip.IsUnspecified(), ip.Zone() != "": // browsers take 0.0.0.0 for this machine from any site
		return false
	case h.everywhere():
		return true // a number is nobody's name
	case h.ip.IsLoopback():
		return ip.IsLoopback()
	}
	return ip == h.ip
}

// origin refuses what another site has a browser send: net/http's protection looks at
// Sec-Fetch-Site first and at Origin only without it, so Origin is looked at here for
// every request that changes something.
func (g *Guard) origin(r *http.Request) error {
	if safe(r.Method) {
		site := r.Header.Get("Sec-Fetch-Site")
		// a page of another port of this machine is the same site to a browser
		if inside := r.URL.Path == "/live" || underAPI(r.URL.Path); inside && site != "" && site != "same-origin" && site != "none" {
			return errors.New("another site asked for it")
		}
		return nil
	}
	if err := g.cross.Check(r); err != nil {
		return errors.New("another site sent it")
	}
	for _, o := range r.Header.Values("Origin") {
		u, err := url.Parse(o)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || !strings.EqualFold(u.Host, r.Host) {
			return errors.New("another site sent it")
		}
	}
	return nil
}

func safe(method string) bool { return method == http.MethodGet || method == http.MethodHead }

func underAPI(path string) bool { return path == "/api" || strings.HasPrefix(path, "/api/") }

// forPrograms reports whether the bearer token is worth something there.
func forPrograms(path string) bool { return underAPI(path) || path == "/enter" }
