package bootstrap

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/config"
	"github.com/ralph-loop/ralph/internal/outbox"
	"github.com/ralph-loop/ralph/internal/policy/breaker"
	"github.com/ralph-loop/ralph/internal/proc"
	"github.com/ralph-loop/ralph/internal/specfile"
	"github.com/ralph-loop/ralph/internal/specs"
	"github.com/ralph-loop/ralph/internal/tracker"
	"github.com/ralph-loop/ralph/internal/tracker/ado"
	"github.com/ralph-loop/ralph/internal/tracker/github"
	"github.com/ralph-loop/ralph/internal/tracker/jira"
	"github.com/ralph-loop/ralph/internal/workspace"
)

// Trackers are the trackers of the settings.
type Trackers struct {
	Env    workspace.Env
	Root   string
	Config config.Config
	Procs  *proc.Runner
}

// askTime bounds what is asked of programs on the machine.
const askTime = 5 * time.Second

// Places are what short names of items belong to.
func (t Trackers) Places() tracker.Places {
	c := t.Config.Sync
	return tracker.Places{GitHubRepo: t.repo(), GitHubURL: c.GitHub.BaseURL, JiraURL: c.Jira.URL, ADOURL: c.ADO.URL}
}

// On reports whether the settings have progress sent to a service.
func (t Trackers) On(service ralph.Service) bool {
	c := t.Config.Sync
	return service == ralph.GitHub && c.GitHub.Enabled || service == ralph.Jira && c.Jira.Enabled || service == ralph.AzureDevOps && c.ADO.Enabled
}

// Client is a service as the settings and the environment have it.
func (t Trackers) Client(service ralph.Service) (tracker.Client, error) {
	c := t.Config.Sync
	switch service {
	case ralph.GitHub:
		return t.GitHub()
	case ralph.Jira:
		token := proc.Getenv(t.Env.Environ, c.Jira.TokenEnv)
		if token == "" {
			return nil, noToken("Jira", c.Jira.TokenEnv, fmt.Sprintf("; in the Cloud %s as well", c.Jira.UserEnv))
		}
		return jira.New(tracker.Access{URL: c.Jira.URL, Project: c.Jira.Project, User: proc.Getenv(t.Env.Environ, c.Jira.UserEnv), Token: token})
	}
	token := proc.Getenv(t.Env.Environ, c.ADO.TokenEnv)
	if token == "" {
		return nil, noToken("Azure DevOps", c.ADO.TokenEnv, "")
	}
	return ado.New(tracker.Access{URL: c.ADO.URL, Project: c.ADO.Project, Token: token})
}

// GitHub is the client of GitHub: for progress, issues and pull requests.
func (t Trackers) GitHub() (*github.Client, error) {
	c := t.Config.Sync.GitHub
	token := proc.Getenv(t.Env.Environ, c.TokenEnv)
	if token == "" {
		token = t.ghToken()
	}
	if token == "" {
		return nil, noToken("GitHub", c.TokenEnv, ", with the rights to read and write issues, contents and pull requests, or log in with `gh auth login`")
	}
	return github.New(tracker.Access{URL: c.BaseURL, Project: t.repo(), Token: token})
}

func noToken(title, env, more string) error {
	return fmt.Errorf("there is no token for %s: set %s%s", title, env, more)
}

// ghToken is the token of the program gh, where it is installed and logged in.
func (t Trackers) ghToken() string {
	host := "github.com"
	if u, err := url.Parse(t.Config.Sync.GitHub.BaseURL); err == nil && u.Host != "" {
		host = u.Hostname()
	}
	return t.ask("gh", "auth", "token", "--hostname", host)
}

// repo is owner/name at GitHub: of the settings, else as the address of the remote has it.
func (t Trackers) repo() string {
	if r := t.Config.Sync.GitHub.Repo; r != "" {
		return r
	}
	return repoAt(t.ask("git", "remote", "get-url", t.Config.Land.Remote), t.Config.Sync.GitHub.BaseURL)
}

