package acp

import (
	"fmt"

	"github.com/ralph-loop/ralph/internal/agent/wire"
	"github.com/ralph-loop/ralph/internal/proc"
)

// NewHandshaker asks an installed agent what it is and can, in its own protocol, without a session.
func NewHandshaker(p *proc.Runner) wire.Handshaker {
	return wire.NewHandshaker(p, wire.ArgvOf, handshake)
}

// handshake initialises an ACP agent. A session is not begun: it would stay on its disk.
func handshake(d *wire.Dialogue, h *wire.Handshake) error {
	var hello struct {
		Protocol int `json:"protocolVersion"`
		Info     struct {
			Version string `json:"version"`
		} `json:"agentInfo"`
		Can struct {
			Load bool `json:"loadSession"`
		} `json:"agentCapabilities"`
	}
	err := d.Call("initialize", map[string]any{
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
