// Package hub is a service in the shape of GitHub, in memory, for the demo and for tests: issues with
// labels and comments, pull requests of a bare git repository on the disk, checks, reviews,
// merging. It knows the calls that ralph makes and no others.
//
// It does NOT stand in for GitHub's own rules beyond those: rights, limits of real sizes,
// webhooks.
package hub

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Hub is the service with one repository.
type Hub struct {
	repo, dir string // owner/name; the bare repository

	// Fill has an answer say all that GitHub's does, beside what is read of it; kind is the name of
	// GitHub's own example of one. Tests set it before the first call.
	Fill func(kind string, o map[string]any) map[string]any

	mu     sync.Mutex
	items  []*item
	checks map[string][]Check // by commit
	always []Check            // of each commit that is new
	first  []Check            // of the first of these, instead
	away   bool
	clock  time.Time
	ids    int64
	calls  []string
}

// Check is a check of the service on a commit.
type Check struct {
	Name       string `json:"name"`
	Status     string `json:"status"`
	Conclusion string `json:"conclusion"`
	Output     struct {
		Title   string `json:"title"`
		Summary string `json:"summary"`
	} `json:"output"`
}

type object = map[string]any

// item is an issue or a pull request.
type item struct {
	number                    int
	title, body, author, team string
	closed, pull, merged      bool
	labels                    []string
	updated                   time.Time
	head, base                string
	comments, reviews, lines  []object
}

// New returns a service for owner/name, whose pull requests are of branches of a bare repository.
func New(repo, dir string) *Hub {
	return &Hub{repo: repo, dir: dir, Fill: func(_ string, o object) object { return o }, checks: map[string][]Check{}, clock: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
}

// now is a time that rises with each change.
func (h *Hub) now() time.Time {
	h.clock = h.clock.Add(time.Second)
	return h.clock
}

// Issue makes an issue and returns its number.
func (h *Hub) Issue(title, body, author, association string, labels ...string) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	i := &item{number: len(h.items) + 1, title: title, body: body, author: author, team: association, labels: labels, updated: h.now()}
	h.items = append(h.items, i)
	return i.number
}

// Edit changes an issue or a pull request.
func (h *Hub) Edit(n int, edit func(title, body *string, labels *[]string, closed *bool)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	i := h.items[n-1]
	edit(&i.title, &i.body, &i.labels, &i.closed)
	i.updated = h.now()
}

// Check has the newest commit of each open pull request have a check with a conclusion; "" is one
// that runs. Commits that come later have a green one as well; where it is red it runs on them
// until the next call, as a service does not know of a commit that it is red before it has run.
func (h *Hub) Check(name, conclusion, summary string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	c := newCheck(name, conclusion, summary)
	h.always, h.first = []Check{newCheck(name, "", "")}, nil
	if conclusion == "success" {
		h.always = []Check{c}
	}
	for _, i := range h.items {
		if i.pull && !i.closed {
			h.checks[h.tip(i.head)] = []Check{c}
		}
	}
}

// CheckFirst has a check be red on the first commit that is asked about, and green on each after it.
func (h *Hub) CheckFirst(name, summary string) {
	h.Check(name, "success", "")
	h.mu.Lock()
	defer h.mu.Unlock()
	h.first = []Check{newCheck(name, "failure", summary)}
}

// newCheck is a check with a conclusion, "" for one that runs: nothing is said of it yet.
func newCheck(name, conclusion, summary string) Check {
	c := Check{Name: name, Status: "in_progress"}
	if conclusion != "" {
		c.Status, c.Conclusion = "completed", conclusion
		c.Output.Title, c.Output.Summary = name, summary
	}
	return c
}

// Review has somebody ask for changes of a pull request.
func (h *Hub) Review(n int, author, association, body string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ids++
	i := h.items[n-1]
	i.reviews = append(i.reviews, object{"id": h.ids, "state": "CHANGES_REQUESTED", "body": body, "user": object{"login": author}, "author_association": association})
	i.updated = h.now()
}

// Merge merges a pull request, as a person does: its base is at its head then, and the issues
// that its text closes are closed.
func (h *Hub) Merge(n int) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.merge(h.items[n-1])
}

var closes = regexp.MustCompile(`(?i)\b(?:closes|fixes|resolves) [\w./-]*#(\d+)`)

func (h *Hub) merge(i *item) error {
	if err := os.WriteFile(filepath.Join(h.dir, "refs/heads", i.base), []byte(h.tip(i.head)+"\n"), 0o644); err != nil {
		return fmt.Errorf("merge: %w", err)
	}
	i.merged, i.closed, i.updated = true, true, h.now()
	for _, m := range closes.FindAllStringSubmatch(i.body, -1) {
		if k, err := strconv.Atoi(m[1]); err == nil && k > 0 && k <= len(h.items) {
			h.items[k-1].closed, h.items[k-1].updated = true, h.now()
		}
	}
	return nil
}

