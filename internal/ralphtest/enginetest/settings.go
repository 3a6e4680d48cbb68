package enginetest

import (
	"time"

	"github.com/ralph-loop/ralph/internal/policy"
)

// Settings are the defaults of the product, for `ralph agent` with checks.
func Settings() policy.Config {
	return policy.Config{
		Session: "agent", Commit: true, Checks: true, Parallel: 1, Agents: []string{"claude", "codex"}, RecoverPrimary: true,
		TaskDelay: 500 * time.Millisecond, MaxIterations: 50, StuckThreshold: 5, NoProgressTurns: 5, SameErrorTurns: 3, TaskTimeout: 30 * time.Minute,
		StageTimeout: 5 * time.Minute, MaxRounds: 10, Strategy: "retry", MaxRetries: 2, RetryBase: 2 * time.Second,
		MaxLimitRetries: 3, LimitBase: 5 * time.Second, OnFailure: "stash", MaxFailures: 3,
		ThreadCommit: "end", ThreadReview: "end", MinConfidence: 0.6, Cooldown: time.Second, MaxCompactions: 3,
		Scoring: policy.Scoring{Unblocks: 10, Critical: 50, QuickWin: 30, NearComplete: 20, Retry: -15},
	}
}
