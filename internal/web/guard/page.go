package guard

import (
	"encoding/json"
	"html/template"
	"net/http"
	"os"
	"strings"

	"github.com/ralph-loop/ralph/internal/text"
)

// howIn is what whoever stands outside is told.
const howIn = "Run `ralph serve` in a terminal and open the link it prints."

// enter makes a new link for a program with the token, and takes one from a browser.
func (g *Guard) enter(w http.ResponseWriter, r *http.Request, who visitor) {
	switch {
	case r.URL.Path == "/enter" && r.Method == http.MethodPost && who.program:
		if _, err := g.acts(r, true); err != nil { // a link lets in a browser that then acts
			g.refuse(w, r, http.StatusForbidden, err.Error(), "Nothing was changed.")
			return
		}
		w.Header().Set("Cache-Control", "no-store")
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(answer{g.Link(), g.URL(), os.Getpid(), g.about.Command})
		return
	case r.URL.Path == "/enter":
		g.outside(w, r)
		return
	case r.Method != http.MethodGet, strings.Contains(r.Header.Get("Sec-Purpose"), "prefetch"): // only a person uses it up
		g.refuse(w, r, http.StatusForbidden, "a link is opened, and not looked at", howIn)
		return
	case g.use(strings.TrimPrefix(r.URL.Path, "/enter/")):
		http.SetCookie(w, g.newCookie(r))
	case who.id == "": // else it is a way that this browser has gone before
		g.refuse(w, r, http.StatusGone, "this link was used, or is older than ten minutes", "`ralph serve` prints a new one, also while it runs already.")
		return
	}
	// No redirect: a browser that came from another site's page leaves a strict cookie out
	// of the whole chain. This page is the dashboard's own, and so is the way on from it.
	g.write(w, http.StatusOK, page{Title: "Welcome", Next: "/"})
}

// answer is what a program gets that asked for a link.
type answer struct {
	Link    string `json:"link"`
	URL     string `json:"url"`
	Pid     int    `json:"pid"`
	Command string `json:"command"`
}

// outside answers whoever has neither cookie nor token.
func (g *Guard) outside(w http.ResponseWriter, r *http.Request) {
	cross := r.Header.Get("Sec-Fetch-Site") == "cross-site" && r.Header.Get("Sec-Fetch-Mode") == "navigate"
	if next := r.URL.RequestURI(); cross && r.Method == http.MethodGet && local(next) {
		// The cookie is strict: a link in a chat or a mail comes without it, once.
		g.write(w, http.StatusUnauthorized, page{Title: "One moment", Next: next})
		return
	}
	if forPrograms(r.URL.Path) {
		w.Header().Set("WWW-Authenticate", `Bearer realm="ralph"`)
		g.refuse(w, r, http.StatusUnauthorized, "a token is needed: Authorization: Bearer <token>", "It is in ralph/.state/web.json.")
		return
	}
	g.refuse(w, r, http.StatusUnauthorized, "this browser has not come in yet", howIn)
}

// local reports whether an address is one of this server to every browser.
func local(address string) bool {
	return strings.HasPrefix(address, "/") && !strings.HasPrefix(address, "//") && !strings.HasPrefix(address, `/\`)
}

// refuse answers in the form that who asked can read.
func (g *Guard) refuse(w http.ResponseWriter, r *http.Request, status int, why, hint string) {
	switch {
	case forPrograms(r.URL.Path):
		w.Header().Set("Cache-Control", "no-store")
		w.Header().Set("Content-Type", "application/problem+json") // as the API answers
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(map[string]any{"type": "about:blank", "title": http.StatusText(status), "status": status, "detail": why, "hint": hint})
	case r.URL.Path == "/live" || r.Header.Get("HX-Request") == "true":
		w.Header().Set("Cache-Control", "no-store")
		http.Error(w, strings.TrimSpace(why+". "+hint), status)
	default:
		g.write(w, status, page{Title: strings.ToUpper(why[:1]) + why[1:], Hint: hint})
	}
}

// page is one of the few pages that whoever stands outside may see.
type page struct {
	Title, Hint string
	Next        string // where it goes on by itself
}

// Code is the hint, in which every second part is what a person types.
func (p page) Code() []string { return strings.Split(p.Hint, "`") }

func (g *Guard) write(w http.ResponseWriter, status int, p page) {
	const text = `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
{{with .Next}}<meta http-equiv="refresh" content="0; url={{.}}">
{{end}}<title>{{.Title}} · ralph</title>
<link rel="stylesheet" href="{{.Style}}">
<link rel="icon" href="data:,">
</head>
<body>
<main>
<h1>{{.Title}}</h1>
<div class="card">
{{if .Hint}}<p>{{range $i, $s := .Code}}{{if odd $i}}<code>{{$s}}</code>{{else}}{{$s}}{{end}}{{end}}</p>
{{end}}{{with .Next}}<p><a href="{{.}}">On to the dashboard</a></p>
{{end}}</div>
</main>
</body>
</html>
`
	t, err := template.New("").Funcs(template.FuncMap{"odd": func(n int) bool { return n%2 == 1 }}).Parse(text)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_ = t.Execute(w, struct {
		page
		Style string
	}{p, g.opt.Style})
}

// shown is what a stranger sent, short and on one line.
func shown(s string) string {
	s = strings.ToValidUTF8(text.OneLine(s), "?")
	return s[:min(len(s), 100)]
}
