//go:build linux && soak

package soak

import "testing"

// random says that tests which draw what happens run as well.
const random = true

// long says that time does not matter: every fact, the large floods. With -short it does, as
// in .ci/run, which runs the random tests with as many cases as take seconds.
func long() bool { return !testing.Short() }
