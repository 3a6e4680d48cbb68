//go:build e2e

package main

import (
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// The network goes down at every kind of call between the label and the merge, in each way, and in
// half of the cases ralph is killed while it is down: nothing is lost, doubled or blocked. What is
// done meanwhile, and what must be so in the end, stands in the script. C-022, C-055, C-076.
//
// A row is a hundred gits and some ten turns.
func TestNetworkCutAtEveryCall(t *testing.T) {
	t.Parallel()
	rows := []struct {
		call, how string
		kill      bool
	}{
		{"POST pulls", late, true},
		{"GET issues/1/comments", lost, false},
		{"PUT pulls/2/merge", late, true},
		{"GET issues", hangs, true},
		{"GET issues/1/comments", hangs, true},
		{"GET pulls", lost, true},
		{"POST pulls", lost, false},
		{"POST pulls", hangs, true},
		{"POST pulls", late, false},
		{"POST issues/2/labels", late, false},
		{"POST pulls/2/requested_reviewers", lost, true},
		{"GET pulls/2", hangs, true},
		{"GET commits/[^/]+/check-runs", lost, false},
		{"GET pulls/2/reviews", late, true},
		{"PATCH pulls/2", late, false},
		{"PATCH pulls/2", lost, true},
		{"PUT pulls/2/merge", lost, false},
		{"PUT pulls/2/merge", hangs, true},
		{"GET issues/1", lost, false}, // whether the merge has closed it
		{"GET issues/1", hangs, true},
	}
	for _, row := range rows {
		name := row.call + " " + row.how
		if row.kill {
			name += ", killed"
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			params := scriptParams(t, []string{"testdata/table/network.txtar"}, "")
			params.Setup = func(env *testscript.Env) error {
				env.Setenv("CALL", row.call)
				env.Setenv("HOW", row.how)
				return isolate(env)
			}
			params.Condition = func(name string) (bool, error) {
				if name == "kill" {
					return row.kill, nil
				}
				return condition(name)
			}
			testscript.Run(t, params)
		})
	}
}
