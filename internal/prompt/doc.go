// Package prompt owns what agents are told and how their replies are read: the
// prompt templates, signals, structured answers, checklists and the words of
// the commit message. It is pure. It does not own what follows from a signal or
// an answer (policy), how a prompt reaches an agent (agent), or any file: the
// caller reads the spec, the learnings and the overrides.
package prompt
