package claude

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/agent/wire"
	"github.com/ralph-loop/ralph/internal/text"
)

const (
	maxOutput = 8 << 10 // of what a tool returned; all of it is in the raw output
	maxCall   = 8 << 10 // of a shell command
	maxOpen   = 4096    // calls whose results are waited for
)

// kind classes a tool of claude's.
func kind(tool string) ralph.ItemKind {
	switch tool {
	case "Bash", "PowerShell", "Monitor":
		return ralph.ItemCommand
	case "Edit", "MultiEdit", "Write", "NotebookEdit":
		return ralph.ItemEdit
	}
	return ralph.ItemTool
}

// words emits a finished block of text or thinking. Blocks have no ids of their own.
func (c *reader) block(kind ralph.ItemKind, words, parent string) {
	c.blocks++
	c.turn.Emit(ralph.StreamEvent{Kind: ralph.StreamItemDone, Item: ralph.Item{
		ID: string(kind) + "-" + strconv.Itoa(c.blocks), Kind: kind, Text: words, Status: ralph.ItemCompleted, Parent: parent,
	}})
}

// call emits the begin of a tool call and keeps what its end has to name.
func (c *reader) call(b block, parent string) {
	i := ralph.Item{ID: wire.Text(b.id), Type: wire.Text(b.name), Parent: parent}
	i.Kind = kind(i.Type)
	switch i.Kind {
	case ralph.ItemCommand:
		wire.Members(b.input, func(key, value []byte) {
			if string(key) == "command" {
				i.Text = wire.StartOf(value, maxCall)
			}
		})
	case ralph.ItemEdit:
		wire.Members(b.input, func(key, value []byte) {
			if k := string(key); k == "file_path" || k == "notebook_path" {
				i.Files = []string{wire.Text(value)}
			}
		})
	default:
		i.Text = callText(b.input)
		c.planned(i, b.input)
	}
	if i.ID != "" && len(c.calls) < maxOpen {
		c.calls[i.ID] = i
	}
	c.turn.Emit(ralph.StreamEvent{Kind: ralph.StreamItem, Item: i})
}

// returned emits the end of a tool call.
func (c *reader) returned(b block, parent string, meta []byte) {
	id := wire.Text(b.use)
	i, ok := c.calls[id]
	if !ok {
		i = ralph.Item{ID: id, Kind: ralph.ItemOther, Parent: parent}
	}
	delete(c.calls, id)
	i.Output, i.Status = toolResult(b.content), ralph.ItemCompleted
	if string(b.failed) == "true" {
		i.Status = ralph.ItemFailed
		if i.Kind == ralph.ItemCommand {
			i.Exit = exitIn(i.Output)
		}
		// 2.1.329 says of calls that did not run why.
		if c.refused[id] || bytes.Contains(meta, []byte(`"user-rejected"`)) || bytes.Contains(meta, []byte(`"permission-rule"`)) {
			i.Status = ralph.ItemDeclined
		}
	}
	delete(c.refused, id)
	c.created(i)
	c.turn.Emit(ralph.StreamEvent{Kind: ralph.StreamItemDone, Item: i})
}

// exitIn reads the exit code that the result of a command begins with.
func exitIn(output string) *int {
	rest, ok := strings.CutPrefix(output, "Exit code ")
	if !ok {
		return nil
	}
	line, _, _ := strings.Cut(rest, "\n")
	code, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		return nil
	}
	return &code
}

// task is an entry of the list of tasks that claude keeps for itself.
type task struct {
	id   string
	step ralph.PlanStep
}

// planned follows claude's list: TodoWrite has all of it each time, TaskUpdate one
// entry. The id of one that is created is in the call's result.
func (c *reader) planned(i ralph.Item, input []byte) {
	var in struct {
		Todos []struct {
			Content string `json:"content"`
			Status  string `json:"status"`
		} `json:"todos"`
		ID      string `json:"taskId"`
		Status  string `json:"status"`
		Subject string `json:"subject"`
	}
	if i.Parent != "" || i.Type != "TodoWrite" && i.Type != "TaskCreate" && i.Type != "TaskUpdate" || json.Unmarshal(input, &in) != nil {
		return
	}
	switch i.Type {
	case "TaskCreate":
		c.creating[i.ID] = in.Subject
		return
	case "TodoWrite":
		c.tasks = nil
		for _, todo := range in.Todos {
			c.tasks = append(c.tasks, task{step: ralph.PlanStep{Text: todo.Content, Status: todo.Status}})
		}
	default:
		at := slices.IndexFunc(c.tasks, func(t task) bool { return t.id == in.ID })
		switch {
		case at < 0:
			return
		case in.Status == "deleted":
			c.tasks = slices.Delete(c.tasks, at, at+1)
		case in.Status != "":
			c.tasks[at].step.Status = in.Status
		}
	}
	c.tellPlan()
}

// created takes the result of TaskCreate: "Task #1 created successfully: Write code".
func (c *reader) created(i ralph.Item) {
	subject, ok := c.creating[i.ID]
	delete(c.creating, i.ID)
	if !ok || i.Status != ralph.ItemCompleted {
		return
	}
	_, rest, _ := strings.Cut(i.Output, "#")
	id, _, _ := strings.Cut(rest, " ")
	c.tasks = append(c.tasks, task{id, ralph.PlanStep{Text: subject, Status: "pending"}})
	c.tellPlan()
}

func (c *reader) tellPlan() {
	var plan []ralph.PlanStep
	for _, t := range c.tasks {
		plan = append(plan, t.step)
	}
	c.turn.Emit(ralph.StreamEvent{Kind: ralph.StreamPlan, Plan: plan})
}

// unknown keeps an event of a kind that this version of ralph does not know.
func (c *reader) unknown(method string, line []byte) {
	c.turn.Emit(ralph.StreamEvent{Kind: ralph.StreamUnknown, Method: text.Cut(method, wire.MaxSaidTool), Raw: wire.KeptRaw(line)})
}
