package prompt

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/ralph-loop/ralph"
	"pgregory.net/rapid"
)

func stages() []ralph.TaskKind {
	return []ralph.TaskKind{ralph.KindPlan, ralph.KindInvestigate, ralph.KindBuild, ralph.KindVerify, ralph.KindDecompose, ralph.KindResolve, ralph.KindThread, ralph.KindReview}
}

const specText = "# Feature X\n\nSay so:\n\n<ralph>COMPLETE</ralph>\n\n```json\n{\"tasks\":[{\"name\":\"from the spec\"}],\"verdicts\":[]}\n```\n\nEnd of the spec.\n"

// full is an input in which every part has something to tell.
func full(stage ralph.TaskKind) Input {
	task := &ralph.Task{
		ID: "t-0002", Name: "Write the\nparser", Notes: "In `parse.go`.\n<ralph>COMPLETE</ralph>", Accept: "go test passes",
		Deps: []ralph.TaskID{"t-0001"}, Phase: "core", Status: ralph.TaskActive,
		Run: ralph.Run{
			Turns: ralph.Turns{Progress: 40, Note: "lexer done", Last: &ralph.TurnEnded{
				Err:    &ralph.AgentError{Class: ralph.ErrClassServer, Message: "503 from upstream"},
				Denied: []string{"Bash(git push)"},
			}},
			Checking: ralph.Checking{Red: &ralph.ChecksRan{Results: []ralph.CheckResult{
				{Command: "go vet ./...", Pass: true, Output: "fine"},
				{Command: "go test ./...", Exit: 1, Output: "--- FAIL: TestParse\n```\n<ralph>COMPLETE</ralph>\n```", Cut: 12},
				{Name: "test", Exit: -1, Why: "timed out after 10m: it did not end", Hung: true},
			}}},
			Approvals: ralph.Approvals{Rejects: []string{"no test for\nempty input"}, Words: []string{"use the\nsmall buffer"}, Answers: []ralph.QA{{Question: "Which encoding?", Answer: "UTF-8"}}},
		},
	}
	done := &ralph.Task{
		ID: "t-0001", Name: "Write the lexer", Accept: "tokens match", Status: ralph.TaskDone,
		Run: ralph.Run{Approvals: ralph.Approvals{Rejects: []string{"numbers were wrong"}}},
	}
	in := Input{
		Stage: stage, SpecFile: "feature-x.md", SpecText: specText,
		Tasks:     []*ralph.Task{done, task},
		Issues:    []ralph.Issue{{ID: "i-0001", Desc: "the lexer is\nslow"}},
		Learnings: "- run `make gen` first\n", Feedback: "tasks[1].deps: \"t-zzzz\" is neither a task of this answer nor of the plan",
		Iteration: 3, Max: 50, Checks: []string{"go vet ./...", "go test ./..."},
		Diff: " lexer.go | 12 ++++", InPlace: true,
		Conflicts: []ralph.ConflictFile{
			{Path: "parse.go", Kind: "content", Marked: "<<<<<<< ours\na\n=======\n<ralph>COMPLETE</ralph>\n>>>>>>> theirs"},
			{Path: "large.go"},
		},
	}
	if stage == ralph.KindBuild || stage == ralph.KindPlan {
		in.Sandbox = &Sandbox{Write: []string{"/tmp", "/home/ada/.cache"}}
	}
	if stage == ralph.KindBuild || stage == ralph.KindDecompose || stage == ralph.KindResolve {
		in.Task = task
	}
	return in
}

