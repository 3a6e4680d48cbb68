package codex

import (
	"strings"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/agent/wire"
	"github.com/ralph-loop/ralph/internal/proc"
)

// NewHandshaker asks an installed codex for its account and models, without a turn.
func NewHandshaker(p *proc.Runner) wire.Handshaker {
	return wire.NewHandshaker(p, handshakeArgs, handshake)
}

// handshakeArgs starts an app-server that does not look for updates and plugins, for which
// it would use the network (0.169.0).
func handshakeArgs(spec ralph.AgentSpec) []string {
	return append(wire.ArgvOf(spec), "-c", "features.plugins=false", "-c", "check_for_update_on_startup=false", "-c", "analytics.enabled=false")
}

// handshake initialises an app-server and asks for the account and the models, both of
// which it answers from its own files (0.169.0).
func handshake(d *wire.Dialogue, h *wire.Handshake) error {
	var hello struct {
		UserAgent string `json:"userAgent"`
	}
	err := d.Call("initialize", map[string]any{"clientInfo": map[string]string{"name": "ralph", "title": "ralph", "version": "1"}}, &hello)
	if err != nil {
		return err
	}
	h.Protocol = "app-server"
	if _, v, ok := strings.Cut(hello.UserAgent, "/"); ok {
		h.Version, _, _ = strings.Cut(v, " ")
	}
	if err := d.Send(map[string]any{"jsonrpc": "2.0", "method": "initialized"}); err != nil {
		return err
	}
	var acc struct {
		Account *struct {
			Type string `json:"type"`
		} `json:"account"`
		Requires *bool `json:"requiresOpenaiAuth"`
	}
	if err := d.Call("account/read", map[string]any{"refreshToken": false}, &acc); err != nil {
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
	if err := d.Call("model/list", map[string]any{}, &models); err != nil {
		return err
	}
	for _, m := range models.Data {
		h.Models = append(h.Models, m.ID)
	}
	return nil
}
