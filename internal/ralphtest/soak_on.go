//go:build soak

package ralphtest

const soak = true
