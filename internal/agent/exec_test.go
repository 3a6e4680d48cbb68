package agent_test

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/agent"
	"github.com/ralph-loop/ralph/internal/proc"
)

// shell runs a turn of an exec agent that is a shell script.
func shell(t *testing.T, script string, edit func(*ralph.AgentSpec, *ralph.TurnInput)) (ralph.TurnResult, []ralph.Words) {
	t.Helper()
	spec := ralph.AgentSpec{Name: "mine", Driver: "exec", Command: []string{"sh", "-c", script}}
	in := input(t, spec)
	in.Prompt = "the prompt"
	if edit != nil {
		edit(&spec, &in)
	}
	var said []ralph.Words
	res, err := open(t, spec).Turn(t.Context(), in, ralph.TurnHooks{Event: ralph.HearWords(func(s ralph.Words) { said = append(said, s) })})
	if err != nil {
		t.Fatal(err)
	}
	return res, said
}

func TestExecPromptWays(t *testing.T) {
	t.Parallel()
	for how, command := range map[string][]string{
		"stdin": {"cat"},
		"arg":   {"echo", "<{prompt}>"},
		"file":  {"sh", "-c", `stat -c %a "$0" 2>/dev/null >&2; cat "$0"`, "{prompt_file}"},
	} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			var scratch string
			res, _ := shell(t, "", func(s *ralph.AgentSpec, in *ralph.TurnInput) {
				s.Command, s.Prompt, scratch = command, how, in.Scratch
			})
			want := "the prompt"
			if how == "arg" {
				want = "<the prompt>\n"
			}
			if res.Exit != ralph.ExitOK || res.Text != want {
				t.Errorf("%s, %q", res.Exit, res.Text)
			}
			if left, _ := filepath.Glob(filepath.Join(scratch, "*")); len(left) > 0 {
				t.Errorf("left %q", left)
			}
		})
	}
	t.Run("file is private", func(t *testing.T) {
		t.Parallel()
		res, _ := shell(t, "", func(s *ralph.AgentSpec, _ *ralph.TurnInput) {
			s.Command, s.Prompt = []string{"ls", "-l", "{prompt_file}"}, "file"
		})
		if !strings.HasPrefix(res.Text, "-rw-------") {
			t.Errorf("%q", res.Text)
		}
	})
	t.Run("too long for an argument", func(t *testing.T) {
		t.Parallel()
		res, _ := shell(t, "", func(s *ralph.AgentSpec, in *ralph.TurnInput) {
			s.Command, s.Prompt, in.Prompt = []string{"echo", "{prompt}"}, "arg", strings.Repeat("x", 200_000)
		})
		if res.Exit != ralph.ExitSpawn || res.Err == nil || !strings.Contains(res.Err.Message, "prompt: stdin or file") {
			t.Errorf("%s %+v", res.Exit, res.Err)
		}
	})
}

func TestExecOutput(t *testing.T) {
	t.Parallel()
	t.Run("both streams are said, only stdout is the text", func(t *testing.T) {
		t.Parallel()
		res, said := shell(t, "echo out; echo err >&2; printf end", nil)
		kinds := map[string]ralph.WordsKind{}
		for _, s := range said {
			kinds[s.Text] = s.Kind
		}
		if res.Text != "out\nend" || kinds["out"] != ralph.WordsOutput || kinds["err"] != ralph.WordsStderr || res.Events != 3 || res.Bytes != 11 {
			t.Errorf("%+v %v", res, kinds)
		}
	})
	t.Run("a 50 MB line comes in pieces", func(t *testing.T) {
		t.Parallel()
		largest, total := 0, 0
		spec := ralph.AgentSpec{Name: "mine", Driver: "exec", Command: []string{"sh", "-c", "head -c 50000000 /dev/zero | tr '\\0' x; echo; echo end"}}
		last := ralph.Words{More: true}
		res, err := open(t, spec).Turn(t.Context(), input(t, spec), ralph.TurnHooks{Event: ralph.HearWords(func(s ralph.Words) {
			largest, total, last = max(largest, len(s.Text)), total+len(s.Text), s
		})})
		if err != nil || res.Exit != ralph.ExitOK || largest > 64<<10 || total != 50_000_003 || last.Text != "end" || last.More || res.Events != 2 {
			t.Errorf("%s: largest %d, total %d, last %+v, events %d, %v", res.Exit, largest, total, last, res.Events, err)
		}
		if len(res.Text) > 1<<20 || !strings.HasSuffix(res.Text, "x\nend\n") || res.Dropped < 48_000_000 {
			t.Errorf("text of %d bytes, dropped %d", len(res.Text), res.Dropped)
		}
	})
	t.Run("broken UTF-8 is replaced", func(t *testing.T) {
		t.Parallel()
		res, _ := shell(t, `printf 'a\377b\n'`, nil)
		if res.Text != "a\uFFFDb\n" || !utf8.ValidString(res.Text) {
			t.Errorf("%q", res.Text)
		}
	})
	t.Run("closing stdout early is no end", func(t *testing.T) {
		t.Parallel()
		res, _ := shell(t, "echo said; exec >&-; echo after >&2; exit 4", nil)
		if res.Exit != ralph.ExitFailed || res.Code != 4 || res.Text != "said\n" || res.Err.Message != "after" {
			t.Errorf("%+v %+v", res, res.Err)
		}
	})
	t.Run("it runs in its folder with its environment only", func(t *testing.T) {
		t.Parallel()
		res, _ := shell(t, `pwd; env | grep -c . ; echo "$MINE"`, func(_ *ralph.AgentSpec, in *ralph.TurnInput) {
			in.Env = []string{"PATH=" + os.Getenv("PATH"), "MINE=1"}
		})
		if !strings.HasSuffix(res.Text, "\n1\n") {
			t.Errorf("%q", res.Text)
		}
	})
}

