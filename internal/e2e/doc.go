// Package e2e owns the proof with real agent programs: the built ralph drives
// them against a scripted model server on loopback. It holds only tests, behind
// the build tag e2e; `make e2e` installs the programs. It does not own what a
// driver does with a recorded stream: internal/agent tests that.
package e2e
