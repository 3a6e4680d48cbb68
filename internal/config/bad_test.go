package config

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// C-006: a wrong type, an unknown key, a bad value: the error names the key,
// the line and the nearest key, and all of them come at once.
func TestBadFiles(t *testing.T) {
	t.Parallel()
	const at = "ralph/config.yaml"
	tests := []badFile{
		{"misspelt key", "\n\nparalel: 2\n", []string{"unknown key `paralel` at " + at + ":3; did you mean `parallel`?"}},
		{"misspelt in a section", "task:\n  timout: 5m\n", []string{"unknown key `task.timout` at " + at + ":2; did you mean `task.timeout`?"}},
		{"misspelt section", "budgets: {cost: 1}\n", []string{"unknown key `budgets` at " + at + ":1; did you mean `budget`?"}},
		{"swapped letters", "agent: {primray: claude}\n", []string{"unknown key `agent.primray` at " + at + ":1; did you mean `agent.primary`?"}},
		{"right key, wrong section", "max_rounds: 3\n", []string{"unknown key `max_rounds` at " + at + ":1; did you mean `construct.max_rounds`?"}},
		{"key of several sections", "timeout: 3m\n", []string{"unknown key `timeout` at " + at + ":1; `ralph config show` lists the keys"}},
		{"nothing near", "colour: red\n", []string{"unknown key `colour` at " + at + ":1; `ralph config show` lists the keys"}},
		{"unknown field of an agent", "agents: {claude: {modle: x}}\n", []string{"unknown key `agents.claude.modle` at " + at + ":1; did you mean `agents.claude.model`?"}},
		{"several at once", "mode: auto\nparallel: two\nx: 1\n", []string{
			at + ":1: `mode` must be one of manual, step, semi, autopilot, not `auto`",
			at + ":2: `parallel` must be a whole number from 1 to 1000, not `two`",
			"unknown key `x` at " + at + ":3; `ralph config show` lists the keys",
		}},

		{"quoted number", "parallel: '2'\n", []string{at + ":1: `parallel` must be a whole number from 1 to 1000, not the text `2`"}},
		{"fraction", "parallel: 1.5\n", []string{at + ":1: `parallel` must be a whole number from 1 to 1000, not `1.5`"}},
		{"too many", "parallel: 1001\n", []string{at + ":1: `parallel` must be a whole number from 1 to 1000, not `1001`"}},
		{"none", "parallel: 0\n", []string{at + ":1: `parallel` must be a whole number from 1 to 1000, not `0`"}},
		{"beyond 64 bits", "parallel: 99999999999999999999\n", []string{at + ":1: `parallel` must be a whole number from 1 to 1000, not `99999999999999999999`"}},
		{"no value", "parallel:\n", []string{at + ":1: `parallel` must be a whole number from 1 to 1000, not empty"}},
		{"section for a number", "parallel: {a: 1}\n", []string{at + ":1: `parallel` must be a whole number from 1 to 1000, not a section"}},
		{"number for a section", "task: 5\n", []string{at + ":1: `task` must be a section with keys below it, not `5`"}},
		{"yes is no boolean", "merge: {auto: yes}\n", []string{at + ":1: `merge.auto` must be true or false, not `yes`"}},
		{"number for a text", "base_branch: 1.10\n", []string{at + ":1: `base_branch` must be text, not `1.10`; put it in quotes"}},
		{"branch that is an option", "base_branch: --force\n", []string{at + ":1: `base_branch` must be the name of a branch, not `--force`"}},
		{"text for a list", "quality: {commands: make check}\n", []string{at + ":1: `quality.commands` must be a list such as [one, two], not `make check`"}},
		{"empty command", "quality:\n  commands:\n  - a\n  - ''\n", []string{at + ":4: `quality.commands` item 2 must not be empty"}},
		{"list in a list", "quality:\n  commands:\n  - a\n  - [b]\n", []string{at + ":4: `quality.commands` item 2 must be text"}},
		{"NUL", "test: {command: \"a\\0b\"}\n", []string{at + ":1: `test.command` must not hold a NUL character"}},
		{"terminal escape", "mode: \"\\e[2J\"\n", []string{at + ":1: `mode` must be one of manual, step, semi, autopilot, not \"\\x1b[2J\""}},

		{"duration without a unit", "task: {timeout: 30}\n", []string{at + ":1: `task.timeout` must be a duration with its unit, such as 500ms, 90s, 30m or 2h, not `30`"}},
		{"negative duration", "task: {delay: -1s}\n", []string{at + ":1: `task.delay` must be 0s or longer, not `-1s`"}},
		{"zero window", "breakers: {github: {window: 0s}}\n", []string{at + ":1: `breakers.github.window` must be a duration above 0 with its unit, such as 500ms, 90s, 30m or 2h, not `0s`"}},
		{"negative cost", "budget: {cost: -1}\n", []string{at + ":1: `budget.cost` must be a number, 0 or more, not `-1`"}},
		{"NaN", "budget: {cost: .nan}\n", []string{at + ":1: `budget.cost` must be a number, 0 or more, not `.nan`"}},
		{"infinite", "agent_mode: {max_cost: .inf}\n", []string{at + ":1: `agent_mode.max_cost` must be a number, 0 or more, not `.inf`"}},
		{"coverage", "test: {coverage: 101}\n", []string{at + ":1: `test.coverage` must be a number from 0 to 100, not `101`"}},
		{"share", "construct: {context_kill: 95}\n", []string{at + ":1: `construct.context_kill` must be a number from 0 to 1, not `95`"}},
		{"max_failures", "agent_mode: {max_failures: 0}\n", []string{at + ":1: `agent_mode.max_failures` must be a whole number, 1 or more, not `0`"}},
		{"size", "quality: {max_output: lots}\n", []string{at + ":1: `quality.max_output` must be a size from 1KiB to 64MiB, such as 64KiB or 1MiB, not `lots`"}},
		{"size too large", "quality: {max_output: 9999999999GiB}\n", []string{at + ":1: `quality.max_output` must be a size from 1KiB to 64MiB, such as 64KiB or 1MiB, not `9999999999GiB`"}},
		{"key of nothing", "ui:\n  keys:\n    pause: P\n    retri: E\n", []string{at + ":4: `ui.keys` has `retri`, which is no action and no key of the screen; did you mean `retry`?"}},
		{"key that is taken", "ui:\n  keys:\n    pause: P\n    skip: a\n", []string{at + ":4: `ui.keys` has under `skip` `a`, which cannot be: a is the key of approve too: one of them needs another"}},
		{"key for two", "ui:\n  keys:\n    skip: S\n    accept: S\n", []string{at + ":3: `ui.keys` has under `skip` `S`, which cannot be: S is the key of accept too: one of them needs another"}},
		{"key of two signs", "ui: {keys: {skip: SS}}\n", []string{at + ":1: `ui.keys` has under `skip` `SS`, which cannot be: the key of skip must be one sign, such as P or !: the dashboard has it too"}},
		{"keys in a list", "ui: {keys: [p]}\n", []string{at + ":1: `ui.keys` must be actions with their keys, such as {pause: P, skip: S}, not a list"}},
		{"price", "prices:\n  m-1.5: {input: 1}\n  m2: {in: 1}\n", []string{at + ":3: `prices` has under `m2` a price that has an unknown key `in`; known are input, cached, output"}},
		{"negative price", "prices: {m: {output: -1}}\n", []string{at + ":1: `prices` has under `m` a price that is wrong: output must be a number, 0 or more, not `-1`"}},

		{"strategy (A-084)", "errors: {strategy: ignore}\n", []string{at + ":1: `errors.strategy` must be one of retry, skip, abort, not `ignore`"}},
		{"regular expression (C-032)", "gate:\n  patterns:\n  - ok\n  - '('\n", []string{at + ":4: `gate.patterns` item 2 must be a regular expression: missing closing ): `(`"}},
		{"address", "web: {addr: localhost}\n", []string{at + ":1: `web.addr` must be host:port such as 127.0.0.1:7777, not `localhost`"}},
		{"port", "web: {addr: 'localhost:99999'}\n", []string{at + ":1: `web.addr` must be host:port such as 127.0.0.1:7777, not `localhost:99999`"}},
		{"path out of the repository", "sync: {living_docs: {path: ../x}}\n", []string{at + ":1: `sync.living_docs.path` must be a path inside the repository, not `../x`"}},
		{"model", "decision: {model: llama}\n", []string{at + ":1: `decision.model` must be ollama:<model>, openai:<model>, responses:<model>, anthropic:<model>, codex or codex:<model>, not `llama`"}},
		{"fallback", "decision: {fallback: ['codex:']}\n", []string{at + ":1: `decision.fallback` item 1 must be ollama:<model>, openai:<model>, responses:<model>, anthropic:<model>, codex or codex:<model>, not `codex:`"}},
		{"a fallback of nothing", "decision: {fallback: ['']}\n", []string{at + ":1: `decision.fallback` item 1 must not be empty"}},
		{"an address of no model", "decision: {base_urls: {llama: 'http://127.0.0.1:1'}}\n", []string{at + ":1: `decision.base_urls` must be ollama:<model>, openai:<model>, responses:<model>, anthropic:<model>, codex or codex:<model>, not `llama`"}},
		{"no address", "decision: {base_urls: {'ollama:m': here}}\n", []string{at + ":1: `decision.base_urls` has under `ollama:m` a value that must be an address that begins with https:// or http://"}},
		{"llm without a model", "decision: {engine: llm}\n", []string{at + ":1: `decision.model` must name a model when `decision.engine` is llm"}},
		{"jira without its place", "sync:\n  jira:\n    enabled: true\n", []string{
			at + ":3: `sync.jira.url` must be set when `sync.jira.enabled` is true",
			at + ":3: `sync.jira.project` must be set when `sync.jira.enabled` is true",
		}},

		{"stop before the warning (X-56)", "task:\n  no_progress_turns: 4\n", []string{at + ":2: `task.no_progress_turns` must not be below `task.stuck_threshold` (5), or 0 for never, not 4: the warning comes before the stop"}},
		{"warning after the stop (X-56)", "task:\n  stuck_threshold: 10\n", []string{at + ":2: `task.no_progress_turns` must not be below `task.stuck_threshold` (10), or 0 for never, not 5: the warning comes before the stop"}},
		{"label of a worker", "fleet:\n  labels: [gpu, os=]\n", []string{at + ":2: `fleet.labels` item 2 must be a name or name=value of letters, digits, dots, dashes and underscores, such as gpu or os=windows, not `os=`"}},
		{"context figures", "construct:\n  context_warn: 0.9\n", []string{at + ":2: `construct.context_warn` must be below `construct.context_compact` (0.85), not 0.9"}},
		{"context figures, upper pair", "construct:\n  context_kill: 0.8\n", []string{at + ":2: `construct.context_compact` must be below `construct.context_kill` (0.8), not 0.85"}},
	}
	checkBad(t, tests)
}

