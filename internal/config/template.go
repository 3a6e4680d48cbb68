package config

import (
	_ "embed"
	"slices"
)

//go:embed template.yaml
var template []byte

// Template returns the file that `ralph init` writes. It changes no default:
// each key in it is commented out, the ones that people change first at the top.
func Template() []byte { return slices.Clone(template) }
