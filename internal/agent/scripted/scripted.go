// Package scripted is the agent that plays a scenario, and its driver: what the demo and
// the tests run where a real agent would need an account. It can do all that real agents
// can, failing included.
//
// It does not own the scenarios of tests, only the built-in ones.
package scripted

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/agent/execagent"
	"github.com/ralph-loop/ralph/internal/agent/wire"
	"github.com/ralph-loop/ralph/internal/proc"
	"go.yaml.in/yaml/v3"
)

// driver runs the scripted agent as a child process, like any other. It is an
// agent that prints text, and can do more: sessions, a context window, compacting, typed
// errors, questions. It lets tests and demos play what the protocols of real agents say.
// The driver tells the agent of the turn by the environment, and the agent answers on
// lines of their own:
//
//	<ralph-context>{"used":172000,"window":200000,"compacted":true}</ralph-context>
//	<ralph-error>{"class":"rate_limit","message":"...","reset_at":"..."}</ralph-error>
type driver struct {
	proc    *proc.Runner
	command []string
}

// Supports: all that a scenario can play; it has no structured answers, tools or review of its own.
func Supports(ralph.AgentSpec) wire.Supports {
	return wire.Supports{Resume: true, Cost: true, Usage: true, Context: true, Compact: true, Ask: true}
}

// Open makes the driver of one agent. Its scenario is a built-in one or a file; self is the ralph that plays
// it.
func Open(spec ralph.AgentSpec, p *proc.Runner, self string) (wire.Driver, error) {
	if spec.Scenario == "" {
		return nil, fmt.Errorf("agents.%s: the scripted driver needs a scenario: a YAML file or one of %s",
			spec.Name, strings.Join(builtins(), ", "))
	}
	if !looksLikeFile(spec.Scenario) && !slices.Contains(builtins(), spec.Scenario) {
		return nil, fmt.Errorf("agents.%s: no built-in scenario %q; there are %s, or name a .yaml file",
			spec.Name, spec.Scenario, strings.Join(builtins(), ", "))
	}
	return &driver{proc: p, command: []string{self, "scripted-agent", spec.Scenario}}, nil
}

func (d *driver) Turn(ctx context.Context, in ralph.TurnInput, on ralph.TurnHooks) (ralph.TurnResult, error) {
	t := wire.NewTurn(in, on)
	r := &report{told: t.Context, asks: newPlayedAsks(ctx, t, on)}
	out := execagent.NewTextOutput(t, r.line)
	res, _, err := t.Run(r.asks.ctx, d.proc, wire.Launch{
		Args: d.command, Env: r.environ(in), Stdin: strings.NewReader(in.Prompt), Stdout: out.Stdout, Stderr: out.Stderr,
	})
	if err = errors.Join(r.asks.close(&res), err); err != nil {
		return res, err
	}
	t.Mu.Lock()
	defer t.Mu.Unlock()
	out.Conclude(&res, d.command[0])
	r.conclude(&res, in)
	return res, nil
}

// What the driver tells the agent besides the executor's variables.
const (
	envResume  = "RALPH_RESUME"   // the session to go on with
	envCompact = "RALPH_COMPACT"  // 1: make it shorter
	envMaxCost = "RALPH_MAX_COST" // dollars that the turn may cost
)

// window is the window of which `context: 86%` is a part.
const window = 200_000

// report is what a scripted agent says beside its words.
type report struct {
	asks     *asks
	told     func(ralph.ContextUse)
	context  ralph.ContextUse
	compacts int
	err      *ralph.AgentError
}

// contextLine is a context line.
type contextLine struct {
	Used      int64 `json:"used"`
	Window    int64 `json:"window"`
	Compacted bool  `json:"compacted,omitempty"`
}

func (r *report) environ(in ralph.TurnInput) []string {
	env := slices.Clone(in.Env)
	if in.Resume != "" {
		env = append(env, envResume+"="+in.Resume)
	}
	if in.Compact {
		env = append(env, envCompact+"=1")
	}
	if in.Scratch != "" {
		env = append(env, envAskDir+"="+in.Scratch)
	}
	if in.MaxCost > 0 {
		env = append(env, envMaxCost+"="+strconv.FormatFloat(in.MaxCost, 'f', -1, 64))
	}
	return env
}

// line takes a line of the agent's output; false when it is one of its words.
func (r *report) line(line string) bool {
	var use contextLine
	if tagged(line, "ralph-context", &use) {
		r.context = ralph.ContextUse{Used: use.Used, Window: use.Window}
		if use.Compacted {
			r.compacts++
		}
		r.told(r.context)
		return true
	}
	var e ralph.AgentError
	if tagged(line, "ralph-error", &e) {
		r.err = &e
		return true
	}
	return r.asks.line(line)
}

