package claude

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/agent/wire"
	"github.com/ralph-loop/ralph/internal/text"
)

// gatedTools are claude's tools that change, run or reach something; the others look,
// plan, or start a subagent, whose own calls come one by one. Names that a version does
// not have do no harm.
func gatedTools() []string {
	return []string{"Bash", "PowerShell", "Monitor", "Edit", "MultiEdit", "Write", "NotebookEdit", "WebFetch", "WebSearch", "mcp__*"}
}

// Asked is gatedTools as the matcher of a hook in claude's settings.
func Asked() string {
	return strings.ReplaceAll(strings.Join(gatedTools(), "|"), "*", ".*")
}

// settings is what --settings says: rules by which claude asks for each call of
// gatedTools, whatever its mode and other settings allow. Seen in
// 2.1.197 and 2.1.329: they win over allow rules, --allowedTools, acceptEdits, auto and
// bypassPermissions. A sandbox of claude's own would let commands pass in spite of them; it
// makes none where it runs in ralph's, in which it could not, unless its args want one.
//
// Of several --settings claude takes the last alone, so that those of the agent's args
// are taken out and put into ours. rest is args without them; dir is where their file is
// looked for.
func settings(args []string, dir string, bounded bool) (settings string, rest []string, err error) {
	given := ""
	for i := 0; i < len(args); i++ {
		switch value, found := strings.CutPrefix(args[i], "--settings="); {
		case found:
			given = value
		case args[i] == "--settings" && i+1 < len(args):
			i++
			given = args[i]
		default:
			rest = append(rest, args[i])
		}
	}
	all := map[string]any{}
	if given != "" {
		if all, err = readSettings(given, dir); err != nil {
			return "", nil, fmt.Errorf("read --settings of the agent's args: %w", err)
		}
	}
	permissions := object(all["permissions"])
	asks, _ := permissions["ask"].([]any)
	for _, tool := range gatedTools() {
		if !slices.Contains(asks, any(tool)) {
			asks = append(asks, tool)
		}
	}
	permissions["ask"] = asks
	sandbox := object(all["sandbox"])
	sandbox["autoAllowBashIfSandboxed"] = false
	if _, wanted := sandbox["enabled"]; bounded && !wanted {
		sandbox["enabled"] = false
	}
	all["permissions"], all["sandbox"] = permissions, sandbox
	b, err := json.Marshal(all)
	return string(b), rest, err
}

// readSettings reads what --settings takes: JSON, or the name of a file.
func readSettings(given, dir string) (map[string]any, error) {
	s := []byte(given)
	if !strings.HasPrefix(strings.TrimSpace(given), "{") {
		if !filepath.IsAbs(given) {
			given = filepath.Join(dir, given)
		}
		var err error
		if s, err = os.ReadFile(given); err != nil {
			return nil, err
		}
	}
	var all map[string]any
	if err := json.Unmarshal(s, &all); err != nil || all == nil {
		return nil, fmt.Errorf("%s is no JSON object: %w", text.Cut(given, wire.MaxSaidTool), err)
	}
	return all, nil
}

// object is a copy of a JSON object, empty when v is none.
func object(v any) map[string]any {
	m, _ := v.(map[string]any)
	out := map[string]any{}
	maps.Copy(out, m)
	return out
}

// servers is --mcp-config with ralph's own server, beside those of the person's.
// It wins over one of the same name in a repository's .mcp.json (2.1.197, 2.1.329). Its
// tools are there from the first request on: left to itself, claude hides them behind a
// search, and a model that is told of no tool signals by words. Its
// process gets claude's environment, which is the turn's.
func servers(command []string) string {
	b, err := json.Marshal(map[string]any{"mcpServers": map[string]any{
		wire.OwnServer: map[string]any{"command": command[0], "args": command[1:], "alwaysLoad": true},
	}})
	if err != nil {
		panic(fmt.Sprintf("claude: the server's command cannot be encoded: %v", err)) // strings always can
	}
	return string(b)
}

// shownOnly reports whether claude asks for a call only because ralph's rules make it,
// so far as is known: its own would let pass commands that look, and with approvals
// `ask` changes in its folder. What else they may let pass is a person's to say.
func (d *driver) shownOnly(tool string) bool {
	switch kind(tool) {
	case ralph.ItemCommand:
		return true
	case ralph.ItemEdit:
		return !d.given("--permission-mode")
	}
	return false
}
