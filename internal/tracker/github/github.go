// Package github is GitHub as a tracker: issues and pull requests, their comments and labels,
// fields of projects, at github.com and at Enterprise servers.
//
// It does NOT own what is sent, nor when (outbox).
package github

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/google/go-github/v92/github"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/tracker"
)

// Client is GitHub. Its transport is go-github's; what is sent and read are structs of ours, as
// those of go-github do not fit all servers that speak this API.
type Client struct {
	gh   *github.Client
	repo string // owner/name

	gitea bool // the server is a Gitea

	mu       sync.Mutex
	projects map[string]map[string]field // fields by project and lower-case name
	answers  map[string]answer           // of GET, by address
	size     int                         // of all answers, in bytes
	names    map[string]string           // of repositories that were renamed: now, by what they were
}

var _ interface {
	tracker.Client
	tracker.Searcher
	tracker.Remover
	tracker.Reader
	tracker.Renamer
} = (*Client)(nil)

// New makes a client. An address that is that of an Enterprise server's pages becomes that of
// its API.
func New(a tracker.Access) (*Client, error) {
	base := a.URL
	if base == "" {
		base = "https://api.github.com"
	}
	u, err := url.Parse(base)
	if err != nil || u.Host == "" {
		return nil, fmt.Errorf("reach GitHub: %q is no address", base)
	}
	if u.Host == "github.com" {
		u.Host = "api.github.com"
	} else if strings.Trim(u.Path, "/") == "" && a.URL != "" && u.Host != "api.github.com" && u.Scheme == "https" {
		u.Path = "/api/v3"
	}
	base = strings.TrimSuffix(u.String(), "/") + "/"
	opts := []github.ClientOptionsFunc{github.WithHTTPClient(a.HTTPClient()), github.WithURLs(&base, nil), github.WithDisableRateLimitCheck(), github.WithUserAgent("ralph")}
	if a.Token != "" {
		opts = append(opts, github.WithAuthToken(a.Token))
	}
	gh, err := github.NewClient(opts...)
	if err != nil {
		return nil, fmt.Errorf("reach GitHub: %w", err)
	}
	return &Client{gh: gh, repo: a.Project, gitea: isGitea(u), projects: map[string]map[string]field{}, answers: map[string]answer{}, names: map[string]string{}}, nil
}

// Check implements tracker.Client. It asks how much of the limit is left, which costs nothing of it.
func (c *Client) Check(ctx context.Context) (string, error) {
	var user struct{ Login string }
	if _, err := c.Do(ctx, "look who the token belongs to", http.MethodGet, "user", nil, &user); err != nil {
		if e, ok := errors.AsType[*tracker.Error](err); !ok || e.Status != http.StatusForbidden || e.Kind() != tracker.Denied {
			return "", err
		}
		user.Login = "an app" // its tokens have no user
	}
	if c.repo == "" {
		return user.Login, nil
	}
	var repo struct{ Permissions map[string]bool }
	if _, err := c.Do(ctx, "look at "+c.repo, http.MethodGet, "repos/"+c.repo, nil, &repo); err != nil {
		return "", err
	}
	if repo.Permissions != nil && !repo.Permissions["triage"] && !repo.Permissions["push"] {
		return user.Login, &tracker.Error{Service: ralph.GitHub, Doing: "look at " + c.repo, Status: http.StatusForbidden, Message: user.Login + " may not label or edit there", Right: "Issues: read and write"}
	}
	return user.Login, nil
}

// issue is an issue or a pull request as it comes.
type issue struct {
	ID                int64
	Number            int
	Title             string
	Body              string
	HTMLURL           string `json:"html_url"`
	RepositoryURL     string `json:"repository_url"`
	User              struct{ Login string }
	AuthorAssociation string `json:"author_association"`
	State             string
	Labels            []struct{ Name string }
	Comments          int
	UpdatedAt         time.Time `json:"updated_at"`
	PullRequest       *struct{} `json:"pull_request"`
}

func (i issue) item(ref tracker.Ref) tracker.Item {
	out := tracker.Item{
		Ref: ref, Title: i.Title, Body: i.Body, URL: i.HTMLURL, Author: i.User.Login, Association: i.AuthorAssociation,
		State: i.State, Closed: i.State == "closed", Pull: i.PullRequest != nil, Comments: i.Comments, Updated: i.UpdatedAt,
	}
	for _, l := range i.Labels {
		out.Labels = append(out.Labels, l.Name)
	}
	return out
}

// path is the address of an issue, and of what belongs to it.
func path(ref tracker.Ref, rest string) string {
	owner, name, n := ref.Repo()
	return fmt.Sprintf("repos/%s/%s/issues/%d%s", owner, name, n, rest)
}

// Item implements tracker.Client.
func (c *Client) Item(ctx context.Context, ref tracker.Ref, etag string) (tracker.Item, error) {
	var i issue
	m, err := c.Do(ctx, "read "+ref.String(), http.MethodGet, path(ref, ""), nil, &i)
	if err != nil {
		return tracker.Item{}, err
	}
	if etag != "" && m.ETag == etag {
		return tracker.Item{Ref: ref, ETag: etag, Unchanged: true}, nil
	}
	out := i.item(ref)
	out.ETag = m.ETag
	if c.gitea {
		owner, name, _ := ref.Repo()
		out.Association, err = c.giteaKnows(ctx, owner+"/"+name, out.Author, map[string]string{})
	}
	return out, err
}

