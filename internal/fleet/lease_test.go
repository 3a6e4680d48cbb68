package fleet

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"

	"github.com/ralph-loop/ralph/internal/fleet/lease"
)

// askAll plays the workflow of a lease with time skipped: each claim comes at its time. It returns
// the answers, and the state that a next run goes on with.
func askAll(t *testing.T, at lease.Tenure, list []timed) ([]lease.Tenure, error) {
	t.Helper()
	env := skipping()
	answers := make([]lease.Tenure, len(list))
	end := time.Duration(0)
	for i, x := range list {
		env.RegisterDelayedCallback(func() {
			env.UpdateWorkflow(claimUpdate, fmt.Sprint(i), &testsuite.TestUpdateCallback{
				OnReject: func(err error) { t.Errorf("claim %d is refused: %v", i, err) }, OnAccept: func() {},
				OnComplete: func(out any, err error) {
					if err != nil {
						t.Errorf("claim %d: %v", i, err)
						return
					}
					answers[i], _ = out.(lease.Tenure)
				},
			}, x.claim)
		}, x.at)
		end = max(end, x.at)
	}
	env.RegisterDelayedCallback(env.CancelWorkflow, end+time.Second)
	env.ExecuteWorkflow(leaseWorkflow, at)
	asked, err := env.QueryWorkflow(whoQuery)
	if err != nil {
		t.Fatalf("who has the lease: %v", err)
	}
	var now lease.Tenure
	if err := asked.Get(&now); err != nil || now.By != answers[len(list)-1].By || now.Number != answers[len(list)-1].Number || now.Of != answers[len(list)-1].Of {
		t.Errorf("who only looks is told %+v (%v), and who claimed last %+v", now, err, answers[len(list)-1])
	}
	return answers, env.GetWorkflowError()
}

type timed struct {
	at    time.Duration
	claim lease.Claim
}

func claimOf(who string) lease.Claim {
	return lease.Claim{By: who + "-1", Who: who, Of: "app.git, branch main", Journal: "j-" + who, Place: who + ":/work", Lasts: 30 * time.Second}
}

// One has the lease; who comes second is told who and since when, and has it when the first has left, or
// was not heard of for as long as it said. Its number is higher each time.
func TestOneHasTheLease(t *testing.T) {
	t.Parallel()
	ada, bob := claimOf("ada"), claimOf("bob")
	keeps := ada
	keeps.Number = 1
	bobLeaves := bob
	bobLeaves.Number, bobLeaves.Leave = 2, true
	late := keeps
	got, _ := askAll(t, lease.Tenure{}, []timed{
		{1 * time.Second, ada},
		{20 * time.Second, bob},
		{25 * time.Second, keeps},
		{54 * time.Second, bob}, // 29 s after the last word
		{56 * time.Second, bob}, // 31 s
		{57 * time.Second, late},
		{58 * time.Second, ada},
		{59 * time.Second, bobLeaves},
		{60 * time.Second, late}, // nobody has it, and it is still not ada's
		{61 * time.Second, ada},
	})
	for i, want := range []struct {
		who    string
		number int64
	}{{"ada", 1}, {"ada", 1}, {"ada", 1}, {"ada", 1}, {"bob", 2}, {"bob", 2}, {"bob", 2}, {"", 2}, {"", 2}, {"ada", 3}} {
		by := want.who + "-1"
		if want.who == "" {
			by = ""
		}
		if got[i].By != by || got[i].Number != want.number || got[i].Of != "app.git, branch main" {
			t.Errorf("answer %d: %+v, want %v", i, got[i], want)
		}
	}
	if !got[0].Has(ada) || got[1].Has(bob) || got[5].Has(late) || got[8].Has(late) || !got[9].Has(ada) {
		t.Errorf("who may think that they have it: %+v", got)
	}
	if since := got[3].Since.Sub(got[0].At); since != 0 || got[3].At.Sub(got[3].Heard) != 29*time.Second {
		t.Errorf("who waits hears of %+v", got[3])
	}
	if !got[4].Before.Is(ada) || got[4].Before.Is(bob) {
		t.Errorf("before bob: %+v", got[4])
	}
}

