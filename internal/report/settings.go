package report

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/text"
)

// Settings are the recorded settings (session.started) that people are shown.
type Settings struct {
	Parallel       int           `json:"parallel"`
	Agents         []string      `json:"agents"`
	MaxIterations  int           `json:"max_iterations"`
	TaskTimeout    time.Duration `json:"task_timeout"`
	MaxRetries     int           `json:"max_retries"`
	Strategy       string        `json:"strategy"`
	Checks         bool          `json:"checks"`
	Baseline       string        `json:"baseline"`
	OnlyCommits    bool          `json:"only_commits"`
	CheckNames     []string      `json:"check_names"`
	Isolated       bool          `json:"isolated"`
	MaxConsecutive int           `json:"max_consecutive"`
	Batch          int           `json:"batch"`
	Resolver       string        `json:"resolver"`
	AskToMerge     bool          `json:"ask_to_merge"`
	MaxCost        float64       `json:"max_cost"`
	RetryBase      time.Duration `json:"retry_base"`
	LimitWait      string        `json:"limit_wait"` // auto, ask, off
	RecoverPrimary bool          `json:"recover_primary"`
	Budget         Budget        `json:"budget"`
	SpecBudget     Budget        `json:"spec_budget"`
	TaskBudget     Budget        `json:"task_budget"`
}

// SettingsOf reads them. A journal may have none, or those of another version: what
// is not there is not shown.
func SettingsOf(config json.RawMessage) Settings {
	var c Settings
	if len(config) > 0 && json.Unmarshal(config, &c) != nil {
		return Settings{}
	}
	return c
}

// Setting is one setting that shaped the session.
type Setting struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// SettingRows are the settings worth a line, those at work only.
func SettingRows(c Settings) []Setting {
	var out []Setting
	add := func(show bool, name, format string, args ...any) {
		if show {
			out = append(out, Setting{name, fmt.Sprintf(format, args...)})
		}
	}
	add(c.Parallel > 0, "parallel", "%d", c.Parallel)
	add(len(c.Agents) > 0, "agents", "%s", strings.Join(c.Agents, ", "))
	add(c.Isolated, "isolation", "worktree")
	add(c.MaxIterations > 0, "task.max_iterations", "%d", c.MaxIterations)
	add(c.TaskTimeout > 0, "task.timeout", "%s", ralph.Elapsed(c.TaskTimeout))
	add(c.Strategy != "", "errors.strategy", "%s, %s", c.Strategy, text.Plural(c.MaxRetries, "retry", "retries"))
	add(c.Parallel > 0, "checks", "%s", map[bool]string{true: "yes", false: "none"}[c.Checks])
	add(c.Batch > 1, "merge.batch", "%d", c.Batch)
	add(c.Isolated, "merge.resolver", "%s", cmp.Or(c.Resolver, "agent"))
	add(c.AskToMerge, "merge.auto", "false")
	add(c.MaxConsecutive > 0, "failures in a row that pause", "%d", c.MaxConsecutive)
	add(c.MaxCost > 0, "max cost", "%s", ralph.Dollars(c.MaxCost))
	return out
}

// Budget is a budget among the recorded settings; 0 is no limit.
type Budget struct {
	Tokens     int64         `json:"tokens"`
	Cost       float64       `json:"cost"`
	Time       time.Duration `json:"time"`
	Iterations int           `json:"iterations"`
}