// badFile is a file with the lines of the error it leads to.
type badFile struct {
	name, file string
	want       []string
}

func checkBad(t *testing.T, tests []badFile) {
	t.Helper()
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := load([]byte(tt.file), "ralph/config.yaml", nil, nil)
			if diff := cmp.Diff(strings.Join(tt.want, "\n"), errText(err)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// Agents and files that are no settings at all.
func TestBadAgentsAndYAML(t *testing.T) {
	t.Parallel()
	const at = "ralph/config.yaml"
	tests := []badFile{
		{"unknown agent", "agent: {primary: clod}\n", []string{at + ":1: `agent.primary` must be one of the agents claude, codex, opencode, gemini, copilot, goose, aider, cursor, local, demo, not `clod`"}},
		{"unknown fallback", "agent: {fallback: [nobody]}\n", []string{at + ":1: `agent.fallback` must be one of the agents claude, codex, opencode, gemini, copilot, goose, aider, cursor, local, demo, not `nobody`"}},
		{"agent's name", "agents: {My Agent: {driver: exec}}\n", []string{at + ":1: `agents.My Agent` must be named with small letters, digits, - and _"}},
		{"agent twice (X-85)", "agents:\n  gpt: {model: a}\n  codex: {model: b}\n", []string{at + ":2: `agents.gpt` is another name of `codex`, which is there as well; keep one of them"}},
		{"driver", "agents: {mine: {driver: magic}}\n", []string{at + ":1: `agents.mine.driver` must be one of codex, claude, acp, exec, api, scripted, not `magic`"}},
		{"no driver", "agents:\n  mine:\n    command: [x]\n", []string{at + ":3: `agents.mine.driver` must be set: one of codex, claude, acp, exec, api, scripted"}},
		{"agent in use without a command", "agent: {primary: mine}\nagents:\n  mine: {driver: exec}\n", []string{at + ":3: `agents.mine.command` must name the program to start, such as [mine]"}},
		{"scripted agent without a scenario", "agent: {primary: mine}\nagents:\n  mine: {driver: scripted}\n", []string{at + ":3: `agents.mine.scenario` must name a built-in scenario or a YAML file"}},
		{"arg without {prompt}", "agent: {primary: mine}\nagents:\n  mine: {driver: exec, command: [x], prompt: arg}\n", []string{at + ":3: `agents.mine.prompt` is arg, so `{prompt}` must stand in command or args"}},
		{"file without {prompt_file}", "agent: {primary: mine}\nagents:\n  mine: {driver: exec, command: [x], prompt: file}\n", []string{at + ":3: `agents.mine.prompt` is file, so `{prompt_file}` must stand in command or args"}},
		{"prompt", "agents: {aider: {prompt: mail}}\n", []string{at + ":1: `agents.aider.prompt` must be one of stdin, arg, file, not `mail`"}},
		{"output", "agents: {aider: {output: xml}}\n", []string{at + ":1: `agents.aider.output` must be one of text, jsonl, aider, copilot, cursor, gemini, goose, opencode, not `xml`"}},
		{"jsonl without rows", "agent: {primary: mine}\nagents:\n  mine: {driver: exec, command: [x], output: jsonl}\n", []string{at + ":3: `agents.mine.events` must have rows, as `output` is jsonl"}},
		{"resume without a session", "agent: {primary: mine}\nagents:\n  mine: {driver: exec, command: [x], resume: [--go-on]}\n", []string{at + ":3: `agents.mine.resume` must hold `{session}`"}},
		{"events", "agents:\n  mine:\n    driver: exec\n    events:\n      - {match: {type: x}, kind: done}\n      - {match: {type: y}, kind: finish}\n", []string{at + ":6: `agents.mine.events` has a row 2 that is wrong: kind must be one of session, message, delta, reasoning, tool, tool_done, tool_fail, usage, total, error, retry, done, undone, ignore, not `finish`"}},
		{"events' key", "agents:\n  mine:\n    driver: exec\n    events:\n      - match: {type: x}\n        kind: message\n        txt: part.text\n", []string{at + ":7: `agents.mine.events` has a row 1 that has an unknown key `txt`; known are match, kind, class, text, id, tool, output, session, input, cached, cache_write, out, cost, status"}},
		{"events without match", "agents: {mine: {driver: exec, events: [{kind: done}]}}\n", []string{at + ":1: `agents.mine.events` has a row 1 that matches every line; say which with match, such as {match: {type: text}}"}},
		{"events without kind", "agents: {mine: {driver: exec, events: [{match: {a: b}}]}}\n", []string{at + ":1: `agents.mine.events` has a row 1 that has no kind; it is one of session, message, delta, reasoning, tool, tool_done, tool_fail, usage, total, error, retry, done, undone, ignore"}},
		{"events' class", "agents: {mine: {driver: exec, events: [{match: {a: b}, kind: done, class: overloaded}]}}\n", []string{at + ":1: `agents.mine.events` has a row 1 that is of kind done, which has no class"}},
		{"events as a word", "agents: {mine: {driver: exec, events: all}}\n", []string{at + ":1: `agents.mine.events` must be rows such as [{match: {type: text}, kind: message, text: part.text}], not `all`"}},
		{"variable", "agents: {claude: {pass_env: [A-B]}}\n", []string{at + ":1: `agents.claude.pass_env` item 1 must be the name of an environment variable (letters, digits and _), not `A-B`"}},

		{"doubled key", "parallel: 2\nmode: step\nparallel: 3\n", []string{at + ":3: `parallel` is there twice, first in line 1"}},
		{"doubled key in brackets", "budget: {cost: 1, cost: 2}\n", []string{at + ":1: `budget.cost` is there twice, first in line 1"}},
		{"tab", "task:\n\ttimeout: 5m\n", []string{at + ":2: the line is indented with a tab; use spaces"}},
		{"a bad indent", "task:\n  delay: 0s\n timeout: 3s\n", []string{at + ":3: is no valid YAML: did not find expected key"}},
		{"an indent too deep", "task:\n  delay: 0s\n    timeout: 3s\n", []string{at + ":3: is no valid YAML: mapping values are not allowed in this context"}},
		{"an unclosed brace", "parallel: 2\ntask: {delay: 0s\nerrors:\n  max_retries: 2\n", []string{at + ":2: is no valid YAML: did not find expected ',' or '}'"}},
		{"an unclosed bracket", "quality:\n  commands: [a, b\nparallel: 2\n", []string{at + ":2: is no valid YAML: did not find expected ',' or ']'"}},
		{"an unclosed quote", "task:\n  delay: \"0s\nparallel: 2\n", []string{at + ":2: is no valid YAML: found unexpected end of stream"}},
		{"a brace too many", "parallel: 2\ntask: {delay: 0s}}\nerrors: {}\n", []string{at + ":2: is no valid YAML: did not find expected key"}},
		{"words behind a section", "parallel: 2\ncommit:\n  message: {summary} x\n", []string{at + ":3: is no valid YAML: did not find expected key"}},
		{"the end of a block", "commit:\n  message: |\n    x\n   y\n", []string{at + ":4: is no valid YAML: did not find expected key"}},
		{"a key in a list", "quality:\n  commands:\n    - a\n    b: c\n", []string{at + ":4: is no valid YAML: did not find expected '-' indicator"}},
		{"an alias of nothing", "parallel: 2\nerrors: *foo\nmode: auto\n", []string{at + ":2: is no valid YAML: unknown anchor 'foo' referenced"}},
		{"a control character", "parallel: 2\nmode: a\x01b\nerrors: {}\n", []string{at + ":2: is no valid YAML: control characters are not allowed"}},
		{"no UTF-8", "parallel: 2\nmode: a\xfcb\nerrors: {}\n", []string{at + ":2: is no valid YAML: invalid leading UTF-8 octet"}},
		{"a tab that may be", "commit:\n  message: |\n    x\n    \ty\ntask: {\n", []string{at + ":5: is no valid YAML: did not find expected node content"}},
		{"syntax", "mode: [step\nparallel: 2\n", []string{at + ":1: is no valid YAML: did not find expected ',' or ']'"}},
		{"list of settings", "- parallel: 2\n", []string{at + ":1: must hold keys with values, such as `parallel: 2`"}},
		{"two documents", "mode: step\n---\nmode: semi\n", []string{at + ":2: a second document begins here; the file must hold one"}},
		{"other version", "version: 2\nfuture: 1\n", []string{at + ":1: `version` must be 1, not `2`; a newer file needs a newer ralph"}},
		{"alias", "a: &x 1\nparallel: *x\n", []string{
			at + ":2: `parallel` is an alias (*x), which this file cannot have; write the value out",
			"unknown key `a` at " + at + ":1; `ralph config show` lists the keys",
		}},
		{"merge", "task: &t {timeout: 5m}\nbudget:\n  <<: *t\n", []string{at + ":3: `budget.<<` merges another section, which this file cannot have; write the keys out"}},
		{"key that is no text", "? [a]\n: 1\n", []string{at + ":1: has a key that is no text"}},
	}
	checkBad(t, tests)
}

// the names of documents A and B, in whatever spelling, lead to ours.
func TestForeignNames(t *testing.T) {
	t.Parallel()
	for name, ours := range map[string]string{
		"maxParallel": "parallel", "max_parallel": "parallel", "maxAgents": "parallel",
		"maxIterations": "task.max_iterations", "stuckThreshold": "task.stuck_threshold",
		"timeoutMinutes": "task.timeout", "qualityCommands": "quality.commands",
		"errorStrategy": "errors.strategy", "autoCommit": "task.auto_commit",
		"primaryAgent": "agent.primary", "fallbackAgent": "agent.fallback",
		"recoverPrimary": "agent.recover_primary", "maxRetries": "errors.max_retries",
		"retryBaseMs": "errors.retry_base", "maxRateLimitRetries": "errors.max_rate_limit_retries",
		"stepDelay": "task.delay", "iterationDelay": "task.delay", "onFailure": "agent_mode.on_failure",
		"requireApprovalToStart": "require_approval_to_start",
	} {
		_, err := load([]byte(name+": 1\n"), "f", nil, nil)
		if want := "unknown key `" + name + "` at f:1; did you mean `" + ours + "`?"; errText(err) != want {
			t.Errorf("error %q, want %q", errText(err), want)
		}
	}
	_, err := load([]byte("task: {maxIterations: 1}\n"), "f", nil, nil)
	if want := "unknown key `task.maxIterations` at f:1; did you mean `task.max_iterations`?"; errText(err) != want {
		t.Errorf("error %q, want %q", errText(err), want)
	}
}

// Odd but right files.
func TestGoodFiles(t *testing.T) {
	t.Parallel()
	for name, file := range map[string]string{
		"empty":                     "",
		"comments":                  "# a\n# b\n",
		"null":                      "~\n",
		"empty sections":            "task:\nagents:\n  claude:\nsync:\n  jira:\nprices:\nnotify: {events: }\n",
		"JSON":                      `{"version": 1, "parallel": 1, "task": {"timeout": "30m"}}`,
		"byte order mark":           "\ufeffparallel: 1\n",
		"line ends of other system": "parallel: 1\r\ntask:\r\n  timeout: 30m\r\n",
		"anchors nobody uses":       "parallel: &p 1\n",
		"zero duration":             "budget: {time: 0}\n",
		"size in bytes":             "quality: {max_output: 65536}\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sameConfig(t, mustLoad(t, file, nil, nil), Defaults())
		})
	}
}