// Away has the service answer nothing, or answer again.
func (h *Hub) Away(away bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.away = away
}

// IsAway reports whether the service answers nothing.
func (h *Hub) IsAway() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.away
}

// Tell says what the service has, a line for each thing.
func (h *Hub) Tell() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	var b strings.Builder
	for _, i := range h.items {
		kind, state := "issue", "open"
		if i.pull {
			kind = "pull"
		}
		switch {
		case i.merged:
			state = "merged"
		case i.closed:
			state = "closed"
		}
		fmt.Fprintf(&b, "%s %d %s: %s\n", kind, i.number, state, i.title)
	}
	for _, c := range h.calls {
		if !strings.HasPrefix(c, "GET ") {
			fmt.Fprintln(&b, c)
		}
	}
	return b.String()
}

// Body is the text of an issue or a pull request.
func (h *Hub) Body(n int) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.items[n-1].body
}

func (h *Hub) tip(branch string) string {
	b, err := os.ReadFile(filepath.Join(h.dir, "refs/heads", filepath.FromSlash(branch)))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}

// ServeHTTP answers a call of the API.
func (h *Hub) ServeHTTP(out http.ResponseWriter, in *http.Request) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.away {
		http.Error(out, "bad gateway", http.StatusBadGateway)
		return
	}
	path, ok := strings.CutPrefix(in.URL.Path, "/repos/"+h.repo+"/")
	if !ok || in.Header.Get("Authorization") == "" {
		fail(out, http.StatusNotFound, "Not Found")
		return
	}
	h.calls = append(h.calls, in.Method+" "+path)
	p := strings.Split(path, "/")
	var body object
	if in.Body != nil {
		_ = json.NewDecoder(in.Body).Decode(&body)
	}
	switch {
	case p[0] == "commits" && len(p) == 3:
		h.commit(out, in, p[1], p[2])
	case p[0] == "issues" && len(p) == 1:
		h.list(out, in)
	case p[0] == "pulls" && len(p) == 1:
		h.pulls(out, in, body)
	case len(p) >= 2:
		h.one(out, in, p, body)
	default:
		fail(out, http.StatusNotFound, "Not Found")
	}
}

func (h *Hub) commit(out http.ResponseWriter, in *http.Request, commit, what string) {
	if what == "status" {
		answer(out, nil, h.Fill("combined-commit-status", object{"state": "pending", "total_count": 0, "sha": commit, "statuses": []object{}}))
		return
	}
	if _, known := h.checks[commit]; !known && len(h.always) > 0 {
		h.checks[commit] = h.always
		if h.first != nil {
			h.checks[commit], h.first = h.first, nil
		}
	}
	runs := []object{}
	for n, c := range h.checks[commit] {
		run := object{"id": n + 1, "head_sha": commit, "name": c.Name, "status": c.Status, "conclusion": c.Conclusion, "output": object{"title": c.Output.Title, "summary": c.Output.Summary}}
		if c.Conclusion == "" {
			run["conclusion"] = nil
		}
		runs = append(runs, run)
	}
	answer(out, in, h.Fill("check-run-paginated", object{"total_count": len(runs), "check_runs": runs}))
}

func (h *Hub) list(out http.ResponseWriter, in *http.Request) {
	q := in.URL.Query()
	found := []object{}
	for _, i := range h.items {
		wanted := q.Get("state") == "all" || (q.Get("state") == "closed") == i.closed
		for l := range strings.SplitSeq(q.Get("labels"), ",") {
			wanted = wanted && (l == "" || slices.Contains(i.labels, l))
		}
		if wanted && !i.pull {
			found = append(found, h.shown(i, "issue"))
		}
	}
	answer(out, in, found)
}

func (h *Hub) pulls(out http.ResponseWriter, in *http.Request, body object) {
	text := func(key string) string { s, _ := body[key].(string); return s }
	if in.Method == http.MethodGet {
		_, head, _ := strings.Cut(in.URL.Query().Get("head"), ":")
		found := []object{}
		for _, i := range h.items {
			if i.pull && i.head == head && !i.closed {
				found = append(found, h.shown(i, "pull-request-simple-items"))
			}
		}
		answer(out, nil, found)
		return
	}
	for _, i := range h.items {
		if i.pull && i.head == text("head") && !i.closed {
			fail(out, http.StatusUnprocessableEntity, "A pull request already exists for "+i.head)
			return
		}
	}
	if h.tip(text("head")) == "" || h.tip(text("base")) == "" {
		fail(out, http.StatusUnprocessableEntity, "Validation Failed: there is no such head or base")
		return
	}
	i := &item{number: len(h.items) + 1, title: text("title"), body: text("body"), author: "ralph", team: "CONTRIBUTOR", head: text("head"), base: text("base"), pull: true, updated: h.now()}
	h.items = append(h.items, i)
	out.Header().Set("Content-Type", "application/json; charset=utf-8")
	out.WriteHeader(http.StatusCreated)
	answer(out, nil, h.shown(i, "pull-request"))
}

