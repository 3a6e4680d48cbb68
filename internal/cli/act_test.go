package cli

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/action"
	"github.com/ralph-loop/ralph/internal/backend"
	"github.com/ralph-loop/ralph/internal/locate"
	"github.com/ralph-loop/ralph/internal/person"
	"github.com/ralph-loop/ralph/internal/proc"
	"github.com/ralph-loop/ralph/internal/workspace"
)

// spoken is an action once as a command line and once as another surface says it.
type spoken struct {
	args  string // with | between
	in    action.Input
	first []ralph.Fact // what was before
}

func ptr[T any](x T) *T { return &x }

// said is every action that has a command, but for those that work on git, whose effect is in
// the scripts task_rollback and autopilot_ends, and drain, which needs a fleet.
func said() map[string]spoken {
	return map[string]spoken{
		"pause":           {args: "pause"},
		"resume":          {args: "resume", first: []ralph.Fact{ralph.Control{Want: ralph.WantPause, Cause: "test"}}},
		"stop":            {args: "stop"},
		"stop-now":        {args: "stop|--now"},
		"autopilot":       {args: "mode|autopilot"},
		"semi":            {args: "mode|semi"},
		"mode":            {args: "mode|manual", in: action.Input{Autonomy: "manual"}},
		"retry":           {args: "task|retry|t-bad", in: action.Input{ID: "t-bad"}},
		"unblock":         {args: "task|unblock|t-block", in: action.Input{ID: "t-block"}},
		"message":         {args: "task|message|t-one|use tabs", in: action.Input{ID: "t-one", Text: "use tabs"}},
		"edit":            {args: `task|edit|t-one|{"deps":[],"parent":"t-two"}|--name|New`, in: action.Input{ID: "t-one", Name: ptr("New"), Parent: ptr("t-two"), Deps: []string{}}},
		"skip":            {args: "task|skip|t-one|not needed", in: action.Input{ID: "t-one", Text: "not needed"}},
		"assign":          {args: "task|assign|t-one", in: action.Input{ID: "t-one"}},
		"prioritize":      {args: "task|prioritize|t-two", in: action.Input{ID: "t-two"}},
		"accept":          {args: "task|accept|t-done", in: action.Input{ID: "t-done"}},
		"reject":          {args: "task|reject|t-done|no usage text", in: action.Input{ID: "t-done", Text: "no usage text"}},
		"done":            {args: "task|done|t-one", in: action.Input{ID: "t-one"}},
		"thread-add":      {args: "thread|add|write the docs|--name|docs", in: action.Input{Text: "write the docs", Name: ptr("docs")}},
		"thread-continue": {args: "continue|t-over|--past|budget.cost=5", in: action.Input{ID: "t-over", Past: "budget.cost=5"}},
		"thread-pause":    {args: "thread|pause|t-goes", in: action.Input{ID: "t-goes"}},
		"thread-resume":   {args: "thread|resume|t-goes", in: action.Input{ID: "t-goes"}, first: []ralph.Fact{ralph.ThreadWanted{Task: "t-goes", Want: ralph.ThreadPause}}},
		"thread-stop":     {args: "thread|stop|t-goes", in: action.Input{ID: "t-goes"}},
		"extend":          {args: "task|extend|t-one|--to|60", in: action.Input{ID: "t-one", To: 60}},
		"divide":          {args: "task|divide|t-one|Half|Other half", in: action.Input{ID: "t-one", Names: []string{"Half", "Other half"}}},
		"add":             {args: `task|add|{"name":"More","tags":["critical"]}|--worker|gpu,os=linux`, in: action.Input{Name: ptr("More"), Tags: []string{"critical"}, Worker: []string{"gpu", "os=linux"}}},
		"order":           {args: "task|order|t-two|t-one", in: action.Input{Names: []string{"t-two", "t-one"}}},
		"approve":         {args: "approve|g-wish|--always|--scope|session|--for|8h", in: action.Input{ID: "g-wish", Always: true, Scope: "session", For: 8 * 3600e9}},
		"deny":            {args: "deny|g-wish|--reason|no", in: action.Input{ID: "g-wish", Text: "no"}},
		"answer":          {args: "answer|g-ask|the|second", in: action.Input{ID: "g-ask", Text: "the second"}},
		"revoke":          {args: "rules|revoke|r-1|--reason|done", in: action.Input{ID: "r-1", Text: "done"}},
		"queue":           {args: "inbox|add|feature.md", in: action.Input{File: "feature.md"}},
		"clear":           {args: "inbox|clear"},
		"remove":          {args: "inbox|remove|q-1", in: action.Input{ID: "q-1"}},
		"spec-priority":   {args: "inbox|priority|q-1|5", in: action.Input{ID: "q-1", Priority: ptr("5")}},
		"breaker-retry":   {args: "breaker|retry|github", in: action.Input{ID: "github"}, first: []ralph.Fact{ralph.PushWanted{PushRef: ralph.PushRef{ID: "x", Service: ralph.GitHub, Item: "o/r#1"}, What: ralph.PushComment, Seq: 1}}},
		"breaker-reset":   {args: "breaker|reset|jira", in: action.Input{ID: "jira"}, first: []ralph.Fact{ralph.BreakerMoved{Service: ralph.Jira, From: ralph.BreakerClosed, Breaker: ralph.Breaker{State: ralph.BreakerOpen}}}},
		"breaker-drop": {args: "breaker|drop|github", in: action.Input{ID: "github"}, first: []ralph.Fact{
			ralph.PushWanted{PushRef: ralph.PushRef{ID: "y", Service: ralph.GitHub, Item: "o/r#1"}, What: ralph.PushComment, Seq: 1}, ralph.PushRefused{PushRef: ralph.PushRef{ID: "y", Service: ralph.GitHub, Item: "o/r#1"}, Why: "gone"},
		}},
		"requeue": {args: "inbox|requeue|q-2", in: action.Input{ID: "q-2"}},
	}
}