// comment is a comment as it comes: on an issue, or on a line; or a review.
type comment struct {
	ID                int64
	Body              string
	HTMLURL           string `json:"html_url"`
	User              struct{ Login string }
	AuthorAssociation string    `json:"author_association"`
	CreatedAt         time.Time `json:"created_at"`
	Path              string
	Line              int
	State             string
}

func (c comment) said() tracker.Said {
	return tracker.Said{ID: c.ID, Text: c.Body, Author: c.User.Login, Association: c.AuthorAssociation, At: c.CreatedAt, Path: c.Path, Line: c.Line, State: c.State}
}

// saidOf reads a whole list of what people wrote.
func (c *Client) saidOf(ctx context.Context, doing, at string) ([]tracker.Said, error) {
	all, _, err := list[comment](ctx, c, doing, at+"?per_page=100")
	said := make([]tracker.Said, len(all))
	for i, x := range all {
		said[i] = x.said()
	}
	return said, err
}

// Comments implements tracker.Reader.
func (c *Client) Comments(ctx context.Context, ref tracker.Ref) ([]tracker.Said, error) {
	return c.saidOf(ctx, "read the comments of "+ref.String(), path(ref, "/comments"))
}

func (c comment) remote() tracker.Remote {
	return tracker.Remote{ID: strconv.FormatInt(c.ID, 10), URL: c.HTMLURL}
}

// maxText is how long the text of a comment can be.
const maxText = 65536

// text is a comment with its marker, which people do not see.
func text(c tracker.Comment) string { return cut(c.Text, "\n\n<!-- ralph:"+c.Marker+" -->") }

// cut is a text that the service takes, with its end whole.
func cut(body, end string) string {
	if len(body)+len(end) > maxText {
		body = strings.ToValidUTF8(body[:maxText-len(end)-3], "") + "..."
	}
	return body + end
}

// Comment implements tracker.Client.
func (c *Client) Comment(ctx context.Context, ref tracker.Ref, x tracker.Comment) (tracker.Remote, error) {
	var made comment
	_, err := c.Do(ctx, "comment on "+ref.String(), http.MethodPost, path(ref, "/comments"), map[string]string{"body": text(x)}, &made)
	return made.remote(), err
}

// Edit implements tracker.Client.
func (c *Client) Edit(ctx context.Context, ref tracker.Ref, id string, x tracker.Comment) (tracker.Remote, error) {
	owner, name, _ := ref.Repo()
	var made comment
	_, err := c.Do(ctx, "edit the comment on "+ref.String(), http.MethodPatch, fmt.Sprintf("repos/%s/%s/issues/comments/%s", owner, name, url.PathEscape(id)), map[string]string{"body": text(x)}, &made)
	return made.remote(), err
}

// Remove implements tracker.Remover.
func (c *Client) Remove(ctx context.Context, ref tracker.Ref, id string) error {
	owner, name, _ := ref.Repo()
	_, err := c.Do(ctx, "remove a comment of "+ref.String(), http.MethodDelete, fmt.Sprintf("repos/%s/%s/issues/comments/%s", owner, name, url.PathEscape(id)), nil, nil)
	return ignore(err, http.StatusNotFound)
}

// Find implements tracker.Client.
func (c *Client) Find(ctx context.Context, ref tracker.Ref, marker string, since time.Time) ([]tracker.Remote, error) {
	q := url.Values{"per_page": {"100"}}
	if !since.IsZero() {
		q.Set("since", since.UTC().Format(time.RFC3339))
	}
	all, _, err := list[comment](ctx, c, "look for a comment on "+ref.String(), path(ref, "/comments")+"?"+q.Encode())
	if err != nil {
		return nil, err
	}
	var found []tracker.Remote
	for _, x := range all {
		if strings.Contains(x.Body, "<!-- ralph:"+marker+" -->") {
			found = append(found, x.remote())
		}
	}
	return found, nil
}

// Set implements tracker.Client.
func (c *Client) Set(ctx context.Context, ref tracker.Ref, x tracker.Change) error {
	if c.gitea {
		if err := c.giteaLabels(ctx, ref, x); err != nil {
			return err
		}
		x.Add, x.Remove = nil, nil
	}
	if len(x.Add) > 0 {
		if _, err := c.Do(ctx, "label "+ref.String(), http.MethodPost, path(ref, "/labels"), map[string]any{"labels": x.Add}, nil); err != nil {
			return err
		}
	}
	for _, label := range x.Remove {
		_, err := c.Do(ctx, "take a label off "+ref.String(), http.MethodDelete, path(ref, "/labels/"+url.PathEscape(label)), nil, nil)
		if err = ignore(err, http.StatusNotFound); err != nil {
			return err
		}
	}
	if x.State != "" {
		if _, err := c.Do(ctx, "set the state of "+ref.String(), http.MethodPatch, path(ref, ""), stateBody(x.State), nil); err != nil {
			return err
		}
	}
	return c.setFields(ctx, ref, x.Fields)
}

func stateBody(state string) map[string]string {
	switch state {
	case "open":
		return map[string]string{"state": "open"}
	case "not_planned":
		return map[string]string{"state": "closed", "state_reason": "not_planned"}
	}
	return map[string]string{"state": "closed", "state_reason": "completed"}
}

// ignore makes nothing of a refusal with one of the statuses.
func ignore(err error, statuses ...int) error {
	if e, ok := errors.AsType[*tracker.Error](err); ok && slices.Contains(statuses, e.Status) {
		return nil
	}
	return err
}