func TestExecUsageLines(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		script string
		want   ralph.Usage
		text   string
	}{
		"none":             {"echo hello", ralph.Usage{}, "hello\n"},
		"summed":           {`echo '<ralph-usage>{"input":1,"output":2,"cost":0.5}</ralph-usage>'; echo hi; echo ' <ralph-usage>{"input":10,"cost":0.25}</ralph-usage>'`, ralph.Usage{Input: 11, Output: 2, Cost: 0.75, Known: true}, "hi\n"},
		"tokens only":      {`echo '<ralph-usage>{"input":1,"output":2}</ralph-usage>'`, ralph.Usage{Input: 1, Output: 2}, ""},
		"one without cost": {`echo '<ralph-usage>{"input":1,"cost":1}</ralph-usage>'; echo '<ralph-usage>{"input":1}</ralph-usage>'`, ralph.Usage{Input: 2, Cost: 1}, ""},
		"free":             {`echo '<ralph-usage>{"cost":0}</ralph-usage>'`, ralph.Usage{Known: true}, ""},
		"not alone":        {`echo 'see <ralph-usage>{"cost":1}</ralph-usage>'`, ralph.Usage{}, "see <ralph-usage>{\"cost\":1}</ralph-usage>\n"},
		"negative":         {`echo '<ralph-usage>{"cost":-1}</ralph-usage>'`, ralph.Usage{}, "<ralph-usage>{\"cost\":-1}</ralph-usage>\n"},
		"broken":           {`echo '<ralph-usage>{cost:1}</ralph-usage>'`, ralph.Usage{}, "<ralph-usage>{cost:1}</ralph-usage>\n"},
		"on stderr":        {`echo '<ralph-usage>{"cost":1}</ralph-usage>' >&2`, ralph.Usage{}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			res, _ := shell(t, c.script, nil)
			got := res.Usage
			if math.Abs(got.Cost-c.want.Cost) > 1e-9 || got.Known != c.want.Known || got.Input != c.want.Input || got.Output != c.want.Output {
				t.Errorf("%+v, want %+v", got, c.want)
			}
			if res.Text != c.text {
				t.Errorf("text %q, want %q", res.Text, c.text)
			}
		})
	}
}

// Patterns count on the error text of a failed turn only.
func TestExecErrors(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		script string
		class  ralph.ErrorClass
	}{
		"limit on stderr":               {"echo 429 Too Many Requests >&2; exit 1", ralph.ErrClassLimit},
		"limit on stdout, stderr blank": {"echo rate limit reached; exit 1", ralph.ErrClassLimit},
		"limit in output, other error":  {"echo fixing the rate limit; echo boom >&2; exit 1", ralph.ErrClassOther},
		"limit in output, exit 0":       {"echo rate limit; echo 429 >&2", ""},
		"overloaded":                    {"echo 'API is Overloaded' >&2; exit 1", ralph.ErrClassBusy},
		"not logged in":                 {"echo 'Not logged in. Run /login' >&2; exit 1", ralph.ErrClassAuth},
		"login error of a test before":  {"printf '401 Unauthorized\\n1\\n2\\n3\\n4\\n5\\nboom\\n' >&2; exit 1", ralph.ErrClassOther},
		"git's authentication":          {"echo 'fatal: Authentication failed for https://x' >&2; exit 1", ralph.ErrClassOther},
		"silent":                        {"exit 9", ralph.ErrClassOther},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			res, _ := shell(t, c.script, nil)
			if c.class == "" {
				if res.Exit != ralph.ExitOK || res.Err != nil {
					t.Errorf("%s %+v", res.Exit, res.Err)
				}
				return
			}
			if res.Exit != ralph.ExitFailed || res.Err == nil || res.Err.Class != c.class || res.Err.Message == "" {
				t.Errorf("%s %+v", res.Exit, res.Err)
			}
		})
	}
	t.Run("the message is a line of it", func(t *testing.T) {
		t.Parallel()
		res, _ := shell(t, "seq 1 5000 >&2; echo the end >&2; exit 1", nil)
		if res.Err.Message != "the end" {
			t.Errorf("%.60q", res.Err.Message)
		}
	})
}

