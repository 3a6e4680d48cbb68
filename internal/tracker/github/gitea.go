package github

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/tracker"
)

// Gitea, and Forgejo that began as it, speak most of GitHub's API below /api/v1. What they want or answer
// otherwise is here, as seen with Gitea 1.26. A query or an address that they do not know is no error there: it
// is left out, so that lists may have more than was asked for.

// isGitea reports whether the address of an API is that of a Gitea.
func isGitea(u *url.URL) bool { return strings.HasSuffix(strings.TrimSuffix(u.Path, "/"), "/api/v1") }

// giteaIssues lists issues: Gitea has other words for who wrote them, takes any of several labels for all,
// knows labels that are not there as none, and has the newest first.
func (c *Client) giteaIssues(ctx context.Context, q Query) ([]tracker.Item, error) {
	v := url.Values{"type": {"issues"}, "limit": {"50"}, "state": q.values["state"], "labels": q.values["labels"]}
	for ours, theirs := range map[string]string{"creator": "created_by", "assignee": "assigned_by", "milestone": "milestones"} {
		if q.values.Has(ours) {
			v.Set(theirs, q.values.Get(ours))
		}
	}
	issues, _, err := list[issue](ctx, c, "list the issues of "+q.Repo, "repos/"+q.Repo+"/issues?"+v.Encode())
	if err != nil {
		return nil, err
	}
	slices.SortFunc(issues, func(a, b issue) int { return a.Number - b.Number })
	var items []tracker.Item
	known := map[string]string{}
	for _, i := range issues {
		item := i.item(tracker.Ref{Service: ralph.GitHub, Key: fmt.Sprintf("%s#%d", q.Repo, i.Number)})
		if slices.ContainsFunc(q.Labels, func(l string) bool { return !slices.Contains(item.Labels, l) }) {
			continue
		}
		if item.Association, err = c.giteaKnows(ctx, q.Repo, item.Author, known); err != nil {
			return nil, err
		}
		items = append(items, item)
	}
	return items, nil
}

// giteaKnows is what somebody is to a repository, as GitHub calls it. Members of teams are not told from
// strangers: only administrators may ask.
func (c *Client) giteaKnows(ctx context.Context, repo, login string, known map[string]string) (string, error) {
	owner, _, _ := strings.Cut(repo, "/")
	if strings.EqualFold(owner, login) {
		return "OWNER", nil
	}
	if known[login] == "" {
		_, err := c.Do(ctx, "look whether "+login+" works on "+repo, http.MethodGet, "repos/"+repo+"/collaborators/"+url.PathEscape(login), nil, nil)
		known[login] = "COLLABORATOR"
		if err != nil {
			known[login] = "NONE"
		}
		if err = ignore(err, http.StatusNotFound, http.StatusForbidden, http.StatusUnprocessableEntity); err != nil {
			delete(known, login)
			return "", err
		}
	}
	return known[login], nil
}

// giteaLabel is a label with the number that Gitea takes it off by.
type giteaLabel struct {
	ID   int64  `json:"id"`
	Name string `json:"name"`
}

// giteaLabels sets and takes off labels: names that the repository does not have are made first, as GitHub
// does by itself.
func (c *Client) giteaLabels(ctx context.Context, ref tracker.Ref, x tracker.Change) error {
	owner, name, _ := ref.Repo()
	at, doing := "repos/"+owner+"/"+name+"/labels", "label "+ref.String()
	if len(x.Add) > 0 {
		there, _, err := list[giteaLabel](ctx, c, doing, at+"?limit=50")
		if err != nil {
			return err
		}
		for _, label := range x.Add {
			if slices.ContainsFunc(there, func(l giteaLabel) bool { return l.Name == label }) {
				continue
			}
			if _, err := c.Do(ctx, doing, http.MethodPost, at, map[string]string{"name": label, "color": "#ededed"}, nil); err != nil {
				return err
			}
		}
		if _, err := c.Do(ctx, doing, http.MethodPost, path(ref, "/labels"), map[string]any{"labels": x.Add}, nil); err != nil {
			return err
		}
	}
	if len(x.Remove) == 0 {
		return nil
	}
	var on []giteaLabel
	if _, err := c.Do(ctx, doing, http.MethodGet, path(ref, "/labels"), nil, &on); err != nil {
		return err
	}
	for _, l := range on {
		if !slices.Contains(x.Remove, l.Name) {
			continue
		}
		if _, err := c.Do(ctx, "take a label off "+ref.String(), http.MethodDelete, path(ref, fmt.Sprintf("/labels/%d", l.ID)), nil, nil); err != nil {
			return err
		}
	}
	return nil
}

// giteaPull finds the open pull request of a branch.
func (c *Client) giteaPull(ctx context.Context, repo, branch string) ([]Pull, error) {
	open, _, err := list[Pull](ctx, c, "look for a pull request of "+branch, "repos/"+repo+"/pulls?state=open&limit=50")
	return slices.DeleteFunc(open, func(p Pull) bool { return p.Head.Ref != branch }), err
}

// giteaReviews reads what reviewers said. Comments on lines belong to their review.
func (c *Client) giteaReviews(ctx context.Context, ref tracker.Ref) (reviews, lines []tracker.Said, err error) {
	states := map[string]string{"REQUEST_CHANGES": "CHANGES_REQUESTED", "COMMENT": "COMMENTED"}
	owner, name, _ := ref.Repo()
	known := map[string]string{}
	about := func(list []tracker.Said) error {
		for i := range list {
			if list[i].Association, err = c.giteaKnows(ctx, owner+"/"+name, list[i].Author, known); err != nil {
				return err
			}
		}
		return nil
	}
	if reviews, err = c.saidOf(ctx, "read the reviews of "+ref.String(), pullPath(ref, "/reviews")); err != nil {
		return nil, nil, err
	}
	for i, r := range reviews {
		if state, other := states[r.State]; other {
			reviews[i].State = state
		}
		said, err := c.saidOf(ctx, "read the comments on "+ref.String(), pullPath(ref, fmt.Sprintf("/reviews/%d/comments", r.ID)))
		if err != nil {
			return nil, nil, err
		}
		lines = append(lines, said...)
	}
	if err = about(reviews); err == nil {
		err = about(lines)
	}
	return reviews, lines, err
}

// giteaMerge merges a pull request, if it is still at the commit.
func (c *Client) giteaMerge(ctx context.Context, ref tracker.Ref, head string) error {
	_, err := c.Do(ctx, "merge "+ref.String(), http.MethodPost, pullPath(ref, "/merge"), map[string]string{"do": "merge", "head_commit_id": head}, nil)
	return err
}
