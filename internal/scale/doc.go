// Package scale owns what docs/scale.md says of fleets that no machine of ours can be: a model of
// slots, merge queue, coordinator and git server, held to the engine and the policy as they are
// where both can be run, and the tables that it makes. It holds only tests. It does not own what
// the model is fed with: internal/bench, internal/policy and internal/journal measure that.
package scale
