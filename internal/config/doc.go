// Package config owns ralph/config.yaml: its keys and defaults, how file,
// environment and flags override each other, what is refused and with which
// words, its JSON Schema, the file that `ralph init` writes, and edits of the
// file that leave everything else in it as it was. It does not own what a
// single value can be (internal/config/setting), nor what the settings mean: the
// packages that use them do. It writes nothing.
package config