// one answers what is about one issue or pull request.
func (h *Hub) one(out http.ResponseWriter, in *http.Request, p []string, body object) {
	n, err := strconv.Atoi(p[1])
	if err != nil || n < 1 || n > len(h.items) || p[0] == "pulls" && !h.items[n-1].pull {
		fail(out, http.StatusNotFound, "Not Found")
		return
	}
	i := h.items[n-1]
	what := strings.Join(p[2:], "/")
	kind := map[string]string{"issues": "issue", "pulls": "pull-request"}[p[0]]
	switch {
	case what == "" && in.Method == http.MethodPatch:
		if s, ok := body["body"].(string); ok {
			i.body, i.updated = s, h.now()
		}
		answer(out, nil, h.shown(i, kind))
	case what == "":
		answer(out, in, h.shown(i, kind))
	case what == "comments" && p[0] == "pulls":
		answer(out, in, h.filled("pull-request-review-comment-items", i.lines))
	case what == "comments":
		answer(out, in, h.filled("issue-comment", i.comments))
	case what == "reviews":
		answer(out, in, h.filled("pull-request-review-items", i.reviews))
	case what == "labels":
		for _, l := range list(body["labels"]) {
			if !slices.Contains(i.labels, l) {
				i.labels = append(i.labels, l)
			}
		}
		answer(out, nil, h.shownLabels(i))
	case what == "requested_reviewers":
		out.Header().Set("Content-Type", "application/json; charset=utf-8")
		out.WriteHeader(http.StatusCreated)
		answer(out, nil, h.shown(i, "pull-request-simple-items"))
	case what == "merge" && body["sha"] != h.tip(i.head):
		fail(out, http.StatusConflict, "Head branch was modified")
	case what == "merge":
		if err := h.merge(i); err != nil {
			fail(out, http.StatusInternalServerError, err.Error())
			return
		}
		answer(out, nil, object{"merged": true, "message": "Pull Request successfully merged", "sha": h.tip(i.head)})
	default:
		fail(out, http.StatusNotFound, "Not Found")
	}
}

// list are the words of a list.
func list(v any) []string {
	var words []string
	all, _ := v.([]any)
	for _, x := range all {
		if s, ok := x.(string); ok {
			words = append(words, s)
		}
	}
	return words
}

func (h *Hub) filled(kind string, list []object) []object {
	all := []object{}
	for _, o := range list {
		all = append(all, h.Fill(kind, o))
	}
	return all
}

func (h *Hub) shownLabels(i *item) []object {
	labels := []object{}
	for n, l := range i.labels {
		labels = append(labels, h.Fill("label", object{"id": n + 1, "name": l}))
	}
	return labels
}

// shown is an item as GitHub's example of a kind has it.
func (h *Hub) shown(i *item, kind string) object {
	state, page := "open", "issues"
	if i.closed {
		state = "closed"
	}
	o := object{
		"number": i.number, "title": i.title, "body": i.body, "state": state, "updated_at": i.updated, "labels": h.shownLabels(i),
		"user": object{"login": i.author}, "author_association": i.team,
	}
	if i.pull {
		page = "pull"
		o["head"], o["base"] = object{"ref": i.head, "sha": h.tip(i.head)}, object{"ref": i.base}
		o["pull_request"] = object{"url": "https://hub.example/pull", "html_url": "https://hub.example/pull", "diff_url": "https://hub.example/pull", "patch_url": "https://hub.example/pull"}
		o["merged_at"] = nil
		if i.merged {
			o["merged_at"] = i.updated
		}
		if kind == "pull-request" {
			o["merged"] = i.merged
		}
	}
	o["html_url"] = fmt.Sprintf("https://hub.example/%s/%s/%d", h.repo, page, i.number)
	o = h.Fill(kind, o)
	if !i.pull {
		delete(o, "pull_request") // by which an issue is told from a pull request
	}
	return o
}

// answer writes JSON; with a request, conditional by its ETag.
func answer(out http.ResponseWriter, in *http.Request, v any) {
	b, err := json.Marshal(v)
	if err != nil {
		fail(out, http.StatusInternalServerError, err.Error())
		return
	}
	if in != nil {
		sum := sha256.Sum256(b)
		tag := `"` + hex.EncodeToString(sum[:8]) + `"`
		out.Header().Set("ETag", tag)
		if in.Header.Get("If-None-Match") == tag {
			out.WriteHeader(http.StatusNotModified)
			return
		}
	}
	out.Header().Set("Content-Type", "application/json; charset=utf-8")
	_, _ = out.Write(b)
}

func fail(out http.ResponseWriter, status int, message string) {
	out.WriteHeader(status)
	_ = json.NewEncoder(out).Encode(object{"message": message})
}
