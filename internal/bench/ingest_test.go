package bench

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/agent"
	"github.com/ralph-loop/ralph/internal/proc"
	"github.com/ralph-loop/ralph/internal/ralphtest"
	"github.com/ralph-loop/ralph/internal/stream"
)

// fields are the words of a file that ends each with a zero byte.
func fields(text []byte) []string { return strings.Split(string(text), "\x00") }

// pss is the proportional memory of a process in MiB, 0 when it is gone.
func pss(dir string) float64 {
	text, err := os.ReadFile(filepath.Join(dir, "smaps_rollup"))
	if err != nil {
		return 0
	}
	var kib float64
	if _, rest, ok := bytes.Cut(text, []byte("\nPss:")); ok {
		_, _ = fmt.Sscan(string(rest), &kib)
	}
	return kib / 1024
}

// player is a program that speaks just enough of an agent's protocol to play a file
// as one turn. %s is the file.
func player(driver string) string {
	const server = `#!/bin/sh
while read -r line; do
	id=$(printf '%%s' "$line" | sed -n 's/^[^}]*"id":\([0-9]*\),"method".*/\1/p')
	case $line in
	*'"initialize"'*) echo '{"jsonrpc":"2.0","id":'$id',"result":{"protocolVersion":1,"agentCapabilities":{},"userAgent":"ralph/0.169.0","codexHome":"/","platformFamily":"unix","platformOs":"linux"}}' ;;
	*'"thread/start"'*) echo '{"id":'$id',"result":{"thread":{"id":"th"},"model":"m","cwd":"/"}}' ;;
	*'"session/new"'*) echo '{"jsonrpc":"2.0","id":'$id',"result":{"sessionId":"th"}}' ;;
	*'"turn/start"'*) echo '{"id":'$id',"result":{"turn":{"id":"tu","status":"inProgress","items":[]}}}'; cat '%s' ;;
	*'"session/prompt"'*) cat '%[1]s'; echo '{"jsonrpc":"2.0","id":'$id',"result":{"stopReason":"end_turn","usage":{"inputTokens":1,"outputTokens":1,"totalTokens":2}}}' ;;
	*) if [ -n "$id" ]; then echo '{"jsonrpc":"2.0","id":'$id',"result":{}}'; fi ;;
	esac
done
`
	if driver == "claude" {
		return "#!/bin/sh\nexec cat '%s'\n"
	}
	return server
}

// script is what the player plays: units of a message in two pieces, a command with
// its output and the tokens, then the last words and the end of the turn. The lines
// have the members of recorded ones.
func script(driver string) (unit, end string) {
	words, output := strings.Repeat("word ", 20), strings.Repeat("output line ", 40)
	switch driver {
	case "codex":
		note := func(method, params string) string {
			return `{"method":"` + method + `","params":{"threadId":"th","turnId":"tu",` + params + `},"emittedAtMs":1795218758162}` + "\n"
		}
		message := `"item":{"type":"agentMessage","moderation":null,"id":"msg_%[1]d","text":"%[2]s","phase":"%[3]s","memoryCitation":null,"delivery":null,"questions":null}`
		item := func(text, phase string) string { return fmt.Sprintf(message, 0, text, phase) }
		say := func(text string) string { return strings.Replace(text, "msg_0", "msg_%[1]d", 1) }
		command := `"item":{"type":"commandExecution","id":"call_%[1]d","command":"/bin/bash -lc 'go test ./...'","cwd":"/repo","processId":"13224","source":"unifiedExecStartup","status":"STATUS","commandActions":[],"aggregatedOutput":OUT,"exitCode":CODE,"durationMs":12}`
		ran := strings.NewReplacer("STATUS", "completed", "OUT", `"`+output+`"`, "CODE", "0").Replace(command)
		runs := strings.NewReplacer("STATUS", "inProgress", "OUT", "null", "CODE", "null").Replace(command)
		tokens := `"tokenUsage":{"total":{"totalTokens":2,"inputTokens":1,"cachedInputTokens":0,"outputTokens":1,"reasoningOutputTokens":0},"last":{"totalTokens":2,"inputTokens":1,"cachedInputTokens":0,"outputTokens":1,"reasoningOutputTokens":0},"modelContextWindow":200000}`
		unit = note("item/started", say(item("", "commentary"))) +
			note("item/agentMessage/delta", `"itemId":"msg_%[1]d","delta":"`+words+`"`) + note("item/agentMessage/delta", `"itemId":"msg_%[1]d","delta":"`+words+`"`) +
			note("item/completed", say(item(words+words, "commentary"))) +
			note("item/started", runs) + note("item/commandExecution/outputDelta", `"itemId":"call_%[1]d","delta":"`+output+`"`) + note("item/completed", ran) +
			note("thread/tokenUsage/updated", tokens)
		end = note("item/started", item("", "final_answer")) + note("item/completed", item(answer, "final_answer")) +
			note("turn/completed", `"turn":{"id":"tu","rootTurnId":"tu","items":[],"itemsView":"notLoaded","status":"completed","error":null,"startedAt":1795218757,"completedAt":1795218758,"durationMs":696}`)
	case "acp":
		note := func(update string) string {
			return `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"th","update":{` + update + `}}}` + "\n"
		}
		chunk := func(text, id string) string {
			return note(`"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"` + text + `"},"messageId":"` + id + `"`)
		}
		unit = chunk(words, "msg_%[1]d") + chunk(words, "msg_%[1]d") +
			note(`"sessionUpdate":"tool_call","toolCallId":"call_%[1]d","title":"go test ./...","kind":"execute","status":"pending","rawInput":{"command":"go test ./..."}`) +
			note(`"sessionUpdate":"tool_call_update","toolCallId":"call_%[1]d","status":"completed","content":[{"type":"content","content":{"type":"text","text":"`+output+`"}}]`) +
			note(`"sessionUpdate":"usage_update","used":1901,"size":1000000`)
		end = chunk(answer, "msg_end")
	default:
		unit = `{"type":"assistant","message":{"id":"msg_%[1]d","type":"message","role":"assistant","model":"m","content":[{"type":"text","text":"` + words + words + `"}]},"session_id":"s"}` + "\n" +
			`{"type":"assistant","message":{"id":"msg_%[1]d","type":"message","role":"assistant","model":"m","content":[{"type":"tool_use","id":"toolu_%[1]d","name":"Bash","input":{"command":"go test ./..."}}]},"session_id":"s"}` + "\n" +
			`{"type":"user","message":{"role":"user","content":[{"tool_use_id":"toolu_%[1]d","type":"tool_result","content":"` + output + `"}]},"session_id":"s"}` + "\n"
		end = `{"type":"result","subtype":"success","is_error":false,"result":"` + answer + `","session_id":"s","total_cost_usd":0.01}` + "\n"
	}
	return unit, end
}

