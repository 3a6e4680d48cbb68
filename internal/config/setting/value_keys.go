package setting

import (
	"errors"
	"fmt"

	"go.yaml.in/yaml/v3"

	"github.com/ralph-loop/ralph/internal/keymap"
)

// keyMap is the setting `ui.keys`: a table whose rows must fit together.
type keyMap struct{ table }

// Keys is a table of actions with the keys that a person chose for them.
func Keys(p *map[string]string) Value {
	return keyMap{table{p: p, want: "actions with their keys, such as {pause: P, skip: S}", checkKey: keymap.Unknown}}
}

func (v keyMap) SetNode(n *yaml.Node) error {
	var chosen map[string]string
	if err := (table{p: &chosen, want: v.want, checkKey: v.checkKey}).SetNode(n); err != nil {
		return err
	}
	if _, err := keymap.Resolve(chosen); err != nil {
		at := n.Line
		if wrong, ok := errors.AsType[*keymap.Wrong](err); ok {
			for k := range Pairs(n) {
				if k.Value == wrong.Name {
					at = k.Line
				}
			}
			err = fmt.Errorf("has under %s %s, which cannot be: %w", Quote(wrong.Name), Quote(chosen[wrong.Name]), err)
		}
		return LineError{at, err}
	}
	*v.p = chosen
	return nil
}

func (v keyMap) SetText(s string) error { return setYAML(v, s, v.want) }
