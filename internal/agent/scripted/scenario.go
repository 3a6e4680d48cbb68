package scripted

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

//go:embed scenarios/*.yaml
var scenarioFiles embed.FS

// scenario is what a scripted agent plays. Rules are tried in order; the first
// that matches is played, action by action. All of `when` must match, and a rule
// without one always does:
//
//	about: what this is for
//	counter: /tmp/calls            # a folder; needed for when.call
//	rules:
//	  - when:
//	      stage: build             # RALPH_STAGE
//	      task: "Say hello*"       # glob over RALPH_TASK_NAME or RALPH_TASK
//	      spec: "*.md"             # glob over RALPH_SPEC
//	      iteration: 1             # RALPH_ITERATION: N, N-M or N+
//	      call: 2+                 # the nth play with this stage, spec and task, counted in the folder
//	      prompt: some words       # the prompt has these words
//	      exists: tests/usage      # there is such a file
//	      resumed: true            # the turn goes on in a session (agent.context: continue); false: a new one
//	      watched: true            # somebody looks on (SCRIPTED_AGENT_PACE is more than 1), and can be asked
//	      compact: true            # the session shall be made shorter; no rule without this is tried then,
//	                               # and an agent that has no such rule cannot do it
//	    do:
//	      - say: "I am on {{.TaskName}}."
//	      - signal: COMPLETE
//
// Texts are Go templates over {{.Stage}} {{.Task}} {{.TaskName}} {{.Spec}}
// {{.Iteration}} {{.Phase}} {{.Call}} {{.Prompt}} {{.Session}} {{.Answer}}. Paths are within the agent's
// working folder. The actions, one per list item:
//
//	write: {a.sh: "text", b/c: "text"}  # folders are made; "#!" makes it executable
//	append: {notes.md: "text"}
//	delete: a.sh            # a path or a list; folders with what is in them
//	mkdir: [a, b/c]
//	run: git add -A         # by sh -c; its output is not shown; failing ends the play with exit 1
//	show: sh test.sh        # the same, its output is the agent's
//	say: text               # a line or more on stdout
//	signal: "BLOCKED: why"  # <ralph>BLOCKED: why</ralph>
//	answer: {tasks: []}     # any YAML, printed as a fenced json block; the string $issues stands for all
//	                        # issue ids of the prompt, $accept for verdicts that accept all its tasks,
//	                        # "$reject why" for verdicts that reject them
//	cost: 0.02              # dollars; above what the turn may cost the play ends with an error of class budget
//	usage: {input: 100, output: 20, cost: 0.02}
//	context: 86%            # so much of the window is full, of 200000 tokens; or in tokens:
//	context: {used: 172000, window: 200000, compacted: true} # compacted: it did that by itself just now
//	think: 200ms            # nothing happens for so long; sleep is the same
//	echo: true              # prints the prompt
//	stderr: text
//	raw: "ff fe 0a"         # bytes in hex, for what is not UTF-8
//	flood: {bytes: 104857600, line: 0}  # line: length of each, 0 for a single one; to: stderr
//	hang: true              # until it is ended; "hang: hard" ignores TERM and INT
//	crash: true             # kill -9 itself
//	exit: 3
//	rate_limit: true        # an error text on stderr and exit 1; or the text itself
//	error: server           # a typed error and exit 1: rate_limit, overloaded, authentication, bad_request,
//	                        # context_full, server, refusal, budget, unknown, protocol; or with more of it:
//	error: {class: rate_limit, status: 429, message: text, reset: 90s, limit: five_hour}
//	                        # reset: the limit ends so long after now; reset_at: at a time (RFC 3339)
//	ask: {command: make dist, allow: [{run: make dist}], deny: [{say: "no: {{.Answer}}"}]}
//	                        # asks in the middle of the turn and goes on with one of the lists; or edit: and
//	                        # read: (a path or a list), tool: (a name), permissions: (words); with text, detail,
//	                        # dir; within: 5s takes it back after so long
//	ask: {question: "Which?", options: [red, blue], answers: {red: [...], "*": [...]}} # the first pattern that fits
//	event: {kind: plan.updated, plan: [{text: a, status: pending}]} # an event of the normalised stream
//	background: {run: sleep 60, setsid: true, hold: true} # left behind; hold keeps stdout open
//	close: stdout           # closes it and goes on
type scenario struct {
	About   string
	Counter string
	Rules   []rule
}

type rule struct {
	when map[string]string
	do   []action
}

// whenKeys are the members of a rule's when.
func whenKeys() []string {
	return []string{"stage", "task", "spec", "iteration", "call", "prompt", "exists", "resumed", "watched", "compact"}
}

// builtins are the names of the embedded scenarios, sorted.
func builtins() []string {
	files, err := fs.Glob(scenarioFiles, "scenarios/*.yaml")
	if err != nil {
		return nil // the pattern is a constant
	}
	for i, f := range files {
		files[i] = strings.TrimSuffix(filepath.Base(f), ".yaml")
	}
	return files
}

