package cli

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/config"
	"github.com/ralph-loop/ralph/internal/doctor"
	"github.com/ralph-loop/ralph/internal/exit"
	"github.com/ralph-loop/ralph/internal/journal"
	"github.com/ralph-loop/ralph/internal/measure"
	"github.com/ralph-loop/ralph/internal/policy/replay"
	"github.com/ralph-loop/ralph/internal/report/receipts"
	"github.com/ralph-loop/ralph/internal/sessionreport"
	"github.com/ralph-loop/ralph/internal/signature"
	"github.com/ralph-loop/ralph/internal/status"
	"github.com/ralph-loop/ralph/internal/views"
	"github.com/ralph-loop/ralph/internal/workspace"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

var update = flag.Bool("update", false, "write the tables of docs/compatibility.md anew: look at what is gone before you commit it")

// C-083: commands, flags, exit codes, JSON fields, settings and kinds of facts that users
// may rely on. What the program has must be what docs/compatibility.md says: a row that
// is gone or has another type is a red test, and one that is new has to be written down.
func TestCompatibility(t *testing.T) {
	t.Parallel()
	const path = "../../docs/compatibility.md"
	doc, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []struct {
		name string
		rows []string
	}{
		{"commands", commandRows(newRoot(workspace.Env{Version: "test"}))},
		{"exit codes", exitRows()},
		{"settings", settingRows(t)},
		{"JSON", jsonRows()},
		{"files", fileRows(t)},
		{"facts", factRows()},
	} {
		begin, end := fmt.Sprintf("<!-- %s -->\n", part.name), "\n<!-- end -->"
		before, rest, found := strings.Cut(string(doc), begin)
		was, after, closed := strings.Cut(rest, end)
		if !found || !closed {
			t.Fatalf("%s has no place for the %s, between %q and %q", path, part.name, begin, end)
		}
		is := "\n" + strings.Join(part.rows, "\n") + "\n"
		if *update {
			doc = []byte(before + begin + is + end + after)
			continue
		}
		for _, gone := range without(was, is) {
			t.Errorf("%s: not so any more: %s\nUsers may rely on it. Bring it back, or let it go with a new major version: `go test ./internal/cli -run Compatibility -update`", part.name, gone)
		}
		for _, added := range without(is, was) {
			t.Errorf("%s: new: %s\nWrite it down: `go test ./internal/cli -run Compatibility -update`", part.name, added)
		}
	}
	if *update {
		if err := os.WriteFile(path, doc, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// without are the lines of one text that another one has not.
func without(text, other string) (out []string) {
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" && !strings.Contains("\n"+other, "\n"+line+"\n") {
			out = append(out, line)
		}
	}
	return out
}

// table begins a table.
func table(columns ...string) []string {
	return []string{"| " + strings.Join(columns, " | ") + " |", strings.Repeat("|---", len(columns)) + "|"}
}

// commandRows are all commands that people type, with their flags.
func commandRows(root *cobra.Command) []string {
	rows := table("command", "flags")
	var walk func(*cobra.Command)
	walk = func(cmd *cobra.Command) {
		if cmd.Hidden {
			return
		}
		if cmd.Runnable() {
			rows = append(rows, fmt.Sprintf("| `%s` | %s |", strings.ReplaceAll(cmd.UseLine(), "|", "\\|"), flagsOf(cmd)))
		}
		for _, c := range cmd.Commands() {
			walk(c)
		}
	}
	walk(root)
	return rows
}

func flagsOf(cmd *cobra.Command) string {
	var flags []string
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if f.Hidden || f.Name == "help" {
			return
		}
		text := "--" + f.Name
		if f.Shorthand != "" {
			text = "-" + f.Shorthand + ", " + text
		}
		if f.Value.Type() != "bool" {
			text += " " + f.Value.Type()
		}
		flags = append(flags, "`"+text+"`")
	})
	return strings.Join(flags, ", ")
}

func exitRows() []string {
	rows := table("code", "meaning")
	for _, x := range exit.Codes() {
		rows = append(rows, fmt.Sprintf("| %d | %s |", x.Code, x.Long))
	}
	return rows
}

// D-050, F-20: every exit code of the program has its meaning in the one list, and none twice.
func TestExitCodesAreListed(t *testing.T) {
	t.Parallel()
	listed := map[string]bool{}
	for _, x := range exit.Codes() {
		if code := fmt.Sprint(x.Code); listed[code] || x.Long == "" {
			t.Errorf("%s is listed twice, or says nothing", code)
		} else {
			listed[code] = true
		}
	}
	found := 0
	for _, name := range []string{"../exit/codes.go", "../shim/shim.go"} {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			if !ok || len(spec.Values) != 1 || !ast.IsExported(spec.Names[0].Name) {
				return true
			}
			if lit, ok := spec.Values[0].(*ast.BasicLit); ok && lit.Kind == token.INT {
				if found++; !listed[lit.Value] {
					t.Errorf("%s: %s (%s) has no meaning in exit.Codes", name, spec.Names[0].Name, lit.Value)
				}
			}
			return true
		})
	}
	if found != len(listed) {
		t.Errorf("%d codes in the source, %d in the list", found, len(listed))
	}
	var out bytes.Buffer
	if code := Main(t.Context(), workspace.Env{Args: []string{"help", "exit-codes"}, Stdout: &out, Stderr: &out, Dir: t.TempDir()}); code != exit.OK {
		t.Errorf("exit code %d", code)
	}
	for _, x := range exit.Codes() {
		if !strings.Contains(out.String(), fmt.Sprintf("%3d  %s\n", x.Code, x.Long)) {
			t.Errorf("`ralph help exit-codes` does not say %d", x.Code)
		}
	}
}

