package config

import (
	"slices"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/config/setting"
)

// Config is every setting of ralph/config.yaml, checked. The names in the tags
// are the keys of the file (snake_case); docs/configuration.md says what
// each one means. A Config is not changed after Load.
type Config struct {
	Version                int                      `yaml:"version"`
	Mode                   string                   `yaml:"mode"`      // manual, step, semi, autopilot
	Parallel               int                      `yaml:"parallel"`  // slots
	Isolation              string                   `yaml:"isolation"` // none, worktree, auto
	RequireApprovalToStart bool                     `yaml:"require_approval_to_start"`
	BaseBranch             string                   `yaml:"base_branch"` // "" is the branch checked out at the start
	Agent                  Agent                    `yaml:"agent"`
	Agents                 []ralph.AgentSpec        `yaml:"agents"` // built in first, then as in the file
	Prices                 map[string]setting.Price `yaml:"prices"` // by model
	Task                   Task                     `yaml:"task"`
	Construct              Construct                `yaml:"construct"`
	Errors                 Errors                   `yaml:"errors"`
	Log                    Log                      `yaml:"log"`
	Limits                 Limits                   `yaml:"limits"`
	Budget                 Budgets                  `yaml:"budget"`
	Scoring                Scoring                  `yaml:"scoring"`
	Commit                 Commit                   `yaml:"commit"`
	Quality                Quality                  `yaml:"quality"`
	Test                   Test                     `yaml:"test"`
	Diff                   Diff                     `yaml:"diff"`
	Gate                   Gate                     `yaml:"gate"`
	Sandbox                Sandbox                  `yaml:"sandbox"`
	Worktree               Worktree                 `yaml:"worktree"`
	Merge                  Merge                    `yaml:"merge"`
	Land                   Land                     `yaml:"land"`
	Inbox                  Inbox                    `yaml:"inbox"`
	AgentMode              AgentMode                `yaml:"agent_mode"`
	Auto                   Auto                     `yaml:"auto"`
	Decision               Decision                 `yaml:"decision"`
	Guidance               Guidance                 `yaml:"guidance"`
	Sync                   Sync                     `yaml:"sync"`
	Breakers               Breakers                 `yaml:"breakers"`
	Notify                 Notify                   `yaml:"notify"`
	Web                    Web                      `yaml:"web"`
	UI                     UI                       `yaml:"ui"`
	Fleet                  Fleet                    `yaml:"fleet"`

	from map[string]setting.Source // by key; what is not in it has its default
}

// Agent says which agents work, in which order.
type Agent struct {
	Primary        string   `yaml:"primary"`
	Fallback       []string `yaml:"fallback"`
	RecoverPrimary bool     `yaml:"recover_primary"`
	Context        string   `yaml:"context"` // fresh, continue
	MCP            bool     `yaml:"mcp"`     // agents get ralph's own tools
}

// Task bounds the work on one task. 0 switches a threshold off.
type Task struct {
	MaxIterations   int           `yaml:"max_iterations"`
	StuckThreshold  int           `yaml:"stuck_threshold"`
	Timeout         time.Duration `yaml:"timeout"`
	NoProgressTurns int           `yaml:"no_progress_turns"` // not below StuckThreshold, or 0
	Progress        string        `yaml:"progress"`          // commit, change
	SameErrorTurns  int           `yaml:"same_error_turns"`
	Delay           time.Duration `yaml:"delay"`
	AutoCommit      bool          `yaml:"auto_commit"`
}

// Construct bounds the work on one spec. The context figures are shares of the
// model's window, from 0 to 1 and rising.
type Construct struct {
	StageTimeout   time.Duration `yaml:"stage_timeout"`
	MaxRounds      int           `yaml:"max_rounds"`
	ContextWarn    float64       `yaml:"context_warn"`
	ContextCompact float64       `yaml:"context_compact"`
	ContextKill    float64       `yaml:"context_kill"`
}

// Errors is what happens when a turn fails.
type Errors struct {
	Strategy            string        `yaml:"strategy"` // retry, skip, abort
	MaxRetries          int           `yaml:"max_retries"`
	RetryBase           time.Duration `yaml:"retry_base"` // doubles
	MaxRateLimitRetries int           `yaml:"max_rate_limit_retries"`
	RateLimitBase       time.Duration `yaml:"rate_limit_base"` // triples
	RateLimitPatience   time.Duration `yaml:"rate_limit_patience"`
	NetworkRetry        time.Duration `yaml:"network_retry"`
	MaxConsecutive      int           `yaml:"max_consecutive"`
	CountTimeouts       bool          `yaml:"count_timeouts"` // timeouts count into it
}

