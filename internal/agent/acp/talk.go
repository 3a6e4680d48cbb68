package acp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/ralph-loop/ralph/internal/agent/wire"

	acp "github.com/coder/acp-go-sdk"
	"github.com/ralph-loop/ralph"
)

// ending is how a conversation ended. All zero: the process ended in the middle of it.
type ending struct {
	stop   string          // the stopReason of the prompt's response
	result json.RawMessage // that response
	err    *ralph.AgentError
	lost   bool // the session to go on with is not there
}

// agentName is what an agent says of itself. What the protocol calls unstable is read
// where it is there, and nothing is required.
type agentName struct {
	Version int `json:"protocolVersion"`
	Info    struct {
		Name string `json:"name"`
	} `json:"agentInfo"`
	Can struct {
		Load    bool `json:"loadSession"`
		Session struct {
			Resume *struct{} `json:"resume"`
		} `json:"sessionCapabilities"`
	} `json:"agentCapabilities"`
	Logins []struct {
		Name string `json:"name"`
	} `json:"authMethods"`
}

// session is the answer to session/new, session/load and session/resume.
type session struct {
	ID    string `json:"sessionId"`
	Modes struct {
		Current   string `json:"currentModeId"`
		Available []struct {
			ID string `json:"id"`
		} `json:"availableModes"`
	} `json:"modes"`
	Models *struct {
		Current string `json:"currentModelId"`
	} `json:"models"`
	Options []struct {
		ID       string `json:"id"`
		Category string `json:"category"`
		Current  any    `json:"currentValue"`
	} `json:"configOptions"`
}

// converse carries out the turn's conversation: it ends with the response to the
// prompt, an error, or the end of the process. Then the agent's input is closed, which
// is how it is told to leave.
func (a *turn) converse(ctx context.Context) {
	defer close(a.talked)
	end := a.speak(ctx)
	a.t.Mu.Lock()
	a.log.end = end
	a.t.Mu.Unlock()
	a.mu.Lock()
	a.session = ""
	a.mu.Unlock()
	if end.stop != "" && isAdapter(a.driver.spec) {
		select {
		case <-time.After(settle):
		case <-a.gone:
		}
	}
	_ = a.stdin.Close()
	// It is over; a process that stays is ended. What halted it may do so sooner.
	time.AfterFunc(leave, func() { a.end(wire.ErrEnough) })
}

func (a *turn) speak(ctx context.Context) ending {
	start, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	s, end := a.begin(start)
	if end != nil {
		if errors.Is(start.Err(), context.DeadlineExceeded) {
			end.err = &ralph.AgentError{Class: ralph.ErrClassOutput, Message: fmt.Sprintf(
				"%s was not ready after %s; does it speak the Agent Client Protocol on its standard input and output?",
				strings.Join(a.driver.spec.Command, " "), startLimit)}
		}
		return *end
	}
	a.mu.Lock()
	a.session = s
	halted := a.halted
	a.mu.Unlock()
	if halted != nil {
		return ending{}
	}
	a.t.Mu.Lock()
	a.log.begin(s)
	a.prompted = true
	a.t.Mu.Unlock()
	result, failed := a.request(ctx, acp.AgentMethodSessionPrompt, acp.PromptRequest{
		SessionId: acp.SessionId(s), Prompt: []acp.ContentBlock{acp.TextBlock(a.t.In.Prompt)},
	})
	if failed != nil {
		return *failed
	}
	return answeredPrompt(result)
}

// answeredPrompt is the end that the response to a prompt tells.
func answeredPrompt(result json.RawMessage) ending {
	var r struct {
		Stop string `json:"stopReason"`
	}
	if err := json.Unmarshal(result, &r); err != nil || r.Stop == "" {
		return ending{err: &ralph.AgentError{Class: ralph.ErrClassOutput, Message: "the answer to session/prompt has no stopReason: " + wire.Compact(result, 200)}}
	}
	return ending{stop: r.Stop, result: result}
}

// begin makes the agent ready: handshake, session, mode, model. It returns the session,
// or how it failed.
func (a *turn) begin(ctx context.Context) (string, *ending) {
	raw, failed := a.request(ctx, acp.AgentMethodInitialize, acp.InitializeRequest{
		ProtocolVersion: acp.ProtocolVersionNumber, ClientInfo: &acp.Implementation{Name: "ralph", Version: "1"},
	})
	if failed != nil {
		return "", failed
	}
	var who agentName
	tolerant(raw, &who)
	if who.Version != acp.ProtocolVersionNumber {
		return "", &ending{err: &ralph.AgentError{Class: ralph.ErrClassOutput, Message: fmt.Sprintf(
			"the agent speaks version %d of the Agent Client Protocol; ralph knows version %d", who.Version, acp.ProtocolVersionNumber)}}
	}
	a.t.Mu.Lock()
	a.log.agent = who.Info.Name
	a.t.Mu.Unlock()
	s, failed := a.open(ctx, who)
	if failed != nil {
		if failed.err != nil && failed.err.Class == ralph.ErrClassAuth && len(who.Logins) > 0 {
			names := make([]string, len(who.Logins))
			for i, l := range who.Logins {
				names[i] = l.Name
			}
			failed.err.Message += "; ways to log in: " + strings.Join(names, ", ")
		}
		return "", failed
	}
	if mode := s.mode(); mode != "" {
		if _, failed := a.request(ctx, acp.AgentMethodSessionSetMode, object{"sessionId": s.ID, "modeId": mode}); failed != nil {
			return "", failed
		}
	}
	if model := a.driver.spec.Model; model != "" {
		if failed := a.choose(ctx, s, model); failed != nil {
			return "", failed
		}
	}
	return s.ID, nil
}

