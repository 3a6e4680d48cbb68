package session

import (
	"fmt"
	"slices"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/bootstrap"
)

// waited says how long something waits, and what then.
func waited(limit time.Duration, then string) string {
	if limit <= 0 {
		return "until you answer (`ralph gates`)"
	}
	return short(limit) + " " + then
}

// short is a duration without zeros at its end.
func short(d time.Duration) string {
	s := d.String()
	for _, zero := range []string{"m0s", "h0m"} {
		if n := len(s) - len(zero); n > 0 && s[n:] == zero {
			s = s[:n+1]
		}
	}
	return s
}

// alone is what a person should know who starts a session and goes away: what waits for
// them, how long, and how that is changed; "" where someone sits at the terminal, and in a
// demo, in which nothing waits.
func (x *Session) alone() string {
	if x.Env.Terminal && !x.Unattended || x.KeepWeb {
		return ""
	}
	waits := "what gate.patterns or the never list hold"
	asks := slices.ContainsFunc(x.Chain, func(name string) bool { return x.Agents[name].Asks })
	switch {
	case !asks: // it does what it does
	case x.Approvals == bootstrap.ApprovalsAuto:
		waits = "what leaves the sandbox, and " + waits + ","
	case x.Approvals == bootstrap.ApprovalsAsk:
		waits = "each command that does more than read"
	case x.Approvals == "policy":
		waits = "what does more than read, change the work tree or run the checks"
	}
	then := "is refused, and the agent goes on"
	if x.Config.Gate.OnTimeout == "stop" {
		then = "ends the session"
	}
	if x.Unattended {
		return fmt.Sprintf("unattended: %s and questions wait for nobody: each %s (gate.on_timeout: %s)", waits, then, x.Config.Gate.OnTimeout)
	}
	how := "--unattended waits for nobody"
	if asks && x.Approvals == bootstrap.ApprovalsAsk {
		how += "; `ralph config edit gate.approvals=policy` asks less"
		if x.Config.Gate.Approvals == bootstrap.ApprovalsAuto {
			how += ", a sandbox least (" + x.Why + ")"
		}
	}
	return fmt.Sprintf("nobody at the terminal: %s waits %s; questions wait %s; %s",
		waits, waited(x.Config.Gate.Timeout, "for you (`ralph gates`), then "+then), waited(x.Config.Gate.InputTimeout, "too"), how)
}

// needsPerson refuses a start without anybody where each step waits for somebody.
func (x *Session) needsPerson() error {
	if !x.Unattended {
		return nil
	}
	const hint = "leave --unattended out, or use --mode autopilot"
	switch mode := ralph.Autonomy(x.Config.Mode); {
	case x.Config.RequireApprovalToStart:
		return &ralph.Refusal{Why: "require_approval_to_start has the start wait for a person, and with --unattended none will come", Hint: "leave one of both out", Kind: ralph.ErrUsage}
	case mode == ralph.Stepwise, mode == ralph.Semi:
		return &ralph.Refusal{Why: "in mode " + x.Config.Mode + " each task waits for a person, and with --unattended none will come", Hint: hint, Kind: ralph.ErrUsage}
	}
	return nil
}
