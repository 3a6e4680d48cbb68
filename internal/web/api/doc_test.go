package api_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/ralph-loop/ralph/internal/action"
)

// docs/api.md lists every action with its address and what it uses, as the table has it.
func TestDocsListTheActions(t *testing.T) {
	t.Parallel()
	const file = "../../../docs/api.md"
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	folders := map[action.Subject]string{
		action.Engine: "/engine/", action.Task: "/tasks/{id}/", action.Gate: "/gates/{id}/", action.Spec: "/inbox/{id}/",
		action.Inbox: "/inbox/", action.Rule: "/rules/{id}/", action.Plan: "/plan/", action.Service: "/services/{id}/", action.Worker: "/workers/{id}/",
	}
	var rows strings.Builder
	for _, a := range action.Actions() {
		name := "`" + a.Name + "`"
		if a.Key != "" {
			name += " (key " + a.Key + ")"
		}
		var uses []string
		for _, u := range a.Uses {
			if u != "id" {
				uses = append(uses, "`"+u+"`")
			}
		}
		fmt.Fprintf(&rows, "| %s | `%s%s` | %s | %s |\n", name, folders[a.About], a.Name, strings.Join(uses, ", "), strings.TrimSuffix(a.Doc, "."))
	}
	const head = "| action | address | uses | what |\n| --- | --- | --- | --- |\n"
	before, after, found := strings.Cut(string(b), head)
	if !found {
		t.Fatalf("%s has no table of actions", file)
	}
	_, after, _ = strings.Cut(after, "\n\n")
	want := before + head + rows.String() + "\n" + after
	if *update {
		if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if want != string(b) {
		t.Errorf("%s does not list what there is: go test ./internal/web/api -update", file)
	}
}
