package refs

import (
	"errors"
	"slices"
	"testing"

	"github.com/ralph-loop/ralph/internal/ralphtest"
)

func TestMakeBranch(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	base := b.Head()
	other := b.Branch("other", base, write("x", ""))
	b.Must(MakeBranch(t.Context(), b.repo, integration, base))
	b.Must(MakeBranch(t.Context(), b.repo, integration, base))
	if err := MakeBranch(t.Context(), b.repo, integration, other); !errors.Is(err, ErrMovedOn) {
		t.Errorf("at another commit: %v", err)
	}
	b.Equal("branch", b.Git("rev-parse", integration), base)
	for _, bad := range []string{"", "-x", "a b", "a..b"} {
		if err := MakeBranch(t.Context(), b.repo, bad, base); err == nil {
			t.Errorf("made %q", bad)
		}
	}
	b.Git("branch", "-m", integration, "ralph")
	b.Refused(MakeBranch(t.Context(), b.repo, integration, base), "ralph")
}

func TestAdvance(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	base := b.Head()
	one := b.Branch("one", base, write("1", ""))
	two := b.Branch("two", base, write("2", ""))
	b.Must(MakeBranch(t.Context(), b.repo, integration, base))
	b.Must(Advance(t.Context(), b.repo, integration, base, one))
	b.Must(Advance(t.Context(), b.repo, integration, base, one))
	if err := Advance(t.Context(), b.repo, integration, base, two); !errors.Is(err, ErrMovedOn) {
		t.Errorf("from elsewhere: %v", err)
	}
	for _, pack := range []bool{false, true} { // the candidate goes, packed or not
		b.Git("update-ref", MergeRef("k"), two)
		if pack {
			b.Git("pack-refs", "--all")
		}
		b.Git("update-ref", "refs/heads/"+integration, one)
		b.Must(Advance(t.Context(), b.repo, integration, one, two))
		b.Equal("candidates", b.Git("for-each-ref", MergeRefs), "")
	}
}

// A branch that is not ralph's is waited for, and its lock left: that is for a person to judge.
func TestAdvanceABranchThatIsLocked(t *testing.T) {
	t.Parallel()
	ralphtest.NeedsTime(t)
	b := newBox(t)
	one := b.Head()
	two := b.Branch("two", one, write("2", ""))
	b.Must(MakeBranch(t.Context(), b.repo, "theirs", one))
	b.Write(".git/refs/heads/theirs.lock", "")
	b.Env = append(b.Env, "GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=core.filesRefLockTimeout", "GIT_CONFIG_VALUE_0=1")
	b.Refused(Advance(t.Context(), b.open(), "theirs", one, two), "locked")
}

// B-069: only what is proved merged goes.
func TestDropBranches(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	base := b.Head()
	merged := b.Branch("ralph/t-1", base, write("1", ""))
	b.Branch("ralph/t-2", base, write("2", ""))
	b.Git("branch", "ralph/t-3", base)
	open := b.Linked("ralph/t-4", base)
	names := []string{"ralph/t-1", "ralph/t-2", "ralph/t-3", "ralph/t-4", "ralph/t-9"}
	var kept []string
	n := b.program.Starts(func() {
		var err error
		kept, err = DropBranches(t.Context(), b.repo, merged, names)
		b.Must(err)
	})
	if want := []string{"ralph/t-2", "ralph/t-4"}; !slices.Equal(kept, want) || n > 4 { // one of them asks where the hooks are, once
		t.Errorf("kept %q with %d processes", kept, n)
	}
	b.Equal("branches", b.Git("for-each-ref", "--format=%(refname:short)", "refs/heads/ralph"), "ralph/t-2\nralph/t-4")
	b.Equal("the open one", open.Head(), base)
	if kept, err := DropBranches(t.Context(), b.repo, merged, nil); err != nil || kept != nil {
		t.Errorf("none: %q %v", kept, err)
	}
}
