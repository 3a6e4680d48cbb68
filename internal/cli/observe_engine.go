package cli

import (
	"github.com/ralph-loop/ralph/internal/journal"
	"github.com/ralph-loop/ralph/internal/report"
)

func engineOf(j *journal.File) report.Engine {
	owner := j.Holder()
	if owner == nil {
		return report.Engine{Carry: j.Carries()}
	}
	return report.Engine{Alive: true, Pid: owner.Pid, Host: owner.Host}
}
