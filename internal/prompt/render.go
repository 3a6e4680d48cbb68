package prompt

import (
	"embed"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"text/template"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/lazyregexp"
	"github.com/ralph-loop/ralph/internal/text"
)

//go:embed templates/*.md
var templates embed.FS

// partCall finds the parts that a template places, and those that it names in a
// comment to leave them out.
var partCall = lazyregexp.New(`template\s+"([a-z]+)"`)

// Input is what a prompt is made from, and the data of the templates.
type Input struct {
	Stage      ralph.TaskKind // plan, investigate, build (or ""), verify, decompose, resolve, thread, review
	SpecFile   string         // relative to ralph/specs; "" when the plan has no spec
	SpecText   string
	Task       *ralph.Task          // build: the task; decompose: the task to split; resolve: the task whose branch is merged
	Tasks      []*ralph.Task        // the whole plan of the spec
	Issues     []ralph.Issue        // investigate: the open ones
	Learnings  string               // ralph/progress.md, may be empty
	Next       string               // thread: what the decision after the last turn says
	Resumed    bool                 // thread: the agent's session knows all of it
	Feedback   string               // the mismatch of a structured answer, or policy's words
	Handover   string               // what the session before this one did, when it was left; may be empty
	Iteration  int                  // from 1; 0 leaves it out
	Max        int                  // iterations allowed, 0 for no limit
	Checks     []string             // the commands that will check the work
	Diff       string               // verify: names or patch of what changed, bounded by the caller
	Structured bool                 // the driver enforces Schema itself
	Conflicts  []ralph.ConflictFile // resolve: files that hold both sides, bounded by the caller
	InPlace    bool                 // work is in the user's checkout: no commits by the agent
	Before     []ralph.RedCheck     // how checks were red before the task's work
	Sandbox    *Sandbox             // what the system keeps the agent from; nil for nothing
	Signal     string               // build, resolve: the command that signals in a shell; "" when there is none
}

// Sandbox is the sandbox that an agent works in, as it is told.
type Sandbox struct {
	Write []string // what it may write beside the current directory
}

// Renderer makes prompts. It keeps the built-in templates once they are parsed,
// which is half the work of a prompt. The zero value is ready; it may be used
// from several goroutines.
type Renderer struct {
	mu     sync.Mutex
	parsed map[ralph.TaskKind]*template.Template
}

// Render is Renderer.Render for a single prompt.
func Render(in Input, override string) (string, error) { return new(Renderer).Render(in, override) }

// Render returns the prompt of a stage. override is the text of
// ralph/prompts/<stage>.md; a blank one means the embedded template. Every prompt
// carries the parts of its stage: what an override does not
// place is appended, so that no prompt lacks the way to answer. The error of a
// broken override names the file and the line.
func (r *Renderer) Render(in Input, override string) (string, error) {
	if in.Stage == "" {
		in.Stage = ralph.KindBuild
	}
	own := strings.TrimSpace(override) != ""
	var t *template.Template
	var err error
	if own {
		t, err = parse(in.Stage, override)
	} else {
		t, err = r.builtin(in.Stage)
	}
	var b strings.Builder
	if err == nil {
		err = t.Execute(&b, in)
	}
	if err != nil {
		hint := ""
		if own {
			hint = " (mend the file, or remove it to use the built-in prompt)"
		}
		return "", fmt.Errorf("render prompt: %s%s", strings.TrimPrefix(err.Error(), "template: "), hint)
	}
	return strings.TrimSpace(b.String()) + "\n", nil
}

func (r *Renderer) builtin(stage ralph.TaskKind) (*template.Template, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if t := r.parsed[stage]; t != nil {
		return t, nil
	}
	t, err := parse(stage, "")
	if err == nil {
		if r.parsed == nil {
			r.parsed = map[ralph.TaskKind]*template.Template{}
		}
		r.parsed[stage] = t
	}
	return t, err
}

// parse returns the template of a stage with its parts, "" is the built-in one.
func parse(stage ralph.TaskKind, override string) (*template.Template, error) {
	builtin, err := templates.ReadFile("templates/" + string(stage) + ".md")
	if Schema(stage) == nil && !works(stage) || err != nil {
		return nil, fmt.Errorf("stage %q has no prompt", stage)
	}
	parts, err := templates.ReadFile("templates/parts.md")
	if err != nil {
		return nil, err
	}
	name, text := "templates/"+string(stage)+".md", string(builtin)
	if override != "" {
		name = "ralph/prompts/" + string(stage) + ".md"
		text = override + missing(string(builtin), override, stage)
	}
	t, err := template.New("parts.md").Funcs(functions()).Parse(string(parts))
	if err != nil {
		return nil, err
	}
	return t.New(name).Parse(text)
}

