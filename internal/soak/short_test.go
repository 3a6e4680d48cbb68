//go:build linux && !soak

package soak

// long says that time does not matter: every fact, the large floods.
const long = false