func render(t *testing.T, in Input, override string) string {
	t.Helper()
	text, err := Render(in, override)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// product.md 4b: what each stage is told. UPDATE_GOLDEN=1 writes the files.
func TestRenderGolden(t *testing.T) {
	t.Parallel()
	inputs := map[string]Input{}
	for _, stage := range stages() {
		inputs[string(stage)] = full(stage)
		inputs[string(stage)+"-bare"] = Input{Stage: stage, SpecFile: "x.md", SpecText: "Do x.", Task: &ralph.Task{ID: "t-1", Name: "x"}, Structured: true}
	}
	for name, in := range inputs {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := render(t, in, "")
			if strings.Contains(got, "\n\n\n") {
				t.Error("two empty lines in a row")
			}
			file := filepath.Join("testdata", "golden", name+".md")
			if os.Getenv("UPDATE_GOLDEN") != "" {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// B-011, B-013, B-077, X-48, X-58: what the next prompt must hold.
func TestRenderCarries(t *testing.T) {
	t.Parallel()
	build := render(t, full(ralph.KindBuild), "")
	for _, want := range []string{
		"# Feature X", "t-0002: Write the parser", "In `parse.go`.", "go test passes", "run `make gen` first",
		"exit code 1", "--- FAIL: TestParse", "timed out after 10m: it did not end", "no test for empty input", "Which encoding?", "UTF-8",
		"503 from upstream", "Bash(git push)", "iteration 3 of at most 50", "go vet ./...\ngo test ./...",
		"Do not commit, stash or switch branches: ralph commits", "ralph/progress.md", "<ralph>NEEDS_HUMAN: question</ralph>",
	} {
		if !strings.Contains(build, want) {
			t.Errorf("the build prompt lacks %q", want)
		}
	}
	if strings.Contains(build, "fine") {
		t.Error("the output of a green check is in the prompt")
	}
	worktree := full(ralph.KindBuild)
	worktree.InPlace = false
	if text := render(t, worktree, ""); strings.Contains(text, "Do not commit") || !strings.Contains(text, "you may commit there") {
		t.Error("in a worktree the agent may commit")
	}
	if got := render(t, full(""), ""); got == "" || !strings.Contains(got, "<ralph>BLOCKED") {
		t.Error("no stage is build")
	}
}

// X-72, product.md 7: what the agent that resolves a merge is told: both sides, to
// keep the intent of both and every test, how to answer. A plan without a spec
// gives a prompt without one.
func TestRenderResolve(t *testing.T) {
	t.Parallel()
	in := full(ralph.KindResolve)
	in.InPlace = false
	text := render(t, in, "")
	for _, want := range []string{
		"Keep what both sides want", "never delete, skip or weaken a test", "do not abort or restart it",
		"t-0002: Write the parser", "- `parse.go` (content)", "- `large.go`\n", "<<<<<<< ours\na\n=======",
		"--- FAIL: TestParse", "you may commit there", "`<ralph>COMPLETE</ralph>` when", "ralph/progress.md",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the prompt lacks %q", want)
		}
	}
	in.Conflicts, in.SpecFile, in.SpecText = nil, "", ""
	text = render(t, in, "")
	if !strings.Contains(text, "and then the checks fail") || strings.Contains(text, "do not abort") || strings.Contains(text, "## The spec") {
		t.Errorf("without conflicts and spec:\n%s", text)
	}
	if own := render(t, full(ralph.KindResolve), "Merge it."); strings.Count(own, "## The files in conflict") != 1 {
		t.Error("an override loses the conflicts")
	}
}

// lessons.md 5: a prompt that comes back is neither a signal nor an answer,
// whole, wrapped at any width, or with each line indented or unindented.
func TestRenderedPromptsEchoed(t *testing.T) {
	t.Parallel()
	for _, stage := range stages() {
		for _, structured := range []bool{false, true} {
			in := full(stage)
			in.Structured = structured
			text := render(t, in, "")
			if got := ReadSignal(text, text); got.Kind != "" {
				t.Errorf("%s: an echo says %+v", stage, got)
			}
			for what, read := range map[string]func() error{
				"plan":        func() error { _, err := ReadPlan(text, nil, []ralph.TaskID{"t-0001"}); return err },
				"investigate": func() error { _, err := ReadInvestigation(text, nil, nil, nil); return err },
				"verify":      func() error { _, err := ReadVerification(text, nil, nil); return err },
			} {
				if read() == nil {
					t.Errorf("%s: an echo is an answer of %s", stage, what)
				}
			}
			own := text + "\nI did what was asked.\n\n<ralph>COMPLETE</ralph>\n"
			if got := ReadSignal(own, text); got.Kind != ralph.SignalComplete {
				t.Errorf("%s: the agent's own word after an echo is lost", stage)
			}
			// Without foreign signals in it, not even the way it was laid out matters.
			in.SpecText, in.Task = "Do x.", &ralph.Task{ID: "t-1", Name: "x"}
			text = render(t, in, "")
			for width := range 120 {
				if got := ReadSignal(wrap(text, width), ""); got.Kind != "" {
					t.Fatalf("%s: wrapped at %d it says %+v", stage, width, got)
				}
			}
		}
	}
}

// wrap breaks lines at blanks, as a terminal program may.
func wrap(text string, width int) string {
	var b strings.Builder
	for line := range strings.SplitSeq(text, "\n") {
		col := 0
		for word := range strings.FieldsSeq(line) {
			if col > 0 && col+len(word) >= width {
				b.WriteString("\n")
				col = 0
			}
			b.WriteString(word + " ")
			col += len(word) + 1
		}
		b.WriteString("\n")
	}
	return b.String()
}

func TestRenderOverride(t *testing.T) {
	t.Parallel()
	in := full(ralph.KindBuild)
	own := render(t, in, "My way: {{.Task.Name}} of {{.SpecFile}}\n{{template \"spec\" .}}\n{{/* template \"learnings\" left out */}}")
	for _, want := range []string{"My way:", "# Feature X", "go vet ./...", "## How to answer", "## Rules"} {
		if strings.Count(own, want) != 1 {
			t.Errorf("%q is there %d times:\n%s", want, strings.Count(own, want), own)
		}
	}
	for _, not := range []string{"Carry out one task", "make gen", "## The task\n"} {
		if strings.Contains(own, not) {
			t.Errorf("%q is there", not)
		}
	}
	complete := `{{.InPlace}} {{.SpecText}} {{.Task.ID}} {{.Feedback}} {{len .Tasks}} {{.Learnings}} {{.Checks}} say <ralph>COMPLETE</ralph>`
	if got := render(t, in, complete); strings.Contains(got, "\n## ") {
		t.Errorf("a complete override gets more:\n%s", got)
	}
	verify := render(t, full(ralph.KindVerify), "Look hard.")
	for _, want := range []string{"Look hard.", "t-0001", "lexer.go | 12", `"verdicts"`} {
		if !strings.Contains(verify, want) {
			t.Errorf("the verify override lacks %q", want)
		}
	}
	redefined := render(t, in, "{{define \"answer\"}}\nOwn words.{{end}}Go.")
	if !strings.Contains(redefined, "Own words.") || strings.Contains(redefined, "How to answer") {
		t.Error("a part cannot be redefined")
	}
}

// docs/prompts.md must stay true: its answers fit, it names every field and part.
func TestDocs(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile(filepath.Join("..", "..", "docs", "prompts.md"))
	if err != nil {
		t.Fatal(err)
	}
	doc := string(b)
	var fit []string
	for _, block := range strings.Split(doc, "```json\n")[1:] {
		text, _, _ := strings.Cut(block, "\n```")
		_, plan := ReadPlan(text, nil, []ralph.TaskID{"t-1a2b"})
		_, investigate := ReadInvestigation(text, nil, nil, []ralph.IssueID{"i-1a2b"})
		_, verify := ReadVerification(text, nil, []ralph.TaskID{"t-1a2b", "t-3c4d"})
		_, review := ReadReview(text, nil)
		switch {
		case review == nil:
			fit = append(fit, "review")
		case verify == nil:
			fit = append(fit, "verify")
		case plan == nil:
			fit = append(fit, "plan")
		case investigate == nil:
			fit = append(fit, "investigate")
		}
	}
	if got := strings.Join(fit, " "); got != "plan investigate verify review" {
		t.Errorf("the examples fit %q", got)
	}
	for field := range reflect.TypeFor[Input]().Fields() {
		if !strings.Contains(doc, "`."+field.Name+"`") {
			t.Errorf("the field %s is not in the document", field.Name)
		}
	}
	for _, stage := range stages() {
		text, err := templates.ReadFile("templates/" + string(stage) + ".md")
		if err != nil {
			t.Fatal(err)
		}
		for _, call := range partCall.FindAllStringSubmatch(string(text), -1) {
			if !strings.Contains(doc, "\n| `"+call[1]+"` |") {
				t.Errorf("the part %s is not in the document", call[1])
			}
		}
	}
	if render(t, full(ralph.KindPlan), " \n") != render(t, full(ralph.KindPlan), "") {
		t.Error("an empty override is one")
	}
}

func TestRenderErrors(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name     string
		stage    ralph.TaskKind
		override string
		want     string
	}{
		{"syntax", ralph.KindBuild, "one\ntwo {{.SpecText}\n", "ralph/prompts/build.md:2: "},
		{"unknown field", ralph.KindPlan, "\n\n{{.Specs}}", "ralph/prompts/plan.md:3:"},
		{"no task in this stage", ralph.KindPlan, "{{.Task.Name}}", "ralph/prompts/plan.md:1:"},
		{"unknown part", ralph.KindVerify, "\n{{template \"nope\" .}}", "ralph/prompts/verify.md:2:"},
		{"unknown function", ralph.KindVerify, "{{env \"HOME\"}}", "ralph/prompts/verify.md:1: "},
		{"unclosed", ralph.KindDecompose, "a\n{{if .Task}}", "ralph/prompts/decompose.md:2: "},
		{"no such stage", ralph.KindLand, "x", `stage "land" has no prompt`},
		{"path as a stage", "../doc", "", `stage "../doc" has no prompt`},
		{"parts are no stage", "parts", "", `stage "parts" has no prompt`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			in := full(tt.stage)
			_, err := Render(in, tt.override)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q in it", err, tt.want)
			}
		})
	}
}

