//go:build linux && !soak

package soak

// random says that tests which draw what happens run as well: not here.
const random = false

// long says that time does not matter: every fact, the large floods.
func long() bool { return false }
