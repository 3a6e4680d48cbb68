//go:build linux && !soak

package soak

// tagged says that there is time for seconds of each test: every case, and those that draw
// what happens. Not in the suite of every day, which has one or two of each table.
const tagged = false

// long says that time does not matter: every fact, the large floods.
func long() bool { return false }