// Dollars are claimed of what reports them, as it is configured: a budget warns of all
// others.
func TestOf(t *testing.T) {
	t.Parallel()
	row := func(kind string, read map[string]string) []ralph.EventRow {
		return []ralph.EventRow{{Kind: kind, Read: read}}
	}
	acp := func(program string) ralph.AgentSpec {
		return ralph.AgentSpec{Driver: "acp", Command: []string{"/opt/" + program, "acp"}}
	}
	for name, c := range map[string]struct {
		spec ralph.AgentSpec
		want []bool // cost, tokens, resume, tools
	}{
		"exec, text":      {ralph.AgentSpec{Driver: "exec"}, []bool{false, false, false, false}},
		"exec, dollars":   {ralph.AgentSpec{Driver: "exec", Output: "jsonl", Events: row(ralph.RowUsage, map[string]string{"cost": "usd"})}, []bool{true, true, false, false}},
		"exec, tokens":    {ralph.AgentSpec{Driver: "exec", Output: "jsonl", Events: row(ralph.RowTotal, map[string]string{"input": "in"})}, []bool{false, true, false, false}},
		"exec, resumes":   {ralph.AgentSpec{Driver: "exec", Output: "jsonl", Events: row(ralph.RowTool, nil), Resume: []string{"-s", "{session}"}}, []bool{false, false, true, true}},
		"opencode run":    {ralph.AgentSpec{Driver: "exec", Output: "opencode"}, []bool{false, true, true, true}},
		"copilot -p":      {ralph.AgentSpec{Driver: "exec", Output: "copilot"}, []bool{false, false, true, true}},
		"opencode, acp":   {acp("opencode"), []bool{false, true, true, true}},
		"claude, acp":     {acp("claude-agent-acp"), []bool{true, true, true, true}},
		"codex, acp":      {acp("codex-acp"), []bool{false, true, true, true}},
		"gemini, acp":     {acp("gemini"), []bool{false, true, false, true}},
		"copilot, acp":    {acp("copilot"), []bool{false, true, true, true}},
		"nobody knows it": {acp("speaks"), []bool{false, true, true, true}},
		"codex":           {ralph.AgentSpec{Driver: "codex"}, []bool{false, true, true, true}},
		"claude":          {ralph.AgentSpec{Driver: "claude"}, []bool{true, true, true, true}},
	} {
		if s, ok := agent.Of(c.spec); !ok || !slices.Equal([]bool{s.Cost, s.Usage, s.Resume, s.Tools}, c.want) {
			t.Errorf("%s: %+v, want %v", name, s, c.want)
		}
	}
}

func TestOpen(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		spec ralph.AgentSpec
		want string // of the error, "" for none
	}{
		"exec":             {ralph.AgentSpec{Driver: "exec", Command: []string{"x"}}, ""},
		"claude":           {ralph.AgentSpec{Driver: "claude"}, ""},
		"codex":            {ralph.AgentSpec{Driver: "codex"}, ""},
		"demo":             {ralph.AgentSpec{Driver: "scripted", Scenario: "demo"}, ""},
		"file":             {ralph.AgentSpec{Driver: "scripted", Scenario: "my.yaml"}, ""},
		"no command":       {ralph.AgentSpec{Name: "a", Driver: "exec"}, "agents.a: the exec driver needs a command"},
		"prompt way":       {ralph.AgentSpec{Name: "a", Driver: "exec", Command: []string{"x"}, Prompt: "pipe"}, `"pipe" is none of stdin, arg, file`},
		"no place for it":  {ralph.AgentSpec{Name: "a", Driver: "exec", Command: []string{"x"}, Prompt: "arg"}, "needs {prompt}"},
		"no scenario":      {ralph.AgentSpec{Name: "a", Driver: "scripted"}, "needs a scenario"},
		"unknown scenario": {ralph.AgentSpec{Name: "a", Driver: "scripted", Scenario: "dmeo"}, "complete, demo"},
		"acp":              {ralph.AgentSpec{Driver: "acp", Command: []string{"x"}}, ""},
		"unknown":          {ralph.AgentSpec{Name: "a", Driver: "telnet"}, "driver telnet is not known (agents.a in ralph/config.yaml); use exec, claude, codex, acp or api"},
		"none":             {ralph.AgentSpec{Name: "a"}, "agents.a has no driver"},
	} {
		_, err := agent.Open(c.spec, proc.NewRunner(""), "ralph")
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v", name, err)
		}
		if _, known := agent.Of(c.spec); known != (c.spec.Driver != "" && c.spec.Driver != "telnet") {
			t.Errorf("Of(%q) %v", c.spec.Driver, known)
		}
	}
}
