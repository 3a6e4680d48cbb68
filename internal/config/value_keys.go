package config

import (
	"errors"
	"fmt"

	"go.yaml.in/yaml/v3"

	"github.com/ralph-loop/ralph/internal/keymap"
)

// UI is how the terminal screen and the dashboard are used.
type UI struct {
	Keys map[string]string `yaml:"keys"` // by action, or by what a key of the screen does
}

// keyMap is the setting `ui.keys`: a table whose rows must fit together.
type keyMap struct{ table }

func keysOf(p *map[string]string) value {
	return keyMap{table{p: p, want: "actions with their keys, such as {pause: P, skip: S}", checkKey: keymap.Unknown}}
}

func (v keyMap) setNode(n *yaml.Node) error {
	var chosen map[string]string
	if err := (table{p: &chosen, want: v.want, checkKey: v.checkKey}).setNode(n); err != nil {
		return err
	}
	if _, err := keymap.Resolve(chosen); err != nil {
		at := n.Line
		if wrong, ok := errors.AsType[*keymap.Wrong](err); ok {
			for k := range pairs(n) {
				if k.Value == wrong.Name {
					at = k.Line
				}
			}
			err = fmt.Errorf("has under %s %s, which cannot be: %w", show(wrong.Name), show(chosen[wrong.Name]), err)
		}
		return lineError{at, err}
	}
	*v.p = chosen
	return nil
}

func (v keyMap) setText(s string) error { return setYAML(v, s, v.want) }