// settingRows are the keys of ralph/config.yaml.
func settingRows(t *testing.T) []string {
	t.Helper()
	text, err := config.Schema()
	if err != nil {
		t.Fatal(err)
	}
	var schema map[string]any
	if err := json.Unmarshal(text, &schema); err != nil {
		t.Fatal(err)
	}
	var rows []string
	var walk func(path string, o map[string]any)
	walk = func(path string, o map[string]any) {
		fields, _ := o["properties"].(map[string]any)
		patterns, _ := o["patternProperties"].(map[string]any)
		for name, of := range fields {
			walk(strings.TrimPrefix(path+"."+name, "."), of.(map[string]any))
		}
		for _, of := range patterns {
			walk(path+".<name>", of.(map[string]any))
		}
		if len(fields)+len(patterns) == 0 && path != "" {
			rows = append(rows, fmt.Sprintf("| `%s` | %s |", path, schemaType(o)))
		}
	}
	walk("", schema)
	slices.Sort(rows)
	return append(table("key", "type"), rows...)
}

func schemaType(o map[string]any) string {
	if list, ok := o["enum"].([]any); ok {
		words := make([]string, len(list))
		for i, x := range list {
			words[i] = fmt.Sprint(x)
		}
		return strings.Join(words, ", ")
	}
	switch kind := o["type"].(type) {
	case string:
		return kind
	case []any:
		words := make([]string, len(kind))
		for i, x := range kind {
			words[i] = fmt.Sprint(x)
		}
		return strings.Join(words, " or ")
	}
	return "any"
}

// jsonRows are the fields of what programs read.
func jsonRows() []string {
	var out []string
	for _, x := range []struct {
		what string
		of   any
	}{
		{"`ralph status --json`", status.StatusJSON{}},
		{"`ralph query inbox`", []status.InboxRecord{}},
		{"`ralph query tasks`, `ralph task list --json`, `ralph task show --json`", []status.TaskRecord{}},
		{"`ralph query issues`", []status.IssueRecord{}},
		{"`ralph query gates`, `ralph gates --json`", []*ralph.Approval{}},
		{"`ralph rules --json`", []status.RuleRecord{}},
		{"`ralph query stage`", status.Stage{}},
		{"`ralph query stats`", status.Stats{}},
		{"`ralph receipts --json`", []receipts.Receipt{}},
		{"`ralph receipts <number> --json`: that, and", evidenceFields{}},
		{"`ralph signature list --json`; `show --json`: one of them", []signature.Info{}},
		{"`ralph report --format json`", sessionreport.Result{}},
		{"`ralph replay --json`", replay.Replayed{}},
		{"`ralph doctor --json`", []doctor.Finding{}},
		{"`ralph bench --json`", measure.Report{}},
		{"`ralph config show --json`", []config.Setting{}},
		{"`ralph/.state/session.json`", views.Session{}},
	} {
		out = append(out, "### "+x.what, "")
		out = append(out, table("field", "type")...)
		out = append(out, fieldRows("", reflect.TypeOf(x.of), nil)...)
		out = append(out, "")
	}
	return out
}

// evidenceFields are those of receipts.Evidence that a receipt of a list has not. What the
// state looks like inside is the program's own affair.
type evidenceFields struct {
	Line   string          `json:"line_hash"`
	Args   json.RawMessage `json:"args,omitempty"`
	State  json.RawMessage `json:"state"`
	Config json.RawMessage `json:"config"`
	Same   bool            `json:"same"`
	Again  string          `json:"again"`
	Rules  int             `json:"rules,omitempty"`
}

// What the page says of receipts.Evidence is so.
func TestCompatibilityOfEvidence(t *testing.T) {
	t.Parallel()
	of := reflect.TypeFor[receipts.Evidence]()
	for f := range reflect.TypeFor[evidenceFields]().Fields() {
		if is, ok := of.FieldByName(f.Name); !ok || is.Tag != f.Tag {
			t.Errorf("receipts.Evidence has %q, not %q", is.Tag, f.Tag)
		}
	}
}