// Log is how much is said of what happens.
type Log struct {
	Level string `yaml:"level"` // info, debug
}

// Limits is what happens when every agent is at its rate limit: the engine
// pauses and goes on by itself (auto), or when a person says so (ask), or it ends (off).
type Limits struct {
	Wait string `yaml:"wait"` // auto, ask, off
}

// Budgets bounds a session, each of its specs and each task.
type Budgets struct {
	Budget `yaml:",inline"` // of the session
	Spec   Budget           `yaml:"spec"`
	Task   Budget           `yaml:"task"`
}

// Budget bounds what is used; 0 is no limit. Cost is in US dollars.
type Budget struct {
	Tokens     int64         `yaml:"tokens"`
	Cost       float64       `yaml:"cost"`
	Time       time.Duration `yaml:"time"`
	Iterations int           `yaml:"iterations"`
}

// Scoring weighs ready tasks.
type Scoring struct {
	Unblocks     int `yaml:"unblocks"`
	Critical     int `yaml:"critical"`
	QuickWin     int `yaml:"quick_win"`
	NearComplete int `yaml:"near_complete"`
	Retry        int `yaml:"retry"`
}

// Commit is how commits of ralph's are made. Message is the template of their subject,
// Anchors whether the commits that hold how far the journal has come are signed.
type Commit struct {
	Message string `yaml:"message"`
	Anchors string `yaml:"anchors"`
}

// Quality is the quality gate. MaxOutput is in bytes.
type Quality struct {
	Commands  []string      `yaml:"commands"` // none: detected
	Timeout   time.Duration `yaml:"timeout"`  // of each command
	MaxOutput int64         `yaml:"max_output"`
	Baseline  string        `yaml:"baseline"` // strict, known: what becomes of checks that were red before the work
	Changes   string        `yaml:"changes"`  // restore, keep: what becomes of what checks write
	PassEnv   []string      `yaml:"pass_env"` // secrets of the person's environment that checks may see
}

// Test is the test gate. Coverage is in percent, 0 is off.
type Test struct {
	Command  string  `yaml:"command"` // "": detected
	Coverage float64 `yaml:"coverage"`
	Retries  int     `yaml:"retries"`
	Retry    string  `yaml:"retry"` // agent, rerun
}

// Diff says what happens when a task's own diff is doubtful: its agent mends it (red), a
// person looks at it (gate), or nothing (off).
type Diff struct {
	Empty    string `yaml:"empty"`
	Weakened string `yaml:"weakened"`
	Secrets  string `yaml:"secrets"`
}

// Gate is the human gate. Patterns are regular expressions.
type Gate struct {
	Patterns      []string      `yaml:"patterns"`
	ExtraPatterns []string      `yaml:"extra_patterns"`
	PreApproved   []string      `yaml:"pre_approved"`
	Timeout       time.Duration `yaml:"timeout"`
	OnTimeout     string        `yaml:"on_timeout"` // skip, stop
	Scope         string        `yaml:"scope"`      // agent, session
	Approvals     string        `yaml:"approvals"`  // auto, ask, policy, never
	Allow         []string      `yaml:"allow"`
	Self          string        `yaml:"self"`          // hold, off: work that changes settings (S2)
	InputTimeout  time.Duration `yaml:"input_timeout"` // 0: without limit
	Shims         []string      `yaml:"shims"`         // programs that get a command shim
}

// Sandbox is what the system lets agents, and what runs what they wrote, write and read.
type Sandbox struct {
	Kind  string   `yaml:"kind"`  // off, auto, landlock, bubblewrap
	Write []string `yaml:"write"` // files and folders beside the work tree; ~/ is the person's home
	Hide  []string `yaml:"hide"`  // files and folders that give power; * stands for any part of a name
	// What a person adds to the two lists.
	ExtraWrite []string `yaml:"extra_write"`
	ExtraHide  []string `yaml:"extra_hide"`
	// HidePrivate hides what nobody but the person may read in the home's dot files, too.
	HidePrivate bool     `yaml:"hide_private"`
	Show        []string `yaml:"show"` // what is seen all the same
}