// Whatever a person can do has one meaning: the command and the same action of another surface
// append the same facts. Only who did it and from where differs.
func TestCommandsAreActions(t *testing.T) {
	t.Parallel()
	for _, a := range action.Actions() {
		if a.Command == "" || a.Name == "rollback" || a.Name == "cleanup" || a.Name == "drain" {
			continue
		}
		x, ok := said()[a.Name]
		if !ok {
			t.Errorf("no row for %s (%s)", a.Name, a.Command)
			continue
		}
		t.Run(a.Name, func(t *testing.T) {
			t.Parallel()
			byCommand := factsOf(t, x.first, func(env workspace.Env, _ string) error {
				var out strings.Builder
				env.Args, env.Stdin, env.Stdout, env.Stderr = strings.Split(x.args, "|"), strings.NewReader(""), &out, &out
				if code := Main(t.Context(), env); code != 0 {
					t.Errorf("exit %d: %s", code, out.String())
				}
				return nil
			})
			byPage := factsOf(t, x.first, func(env workspace.Env, root string) error {
				j, err := workspace.OpenJournal(env, true, true)
				if err != nil {
					return err
				}
				defer j.Close()
				page := backend.Surface{By: "web", Cause: "the dashboard", Witness: func(context.Context) ralph.Witness { return person.Witness(env) }}
				_, err = action.Do(t.Context(), backend.New(env, root, j, page), a.Name, x.in)
				return err
			})
			if len(byCommand) == 0 || !slices.Equal(byCommand, byPage) {
				t.Errorf("the command:\n%s\nthe page:\n%s", strings.Join(byCommand, "\n"), strings.Join(byPage, "\n"))
			}
		})
	}
}

// made is what differs between two of the same: ids that are made, who and from where, and when.
var made = regexp.MustCompile(`"(by|cause|pid)":("[^"]*"|\d+)|"[a-z]-[a-z0-9]{4,}"|"\d{4}-\d\d-\d\dT[^"]*"`)

// factsOf are the facts that do appends to a journal in which everything can be done, while an
// engine is at work.
func factsOf(t *testing.T, first []ralph.Fact, do func(env workspace.Env, root string) error) []string {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	env := workspace.Env{Dir: root, Environ: []string{"HOME=" + root, "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1", "PATH=" + os.Getenv("PATH")}}
	for _, dir := range []string{"ralph/specs", ".git/refs", ".git/objects"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range map[string]string{"ralph/specs/feature.md": "# Feature\n", ".git/HEAD": "ref: refs/heads/main\n", ".git/config": "[core]\n\trepositoryformatversion = 0\n"} {
		if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	j, err := workspace.OpenJournal(env, true, true)
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	if err := j.Update(t.Context(), "test", func(*ralph.State) ([]ralph.Fact, error) { return append(busy(), first...), nil }); err != nil {
		t.Fatal(err)
	}
	lock, _, err := j.Lock(locate.Me(), proc.Alive)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = lock.Unlock() }()
	seq := j.State().Seq
	if err := do(env, root); err != nil {
		t.Fatal(err)
	}
	var out []string
	if err := j.Each(seq, func(e ralph.Event) error {
		line, err := json.Marshal(e.Fact)
		out = append(out, e.Fact.Kind()+" "+made.ReplaceAllString(string(line), "…"))
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return out
}

// busy is a session in which every action can be taken on something.
func busy() []ralph.Fact {
	task := func(id ralph.TaskID, status ralph.TaskStatus, deps ...ralph.TaskID) ralph.Fact {
		return ralph.TaskAdded{Task: ralph.Task{ID: id, Kind: ralph.KindBuild, Name: "Task " + string(id), Status: status, Deps: deps}}
	}
	wish := &ralph.Request{Kind: "command", Command: "make deploy"}
	return []ralph.Fact{
		ralph.SpecAdded{Spec: ralph.Spec{ID: "q-1", File: "one.md", Status: ralph.SpecPending}},
		ralph.SpecAdded{Spec: ralph.Spec{ID: "q-2", File: "two.md", Status: ralph.SpecFailed, Error: "red"}},
		ralph.SessionStarted{ID: "s-1", Mode: "autopilot", Auto: "step"},
		task("t-one", ralph.TaskPending, "t-done"), task("t-two", ralph.TaskPending), task("t-bad", ralph.TaskFailed),
		task("t-block", ralph.TaskBlocked), task("t-done", ralph.TaskDone),
		task("t-goes", ralph.TaskPending),
		ralph.ThreadStarted{Task: "t-goes"},
		task("t-over", ralph.TaskTimeout),
		ralph.ThreadStarted{Task: "t-over", Limits: ralph.ThreadLimits{Cost: 1}},
		ralph.Decided{Task: "t-over", Decision: ralph.ThreadDecision{Action: ralph.ThenStop, Stop: ralph.StopCost}},
		ralph.Asked{Approval: ralph.Approval{ID: "g-wish", Kind: ralph.ApprovalRequest, Task: "t-one", Text: "may I?", Request: wish}},
		ralph.Asked{Approval: ralph.Approval{ID: "g-ask", Kind: ralph.ApprovalQuestion, Task: "t-one", Text: "which?"}},
		ralph.RuleAdded{Rule: ralph.AnswerRule{ID: "r-1", Scope: ralph.ScopeRepository, Verdict: ralph.Approved, Request: *wish}},
	}
}
