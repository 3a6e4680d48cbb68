package fleet

import (
	"context"
	"strings"
	"testing"
	"time"

	"go.temporal.io/api/common/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"

	"github.com/ralph-loop/ralph/internal/fleet/lease"
)

// pages is a server that lists workflows one a page.
type pages struct {
	client.Client

	ids []string
}

func (p pages) ListWorkflow(_ context.Context, in *workflowservice.ListWorkflowExecutionsRequest) (*workflowservice.ListWorkflowExecutionsResponse, error) {
	n := len(in.GetNextPageToken())
	out := &workflowservice.ListWorkflowExecutionsResponse{Executions: []*workflow.WorkflowExecutionInfo{{Execution: &common.WorkflowExecution{WorkflowId: p.ids[n]}}}}
	if n+1 < len(p.ids) {
		out.NextPageToken = []byte(strings.Repeat("x", n+1))
	}
	return out, nil
}

// All that is under way is seen, also where the server gives it in several pages.
func TestAllPagesAreRead(t *testing.T) {
	t.Parallel()
	list, err := running(t.Context(), pages{ids: []string{"a", "b", "c"}}, Server{}, stepWorkflow)
	if err != nil || len(list) != 3 || list[2].GetExecution().GetWorkflowId() != "c" {
		t.Errorf("%v, %v", list, err)
	}
}

// A coordinator that knows no question for its name hinders nobody from seeing the others.
func TestCoordinatorThatIsTooOld(t *testing.T) {
	t.Parallel()
	list, err := coordinators(t.Context(), pages{ids: []string{"ralph/lease/old", "ralph/lease/new", "ralph/lease/away"}}, Server{}, func(_ context.Context, id string) (lease.Tenure, error) {
		switch id {
		case "ralph/lease/old":
			return lease.Tenure{}, &serviceerror.QueryFailed{Message: "unknown queryType who. KnownQueryTypes=[]"}
		case "ralph/lease/away":
			return lease.Tenure{}, context.DeadlineExceeded
		}
		return lease.Tenure{By: "x", Of: "hub", Who: "ada", Number: 3, Heard: time.Now(), Lasts: time.Minute}, nil
	})
	if err != nil || len(list) != 3 {
		t.Fatalf("%+v, %v", list, err)
	}
	if !strings.Contains(list[0].Wrong, "older than this one") || !strings.Contains(list[1].Wrong, "deadline exceeded") || list[2].Who != "ada" || list[2].Wrong != "" {
		t.Errorf("%+v", list)
	}
}
