package dashboard

import (
	"slices"
	"testing"

	"github.com/ralph-loop/ralph/internal/doctor"
	"github.com/ralph-loop/ralph/internal/workspace"
)

// The dashboard finds what `ralph doctor` finds, and says at what it looks.
func TestDoctorDesk(t *testing.T) {
	t.Parallel()
	env := workspace.Env{Dir: t.TempDir(), Environ: []string{"PATH=" + t.TempDir(), "HOME=" + t.TempDir()}}
	var said []string
	found, err := doctorRun{env}.Run(t.Context(), func(what string) { said = append(said, what) })
	if err != nil || !slices.Equal(said, []string{"git"}) || len(found) != 1 || found[0].Level != "problem" || found[0].What != "git" || found[0].Fix == "" {
		t.Errorf("outside of a repository: %v, said %v, %v", found, said, err)
	}
	x := doctor.Examine(t.Context(), env, func(string) {})
	if len(x.Findings) != 1 || x.Findings[0].Saw != found[0].Saw {
		t.Errorf("the command finds %v", x.Findings)
	}
}
