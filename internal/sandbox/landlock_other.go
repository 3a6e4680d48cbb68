//go:build !linux

package sandbox

import "errors"

// ScopesABI is the first that closes signals and abstract sockets.
const ScopesABI = 6

// ABI is 0: only Linux has Landlock.
func ABI() int { return 0 }

// Restrict fails: only Linux has Landlock.
func Restrict(Box) error { return errors.New("only Linux has Landlock") }
