package agent

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/ralph-loop/ralph"
)

// claudeArgs starts Claude Code so that it waits for messages: with none it asks no
// model and prints nothing but answers to control requests (2.1.197, 2.1.329).
func claudeArgs(spec ralph.AgentSpec) []string {
	command := spec.Command
	if len(command) == 0 {
		command = []string{"claude"}
	}
	return append(slices.Clone(command), "-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose", "--setting-sources", "user")
}

// shakeClaude asks for what `initialize` tells: models, and where the key comes from.
func shakeClaude(d *dialogue, h *Handshake) error {
	const id = "ralph-handshake"
	err := d.send(map[string]any{"type": "control_request", "request_id": id, "request": map[string]any{"subtype": "initialize"}})
	for err == nil {
		var line json.RawMessage
		if line, err = d.read(); err != nil {
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
			return fmt.Errorf("initialize: %s", flatten(m.Response.Error))
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

// codexArgs starts an app-server that does not look for updates and plugins, for which
// it would use the network (0.169.0).
func codexArgs(spec ralph.AgentSpec) []string {
	return append(argvOf(spec), "-c", "features.plugins=false", "-c", "check_for_update_on_startup=false", "-c", "analytics.enabled=false")
}

// shakeCodex initialises an app-server and asks for the account and the models, both of
// which it answers from its own files (0.169.0).
func shakeCodex(d *dialogue, h *Handshake) error {
	var hello struct {
		UserAgent string `json:"userAgent"`
	}
	err := d.call("initialize", map[string]any{"clientInfo": map[string]string{"name": "ralph", "title": "ralph", "version": "1"}}, &hello)
	if err != nil {
		return err
	}
	h.Protocol = "app-server"
	if _, v, ok := strings.Cut(hello.UserAgent, "/"); ok {
		h.Version, _, _ = strings.Cut(v, " ")
	}
	if err := d.send(map[string]any{"jsonrpc": "2.0", "method": "initialized"}); err != nil {
		return err
	}
	var acc struct {
		Account *struct {
			Type string `json:"type"`
		} `json:"account"`
		Requires *bool `json:"requiresOpenaiAuth"`
	}
	if err := d.call("account/read", map[string]any{"refreshToken": false}, &acc); err != nil {
		return err
	}
	if acc.Account != nil || acc.Requires != nil {
		in := acc.Account != nil || !*acc.Requires
		h.LoggedIn = &in
		if h.Account = "by a provider of its own, which needs no login"; acc.Account != nil {
			h.Account = "by " + acc.Account.Type
		}
		if !in {
			h.Account = ""
		}
	}
	var models struct {
		Data []struct {
			ID string `json:"id"`
		} `json:"data"`
	}
	if err := d.call("model/list", map[string]any{}, &models); err != nil {
		return err
	}
	for _, m := range models.Data {
		h.Models = append(h.Models, m.ID)
	}
	return nil
}

// shakeACP initialises an ACP agent. A session is not begun: it would stay on its disk.
func shakeACP(d *dialogue, h *Handshake) error {
	var hello struct {
		Protocol int `json:"protocolVersion"`
		Info     struct {
			Version string `json:"version"`
		} `json:"agentInfo"`
		Can struct {
			Load bool `json:"loadSession"`
		} `json:"agentCapabilities"`
	}
	err := d.call("initialize", map[string]any{
		"protocolVersion":    1,
		"clientCapabilities": map[string]any{"fs": map[string]bool{"readTextFile": false, "writeTextFile": false}, "terminal": false},
		"clientInfo":         map[string]string{"name": "ralph", "title": "ralph", "version": "1"},
	}, &hello)
	if err != nil {
		return err
	}
	if hello.Protocol != 1 {
		return fmt.Errorf("it speaks version %d of the Agent Client Protocol; ralph speaks 1", hello.Protocol)
	}
	h.Protocol, h.Version = "ACP 1", hello.Info.Version
	if !hello.Can.Load {
		h.Words = "it cannot load earlier sessions"
	}
	return nil
}