// A small file that stands for a huge one, and one that nests without end.
func TestBombs(t *testing.T) {
	t.Parallel()
	laughs := "a: &a [x,x,x,x,x,x,x,x,x]\n"
	for c := 'b'; c <= 'j'; c++ {
		laughs += string(c) + ": &" + string(c) + " [" + strings.Repeat("*"+string(c-1)+",", 9) + "]\n"
	}
	for name, file := range map[string]string{
		"laughs":    laughs,
		"self":      "task: &t\n  x: *t\n",
		"lists":     "quality: {commands: " + strings.Repeat("[", 9000) + strings.Repeat("]", 9000) + "}",
		"brackets":  strings.Repeat("[", 500_000),
		"sections":  strings.Repeat("{a: ", 9000) + strings.Repeat("}", 9000),
		"many keys": strings.Repeat("k: 1\n", 100_000),
	} {
		start := time.Now()
		if _, err := load([]byte(file), "f", nil, nil); err == nil {
			t.Errorf("%s: no error", name)
		} else if len(err.Error()) > 20_000 {
			t.Errorf("%s: the error has %d bytes", name, len(err.Error()))
		}
		if took := time.Since(start); took > time.Minute { // a bomb takes for ever; a busy machine a while
			t.Errorf("%s: took %v", name, took)
		}
	}
}

