//go:build linux && race

package soak

const raceEnabled = true