// repoAt reads owner/name in https://host/owner/name.git and git@host:owner/name.git, where the host
// is GitHub: github.com, that of the API at base, or a name that only the settings of ssh know.
func repoAt(address, base string) string {
	address = strings.TrimSuffix(strings.TrimSuffix(address, "/"), ".git")
	if _, after, ok := strings.Cut(address, "://"); ok {
		address = after
	} else if host, path, ok := strings.Cut(address, ":"); ok && !strings.Contains(host, "/") {
		address = host + "/" + path
	} else {
		return "" // a folder
	}
	p := strings.Split(address, "/")
	host := p[0][strings.LastIndex(p[0], "@")+1:]
	host, _, _ = strings.Cut(host, ":")
	api, _ := url.Parse(base)
	known := host == "github.com" || host == "ssh.github.com" || !strings.Contains(host, ".") || api != nil && (host == api.Hostname() || "api."+host == api.Hostname())
	if len(p) < 3 || host == "" || !known {
		return ""
	}
	return p[len(p)-2] + "/" + p[len(p)-1]
}

// ask is what a program prints; "" where it is not there or does not know.
func (t Trackers) ask(args ...string) string {
	ctx, cancel := context.WithTimeout(context.Background(), askTime)
	defer cancel()
	out, _, res, err := t.Procs.Output(ctx, proc.Command{Args: args, Dir: t.Root, Env: t.Env.Environ})
	if err != nil || res.Code != 0 {
		return ""
	}
	return strings.TrimSpace(string(out))
}

// Services are what is sent progress, with how it is treated.
func (t Trackers) Services() map[ralph.Service]outbox.Service {
	// What may have arrived is under way for as long as a call may take, and half a minute more;
	// GitHub's lists lag behind.
	const usual, lagging = tracker.Timeout + 30*time.Second, 2 * time.Minute
	c, b := t.Config.Sync, t.Config.Breakers
	all := map[ralph.Service]outbox.Service{}
	add := func(service ralph.Service, b config.Breaker, settle time.Duration, mapping outbox.Mapping) {
		if t.On(service) {
			all[service] = outbox.Service{
				Client: func() (tracker.Client, error) { return t.Client(service) }, Settle: settle, Mapping: mapping,
				Breaker: breakerOf(b),
			}
		}
	}
	field := func(name string) string { return github.ProjectField(c.GitHub.Board, name) }
	same := func(name string) string { return name }
	add(ralph.GitHub, b.GitHub, lagging, mapping(c.GitHub.Labels, c.GitHub.States, c.GitHub.Fields, field))
	add(ralph.Jira, b.Jira, usual, mapping(c.Jira.Labels, c.Jira.States, c.Jira.Fields, same))
	add(ralph.AzureDevOps, b.ADO, usual, mapping(c.ADO.Labels, c.ADO.States, c.ADO.Fields, same))
	return all
}

func breakerOf(b config.Breaker) breaker.Config {
	return breaker.Config{Failures: b.Failures, Window: b.Window, Reset: b.Reset, Successes: b.Successes}
}

// mapping reads what the settings say of each moment.
func mapping(labels, states, fields map[string]string, field func(string) string) outbox.Mapping {
	all := outbox.Mapping{}
	for _, m := range outbox.Moments() {
		change := ralph.ItemChange{State: states[string(m)]}
		for label := range strings.SplitSeq(labels[string(m)], ",") {
			label = strings.TrimSpace(label)
			if off, minus := strings.CutPrefix(label, "-"); minus {
				change.Remove = append(change.Remove, strings.TrimSpace(off))
			} else if label != "" {
				change.Add = append(change.Add, label)
			}
		}
		for pair := range strings.SplitSeq(fields[string(m)], ",") {
			if name, value, ok := strings.Cut(pair, "="); ok {
				if change.Fields == nil {
					change.Fields = map[string]string{}
				}
				change.Fields[field(strings.TrimSpace(name))] = strings.TrimSpace(value)
			}
		}
		if !change.Empty() {
			all[m] = change
		}
	}
	return all
}

// Items are the items that the head of a spec names.
func (t Trackers) Items(spec string) []string {
	text, err := specs.Read(t.Root, spec)
	if err != nil {
		return nil // it may be gone by now
	}
	head, _ := specfile.Parse(text)
	return head.Items()
}

// Outbox is what an outbox works with; the journal and from where on is for the caller to say.
func (t Trackers) Outbox() outbox.Options {
	services := t.Services()
	if len(services) == 0 {
		return outbox.Options{} // nothing is asked of git for it
	}
	return outbox.Options{Services: services, Every: t.Config.Sync.EveryTasks, Places: t.Places(), Items: t.Items, Steady: steady}
}

func steady() outbox.Steady {
	boot, up := proc.Uptime()
	return outbox.Steady{Boot: boot, Up: up}
}