// Writes is Write with what a person adds.
func (s Sandbox) Writes() []string { return slices.Concat(s.Write, s.ExtraWrite) }

// Hides is Hide with what a person adds.
func (s Sandbox) Hides() []string { return slices.Concat(s.Hide, s.ExtraHide) }

// Worktree is what every new worktree needs.
type Worktree struct {
	Setup        []string      `yaml:"setup"` // shell commands
	Copy         []string      `yaml:"copy"`  // files, relative to the repository
	SetupTimeout time.Duration `yaml:"setup_timeout"`
}

// Merge is the merge queue.
type Merge struct {
	Auto            bool   `yaml:"auto"`
	Batch           int    `yaml:"batch"`
	ConflictRetries int    `yaml:"conflict_retries"`
	Resolver        string `yaml:"resolver"` // agent, human
}

// Land is how the work of specs reaches people: on the base branch, or on a branch for each spec.
type Land struct {
	How       string        `yaml:"how"`    // commit, branch, pr
	Per       string        `yaml:"per"`    // spec, task
	Branch    string        `yaml:"branch"` // the template of their names
	Remote    string        `yaml:"remote"`
	Draft     bool          `yaml:"draft"`
	Labels    []string      `yaml:"labels"`
	Reviewers []string      `yaml:"reviewers"`
	AutoMerge string        `yaml:"auto_merge"` // off, when_green
	Follow    bool          `yaml:"follow"`
	Allow     []string      `yaml:"allow"` // whose reviews are followed
	Poll      time.Duration `yaml:"poll"`
}

// Inbox says where specs come from beside people: issues of trackers.
type Inbox struct {
	Sources []setting.IssueSource `yaml:"sources"`
}

// AgentMode bounds `ralph agent`; 0 is no limit, MaxFailures is at least 1.
type AgentMode struct {
	MaxSpecs    int     `yaml:"max_specs"`
	MaxCost     float64 `yaml:"max_cost"` // US dollars
	MaxFailures int     `yaml:"max_failures"`
	OnFailure   string  `yaml:"on_failure"` // stash, reset, keep (D-072)
}

// Auto is `ralph auto`: when a thread commits in the checkout, and whether what it changed is
// reviewed before it stops.
type Auto struct {
	Commit string `yaml:"commit"` // end, turn, never
	Review string `yaml:"review"` // end, off
}

// Decision is the decision engine. A model is "", codex, codex:model, or service:model.
type Decision struct {
	Engine         string            `yaml:"engine"` // rules, llm
	Model          string            `yaml:"model"`
	Fallback       []string          `yaml:"fallback"`  // models, asked when that one cannot be
	BaseURL        string            `yaml:"base_url"`  // of Model
	BaseURLs       map[string]string `yaml:"base_urls"` // by model
	KeyEnvs        map[string]string `yaml:"key_envs"`  // by model
	Timeout        time.Duration     `yaml:"timeout"`
	MinConfidence  float64           `yaml:"min_confidence"` // 0 to 1
	History        int               `yaml:"history"`
	Cooldown       time.Duration     `yaml:"cooldown"`
	MaxCompactions int               `yaml:"max_compactions"`
}

// Guidance is whether and by which model the first message of threads goes through guidance.
type Guidance struct {
	Mode  string `yaml:"mode"` // off, demo
	Model string `yaml:"model"`
}

// Sync says where progress is pushed. Tokens are named, never written down:
// the *Env fields hold names of environment variables.
type Sync struct {
	EveryTasks int        `yaml:"every_tasks"` // 0: at the end only
	LivingDocs LivingDocs `yaml:"living_docs"`
	GitHub     GitHub     `yaml:"github"`
	Jira       Jira       `yaml:"jira"`
	ADO        ADO        `yaml:"ado"`
}

// LivingDocs keeps pages about the work in a folder of the repository.
type LivingDocs struct {
	Enabled bool   `yaml:"enabled"`
	Path    string `yaml:"path"`
}

// GitHub is the sync target GitHub Issues.
type GitHub struct {
	Enabled  bool              `yaml:"enabled"`
	Repo     string            `yaml:"repo"` // owner/name; "": from the origin remote
	TokenEnv string            `yaml:"token_env"`
	BaseURL  string            `yaml:"base_url"` // "": github.com
	Board    string            `yaml:"board"`    // of its fields: orgs/acme/7; "": none
	Labels   map[string]string `yaml:"labels"`   // by moment: start, done, failed, question
	States   map[string]string `yaml:"states"`
	Fields   map[string]string `yaml:"fields"`
}

