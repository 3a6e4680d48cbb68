//go:build linux && soak

package soak

import "testing"

// tagged says that there is time for seconds of each test: every case, and those that draw
// what happens.
const tagged = true

// long says that time does not matter: every fact, the large floods. With -short it does, as
// in .ci/run, which runs every test with as many draws as take seconds.
func long() bool { return !testing.Short() }