// benchIngest is one turn of a program that says about 30 MB, through a whole driver:
// pipe, lines, events.
func benchIngest(b *testing.B, driver string, t *table) {
	if _, known := agent.Of(ralph.AgentSpec{Driver: driver}); !known {
		b.Skipf("the driver %s is not built in", driver)
	}
	total := size(30_000_000, 200_000)
	for b.Loop() {
		box := newBox(b, "")
		unit, end := script(driver)
		path := filepath.Join(box.tool, "said.jsonl")
		f, err := os.Create(path)
		if err != nil {
			b.Fatal(err)
		}
		w := bufio.NewWriterSize(f, 1<<20)
		units, bytes := 0, 0
		for ; bytes < total; units++ {
			n, _ := fmt.Fprintf(w, unit, units)
			bytes += n
		}
		fmt.Fprint(w, end)
		if err := w.Flush(); err != nil {
			b.Fatal(err)
		}
		f.Close()
		program := filepath.Join(box.tool, "agent")
		ralphtest.Program(b, program, fmt.Sprintf(player(driver), path))
		spec := ralph.AgentSpec{Name: "a", Driver: driver, Command: []string{program}, Args: []string{"-c", `sandbox_mode="danger-full-access"`}}
		d, err := agent.Open(spec, proc.NewRunner(box.tool), "")
		if err != nil {
			b.Fatal(err)
		}
		instance := &instance{sandboxRepo: box, driver: d, spec: spec}
		events, kept := 0, stream.New()
		begin := time.Now()
		res, err := d.Turn(b.Context(), ralph.TurnInput{
			Agent: spec, Stage: ralph.KindBuild, Prompt: "Talk.", Dir: box.dir, Env: box.env, Timeout: time.Minute, Grace: time.Second, Scratch: box.tool,
		}, ralph.TurnHooks{
			Context: func(ralph.ContextUse) {}, Event: func(e ralph.StreamEvent) {
				if _, ok := e.Words(); ok {
					events++
				}
				kept.Add(e)
			},
		})
		took := time.Since(begin)
		instance.close()
		if err != nil || res.Exit != ralph.ExitOK || res.Text != answer || events < 2*units {
			b.Fatalf("%v, exit %s %v, said %q, %d of at least %d", err, res.Exit, res.Err, res.Text, events, 2*units)
		}
		rate := float64(bytes) / 1e6 / took.Seconds()
		b.ReportMetric(rate, "MB/s")
		t.add(fmt.Sprintf("%.1f MB in %d lines through the driver %s, program included", float64(bytes)/1e6, units*strings.Count(unit, "\n"), driver), fmt.Sprintf("%.0f MB/s", rate))
	}
}