// conclude adds what was reported to the result. The typed error is that of a turn
// that failed, never of one that went on and ended well.
func (r *report) conclude(res *ralph.TurnResult, in ralph.TurnInput) {
	if res.Exit == ralph.ExitSpawn {
		return
	}
	res.Context, res.Compacts = r.context, r.compacts
	if res.Session = in.Resume; res.Session == "" {
		res.Session = "played-" + strings.ToLower(rand.Text()[:8])
	}
	if r.err != nil && res.Exit == ralph.ExitFailed {
		res.Err = r.err
	}
}

// tagged reads <name>JSON</name>, a line of nothing else.
func tagged(line, name string, into any) bool {
	body, ok := strings.CutPrefix(strings.TrimSpace(line), "<"+name+">")
	if !ok {
		return false
	}
	body, ok = strings.CutSuffix(body, "</"+name+">")
	return ok && json.Unmarshal([]byte(body), into) == nil
}

// tell prints a line that tagged reads.
func (p *player) tell(name string, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return line(p.stdout, "<"+name+">"+string(b)+"</"+name+">")
}

func parseUsage(name string, v *yaml.Node) (func(*player) error, error) {
	var usage map[string]float64
	if name == "cost" {
		var cost float64
		if err := v.Decode(&cost); err != nil {
			return nil, err
		}
		usage = map[string]float64{"cost": cost}
	} else {
		if err := v.Decode(&usage); err != nil {
			return nil, err
		}
		for key := range usage {
			if err := unknown(v, key, "input", "output", "cache_read", "cache_write", "cost"); err != nil {
				return nil, err
			}
		}
	}
	return func(p *player) error {
		if err := p.tell("ralph-usage", usage); err != nil {
			return err
		}
		if p.cost += usage["cost"]; p.maxCost > 0 && p.cost > p.maxCost {
			// As real agents do: it is looked at after the call that was too much.
			return p.fail(ralph.AgentError{Class: ralph.ErrClassBudget, Message: fmt.Sprintf("Reached maximum budget ($%v)", p.maxCost)})
		}
		return nil
	}, nil
}

// parseContext reads how full the window is: a percentage, or tokens.
func parseContext(v *yaml.Node) (func(*player) error, error) {
	use := contextLine{Window: window}
	if v.Kind == yaml.ScalarNode {
		number, ok := strings.CutSuffix(v.Value, "%")
		percent, err := strconv.ParseFloat(number, 64)
		if err != nil || !ok {
			return nil, fmt.Errorf("%q is no percentage, such as 86%%", v.Value)
		}
		use.Used = int64(percent / 100 * window)
	} else {
		err := eachPair(v, func(key string, v *yaml.Node) error { return unknown(v, key, "used", "window", "compacted") })
		if err == nil {
			err = v.Decode(&use)
		}
		if err != nil {
			return nil, err
		}
	}
	if use.Used < 0 || use.Window < 0 {
		return nil, errors.New("want used >= 0, window >= 0")
	}
	return func(p *player) error { return p.tell("ralph-context", use) }, nil
}

// parseError reads a typed error: its class alone, or a mapping.
func parseError(v *yaml.Node) (func(*player) error, error) {
	var e struct {
		Class   ralph.ErrorClass
		Status  int
		Message string
		Reset   time.Duration
		ResetAt time.Time `yaml:"reset_at"`
		Limit   string
	}
	if v.Kind == yaml.ScalarNode {
		e.Class = ralph.ErrorClass(v.Value)
	} else {
		err := eachPair(v, func(key string, v *yaml.Node) error {
			return unknown(v, key, "class", "status", "message", "reset", "reset_at", "limit")
		})
		if err == nil {
			err = v.Decode(&e)
		}
		if err != nil {
			return nil, err
		}
	}
	if !slices.Contains(classes(), e.Class) {
		return nil, fmt.Errorf("%q is no class of errors; there are %v", e.Class, classes())
	}
	if e.Message == "" {
		e.Message = "scripted " + string(e.Class)
	}
	return func(p *player) error {
		out := ralph.AgentError{Class: e.Class, Status: e.Status, Message: e.Message, ResetAt: e.ResetAt, Limit: e.Limit}
		if e.Reset != 0 {
			out.ResetAt = time.Now().Add(e.Reset).UTC()
		}
		return p.fail(out)
	}, nil
}

// classes are the classes of errors that an agent itself can report.
func classes() []ralph.ErrorClass {
	return []ralph.ErrorClass{
		ralph.ErrClassLimit, ralph.ErrClassBusy, ralph.ErrClassAuth, ralph.ErrClassNetwork, ralph.ErrClassRequest, ralph.ErrClassContext,
		ralph.ErrClassServer, ralph.ErrClassRefusal, ralph.ErrClassBudget, ralph.ErrClassOther, ralph.ErrClassOutput,
	}
}

// fail reports a typed error and ends the play.
func (p *player) fail(e ralph.AgentError) error {
	if err := p.tell("ralph-error", e); err != nil {
		return err
	}
	return exit{1}
}
