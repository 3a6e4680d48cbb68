package labels_test

import (
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/ralph-loop/ralph/internal/labels"
)

func TestWrong(t *testing.T) {
	t.Parallel()
	for _, good := range []string{"gpu", "os=windows", "cuda=12.4", "Big_1", "a-b.c"} {
		if wrong := labels.Wrong(good); wrong != "" {
			t.Errorf("%q %s", good, wrong)
		}
	}
	for _, bad := range []string{"", "=", "os=", "=windows", "a b", "a=b=c", "a/b", "a,b", "größe", "gpu\n", strings.Repeat("a", 61)} {
		if labels.Wrong(bad) == "" {
			t.Errorf("%q is taken for a label", bad)
		}
	}
}

// A machine has its system and its processor as labels, unless whoever starts the worker says another one.
func TestOf(t *testing.T) {
	t.Parallel()
	own := []string{"arch=" + runtime.GOARCH, "os=" + runtime.GOOS}
	if got := labels.Of(nil); !slices.Equal(got, own) {
		t.Errorf("without any: %q", got)
	}
	given := []string{"os=windows", "gpu", "gpu"}
	if got, want := labels.Of(given), []string{own[0], "gpu", "os=windows"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if given[0] != "os=windows" || given[2] != "gpu" {
		t.Errorf("what was given is changed: %q", given)
	}
}

func TestMissing(t *testing.T) {
	t.Parallel()
	if got := labels.Missing([]string{"gpu", "os=linux"}, []string{"arch=amd64", "os=linux"}); !slices.Equal(got, []string{"gpu"}) {
		t.Errorf("missing %q", got)
	}
	if got := labels.Missing(nil, nil); len(got) != 0 {
		t.Errorf("missing %q of none", got)
	}
	if got := labels.Union([]string{"b", "a"}, nil, []string{"a"}); !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("union %q", got)
	}
}