// A machine that slept goes on where nobody has come meanwhile: its lease is as it was.
func TestSleeperGoesOn(t *testing.T) {
	t.Parallel()
	ada, bob := claimOf("ada"), claimOf("bob")
	late := ada
	late.Number = 1
	got, _ := askAll(t, lease.Tenure{}, []timed{{time.Second, ada}, {time.Hour, late}, {time.Hour + time.Second, bob}})
	if !got[1].Has(late) || got[2].Has(bob) {
		t.Errorf("after an hour: %+v", got)
	}
}

// Who has the session lock of the very checkout need not wait for a dead process to be forgotten; a copy
// of the checkout, or the same on another machine, has to.
func TestSameCheckoutNeedNotWait(t *testing.T) {
	t.Parallel()
	ada := claimOf("ada")
	again, copied, unlocked := ada, ada, ada
	again.By, again.Locked = "ada-2", true
	copied.By, copied.Locked, copied.Place = "ada-3", true, "ada:/copy"
	unlocked.By = "ada-4"
	got, _ := askAll(t, lease.Tenure{}, []timed{{time.Second, ada}, {2 * time.Second, copied}, {3 * time.Second, unlocked}, {4 * time.Second, again}})
	if got[1].Has(copied) || got[2].Has(unlocked) || !got[3].Has(again) || got[3].Number != 2 || !got[3].Before.Is(again) {
		t.Errorf("answers: %+v", got)
	}
}

// The number never becomes less, also when the server has lost its data: who has the lease says so, and
// who comes new has seen at the remote which numbers there were.
func TestNumberGrowsOverALostServer(t *testing.T) {
	t.Parallel()
	ada, bob := claimOf("ada"), claimOf("bob")
	keeps := ada
	keeps.Number = 7
	got, _ := askAll(t, lease.Tenure{}, []timed{{time.Second, keeps}, {2 * time.Second, bob}})
	if !got[0].Has(keeps) || got[1].Has(bob) {
		t.Errorf("the holder comes first: %+v", got)
	}
	bob.Least = 8
	got, _ = askAll(t, lease.Tenure{}, []timed{{time.Second, bob}, {2 * time.Second, keeps}})
	if !got[0].Has(bob) || got[0].Number != 8 || got[1].Has(keeps) {
		t.Errorf("another one comes first: %+v", got)
	}
}

// A run ends before the server's limits, and the next one goes on with all that was.
func TestLeaseGoesOnInANewRun(t *testing.T) {
	t.Parallel()
	keeps := claimOf("ada")
	list := []timed{{time.Second, keeps}}
	keeps.Number = 5
	for i := range claims - 1 {
		list = append(list, timed{time.Duration(i+2) * time.Second, keeps})
	}
	got, err := askAll(t, lease.Tenure{Number: 4}, list)
	var next *workflow.ContinueAsNewError
	if !errors.As(err, &next) || next.WorkflowType.Name != leaseWorkflow || !got[claims-1].Has(keeps) {
		t.Fatalf("after %d answers: %v, %+v", claims, err, got[claims-1])
	}
}

// A worker that has a step of a newer coordinator takes none of an older one; what one coordinator began
// under its earlier lease is its own.
func TestWorkerMindsTheLease(t *testing.T) {
	t.Parallel()
	w := &Worker{leases: map[string]newest{}}
	for i, x := range []struct {
		in      In
		refused bool
	}{
		{In{Held: "main", Lease: 7, Journal: "a"}, false},
		{In{Held: "main", Lease: 8, Journal: "b"}, false},
		{In{Held: "main", Lease: 7, Journal: "a"}, true},
		{In{Held: "main", Lease: 6, Journal: "b"}, false},
		{In{Held: "other", Lease: 1, Journal: "c"}, false},
		{In{Held: "main", Lease: 9, Journal: "a"}, false},
		{In{Held: "main", Lease: 7, Journal: "a"}, false},
		{In{Held: "main", Lease: 8, Journal: "b"}, true},
	} {
		if err := w.mind(x.in); (err != nil) != x.refused || err != nil && !final(err) {
			t.Errorf("step %d: %v", i, err)
		}
	}
}
