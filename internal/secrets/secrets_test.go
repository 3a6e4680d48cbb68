package secrets_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/secrets"
)

// What these tests call secrets is put together here, so that no scanner of this
// repository finds any.
const (
	aws     = "AKIA" + "Q3EGSA7HWBLMPRTX"
	github  = "ghp_" + "R7uXq2LdM9vKc4TzW8yBn3FhJ6sPgA1eQ5oD"
	generic = "zX9qL2" + "mV7pR4tK8wB3nY6"
)

func patch(name string, lines ...string) string {
	return "diff --git a/" + name + " b/" + name + "\nindex 1..2 100644\n--- a/" + name + "\n+++ b/" + name + "\n" + strings.Join(lines, "\n") + "\n"
}

func scan(t *testing.T, patch string) []ralph.Finding {
	t.Helper()
	found, err := secrets.Scan([]byte(patch))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range found {
		for _, s := range []string{aws, github, generic} {
			if strings.Contains(f.What, s[:8]) {
				t.Errorf("a finding shows the secret: %s", f.What)
			}
		}
	}
	return found
}

// Issue 6: a secret in an added line is found, with the line of the new file and
// the beginning of the secret.
func TestScan(t *testing.T) {
	t.Parallel()
	found := scan(t, patch("a.go", "@@ -10,2 +10,3 @@ func x()", " a", "+id := \""+aws+"\"", " b")+
		patch("b.py", "@@ -1,1 +1,3 @@", "-x = 1", "+x = 2", "+", "+token = \""+github+"\"", "@@ -50,1 +52,2 @@", " y", "+api_key: '"+generic+"'"))
	got := make([]string, len(found))
	for i, f := range found {
		what, _, _ := strings.Cut(f.What, ": ")
		got[i] = f.Path + " " + f.Kind + " " + what
		found[i].What = ""
	}
	want := []string{"a.go secret AKIA… aws-access-token", "b.py secret ghp_… github-pat", "b.py secret zX9q… generic-api-key"}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if found[0].Line != 11 || found[1].Line != 3 || found[2].Line != 53 {
		t.Errorf("lines: %+v", found)
	}
}
