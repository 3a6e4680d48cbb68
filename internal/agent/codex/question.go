package codex

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/agent/wire"
	"github.com/ralph-loop/ralph/internal/proc"
	"github.com/ralph-loop/ralph/internal/text"
)

// question is a turn that only answers: on an ephemeral thread, which codex forgets, with
// nothing that it could do or look at. Its words are held to a schema.
type question struct {
	instructions string // instead of codex's own
	model        string // "": the agent's
	answers      string // the model that answers, as codex names it; under mu
	did          string // what it did that is no answer; under mu
}

// asker asks codex questions, on an app-server of its own: what bounds a turn of work does not
// fit, and a person's MCP servers are none of its business.
type asker struct {
	driver *driver
	env    []string
	dir    string // an empty folder, where codex finds no words of a repository's for it
}

// Asker opens codex for questions. env is the agent's environment.
func Asker(spec ralph.AgentSpec, p *proc.Runner, env []string) (wire.Asker, error) {
	dir, err := os.MkdirTemp("", "ralph-question-")
	if err != nil {
		return nil, fmt.Errorf("make an empty folder for codex to answer in: %w", err)
	}
	d := &driver{spec: spec, proc: p, idle: idleLimit, processes: map[string]*process{}, asks: true}
	return &asker{driver: d, env: env, dir: dir}, nil
}

// Close ends the process and takes its folder away.
func (a *asker) Close() error { return errors.Join(a.driver.Close(), os.RemoveAll(a.dir)) }

// Ask asks a question.
func (a *asker) Ask(ctx context.Context, q wire.Question) (wire.Answered, error) {
	in := ralph.TurnInput{
		Agent: a.driver.spec, Prompt: q.Prompt, Dir: a.dir, Env: a.env, Schema: q.Schema, Grace: graceToAnswer,
	}
	s, err := a.driver.acquire(ctx, in)
	if err != nil {
		return wire.Answered{}, err
	}
	name, _ := a.driver.processOf(in)
	defer a.driver.release(name)
	t := newCodexTurn(s, in, ralph.TurnHooks{})
	t.question = &question{instructions: q.System, model: q.Model}
	t.Event = t.watch
	res, err := t.run(ctx)
	out := wire.Answered{Text: strings.TrimSpace(res.Text), Usage: res.Usage}
	t.Mu.Lock()
	out.Model = t.question.answers
	did := t.question.did
	t.Mu.Unlock()
	switch {
	case err != nil:
		return out, fmt.Errorf("ask codex: %w", err)
	case ctx.Err() != nil:
		return out, context.Cause(ctx)
	case did != "":
		out.Text, out.Err = "", &ralph.AgentError{Class: ralph.ErrClassOutput, Message: "codex was to answer only, and did something: " + did}
	case res.Err != nil:
		out.Err = res.Err
	case res.Exit != ralph.ExitOK:
		out.Err = &ralph.AgentError{Class: ralph.ErrClassOutput, Message: "codex did not answer: its turn ended as " + string(res.Exit)}
	}
	return out, nil
}

// graceToAnswer is how long a question that is broken off may take to end.
const graceToAnswer = 2 * time.Second

// watch ends a question in which codex does something: no answer that comes of it counts. The
// turn's lock is held.
func (t *turn) watch(e ralph.StreamEvent) {
	switch e.Kind {
	case ralph.StreamItem, ralph.StreamItemDone:
		if k := e.Item.Kind; k != ralph.ItemCommand && k != ralph.ItemEdit && k != ralph.ItemTool {
			return
		}
	case ralph.StreamApproval, ralph.StreamInput:
	default:
		return
	}
	if t.question.did == "" {
		t.question.did = text.Line(text.SafeLine(e.Item.Line()+e.Request.Command+e.Request.Text), 200)
		t.Stop(errDidMore)
	}
}

// errDidMore is the cause with which a question ends in which codex did more than answer.
var errDidMore = errors.New("codex was to answer only")

// questionDefaults switch off what codex could do beside answering, for a whole process.
func questionDefaults() []string {
	return []string{
		"features.unbounded_connection_retries=false", "features.goals=false", "check_for_update_on_startup=false",
		"features.shell_tool=false", "features.apps=false", "features.plugins=false", "features.hooks=false", "features.image_generation=false",
		"features.view_image=false", "features.multi_agent=false", "features.tool_suggest=false", "features.sleep_tool=false", `web_search="disabled"`,
		"skills.include_instructions=false", "include_permissions_instructions=false", "include_apps_instructions=false", "tools.update_plan.enabled=false",
	}
}

// openQuestion is what a thread is opened by that only answers: without an environment there
// is no shell, no file and no patch (0.169.0), and each MCP server of the person's is off.
func (t *turn) openQuestion(ctx context.Context) map[string]any {
	config := map[string]any{}
	for _, name := range t.mcpServers(ctx) {
		config["mcp_servers."+name+".enabled"] = false
	}
	params := map[string]any{
		"cwd": t.In.Dir, "approvalPolicy": "never", "sandbox": "read-only", "ephemeral": true, "environments": []any{}, "config": config,
		"baseInstructions": t.question.instructions,
	}
	if t.question.model != "" {
		params["model"] = t.question.model
	}
	return params
}

// mcpServers are those of codex's configuration. A version that does not tell has its answer watched
// all the same.
func (t *turn) mcpServers(ctx context.Context) (names []string) {
	answer, err := t.server.rpc.Call(ctx, "config/read", map[string]any{"includeLayers": false, "cwd": t.In.Dir})
	var got struct {
		Config struct {
			Servers map[string]json.RawMessage `json:"mcp_servers"`
		} `json:"config"`
	}
	if err != nil || json.Unmarshal(answer, &got) != nil {
		return nil
	}
	for name := range got.Config.Servers {
		names = append(names, name)
	}
	return names
}