// Whatever the file, the environment and the flags hold: no panic, every
// problem has words, and what is accepted can be shown and is consistent.
func FuzzLoad(f *testing.F) {
	design, err := os.ReadFile("testdata/design.yaml")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(design, "RALPH_PARALLEL=2", "task.timeout", "5m")
	f.Add(template, "RALPH_PRICES={a: {b: 1}}", "agents.x.driver", "exec")
	f.Add([]byte("agents: {a: {env: {A: 1}}}\n? [x]\n: *y"), "OPENAGENTS_GUIDANCE_MODE=demo", "prices", "{")
	f.Add([]byte("a: &a [*a]\n<<: *a\n"), "RALPH_=", "", "")
	f.Add([]byte("\xef\xbb\xbfquality: {max_output: 1e9KiB}\n--- |\n x\n"), "RALPH_QUALITY_COMMANDS=[a,,]", "gate.patterns", "[*x]")
	f.Fuzz(func(t *testing.T, file []byte, env, flag, v string) {
		c, err := load(file, "f", []string{env}, map[string]string{flag: v})
		if err != nil {
			for line := range strings.SplitSeq(err.Error(), "\n") {
				if strings.TrimSpace(line) == "" {
					t.Errorf("an empty line in %q", err)
				}
			}
			return
		}
		for _, s := range c.Set() {
			if strings.ContainsAny(s.Text(), "\n\r") {
				t.Errorf("%s is shown as %q", s.Key, s.Text())
			}
		}
		if again := validate(c); len(again) > 0 {
			t.Errorf("accepted, but %v", again)
		}
	})
}
