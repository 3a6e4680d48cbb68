package scripted

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/ralph-loop/ralph/internal/proc"
)

// Play is the scripted agent itself, run in a child process by
// `ralph scripted-agent <scenario>`: it reads the prompt from stdin, finds the
// first rule that matches its environment (RALPH_STAGE, RALPH_TASK,
// RALPH_TASK_NAME, RALPH_SPEC, RALPH_ITERATION, RALPH_PHASE) and carries out its
// actions in dir. It returns the exit code: what the scenario says, 1 when an
// action fails, 2 for a broken scenario or when no rule matches, 143 when ctx
// ends.
func Play(ctx context.Context, stdin io.Reader, stdout, stderr io.Writer, env []string, dir string, scenario string) int {
	vars := envMap(env)
	s, err := loadScenario(scenario, dir, vars["RALPH_ROOT"])
	if err != nil {
		fmt.Fprintln(stderr, "scripted agent:", err)
		return 2
	}
	prompt, err := io.ReadAll(stdin)
	if err != nil {
		fmt.Fprintln(stderr, "scripted agent: read the prompt:", err)
		return 1
	}
	p := &player{ctx: ctx, stdout: stdout, stderr: stderr, env: env, dir: dir, proc: proc.NewRunner("")}
	p.values = values{
		Stage: vars["RALPH_STAGE"], Task: vars["RALPH_TASK"], TaskName: vars["RALPH_TASK_NAME"],
		Spec: vars["RALPH_SPEC"], Phase: vars["RALPH_PHASE"], Prompt: string(prompt), Session: vars[envResume],
	}
	p.compact = vars[envCompact] != ""
	pace, _ := strconv.Atoi(vars[PaceVar]) // not set: as the scenario says
	p.pace = max(1, pace)
	p.maxCost, _ = strconv.ParseFloat(vars[envMaxCost], 64)       // not set: no limit
	p.values.Iteration, _ = strconv.Atoi(vars["RALPH_ITERATION"]) // not set in every stage
	if s.Counter != "" {
		if p.values.Call, err = p.count(s.Counter); err != nil {
			fmt.Fprintln(stderr, "scripted agent: count the call:", err)
			return 1
		}
	}
	for _, r := range s.Rules {
		if p.matches(r) {
			return p.play(r)
		}
	}
	if p.compact {
		_ = p.tell("ralph-usage", map[string]float64{"cost": 0}) // nobody was asked
		fmt.Fprintf(stderr, "scripted agent: scenario %s has no rule with when: {compact: true}: it cannot compact\n", scenario)
		return 2
	}
	fmt.Fprintf(stderr, "scripted agent: scenario %s has no rule for stage %q, spec %q, task %q, iteration %d\n",
		scenario, p.values.Stage, p.values.Spec, p.values.TaskName, p.values.Iteration)
	return 2
}

// values is what templates see.
type values struct {
	Stage, Task, TaskName, Spec, Phase, Prompt string
	Session                                    string // that is gone on with, "" for a new one
	Answer                                     string // to the latest question
	Iteration, Call                            int
}

// PaceVar is the variable that says how many times as long an agent thinks: for people who
// look on.
const PaceVar = "SCRIPTED_AGENT_PACE"

// player carries out one rule.
type player struct {
	pace           int // times as long as the scenario says
	ctx            context.Context
	stdout, stderr io.Writer
	env            []string
	dir            string
	proc           *proc.Runner
	values         values
	compact        bool    // the session shall be made shorter
	maxCost, cost  float64 // dollars that the turn may cost (0: no limit), and costs so far
	asked          int     // requests so far
}

// exit ends a play with a code; a *exit is no failure.
type exit struct{ code int }

func (e exit) Error() string { return "exit " + strconv.Itoa(e.code) }

func (p *player) play(r rule) int {
	for _, a := range r.do {
		err := p.ctx.Err()
		if err == nil {
			err = a.do(p)
		}
		if p.ctx.Err() != nil {
			return 143 // as a shell says of a program that was ended by TERM
		}
		if e := (exit{}); errors.As(err, &e) {
			return e.code
		}
		if err != nil {
			fmt.Fprintf(p.stderr, "scripted agent: line %d: %s: %v\n", a.line, a.name, err)
			return 1
		}
	}
	return 0
}

func (p *player) matches(r rule) bool {
	v := p.values
	if p.compact && r.when["compact"] == "" {
		return false // a rule for turns
	}
	for key, want := range r.when {
		ok := false
		switch key {
		case "stage":
			ok = want == v.Stage
		case "task":
			ok = glob(want, v.TaskName) || glob(want, v.Task)
		case "spec":
			ok = glob(want, v.Spec)
		case "iteration":
			ok = within(want, v.Iteration)
		case "call":
			ok = within(want, v.Call)
		case "compact":
			ok = want == strconv.FormatBool(p.compact)
		case "watched":
			ok = want == strconv.FormatBool(p.pace > 1)
		case "resumed":
			ok = want == strconv.FormatBool(v.Session != "")
		case "prompt":
			ok = strings.Contains(v.Prompt, want)
		case "exists":
			_, err := os.Stat(filepath.Join(p.dir, want))
			ok = err == nil
		}
		if !ok {
			return false
		}
	}
	return true
}

func within(want string, n int) bool {
	lo, hi, err := span(want)
	return err == nil && n >= lo && (hi < 0 || n <= hi)
}

// count returns the number of this play among those with the same stage, spec
// and task. One empty file per play, made exclusively, counts right also when
// several agents run at once.
func (p *player) count(folder string) (int, error) {
	if !filepath.IsAbs(folder) {
		folder = filepath.Join(p.dir, folder)
	}
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return 0, err
	}
	who := p.values.TaskName
	if who == "" {
		who = p.values.Task
	}
	key := strings.Map(func(r rune) rune {
		if r == '-' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return '_'
	}, p.values.Stage+"."+p.values.Spec+"."+who)
	for n := 1; ; n++ {
		f, err := os.OpenFile(filepath.Join(folder, fmt.Sprintf("%.100s.%d", key, n)), os.O_CREATE|os.O_EXCL, 0o600)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return 0, err
		}
		return n, f.Close()
	}
}

func envMap(env []string) map[string]string {
	m := make(map[string]string, len(env))
	for _, kv := range env {
		if k, v, ok := strings.Cut(kv, "="); ok {
			m[k] = v
		}
	}
	return m
}
