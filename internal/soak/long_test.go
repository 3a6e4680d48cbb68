//go:build linux && soak

package soak

const long = true
