//go:build linux && soak && !race

package soak

const raceEnabled = false