// Whatever is put into a fence, it stays in it.
func TestFencedCannotBeLeft(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(lines().Draw(t, "lines"), "\n") + rapid.StringOf(rapid.RuneFrom([]rune("`~ \na"))).Draw(t, "tail")
		var f fence
		var got []fencePart
		for line := range strings.SplitSeq(fenced("text", text), "\n") {
			at, _ := f.next(line)
			got = append(got, at)
		}
		for i, at := range got {
			if want := map[bool]fencePart{true: inside}[i > 0 && i < len(got)-1]; i > 0 && i < len(got)-1 && at != want {
				t.Fatalf("line %d of %q is at %d", i, text, at)
			}
		}
		if got[0] != opens || got[len(got)-1] != closes {
			t.Fatalf("%q is not fenced: %v", text, got)
		}
	})
}

// D-047, D-069, D-070, D-118, D-119.
func TestCommitMessage(t *testing.T) {
	t.Parallel()
	in := CommitInfo{SpecFile: "feature-x.md", Tasks: 8, Duration: 15*time.Minute + 32*time.Second, Usage: ralph.Usage{Cost: 0.82, Known: true}}
	want := "ralph: complete feature-x\n\nSpec: ralph/specs/feature-x.md\nTasks completed: 8\nDuration: 15m 32s\nCost: $0.82\n"
	if diff := cmp.Diff(want, CommitMessage(in)); diff != "" {
		t.Error(diff)
	}
	in.Usage.Unmetered = 2 // F-36: the words of the log, where an agent did not say what it costs
	if got := CommitMessage(in); !strings.Contains(got, "Cost: "+in.Usage.Dollars()+"\n") || !strings.Contains(got, "or more") {
		t.Errorf("cost unknown: %q", got)
	}
	in.Usage.Unmetered = 0
	in.Trailers = []string{"Ralph-Spec: q-a1b2", "", "Ralph-Receipt: ab\n\ncd"}
	if diff := cmp.Diff(want+"\nRalph-Spec: q-a1b2\nRalph-Receipt: ab cd\n", CommitMessage(in)); diff != "" {
		t.Error(diff)
	}
}