// works reports whether a stage changes files, and answers with a signal.
func works(stage ralph.TaskKind) bool {
	return stage == ralph.KindBuild || stage == ralph.KindResolve || stage == ralph.KindThread
}

// missing returns the calls of those parts that the built-in template of the
// stage has and the override neither calls nor writes out by their fields.
func missing(builtin, override string, stage ralph.TaskKind) string {
	placed := ""
	for _, call := range partCall.FindAllStringSubmatch(override, -1) {
		placed += " " + call[1] + " "
	}
	var b strings.Builder
	for _, call := range partCall.FindAllStringSubmatch(builtin, -1) {
		part := call[1]
		if !strings.Contains(placed, " "+part+" ") && !partByField(part, stage).MatchString(override) {
			fmt.Fprintf(&b, "{{template %q .}}", part)
		}
	}
	return b.String()
}

// partByField returns what shows that an override writes a part out by itself.
func partByField(part string, stage ralph.TaskKind) *regexp.Regexp {
	switch part {
	case "spec":
		return regexp.MustCompile(`\.SpecText\b`)
	case "goal":
		return regexp.MustCompile(`\.Goal\b`)
	case "next":
		return regexp.MustCompile(`\.Next\b`)
	case "task":
		return regexp.MustCompile(`\.Task\b`)
	case "plan", "review":
		return regexp.MustCompile(`\.Tasks\b`)
	case "issues":
		return regexp.MustCompile(`\.Issues\b`)
	case "conflicts":
		return regexp.MustCompile(`\.Conflicts\b`)
	case "diff":
		return regexp.MustCompile(`\.Diff\b`)
	case "learnings":
		return regexp.MustCompile(`\.Learnings\b`)
	case "handover":
		return regexp.MustCompile(`\.Handover\b`)
	case "checks":
		return regexp.MustCompile(`\.Checks\b`)
	case "last":
		return regexp.MustCompile(`\.Feedback\b|\.Run\b`)
	case "answer":
		if works(stage) {
			return regexp.MustCompile(`<(ralph|promise)>`)
		}
		return regexp.MustCompile(`(?i)\bjson\b`)
	}
	return regexp.MustCompile(`\.InPlace\b`) // rules
}

// functions are what templates can call besides the built-in functions.
func functions() template.FuncMap {
	return template.FuncMap{
		"before":  redBefore,
		"fence":   fenced,
		"line":    text.OneLine,
		"lines":   func(list []string) string { return strings.Join(list, "\n") },
		"near":    near,
		"outcome": outcome,
		"ran":     func(r ralph.CheckResult) bool { return !ralph.IsDiffCheck(r.Name) && r.Name != ralph.CheckCoverage },
		"works":   works,
	}
}

// maxPlan is how many tasks of a plan a prompt lists beside its own: who works
// on one of a thousand needs its neighbours and what it depends on, not a list
// that costs more tokens than the task.
const maxPlan = 60

// excerpt is the part of a plan that a prompt shows.
type excerpt struct {
	Title string
	Tasks []*ralph.Task
}

// near returns the plan, or of a long one what stands around the task and what
// it depends on, in plan order; nil when there is none.
func near(tasks []*ralph.Task, task *ralph.Task) *excerpt {
	if len(tasks) == 0 {
		return nil
	}
	at := -1
	if task != nil {
		at = slices.IndexFunc(tasks, func(t *ralph.Task) bool { return t.ID == task.ID })
	}
	if len(tasks) <= maxPlan || at < 0 {
		return &excerpt{"The whole plan", tasks}
	}
	from := max(0, min(at-maxPlan/2, len(tasks)-maxPlan))
	e := &excerpt{Title: fmt.Sprintf("The plan around it, of %d tasks", len(tasks))}
	for i, t := range tasks {
		if i >= from && i < from+maxPlan || slices.Contains(task.Deps, t.ID) {
			e.Tasks = append(e.Tasks, t)
		}
	}
	return e
}

// outcome says how a check command ended.
func outcome(r ralph.CheckResult) string {
	exit := fmt.Sprintf("exit code %d", r.Exit)
	switch {
	case r.Why == "":
		return exit
	case r.Exit < 0:
		return r.Why
	}
	return r.Why + ", " + exit
}
