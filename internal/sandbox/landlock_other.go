//go:build !linux

package sandbox

import "errors"

// ABI is 0: only Linux has Landlock.
func ABI() int { return 0 }

// Restrict fails: only Linux has Landlock.
func Restrict([]string) error { return errors.New("only Linux has Landlock") }
