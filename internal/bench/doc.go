// Package bench owns the measurements of the whole program: what ralph adds to
// the agents and the git commands it runs, how long it takes to start, what it
// weighs. It holds only tests. It does not own the benchmarks of one package,
// which lie beside its code, and it sets no goal: docs/performance.md does.
package bench
