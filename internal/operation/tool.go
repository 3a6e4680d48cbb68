package operation

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/ralph-loop/ralph"
)

// tool judges a call of a tool by its name and by the arguments that are commands. What it
// would write somewhere is content, and is not looked at.
func (k *analysis) tool(q ralph.Request) {
	if len(q.Tool) > maxText {
		k.unknown("the tool's name is too long to look at", nil)
		return
	}
	ws := []word{plain(strings.Join(strings.FieldsFunc(q.Tool, func(r rune) bool { return strings.ContainsRune("_-.:/ ", r) }), " "))}
	ws = fields(ws[0].text)
	if len(ws) == 0 {
		ws = []word{plain("tool")}
	}
	var input any
	if err := json.Unmarshal([]byte(q.Detail), &input); err != nil {
		input = nil
	}
	commands, short := arguments(input, "", 0)
	all := append(slices.Clone(ws), short...)
	if len(all) > maxWords {
		k.unknown("the call has too many words to look at", ws[:1])
		return
	}
	k.match(append([]word{plain(q.Tool)}, all...), nil)
	k.quiet++
	for i := range all {
		if !hiddenName(all[i]) {
			k.published(base(all[i]), all[i:])
			k.shapes(base(all[i]), all[i:])
		}
	}
	k.quiet--
	if slices.ContainsFunc(all, deployWord) && slices.ContainsFunc(all, deploysTo) {
		k.never(productionDeploy, all)
	}
	for _, c := range commands {
		if dropSQL(c.text) {
			k.never(dropDatabase, append(slices.Clone(ws), plain(plainSQL(c.text))))
		}
		if c.sql {
			k.match(append(slices.Clone(ws), plain(plainSQL(c.text))), nil)
			continue
		}
		k.command(c.text, nil)
	}
}

func fields(text string) []word {
	var out []word
	for _, f := range strings.Fields(text) {
		out = append(out, plain(strings.NewReplacer(hole, "", live, "", home, "").Replace(f)))
	}
	return out
}

type argument struct {
	text string
	sql  bool
}

// arguments are those of a tool that are commands, and its short ones as options.
func arguments(v any, key string, depth int) (commands []argument, short []word) {
	if depth > maxDepth {
		return nil, nil
	}
	switch v := v.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			c, s := arguments(v[name], strings.ToLower(name), depth+1)
			commands, short = append(commands, c...), append(short, s...)
		}
	case []any:
		var argv []string
		for _, e := range v {
			if text, ok := e.(string); ok {
				argv = append(argv, text)
			}
		}
		if isCommand(key) && len(argv) == len(v) && len(v) > 0 {
			commands = append(commands, argument{text: Words(argv, "").Command})
		}
		for _, e := range v {
			c, s := arguments(e, "", depth+1)
			commands, short = append(commands, c...), append(short, s...)
		}
	case bool:
		if v && key != "" {
			short = append(short, plain("--"+key))
		}
	case string:
		switch {
		case isCommand(key):
			commands = append(commands, argument{text: v})
		case slices.Contains([]string{"sql", "query", "statement", "queries"}, key):
			commands = append(commands, argument{v, true})
		case slices.Contains([]string{"content", "text", "body", "message", "title", "description", "prompt", "new_string", "old_string", "patch", "comment", "path", "file_path", "pattern", "url"}, key):
		case len(v) < 80:
			short = append(short, fields(v)...)
		}
	}
	return commands, short
}

func isCommand(key string) bool {
	return slices.Contains([]string{"command", "commands", "cmd", "script", "shell", "bash", "shell_command", "argv", "args", "arguments", "run", "exec"}, key)
}