// fieldRows are the fields of a type, those of objects within it below their path. What
// is left out when it is empty is optional.
func fieldRows(path string, t reflect.Type, above []reflect.Type) (rows []string) {
	switch t.Kind() {
	case reflect.Pointer:
		return fieldRows(path, t.Elem(), above)
	case reflect.Slice, reflect.Array:
		return fieldRows(path+"[]", t.Elem(), above)
	case reflect.Map:
		return fieldRows(path+".<key>", t.Elem(), above)
	case reflect.Struct:
	default:
		return nil
	}
	if slices.Contains(above, t) || ofItsOwn(t) {
		return nil
	}
	above = append(slices.Clone(above), t)
	for f := range t.Fields() {
		name, more, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case name == "-", !f.IsExported() && !f.Anonymous:
			continue
		case f.Anonymous && name == "":
			rows = append(rows, fieldRows(path, f.Type, above)...)
			continue
		case name == "":
			name = f.Name
		}
		at, kind := strings.TrimPrefix(path+"."+name, "."), jsonType(f.Type)
		if strings.Contains(more, "omit") {
			kind += ", optional"
		}
		rows = append(rows, fmt.Sprintf("| `%s` | %s |", at, kind))
		rows = append(rows, fieldRows(at, f.Type, above)...)
	}
	return rows
}

// ofItsOwn is a type that says itself how it looks.
func ofItsOwn(t reflect.Type) bool {
	return t == reflect.TypeFor[time.Time]() || t.Implements(reflect.TypeFor[json.Marshaler]()) || reflect.PointerTo(t).Implements(reflect.TypeFor[json.Marshaler]())
}

func jsonType(t reflect.Type) string {
	switch {
	case t == reflect.TypeFor[time.Time]():
		return "time"
	case t == reflect.TypeFor[time.Duration]():
		return "nanoseconds"
	case t == reflect.TypeFor[json.RawMessage]():
		return "any"
	case t.Kind() == reflect.Pointer:
		return jsonType(t.Elem()) + " or null"
	case ofItsOwn(t):
		return "any"
	}
	switch t.Kind() {
	case reflect.String:
		return "string"
	case reflect.Bool:
		return "boolean"
	case reflect.Slice, reflect.Array:
		return "list of " + jsonType(t.Elem())
	case reflect.Map:
		return "object of " + jsonType(t.Elem())
	case reflect.Struct:
		return "object"
	case reflect.Interface:
		return "any"
	}
	return "number"
}

// fileRows are the fields of ralph/inbox.jsonl and ralph/plan.jsonl, as the journal writes
// records that have all of them.
func fileRows(t *testing.T) []string {
	t.Helper()
	root := t.TempDir()
	n := 0
	j, err := journal.Open(journal.Options{Root: root, Inbox: true, Plan: true, NewID: func(prefix string) string {
		n++
		return fmt.Sprintf("%s-%04d", prefix, n)
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	for _, name := range []string{"a.md", "b.md"} {
		if err := os.MkdirAll(filepath.Join(root, "ralph/specs"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(root, "ralph/specs", name), []byte("# A\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	task := ralph.Task{
		ID: "t-0002", Spec: "a.md", Name: "Two", Notes: "n", Accept: "a", Deps: []ralph.TaskID{"t-0001"}, Tags: []string{"quick-win"},
		Priority: "high", Phase: "One", Parent: "t-0001", Status: ralph.TaskPending, RetryCount: 1, MaxIterations: 3,
	}
	facts := []ralph.Fact{
		ralph.SpecAdded{Spec: ralph.Spec{ID: "q-0001", File: "a.md", Status: ralph.SpecPending, AddedAt: time.Unix(1, 0).UTC()}},
		ralph.SessionStarted{ID: "s-1", Mode: "agent"},
		ralph.JobStarted{Job: "j-1", ID: "q-0001", File: "a.md"},
		ralph.PlanStarted{File: "a.md"},
		ralph.TaskAdded{Task: ralph.Task{ID: "t-0001", Spec: "a.md", Name: "One", Status: ralph.TaskPending}},
		ralph.TaskAdded{Task: task},
		ralph.IssueAdded{Issue: ralph.Issue{ID: "i-0001", Spec: "a.md", Desc: "d"}},
		ralph.JobEnded{Status: ralph.SpecFailed, Rule: "X-1", Error: "so it is"},
	}
	if err := j.Update(t.Context(), "test", func(*ralph.State) ([]ralph.Fact, error) { return facts, nil }); err != nil {
		t.Fatal(err)
	}
	var rows []string
	for _, name := range []string{"ralph/inbox.jsonl", "ralph/plan.jsonl"} {
		text, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		fields := map[string]map[string]bool{}
		for line := range strings.Lines(string(text)) {
			var m map[string]any
			if err := json.Unmarshal([]byte(line), &m); err != nil {
				t.Fatal(err)
			}
			kind, _ := m["t"].(string)
			if fields[kind] == nil {
				fields[kind] = map[string]bool{}
			}
			for key := range m {
				fields[kind]["`"+key+"`"] = true
			}
		}
		for _, kind := range slices.Sorted(maps.Keys(fields)) {
			rows = append(rows, fmt.Sprintf("| `%s` | %s | %s |", name, kind, strings.Join(slices.Sorted(maps.Keys(fields[kind])), ", ")))
		}
	}
	return append(table("file", "`t`", "fields"), rows...)
}

func factRows() []string {
	rows := table("kind")
	for _, kind := range slices.Sorted(slices.Values(ralph.Kinds())) {
		rows = append(rows, "| `"+kind+"` |")
	}
	return rows
}