func looksLikeFile(name string) bool {
	return strings.ContainsAny(name, `/\`) || strings.HasSuffix(name, ".yaml") || strings.HasSuffix(name, ".yml")
}

// loadScenario reads a built-in scenario or a file. A relative path is looked
// for in dir and then in root, as a worktree may lack what the checkout has.
func loadScenario(name, dir, root string) (*scenario, error) {
	if !looksLikeFile(name) {
		b, err := scenarioFiles.ReadFile("scenarios/" + name + ".yaml")
		if err != nil {
			return nil, fmt.Errorf("no built-in scenario %q; there are %s, or name a .yaml file", name, strings.Join(builtins(), ", "))
		}
		return parseScenario(name, b)
	}
	path := name
	if !filepath.IsAbs(path) {
		path = filepath.Join(dir, name)
	}
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) && root != "" && !filepath.IsAbs(name) {
		b, err = os.ReadFile(filepath.Join(root, name))
	}
	if err != nil {
		return nil, fmt.Errorf("read scenario: %w", err)
	}
	return parseScenario(name, b)
}

// parseScenario reads strictly: what it does not know is an error with its line.
func parseScenario(name string, b []byte) (*scenario, error) {
	var doc yaml.Node
	if err := yaml.Unmarshal(b, &doc); err != nil {
		return nil, fmt.Errorf("scenario %s: %w", name, err)
	}
	if len(doc.Content) == 0 {
		return nil, fmt.Errorf("scenario %s is empty; it needs rules", name)
	}
	s := &scenario{}
	err := eachPair(doc.Content[0], func(key string, v *yaml.Node) (err error) {
		switch key {
		case "about":
			return v.Decode(&s.About)
		case "counter":
			return v.Decode(&s.Counter)
		case "rules":
			return eachItem(v, func(n *yaml.Node) error {
				r, err := parseRule(n)
				s.Rules = append(s.Rules, r)
				return err
			})
		}
		return unknown(v, key, "about", "counter", "rules")
	})
	if err == nil && len(s.Rules) == 0 {
		err = errors.New("it has no rules")
	}
	for _, r := range s.Rules {
		if r.when["call"] != "" && s.Counter == "" && err == nil {
			err = errors.New("when.call needs a counter: folder at the top")
		}
	}
	if err != nil {
		return nil, fmt.Errorf("scenario %s: %w", name, err)
	}
	return s, nil
}

func parseRule(n *yaml.Node) (r rule, err error) {
	err = eachPair(n, func(key string, v *yaml.Node) error {
		switch key {
		case "when":
			r.when = map[string]string{}
			return eachPair(v, func(key string, v *yaml.Node) error {
				r.when[key] = v.Value
				switch {
				case v.Kind != yaml.ScalarNode:
					return fmt.Errorf("line %d: %s is a single value", v.Line, key)
				case key == "iteration" || key == "call":
					if _, _, err := span(v.Value); err != nil {
						return fmt.Errorf("line %d: %s: %w", v.Line, key, err)
					}
				case (key == "compact" || key == "resumed" || key == "watched") && v.Value != "true" && v.Value != "false":
					return fmt.Errorf("line %d: %s is true or false, not %q", v.Line, key, v.Value)
				}
				return unknown(v, key, whenKeys()...)
			})
		case "do":
			return eachItem(v, func(n *yaml.Node) error {
				return eachPair(n, func(key string, v *yaml.Node) error {
					a, err := parseAction(key, v)
					r.do = append(r.do, a)
					return err
				})
			})
		}
		return unknown(v, key, "when", "do")
	})
	return r, err
}

// unknown is nil when key is one of known.
func unknown(v *yaml.Node, key string, known ...string) error {
	for _, k := range known {
		if k == key {
			return nil
		}
	}
	return fmt.Errorf("line %d: unknown key %q; known are %s", v.Line, key, strings.Join(known, ", "))
}

func eachPair(n *yaml.Node, yield func(key string, v *yaml.Node) error) error {
	if n.Kind != yaml.MappingNode {
		return fmt.Errorf("line %d: want a mapping (key: value)", n.Line)
	}
	seen := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		k, v := n.Content[i], n.Content[i+1]
		if seen[k.Value] {
			return fmt.Errorf("line %d: %q is there twice", k.Line, k.Value)
		}
		seen[k.Value] = true
		if v.Kind == yaml.AliasNode {
			v = v.Alias
		}
		if err := yield(k.Value, v); err != nil {
			return err
		}
	}
	return nil
}

func eachItem(n *yaml.Node, yield func(*yaml.Node) error) error {
	if n.Kind != yaml.SequenceNode {
		return fmt.Errorf("line %d: want a list", n.Line)
	}
	for _, v := range n.Content {
		if err := yield(v); err != nil {
			return err
		}
	}
	return nil
}

// span reads "2", "2-4" or "2+"; hi is -1 for no end.
func span(s string) (lo, hi int, err error) {
	a, b, ranged := strings.Cut(s, "-")
	a, open := strings.CutSuffix(a, "+")
	lo, err = strconv.Atoi(a)
	hi = lo
	if ranged && err == nil {
		hi, err = strconv.Atoi(b)
	}
	if err != nil || lo < 1 || hi < lo || ranged && open {
		return 0, 0, fmt.Errorf("%q is none of N, N-M, N+", s)
	}
	if open {
		hi = -1
	}
	return lo, hi, nil
}

// glob reports whether s is what the pattern says; * and ? cross slashes, as
// task names are no paths.
func glob(pattern, s string) bool {
	expr := strings.NewReplacer(`\*`, ".*", `\?`, ".").Replace(regexp.QuoteMeta(pattern))
	ok, err := regexp.MatchString("(?s)^"+expr+"$", s)
	return ok && err == nil
}
