package github

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/url"
	"strings"

	"github.com/google/go-github/v92/github"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/tracker"
)

const (
	maxHops    = 3        // redirects of one call
	maxPages   = 100      // of one list
	maxBody    = 8 << 20  // bytes of one answer
	maxAnswers = 16 << 20 // bytes of all that are kept
)

// answer is what came last from an address. It is asked for again by its etag: while it has not
// changed that costs nothing of the limit.
type answer struct {
	etag, next string
	body       []byte
}

// Do is any call of the API. path is relative to its root, or the address of a next page. body
// is sent as JSON, the answer read into out; either may be nil. A repository that was renamed is
// followed to where it is.
func (c *Client) Do(ctx context.Context, doing, method, path string, body, out any) (tracker.Meta, error) {
	m, hops, err := c.follow(ctx, doing, method, c.newest(path), body, out)
	if hops > 0 && err == nil {
		c.learn(ctx, path)
	}
	return m, err
}

// follow sends a request to where the answers say it belongs, as long as that is on the same
// host: the token is for no other.
func (c *Client) follow(ctx context.Context, doing, method, path string, body, out any) (m tracker.Meta, hops int, err error) {
	for {
		m, err = c.once(ctx, doing, method, path, body, out)
		e, is := errors.AsType[*tracker.Error](err)
		if !is || e.Moved == "" || hops == maxHops {
			return m, hops, err
		}
		to, bad := url.Parse(e.Moved)
		base, worse := url.Parse(c.gh.BaseURL())
		if bad != nil || worse != nil || to.Host != "" && to.Host != base.Host {
			return m, hops, err
		}
		path, hops = base.ResolveReference(to).String(), hops+1
	}
}

func (c *Client) once(ctx context.Context, doing, method, path string, body, out any) (tracker.Meta, error) {
	req, err := c.gh.NewRequest(ctx, method, path, body)
	if err != nil {
		return tracker.Meta{}, &tracker.Error{Service: ralph.GitHub, Doing: doing, Status: http.StatusBadRequest, Message: err.Error(), Cause: err}
	}
	before := c.kept(req)
	if before.etag != "" {
		req.Header.Set("If-None-Match", before.etag)
	}
	res, err := c.gh.BareDo(req)
	if res == nil || res.Response == nil {
		return tracker.Meta{}, tracker.Unanswered(ralph.GitHub, doing, err)
	}
	defer func() { _ = res.Body.Close() }()
	text, readErr := io.ReadAll(io.LimitReader(res.Body, maxBody))
	if readErr != nil {
		return tracker.Meta{}, tracker.Unanswered(ralph.GitHub, doing, readErr)
	}
	m, failed := tracker.Read(ralph.GitHub, doing, res.Response, text, out)
	if e, ok := errors.AsType[*tracker.Error](failed); ok {
		if abuse, is := errors.AsType[*github.AbuseRateLimitError](err); is {
			e.Limit(abuse.GetRetryAfter())
		}
		return m, failed
	}
	if m.Status == http.StatusNotModified {
		m.ETag, m.Next = before.etag, before.next
		if out != nil {
			err = json.Unmarshal(before.body, out) // it was read once
		}
		return m, err
	}
	c.keep(req, answer{m.ETag, m.Next, text})
	return m, nil
}

func (c *Client) kept(req *http.Request) answer {
	c.mu.Lock()
	defer c.mu.Unlock()
	if req.Method != http.MethodGet {
		return answer{}
	}
	return c.answers[req.URL.String()]
}

// keep remembers an answer. What is too much for memory is forgotten as a whole: it is asked for
// anew, and costs a call of the limit.
func (c *Client) keep(req *http.Request, a answer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if req.Method != http.MethodGet || a.etag == "" || len(a.body) > maxAnswers {
		return
	}
	if c.size+len(a.body) > maxAnswers {
		clear(c.answers)
		c.size = 0
	}
	c.size += len(a.body) - len(c.answers[req.URL.String()].body)
	c.answers[req.URL.String()] = a
}

// pages reads all pages of something. tag says whether all of it is as it was: it is the same
// then, and not empty.
func pages[T any](ctx context.Context, c *Client, doing, at string) (all []T, tag string, err error) {
	etags := make([]string, 0, 1)
	for range maxPages {
		var page T
		m, err := c.Do(ctx, doing, http.MethodGet, at, nil, &page)
		if err != nil {
			return nil, "", err
		}
		all, etags = append(all, page), append(etags, m.ETag)
		if at = m.Next; at != "" {
			continue
		}
		for _, e := range etags {
			if e == "" {
				return all, "", nil
			}
		}
		return all, strings.Join(etags, " "), nil
	}
	return nil, "", &tracker.Error{Service: ralph.GitHub, Doing: doing, Status: http.StatusUnprocessableEntity, Message: "there are more than 10,000 of them: ask for less"}
}

// list reads all of a list.
func list[T any](ctx context.Context, c *Client, doing, at string) (all []T, tag string, err error) {
	lists, tag, err := pages[[]T](ctx, c, doing, at)
	for _, l := range lists {
		all = append(all, l...)
	}
	return all, tag, err
}

// repoOf is owner/name in a path relative to the API's root.
func repoOf(path string) (repo, rest string) {
	p := strings.SplitN(path, "/", 4)
	if len(p) < 3 || p[0] != "repos" || strings.Contains(p[2], "?") {
		return "", ""
	}
	if len(p) == 4 {
		rest = "/" + p[3]
	}
	return p[1] + "/" + p[2], rest
}

// newest is the path with the name that its repository is known to have now.
func (c *Client) newest(path string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if repo, rest := repoOf(path); c.names[repo] != "" {
		return "repos/" + c.names[repo] + rest
	}
	return path
}

// current is the name that a repository is known to have now.
func (c *Client) current(repo string) string {
	now, _ := repoOf(c.newest("repos/" + repo))
	return now
}

// learn finds out what a repository that has moved is called now.
func (c *Client) learn(ctx context.Context, path string) {
	repo, _ := repoOf(path)
	var now struct {
		FullName string `json:"full_name"`
	}
	if repo == "" {
		return
	}
	if _, _, err := c.follow(ctx, "look what "+repo+" is called now", http.MethodGet, "repos/"+repo, nil, &now); err != nil || now.FullName == "" || now.FullName == repo {
		return // the next call finds out
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.names[repo] = now.FullName
}

// Renames implements tracker.Renamer.
func (c *Client) Renames() map[string]string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.names)
}
