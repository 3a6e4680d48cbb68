package github

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/tracker"
)

// Pull is a pull request.
type Pull struct {
	Number int    `json:"number"`
	URL    string `json:"html_url"`
	State  string `json:"state"`
	Merged bool   `json:"merged"`
	At     string `json:"merged_at"`
	Head   struct {
		SHA string `json:"sha"`
		Ref string `json:"ref"`
	} `json:"head"`
}

// Stands is where it stands.
func (p Pull) Stands() ralph.PullState {
	switch {
	case p.Merged || p.At != "":
		return ralph.PullMerged
	case p.State == "closed":
		return ralph.PullClosed
	}
	return ralph.PullOpen
}

// pullPath is the address of a pull request, and of what belongs to it.
func pullPath(ref tracker.Ref, rest string) string {
	owner, name, n := ref.Repo()
	return fmt.Sprintf("repos/%s/%s/pulls/%d%s", owner, name, n, rest)
}

// Pull reads a pull request.
func (c *Client) Pull(ctx context.Context, ref tracker.Ref) (Pull, error) {
	var p Pull
	_, err := c.Do(ctx, "read the pull request "+ref.String(), http.MethodGet, pullPath(ref, ""), nil, &p)
	return p, err
}

// NewPull is a pull request to be opened.
type NewPull struct {
	Title string `json:"title"`
	Head  string `json:"head"`
	Base  string `json:"base"`
	Body  string `json:"body"`
	Draft bool   `json:"draft,omitempty"`
}

// Open opens a pull request, or finds the one that is open for the branch: a service has at most
// one, so that to do it again after a cut doubles nothing.
func (c *Client) Open(ctx context.Context, repo string, in NewPull) (p Pull, opened bool, err error) {
	in.Body = cut(in.Body, "")
	owner, _, _ := strings.Cut(c.current(repo), "/")
	v := url.Values{"head": {owner + ":" + in.Head}, "state": {"open"}}
	for try := 1; ; try++ {
		var open []Pull
		if c.gitea {
			open, err = c.giteaPull(ctx, repo, in.Head)
		} else {
			_, err = c.Do(ctx, "look for a pull request of "+in.Head, http.MethodGet, "repos/"+repo+"/pulls?"+v.Encode(), nil, &open)
		}
		if err != nil {
			return p, false, err
		}
		if len(open) > 0 {
			return open[0], false, nil
		}
		_, err = c.Do(ctx, "open a pull request of "+in.Head, http.MethodPost, "repos/"+repo+"/pulls", in, &p)
		e, is := errors.AsType[*tracker.Error](err)
		there := is && (e.Status == http.StatusConflict || e.Status == http.StatusUnprocessableEntity) && strings.Contains(e.Message, "already exists")
		if !there || try > 1 {
			return p, err == nil, err
		}
	}
}

// SetText gives a pull request another text. To do it twice changes nothing.
func (c *Client) SetText(ctx context.Context, ref tracker.Ref, body string) error {
	_, err := c.Do(ctx, "change the text of "+ref.String(), http.MethodPatch, pullPath(ref, ""), map[string]string{"body": cut(body, "")}, nil)
	return err
}

// Ask asks people to review. To do it twice changes nothing.
func (c *Client) Ask(ctx context.Context, ref tracker.Ref, reviewers []string) error {
	if len(reviewers) == 0 {
		return nil
	}
	_, err := c.Do(ctx, "ask for reviews of "+ref.String(), http.MethodPost, pullPath(ref, "/requested_reviewers"), map[string]any{"reviewers": reviewers}, nil)
	return err
}

// Merge merges a pull request, if it is still at the commit.
func (c *Client) Merge(ctx context.Context, ref tracker.Ref, head string) error {
	if c.gitea {
		return c.giteaMerge(ctx, ref, head)
	}
	_, err := c.Do(ctx, "merge "+ref.String(), http.MethodPut, pullPath(ref, "/merge"), map[string]string{"sha": head}, nil)
	return err
}

// Run is a check of the service on a commit.
type Run struct {
	Name       string `json:"name"`
	Status     string `json:"status"`
	Conclusion string `json:"conclusion"`
	URL        string `json:"details_url"`
	Output     struct {
		Title   string `json:"title"`
		Summary string `json:"summary"`
		Text    string `json:"text"`
	} `json:"output"`
}

// Checks reads what the checks of the service say of a commit, and those that are red.
func (c *Client) Checks(ctx context.Context, repo, commit string) (ralph.PullChecks, []Run, error) {
	type runs struct {
		Runs []Run `json:"check_runs"`
	}
	type combined struct {
		Statuses []struct {
			Context     string `json:"context"`
			State       string `json:"state"`
			Status      string `json:"status"` // Gitea: its state
			Description string `json:"description"`
			URL         string `json:"target_url"`
		} `json:"statuses"`
	}
	at := "repos/" + repo + "/commits/" + url.PathEscape(commit)
	var checks []runs
	var err error
	if !c.gitea { // that has statuses alone
		checks, _, err = pages[runs](ctx, c, "read the checks of "+repo, at+"/check-runs?per_page=100")
	}
	if err != nil {
		return "", nil, err
	}
	statuses, _, err := pages[combined](ctx, c, "read the statuses of "+repo, at+"/status?per_page=100")
	if err != nil {
		return "", nil, err
	}
	var all []Run
	for _, page := range checks {
		all = append(all, page.Runs...)
	}
	for _, page := range statuses {
		for _, x := range page.Statuses {
			run := Run{Name: x.Context, Status: "completed", Conclusion: cmp.Or(x.State, x.Status), URL: x.URL}
			if run.Conclusion == "pending" {
				run.Status = "in_progress"
			}
			run.Output.Title = x.Description
			all = append(all, run)
		}
	}
	red := slices.DeleteFunc(slices.Clone(all), func(r Run) bool { return !r.red() })
	switch {
	case slices.ContainsFunc(all, func(r Run) bool { return r.Status != "completed" }):
		return ralph.ChecksPending, red, nil
	case len(red) > 0:
		return ralph.ChecksRed, red, nil
	case len(all) > 0:
		return ralph.ChecksGreen, nil, nil
	}
	return "", nil, nil
}

func (r Run) red() bool {
	switch r.Conclusion {
	case "failure", "timed_out", "cancelled", "action_required", "startup_failure", "error":
		return true
	}
	return false
}

// Reviews reads what reviewers said: their reviews, and their comments on lines.
func (c *Client) Reviews(ctx context.Context, ref tracker.Ref) (reviews, lines []tracker.Said, err error) {
	if c.gitea {
		return c.giteaReviews(ctx, ref)
	}
	if reviews, err = c.saidOf(ctx, "read the reviews of "+ref.String(), pullPath(ref, "/reviews")); err == nil {
		lines, err = c.saidOf(ctx, "read the comments on "+ref.String(), pullPath(ref, "/comments"))
	}
	return reviews, lines, err
}
