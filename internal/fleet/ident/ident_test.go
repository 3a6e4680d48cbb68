package ident

import "testing"

// A step is read out of its workflow as it was put in; what is another base's, or no step, is none.
func TestStep(t *testing.T) {
	t.Parallel()
	journal, task, ok := Step("ralph", Workflow("ralph", "j-1", "t-1", "key"))
	if !ok || journal != "j-1" || task != "t-1" {
		t.Errorf("it is the step of %s in %s, %t", task, journal, ok)
	}
	for _, other := range []string{Workflow("another", "j-1", "t-1", "key"), "ralph/lease/0123", "ralph/tail/ABC", ""} {
		if _, _, ok := Step("ralph", other); ok {
			t.Errorf("%q is taken for a step", other)
		}
	}
}