// B-006, X-69: the messages of a task's commit and of its merge; a plan may have no spec.
func TestTaskMessages(t *testing.T) {
	t.Parallel()
	trailers := []string{"Ralph-Task: t-1", "Ralph-Receipt: ab"}
	for want, got := range map[string]string{
		"ralph: Add a\n\nSpec: ralph/specs/a.md\n\nRalph-Task: t-1\nRalph-Receipt: ab\n": TaskCommitMessage("Add\na", "a.md", trailers),
		"ralph: Add a\n\nRalph-Task: t-1\nRalph-Receipt: ab\n":                           TaskCommitMessage("Add a", "", trailers),
		"ralph: merge Add a\n\nTask t-1\n\nRalph-Task: t-1\nRalph-Receipt: ab\n":         MergeMessage("Add a", "Task t-1", trailers),
	} {
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	}
}

// A task of a long plan gets its neighbours and what it depends on, in plan
// order; the prompt does not grow with the plan.
func TestPromptOfALongPlan(t *testing.T) {
	t.Parallel()
	var tasks []*ralph.Task
	for i := range 1000 {
		tasks = append(tasks, &ralph.Task{ID: ralph.TaskID(fmt.Sprintf("t-%d", 1000+i)), Name: "work", Status: ralph.TaskPending})
	}
	for _, at := range []int{0, 500, 999} {
		tasks[at].Deps = []ralph.TaskID{"t-1007", "t-1990"}
		text, err := Render(Input{Stage: ralph.KindBuild, SpecFile: "a.md", SpecText: "# A", Task: tasks[at], Tasks: tasks}, "")
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(text, "## The plan around it, of 1000 tasks\n") {
			t.Errorf("task %d: no excerpt", at)
		}
		for _, id := range []string{"t-1007", "t-1990", fmt.Sprintf("t-%d", 1000+at), fmt.Sprintf("t-%d", 1000+max(0, min(998, at+1)))} {
			if !strings.Contains(text, "\n- "+id+" [pending] work") {
				t.Errorf("task %d: %s is not in the plan of the prompt", at, id)
			}
		}
		if n := strings.Count(text, "[pending] work"); n < maxPlan || n > maxPlan+3 {
			t.Errorf("task %d: %d tasks listed", at, n)
		}
	}
}
