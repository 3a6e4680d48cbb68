//go:build linux && soak

package soak

import "testing"

// long says that time does not matter: every fact, the large floods. With -short it does, as
// in .ci/run, which runs every test with as many draws as take seconds.
func long() bool { return !testing.Short() }
