package bootstrap

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/config/setting"
	"github.com/ralph-loop/ralph/internal/forge"
	"github.com/ralph-loop/ralph/internal/git"
	"github.com/ralph-loop/ralph/internal/proc"
	"github.com/ralph-loop/ralph/internal/tracker"
	"github.com/ralph-loop/ralph/internal/tracker/github"
	"github.com/ralph-loop/ralph/internal/workspace"
)

// Watcher keeps what is here and at the service alike, by the settings.
func (p *Parts) Watcher(env workspace.Env, j forge.Journal) (*forge.Watcher, error) {
	c := p.Config
	t := Trackers{Env: env, Root: p.Root, Config: c, Procs: p.Procs}
	places := t.Places()
	t.Config.Sync.GitHub.Repo = places.GitHubRepo // git is asked once
	w := &forge.Watcher{
		Journal: j, Branches: p.Branches(), Root: p.Root, NewID: workspace.NewSpecID, Now: time.Now, Redact: p.Redact, Repo: places.GitHubRepo, Places: places, Breaker: breakerOf(c.Breakers.GitHub),
		Set: forge.Settings{
			Poll: c.Land.Poll, Draft: c.Land.Draft, Labels: c.Land.Labels, Reviewers: c.Land.Reviewers, AutoMerge: c.Land.AutoMerge == "when_green",
			Follow: c.Land.Follow, MaxRounds: c.Construct.MaxRounds, Allow: c.Land.Allow,
		},
	}
	for _, s := range c.Inbox.Sources {
		src, err := sourceOf(s, w.Repo)
		if err != nil {
			return nil, err
		}
		w.Set.Sources = append(w.Set.Sources, src)
	}
	w.Others = map[ralph.Service]forge.Reached{}
	for _, service := range []ralph.Service{ralph.Jira, ralph.AzureDevOps} {
		w.Others[service] = t.reached(service)
	}
	var err error
	if w.Client, err = t.GitHub(); err != nil {
		w.Why = err.Error()
	}
	if w.Repo == "" {
		w.Client, w.Why = nil, fmt.Sprintf("it is not known which repository at GitHub this is: set sync.github.repo (the address of the remote %s says nothing of it); "+
			"at another service than GitHub and Gitea, such as Azure DevOps, use land.how: branch, and open the pull request with the text that is kept", c.Land.Remote)
	}
	return w, nil
}

// sourceOf is a source as the settings have it; repo is the one that is meant where none is named.
func sourceOf(s setting.IssueSource, repo string) (forge.Source, error) {
	src := forge.Source{Service: ralph.Service(s.Service), Words: s.Query, Every: s.Every, Allow: s.Allow}
	if src.Service != ralph.GitHub {
		_, _, err := tracker.ParseWords(s.Query)
		if err != nil {
			err = fmt.Errorf("inbox.sources: %w", err)
		}
		return src, err
	}
	q, err := github.ParseQuery(s.Query)
	if err != nil {
		return src, fmt.Errorf("inbox.sources: %w", err)
	}
	if src.Repo, src.Labels = cmp.Or(s.Repo, q.Repo, repo), q.Labels; src.Repo == "" {
		return src, &ralph.Refusal{Why: "inbox.sources: it is not known in which repository", Hint: "set sync.github.repo, or repo of the source", Kind: ralph.ErrUsage}
	}
	return src, nil
}

// reached is a tracker beside GitHub, as issues are read of it.
func (t Trackers) reached(service ralph.Service) forge.Reached {
	c, b := t.Config.Sync, t.Config.Breakers
	address, breaker := c.Jira.URL, b.Jira
	if service == ralph.AzureDevOps {
		address, breaker = c.ADO.URL, b.ADO
	}
	x := forge.Reached{Breaker: breakerOf(breaker), Why: fmt.Sprintf("it is not known where %s is: set sync.%s.url", service.Title(), service)}
	if address == "" {
		return x
	}
	client, err := t.Client(service)
	if err != nil {
		x.Why = err.Error()
		return x
	}
	x.Client, _ = client.(interface {
		tracker.Client
		tracker.Searcher
		tracker.Reader
	})
	return x
}

// OpenWatcher opens what is needed to look at the service, and no agent.
func OpenWatcher(ctx context.Context, env workspace.Env, j forge.Journal) (*forge.Watcher, error) {
	repo, err := git.Open(ctx, proc.NewRunner(""), env.Dir, env.Environ)
	if err != nil {
		return nil, err
	}
	p := &Parts{Root: repo.Root(), Repo: repo, Procs: proc.NewRunner("")}
	if p.Config, err = workspace.LoadConfig(env, p.Root, nil); err != nil {
		return nil, err
	}
	p.Redact = workspace.Redactor(env.Environ, p.Root, p.Config)
	return p.Watcher(env, j)
}
