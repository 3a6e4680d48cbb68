// Package soak owns the tests that treat the whole program badly: engines killed
// at every fact, agents that flood, hang, crash and destroy, crowds of them in
// worktrees beside each other, a person who steers all the time, one who works in the
// checkout beside them, disks that are full or read-only, many processes at once. It has no code of its own besides tests, and it does not own what a single
// package promises: those tests lie with it.
//
// They take minutes, and so have the tag soak: .ci/run has all of them, with seconds of what is
// drawn (-tags soak -short); `go test -tags soak -timeout 60m ./internal/soak` runs every fact
// and the large floods as well (SOAK_TIME, default 2m, bounds the random part). What every
// change is to see at once, a kill -9 in each kind of step among it, are scripts of cmd/ralph.
package soak
