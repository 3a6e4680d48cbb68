package agent

import (
	"fmt"

	"github.com/ralph-loop/ralph/internal/proc"
)

func acpHandshake(p *proc.Runner) Handshaker { return newHandshaker(p, argvOf, shakeACP) }

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