// Jira is the sync target Jira.
type Jira struct {
	Enabled  bool              `yaml:"enabled"`
	URL      string            `yaml:"url"`
	Project  string            `yaml:"project"`
	UserEnv  string            `yaml:"user_env"`
	TokenEnv string            `yaml:"token_env"`
	Labels   map[string]string `yaml:"labels"` // by moment: start, done, failed, question
	States   map[string]string `yaml:"states"`
	Fields   map[string]string `yaml:"fields"`
}

// ADO is the sync target Azure DevOps.
type ADO struct {
	Enabled  bool              `yaml:"enabled"`
	URL      string            `yaml:"url"`
	Project  string            `yaml:"project"`
	TokenEnv string            `yaml:"token_env"`
	Labels   map[string]string `yaml:"labels"` // by moment: start, done, failed, question
	States   map[string]string `yaml:"states"`
	Fields   map[string]string `yaml:"fields"`
}

// Breakers are the circuit breakers of the sync targets.
type Breakers struct {
	GitHub Breaker `yaml:"github"`
	Jira   Breaker `yaml:"jira"`
	ADO    Breaker `yaml:"ado"`
}

// Breaker opens after Failures within Window, tries again after Reset and
// closes after Successes.
type Breaker struct {
	Failures  int           `yaml:"failures"`
	Window    time.Duration `yaml:"window"`
	Reset     time.Duration `yaml:"reset"`
	Successes int           `yaml:"successes"`
}

// Notify says how people hear about events.
type Notify struct {
	Sounds   bool              `yaml:"sounds"`
	Desktop  bool              `yaml:"desktop"`
	Webhooks []string          `yaml:"webhooks"`
	Events   map[string]string `yaml:"events"` // event to sound; none: the built-in ones
}

// Web is the dashboard.
type Web struct {
	Addr string `yaml:"addr"`
	Open bool   `yaml:"open"`
}

// Fleet is the work over many machines.
type Fleet struct {
	Engine    string `yaml:"engine"` // temporal
	Address   string `yaml:"address"`
	Namespace string `yaml:"namespace"`
	TaskQueue string `yaml:"task_queue"`
	Remote    string `yaml:"remote"` // by which all machines reach the repository: a name, or an address

	Labels []string `yaml:"labels"` // that a worker must have for any step
}

// Models are the models that are asked for decisions, in their order, none twice.
func (d Decision) Models() []string {
	var all []string
	for _, name := range append([]string{d.Model}, d.Fallback...) {
		if name != "" && !slices.Contains(all, name) {
			all = append(all, name)
		}
	}
	return all
}

// Address is where a model of decisions is asked; "" is its usual address.
func (d Decision) Address(model string) string {
	if at := d.BaseURLs[model]; at != "" || model != d.Model {
		return at
	}
	return d.BaseURL
}

// AgentSpec returns the agent with the name; `gpt` is another name of codex.
// The result shares its slices and maps with c.
func (c Config) AgentSpec(name string) (ralph.AgentSpec, bool) {
	if i := c.agentIndex(canonicalAgent(name)); i >= 0 {
		return c.Agents[i], true
	}
	return ralph.AgentSpec{}, false
}

// AgentNames returns the names of all agents: the built-in ones, then the
// others in the order of the file.
func (c Config) AgentNames() []string {
	names := make([]string, len(c.Agents))
	for i, a := range c.Agents {
		names[i] = a.Name
	}
	return names
}

// Chain returns the agents in use, in the order in which they are tried: the
// primary, then the fallbacks, none twice.
func (c Config) Chain() []string {
	chain := []string{c.Agent.Primary}
	for _, name := range c.Agent.Fallback {
		if !slices.Contains(chain, name) {
			chain = append(chain, name)
		}
	}
	return chain
}

func (c Config) agentIndex(name string) int {
	return slices.IndexFunc(c.Agents, func(a ralph.AgentSpec) bool { return a.Name == name })
}

// canonicalAgent maps other names of agents to ours.
func canonicalAgent(name string) string {
	if name == "gpt" {
		return "codex"
	}
	return name
}

// UI is how the terminal screen and the dashboard are used.
type UI struct {
	Keys map[string]string `yaml:"keys"` // by action, or by what a key of the screen does
}