type object = map[string]any

// open begins a session, or goes on with one. session/resume is taken where there is
// one: session/load tells the whole history again.
func (a *turn) open(ctx context.Context, who agentName) (session, *ending) {
	dir, err := filepath.Abs(a.t.In.Dir)
	if err != nil {
		return session{}, &ending{err: &ralph.AgentError{Class: ralph.ErrClassOther, Message: err.Error()}}
	}
	params := object{"cwd": dir, "mcpServers": servers(a.t.In.MCP, a.t.In.Env)}
	if strings.HasSuffix(who.Info.Name, claudeACP) && !a.driver.spec.Project {
		// Without it the repository's own hooks and MCP servers run.
		params["_meta"] = object{"claudeCode": object{"options": object{"settingSources": []string{"user"}}}}
	}
	method := acp.AgentMethodSessionNew
	if id := a.t.In.Resume; id != "" {
		params["sessionId"] = id
		switch {
		case who.Can.Session.Resume != nil:
			method = acp.AgentMethodSessionResume
		case who.Can.Load:
			method = acp.AgentMethodSessionLoad
		default:
			return session{}, &ending{lost: true, err: &ralph.AgentError{
				Class: ralph.ErrClassOther, Message: "the agent cannot go on with an earlier session; set agent.context: fresh",
			}}
		}
	}
	raw, failed := a.request(ctx, method, params)
	if failed != nil {
		failed.lost = a.t.In.Resume != ""
		return session{}, failed
	}
	var s session
	tolerant(raw, &s)
	if s.ID == "" {
		s.ID = a.t.In.Resume
	}
	if s.ID == "" {
		return s, &ending{err: &ralph.AgentError{Class: ralph.ErrClassOutput, Message: "the answer to session/new has no sessionId: " + wire.Compact(raw, 200)}}
	}
	return s, nil
}

// servers are the MCP servers of a session: ralph's own, with what the turn's
// environment has of ralph's, as agents do not hand all of theirs on.
func servers(command, env []string) []object {
	if len(command) == 0 {
		return []object{}
	}
	set := []object{}
	for _, kv := range env {
		if k, v, ok := strings.Cut(kv, "="); ok && strings.HasPrefix(k, "RALPH") {
			set = append(set, object{"name": k, "value": v})
		}
	}
	return []object{{"name": wire.OwnServer, "command": command[0], "args": append([]string{}, command[1:]...), "env": set}}
}

// mode is the mode in which the agent asks, with gate.approvals: never too, since ralph
// answers; "" leaves it as it is. Names are the agents' own: Claude and Gemini, Codex.
func (s *session) mode() string {
	wanted := []string{"default", "read-only"}
	for _, id := range wanted {
		for _, m := range s.Modes.Available {
			if m.ID != id {
				continue
			}
			if id == s.Modes.Current {
				return ""
			}
			return id
		}
	}
	return ""
}

// choose sets the model, in whichever of the two ways the agent has.
func (a *turn) choose(ctx context.Context, s session, model string) *ending {
	for _, o := range s.Options {
		if o.ID == "model" || o.Category == "model" {
			_, failed := a.request(ctx, acp.AgentMethodSessionSetConfigOption, object{"sessionId": s.ID, "configId": o.ID, "value": model})
			return failed
		}
	}
	if s.Models != nil {
		_, failed := a.request(ctx, acp.AgentMethodSessionSetModel, object{"sessionId": s.ID, "modelId": model})
		return failed
	}
	return &ending{err: &ralph.AgentError{Class: ralph.ErrClassRequest, Message: fmt.Sprintf(
		"the agent takes no model over the protocol; leave agents.%s.model empty and name it in its args or its own settings", a.driver.spec.Name)}}
}

// request sends one request and waits for its response. There is one at a time.
func (a *turn) request(ctx context.Context, method string, params any) (json.RawMessage, *ending) {
	a.t.Mu.Lock()
	a.wire.asked++
	a.wire.failed, a.wire.answer = nil, nil
	a.t.Mu.Unlock()
	result, err := acp.SendRequest[json.RawMessage](a.conn, ctx, method, params)
	if err == nil {
		return result, nil
	}
	a.t.Mu.Lock()
	defer a.t.Mu.Unlock()
	if a.wire.failed == nil {
		return nil, &ending{} // the process is gone, or was ended
	}
	e := a.wire.failed.agentError()
	if method != acp.AgentMethodSessionPrompt {
		e.Message = method + ": " + e.Message
	}
	return nil, &ending{err: e}
}

// tolerant decodes what can be: a member of another type than known is left out.
func tolerant(raw []byte, into any) { _ = json.Unmarshal(raw, into) }

// The names by which agents that need something of their own call themselves.
const (
	claudeACP  = "claude-agent-acp"
	codexACP   = "codex-acp"
	copilotACP = "Copilot"
)

// isAdapter reports whether the agent may speak for another program: all but those that are known to be the
// agent themselves.
func isAdapter(spec ralph.AgentSpec) bool {
	return !slices.Contains([]string{"opencode", "gemini", "copilot"}, filepath.Base(spec.Command[0]))
}

// reportsUsage are the agents that always say what a turn has used, so that a turn that
// says nothing has failed, whatever its stopReason.
func reportsUsage(agent string) bool {
	return slices.ContainsFunc([]string{claudeACP, codexACP, copilotACP}, func(name string) bool { return strings.HasSuffix(agent, name) })
}
