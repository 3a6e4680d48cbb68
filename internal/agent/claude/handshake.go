package claude

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/agent/wire"
	"github.com/ralph-loop/ralph/internal/proc"
)

// NewHandshaker asks an installed claude for its account and models, without a turn.
func NewHandshaker(p *proc.Runner) wire.Handshaker {
	return wire.NewHandshaker(p, handshakeArgs, handshake)
}

// handshakeArgs starts Claude Code so that it waits for messages: with none it asks no
// model and prints nothing but answers to control requests (2.1.197, 2.1.329).
func handshakeArgs(spec ralph.AgentSpec) []string {
	command := spec.Command
	if len(command) == 0 {
		command = []string{"claude"}
	}
	return append(slices.Clone(command), "-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose", "--setting-sources", "user")
}

// handshake asks for what `initialize` tells: models, and where the key comes from.
func handshake(d *wire.Dialogue, h *wire.Handshake) error {
	const id = "ralph-handshake"
	err := d.Send(map[string]any{"type": "control_request", "request_id": id, "request": map[string]any{"subtype": "initialize"}})
	for err == nil {
		var line json.RawMessage
		if line, err = d.Read(); err != nil {
			break
		}
		var m struct {
			Type     string `json:"type"`
			Response struct {
				Subtype  string `json:"subtype"`
				ID       string `json:"request_id"`
				Error    string `json:"error"`
				Response struct {
					Version string `json:"claude_code_version"` // since 2.1.329 at the latest
					Models  []struct {
						Value string `json:"value"`
					} `json:"models"`
					Account *struct {
						Token    string `json:"tokenSource"`
						Key      string `json:"apiKeySource"`
						Provider string `json:"apiProvider"`
					} `json:"account"`
				} `json:"response"`
			} `json:"response"`
		}
		if json.Unmarshal(line, &m) != nil || m.Type != "control_response" || m.Response.ID != id {
			continue
		}
		if m.Response.Subtype != "success" {
			return fmt.Errorf("initialize: %s", wire.Flatten(m.Response.Error))
		}
		r := m.Response.Response
		h.Protocol, h.Version = "stream-json", r.Version
		for _, model := range r.Models {
			h.Models = append(h.Models, model.Value)
		}
		if a := r.Account; a != nil {
			token := a.Token != "" && a.Token != "none"
			in := token || a.Key != "" || a.Provider != "" && a.Provider != "firstParty" // a cloud has credentials of its own
			h.LoggedIn = &in
			h.Account = accountOf(a.Key, a.Token, a.Provider)
		}
		return nil
	}
	return err
}

// accountOf names the first of what there is.
func accountOf(key, token, provider string) string {
	switch {
	case key != "":
		return "by " + key
	case token != "" && token != "none":
		return "by " + token
	case provider != "" && provider != "firstParty":
		return "through " + provider
	}
	return ""
}
