package ralph

// SandboxRefused says that the sandbox kept an agent from writing a file, as far as what the
// agent's own tools gave back shows it; of a path once a turn (R-M4).
type SandboxRefused struct {
	Task    TaskID `json:"task"`
	Agent   string `json:"agent"`
	Sandbox string `json:"sandbox"` // its kind
	Path    string `json:"path"`
	Call    string `json:"call,omitempty"`    // the command or call that met it, where the agent tells
	Allowed string `json:"allowed,omitempty"` // by which gate or rule that call had been let pass
}

// Kind implements Fact.
func (SandboxRefused) Kind() string { return "sandbox.refused" }
