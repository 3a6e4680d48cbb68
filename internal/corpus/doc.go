// Package corpus owns the proof on real repositories: modules of Go, packages of npm and
// sources of Debian, and the shapes that repositories have in the wild, each worked on
// whole by the built ralph with an agent that edits for real. It holds only tests, behind
// the build tag corpus; `make corpus` downloads what they need. It does not own what git
// itself is asked for: internal/git tests that, and the script odd_repositories needs no
// download.
package corpus
