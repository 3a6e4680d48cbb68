package github

import (
	"context"
	"fmt"
	"net/url"
	"strings"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/tracker"
)

// Search implements tracker.Searcher. It is answered by the list of a repository's issues, the oldest
// first, which costs nothing of the limit while nothing changes.
func (c *Client) Search(ctx context.Context, query, etag string) (tracker.Page, error) {
	q, err := ParseQuery(query)
	if err != nil {
		return tracker.Page{}, err
	}
	if q.Repo == "" {
		q.Repo = c.repo
	}
	if q.Repo == "" {
		return tracker.Page{}, &ralph.Refusal{Why: fmt.Sprintf("the query %q names no repository", query), Hint: "add repo:owner/name, or set `sync.github.repo`", Kind: ralph.ErrUsage}
	}
	if c.gitea {
		items, err := c.giteaIssues(ctx, q)
		return tracker.Page{Items: items}, err
	}
	issues, tag, err := list[issue](ctx, c, "list the issues of "+q.Repo, "repos/"+q.Repo+"/issues?"+q.values.Encode())
	if err != nil {
		return tracker.Page{}, err
	}
	if tag != "" && tag == etag {
		return tracker.Page{ETag: etag, Unchanged: true}, nil
	}
	page := tracker.Page{ETag: tag}
	for _, i := range issues {
		page.Items = append(page.Items, i.item(tracker.Ref{Service: ralph.GitHub, Key: fmt.Sprintf("%s#%d", q.Repo, i.Number)}))
	}
	return page, nil
}

// Query is what is asked of the issues of a repository.
type Query struct {
	Repo   string // owner/name; "": the client's
	Labels []string
	values url.Values
}

// ParseQuery reads a query in GitHub's words: label:ralph is:open author:anna assignee:ben
// milestone:3 repo:owner/name.
func ParseQuery(query string) (Query, error) {
	q := Query{values: url.Values{"per_page": {"100"}, "state": {"open"}, "sort": {"created"}, "direction": {"asc"}}}
	for _, word := range tracker.SplitWords(query) {
		key, value, _ := strings.Cut(word, ":")
		value = strings.Trim(value, `"`)
		switch {
		case value == "":
			return q, &ralph.Refusal{Why: fmt.Sprintf("the query %q has the word %q, which is none of label:, is:, author:, assignee:, milestone:, repo:", query, word), Hint: "write it as label:ralph is:open", Kind: ralph.ErrUsage}
		case key == "label":
			q.Labels = append(q.Labels, value)
		case (key == "is" || key == "state") && (value == "open" || value == "closed"), key == "state" && value == "all":
			q.values.Set("state", value)
		case key == "is" && value == "issue":
		case key == "author":
			q.values.Set("creator", value)
		case key == "assignee", key == "milestone":
			q.values.Set(key, value)
		case key == "repo":
			q.Repo = value
		default:
			return q, &ralph.Refusal{Why: fmt.Sprintf("the query %q has %q, which the list of issues does not know", query, word), Hint: "it knows label:, is:open, is:closed, author:, assignee:, milestone: (a number), repo:", Kind: ralph.ErrUsage}
		}
	}
	if len(q.Labels) > 0 {
		q.values.Set("labels", strings.Join(q.Labels, ","))
	}
	return q, nil
}
