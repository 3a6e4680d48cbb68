package notify

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/nicholas-fedor/shoutrrr/pkg/router"

	"github.com/ralph-loop/ralph/internal/lazyregexp"
)

// address is where a webhook's messages go. It is a secret as a whole: who knows
// it can write there.
type address struct {
	kind    string // slack, ntfy, ...; https for plain JSON
	url     string // in the library's form, or plain
	name    string // for people, without secrets
	secrets []string
}

// Name says which sink it is, without its secrets.
func (a address) Name() string { return a.name }

// parse reads a setting of notify.webhooks: an address of the library's form, one
// that people copy from Slack, ntfy or Discord, or any other https address.
func parse(setting string) (address, error) {
	u, err := url.Parse(setting)
	if err != nil || u.Scheme == "" {
		return address{}, errors.New("is no address")
	}
	a := address{kind: u.Scheme, url: setting, name: u.Scheme, secrets: secretsOf(setting, u)}
	if u.Scheme == "http" || u.Scheme == "https" {
		if u.Host == "" {
			return address{}, errors.New("has no host")
		}
		if a.kind, a.url = pasted(u); a.kind == "" {
			a.kind, a.url, a.name = "https", setting, u.Scheme+" "+u.Hostname()
			return a, nil
		}
		a.name = a.kind + " " + u.Hostname()
	}
	kind, _, _ := strings.Cut(a.kind, "+")
	if known := services(); !slices.Contains(known, strings.ToLower(kind)) {
		return address{}, fmt.Errorf("is for %q, which is not known; known are http, https, %s", oneLine(kind, 20), strings.Join(known, ", "))
	}
	if _, err := open(a.url); err != nil {
		return address{}, fmt.Errorf("is not right for %s: %w", kind, a.masked(cause(err)))
	}
	return a, nil
}

// services are the kinds of addresses that the library knows. Its logger is left
// out: that would write into ralph's own output.
func services() []string {
	names := (&router.ServiceRouter{}).ListServices()
	slices.Sort(names)
	return slices.DeleteFunc(names, func(n string) bool { return n == "logger" })
}

// pasted turns the addresses that people copy from a service into the library's
// form; "" for every other address.
func pasted(u *url.URL) (kind, to string) {
	parts := strings.Split(strings.Trim(u.Path, "/"), "/")
	query := ""
	if u.RawQuery != "" {
		query = "?" + u.RawQuery
	}
	host := strings.ToLower(u.Hostname())
	switch {
	case host == "hooks.slack.com" && len(parts) == 4 && parts[0] == "services":
		return "slack", "slack://hook:" + strings.Join(parts[1:], "-") + "@webhook" + query
	case strings.HasSuffix("."+host, ".discord.com") || strings.HasSuffix("."+host, ".discordapp.com"):
		if at := slices.Index(parts, "webhooks"); at >= 0 && len(parts) == at+3 {
			return "discord", "discord://" + parts[at+2] + "@" + parts[at+1] + query
		}
	case (host == "ntfy.sh" || strings.HasPrefix(host, "ntfy.")) && len(parts) == 1 && parts[0] != "":
		n := *u
		n.Scheme = "ntfy"
		if u.Scheme == "http" {
			q := n.Query()
			q.Set("scheme", "http")
			n.RawQuery = q.Encode()
		}
		return "ntfy", n.String()
	}
	return "", ""
}

// secretsOf are the parts of an address that must not be shown, the longest first.
func secretsOf(setting string, u *url.URL) []string {
	parts := []string{u.Path, u.RawPath, u.RawQuery, u.Opaque, u.Fragment}
	if u.User != nil {
		password, _ := u.User.Password()
		parts = append(parts, u.User.String(), u.User.Username(), password)
	}
	if u.Scheme != "http" && u.Scheme != "https" {
		parts = append(parts, u.Host) // some services take a token there
	}
	parts = append(parts, strings.FieldsFunc(u.Path, func(r rune) bool { return r == '/' })...)
	for _, values := range u.Query() {
		parts = append(parts, values...)
	}
	for _, token := range slices.Clone(parts) { // the library writes some of them piece by piece
		parts = append(parts, strings.FieldsFunc(token, func(r rune) bool { return strings.ContainsRune("-:@/,", r) })...)
	}
	parts = append(parts, setting)
	const least = 5 // shorter words are parts of others, and no secrets
	parts = slices.DeleteFunc(parts, func(s string) bool { return len(s) < least })
	slices.SortFunc(parts, func(a, b string) int { return len(b) - len(a) })
	return slices.Compact(parts)
}

var anyURL = lazyregexp.New(`[a-zA-Z][a-zA-Z0-9+.-]*://[^\s"']+`)

// masked is an error without secrets: of every address in it the service and
// host stay, of the parts of this one nothing.
func (a address) masked(err error) error {
	text := anyURL.ReplaceAllStringFunc(err.Error(), func(raw string) string {
		u, err := url.Parse(strings.TrimRight(raw, ":;,.)"))
		if err != nil || u.Scheme != "http" && u.Scheme != "https" {
			scheme, _, _ := strings.Cut(raw, ":")
			return scheme + "://***"
		}
		return u.Scheme + "://" + u.Host + "/***"
	})
	for _, s := range a.secrets {
		text = strings.ReplaceAll(text, s, "***")
	}
	return errors.New(oneLine(text, 300))
}

// cause is the innermost of an error: the library says what failed at each level.
func cause(err error) error {
	for {
		next := errors.Unwrap(err)
		if next == nil {
			return err
		}
		err = next
	}
}
