package setup

import (
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/agent"
	"github.com/ralph-loop/ralph/internal/agentcheck"
	"github.com/ralph-loop/ralph/internal/text"
	"github.com/ralph-loop/ralph/internal/workspace"
)

// patienceOfPeople is after what time a person is told what they wait for.
const patienceOfPeople = time.Second

// checkReport is what came of `ralph agent-check`.
type checkReport struct {
	Agent    string              `json:"agent"`
	Driver   string              `json:"driver"`
	Command  []string            `json:"command,omitempty"`
	Model    bool                `json:"model"` // a model is behind it: turns cost
	Supports agent.Supports      `json:"-"`
	Features []checkedFeature    `json:"features"`
	Results  []agentcheck.Result `json:"results"`
	Passed   int                 `json:"passed"`
	Failed   int                 `json:"failed"`
	Skipped  int                 `json:"skipped"`
	Turns    int                 `json:"turns"` // of a model
	Usage    ralph.Usage         `json:"usage"` // of those turns
}

// checkedFeature is something that a driver can do beyond running a prompt.
type checkedFeature struct {
	Name      string `json:"name"`
	Supported bool   `json:"supported"`
	Proof     string `json:"proof"` // proved, failed, not judged, not run; "" where there is no probe of it
	probes    []string
}

// run runs the probes and prints as they end.
func (r *checkReport) run(ctx context.Context, env workspace.Env, s *agentcheck.Subject, probes []agentcheck.Probe, f agentCheckFlags) {
	out := env.Stdout
	if f.json {
		out = io.Discard
	}
	fmt.Fprintf(out, "%s: driver %s%s\n\n", r.Agent, r.Driver, map[bool]string{true: ", " + strings.Join(r.Command, " ")}[len(r.Command) > 0])
	for _, p := range probes {
		waiting := tellWait(env, p)
		res := agentcheck.Run(ctx, s, p)
		waiting()
		r.add(res)
		fmt.Fprintln(out, resultLine(res))
		if ctx.Err() != nil {
			return
		}
		if res.Probe == "program" && res.Verdict == agentcheck.Fault {
			break // nothing else can be proved
		}
	}
	r.Features = features(r.Supports, r.Results)
	if f.json {
		_ = workspace.PrintJSON(env.Stdout, r) // a closed pipe: nobody reads
		return
	}
	r.end(out, f)
}

func (r *checkReport) add(res agentcheck.Result) {
	r.Results = append(r.Results, res)
	switch res.Verdict {
	case agentcheck.Pass:
		r.Passed++
	case agentcheck.Fault:
		r.Failed++
	case agentcheck.Skip:
		r.Skipped++
	}
	if r.Model && res.Probe != "missing program" {
		r.Turns += res.Turns
		r.Usage = r.Usage.Add(res.Usage)
	}
}

// tellWait tells a person what they wait for, once it takes long. What it returns takes
// that back.
func tellWait(env workspace.Env, p agentcheck.Probe) func() {
	var mu sync.Mutex
	told := false
	timer := time.AfterFunc(patienceOfPeople, func() {
		mu.Lock()
		defer mu.Unlock()
		told = true
		if env.Terminal {
			fmt.Fprintf(env.Stderr, "...   %s", p.Name)
		} else {
			fmt.Fprintf(env.Stderr, "...   %s: %s?\n", p.Name, p.Proves)
		}
	})
	return func() {
		timer.Stop()
		mu.Lock()
		defer mu.Unlock()
		if told && env.Terminal {
			fmt.Fprint(env.Stderr, "\r\x1b[K")
		}
	}
}

func resultLine(res agentcheck.Result) string {
	mark := map[agentcheck.Verdict]string{agentcheck.Pass: "ok", agentcheck.Fault: "FAILED", agentcheck.Skip: "skip"}[res.Verdict]
	words := res.Proves
	switch {
	case res.Verdict == agentcheck.Pass && res.Words != "":
		words += ": " + res.Words
	case res.Verdict != agentcheck.Pass:
		words = res.Words
	}
	took := ""
	if res.Took >= 50*time.Millisecond {
		took = fmt.Sprintf("%.1fs", res.Took.Seconds())
	}
	return strings.TrimRight(fmt.Sprintf("%-6s  %-15s %6s  %s", mark, res.Probe, took, words), " ")
}

// features are what a driver can do, with what the probes say about it.
func features(s agent.Supports, results []agentcheck.Result) []checkedFeature {
	all := []checkedFeature{
		{Name: "structured answers", Supported: s.Structured, probes: []string{"structured"}},
		{Name: "sessions to resume", Supported: s.Resume, probes: []string{"resume"}},
		{Name: "asks in mid-turn", Supported: s.Ask, probes: []string{"approval", "denial"}},
		{Name: "reports dollars", Supported: s.Cost, probes: []string{"usage"}},
		{Name: "reports tokens", Supported: s.Usage, probes: []string{"usage"}},
		{Name: "tells tool calls", Supported: s.Tools},
		{Name: "tells its context", Supported: s.Context},
		{Name: "compacts on demand", Supported: s.Compact},
	}
	for i := range all {
		all[i].Proof = proof(all[i], results)
	}
	return all
}

func proof(f checkedFeature, results []agentcheck.Result) string {
	if !f.Supported || len(f.probes) == 0 {
		return ""
	}
	word := "proved"
	for _, probe := range f.probes {
		verdict := agentcheck.Verdict("")
		for _, res := range results {
			if res.Probe == probe {
				verdict = res.Verdict
			}
		}
		switch verdict {
		case agentcheck.Pass:
		case agentcheck.Fault:
			return "failed"
		case agentcheck.Skip:
			word = "not judged"
		default:
			return "not run"
		}
	}
	return word
}

func (r *checkReport) end(w io.Writer, f agentCheckFlags) {
	fmt.Fprintln(w)
	for _, feat := range r.Features {
		word := map[bool]string{true: "yes", false: "no"}[feat.Supported]
		if feat.Proof != "" {
			word += ", " + feat.Proof
		}
		fmt.Fprintf(w, "%-20s %s\n", feat.Name, word)
	}
	fmt.Fprintf(w, "\n%d proved, %d failed, %d skipped; ", r.Passed, r.Failed, r.Skipped)
	switch {
	case r.Turns == 0:
		fmt.Fprintln(w, "nothing was spent.")
	case r.Usage.Known:
		fmt.Fprintf(w, "%s, $%.4f.\n", text.Count(r.Turns, "turn"), r.Usage.Cost)
	case r.Usage.Cost > 0: // of a turn that is cut nobody knows the price
		fmt.Fprintf(w, "%s, $%.4f or more.\n", text.Count(r.Turns, "turn"), r.Usage.Cost)
	default:
		fmt.Fprintf(w, "%s, at a price that the agent does not say.\n", text.Count(r.Turns, "turn"))
	}
	if r.Model && !f.turns && r.Failed == 0 {
		again := "ralph agent-check " + r.Agent
		if f.command != "" {
			again = fmt.Sprintf("ralph agent-check --command '%s'", f.command)
		}
		fmt.Fprintf(w, "To prove whole turns, at the price of the agent's model: %s --turns\n", again)
	}
}
