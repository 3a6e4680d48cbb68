package agentcheck

// Scenario is what the scripted agent plays for a behaviour; false where it cannot.
func Scenario(b Behaviour) (string, bool) {
	do := ""
	switch b {
	case Echo:
		do = "    - echo: true\n"
	case Complete:
		do = "    - say: All is done.\n    - signal: COMPLETE\n"
	case Fail:
		do = "    - stderr: it broke\n    - exit: 3\n"
	case Limited:
		do = "    - rate_limit: true\n"
	case Crash:
		do = "    - say: begun\n    - crash: true\n"
	case Hang:
		do = "    - say: ready\n    - hang: true\n"
	case HangHard:
		do = "    - say: getting ready\n    - hang: hard\n"
	case Flood:
		do = "    - flood: {bytes: 104857600, line: 100}\n"
	case Background:
		do = "    - background: {run: \"echo >up; sleep 60; :\", setsid: true}\n" +
			"    - run: until [ -e up ]; do sleep 0.01; done\n"
	case Deaf, Missing:
		do = "    - exit: 0\n"
	case Metered:
		do = "    - usage: {input: 100, output: 20, cost: 0.02}\n"
	case Remember:
		return "rules:\n  - when: {resumed: true}\n    do:\n    - say: " + Word + "\n  - do:\n    - say: OK\n", true
	default:
		return "", false
	}
	return "rules:\n  - do:\n" + do, true
}
