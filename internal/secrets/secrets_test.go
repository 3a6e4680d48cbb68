package secrets_test

import (
	"fmt"
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

// What is no new secret is no finding.
func TestScanLetsPass(t *testing.T) {
	t.Parallel()
	for name, p := range map[string]string{
		"nothing":             "",
		"context":             patch("a.go", "@@ -1,1 +1,2 @@", " id := \""+aws+"\"", "+b"),
		"removed":             patch("a.go", "@@ -1,2 +1,1 @@", "-id := \""+aws+"\"", " b"),
		"moved":               patch("a.go", "@@ -1,1 +1,1 @@", "-id := \""+aws+"\"", "+\tid := \""+aws+"\"") + patch("b.go", "@@ -1,1 +1,2 @@", " x", "+const key = \""+aws+"\""),
		"a name for a secret": patch("a.go", "@@ -1,1 +1,2 @@", " x", "+password := os.Getenv(\"PASSWORD\")"),
		"a placeholder":       patch(".env.example", "@@ -1,1 +1,2 @@", " x", "+API_KEY=${API_KEY}"),
		"go.sum":              patch("go.sum", "@@ -1,1 +1,2 @@", " x", "+token "+github),
		"an image":            "diff --git a/x.png b/x.png\nnew file mode 100644\nindex 0000000..1234567\nBinary files /dev/null and b/x.png differ\n",
		"a mode":              "diff --git a/x b/x\nold mode 100644\nnew mode 100755\n",
		"a deleted store":     "diff --git a/x.p12 b/x.p12\ndeleted file mode 100644\nindex 1234567..0000000\nBinary files a/x.p12 and /dev/null differ\n",
	} {
		if found := scan(t, p); len(found) != 0 {
			t.Errorf("%s: %+v", name, found)
		}
	}
}

// Issue 6: the diff cannot allow what it adds.
func TestScanCannotBeToldOtherwise(t *testing.T) {
	t.Parallel()
	key := "-----BEGIN RSA " + "PRIVATE KEY-----"
	body := strings.Repeat("MIIEpAIBAAKCAQEA"+generic+"\n+", 6)
	for name, p := range map[string]string{
		"a comment":       patch("a.go", "@@ -1,1 +1,2 @@", " x", "+id := \""+aws+"\" // gitleaks:allow"),
		"an ignore file":  patch(".gitleaksignore", "@@ -0,0 +1,1 @@", "+a.go:aws-access-token:1") + patch("a.go", "@@ -1,1 +1,2 @@", " x", "+id := \""+aws+"\""),
		"rules":           patch(".gitleaks.toml", "@@ -0,0 +1,2 @@", "+[allowlist]", "+paths = ['.*']") + patch("a.go", "@@ -1,1 +1,2 @@", " x", "+id := \""+aws+"\""),
		"several lines":   patch("id_rsa", "@@ -0,0 +1,8 @@", "+"+key, "+"+body+"-----END RSA "+"PRIVATE KEY-----"),
		"a store of keys": "diff --git a/x.p12 b/x.p12\nnew file mode 100644\nindex 0000000..1234567\nBinary files /dev/null and b/x.p12 differ\n",
		"a new file":      "diff --git a/n b/n\nnew file mode 100644\nindex 0000000..1234567\n--- /dev/null\n+++ b/n\n@@ -0,0 +1 @@\n+id = \"" + aws + "\"\n\\ No newline at end of file\n",
		"a quoted name":   "diff --git \"a/\\303\\251.go\" \"b/\\303\\251.go\"\nindex 1..2 100644\n--- \"a/\\303\\251.go\"\n+++ \"b/\\303\\251.go\"\n@@ -1,1 +1,2 @@\n x\n+id := \"" + aws + "\"\n",
		"carriage return": patch("a.ini", "@@ -1,1 +1,2 @@", " x\r", "+id = \""+aws+"\"\r"),
	} {
		found := scan(t, p)
		if len(found) != 1 || found[0].Kind != secrets.Kind || found[0].Path == "" {
			t.Errorf("%s: %+v", name, found)
		}
	}
}

// A patch that is cut off, or is none, is an error, and still looked through.
func TestScanBroken(t *testing.T) {
	t.Parallel()
	whole := patch("a.go", "@@ -1,1 +1,2 @@", " x", "+id := \""+aws+"\"")
	cut := patch("b.go", "@@ -1,1 +1,9 @@", " x", "+id := \""+github+"\"", "+half a li")
	found, err := secrets.Scan([]byte(whole + cut))
	if err == nil || !strings.Contains(err.Error(), "file 2 of the patch") || len(found) != 2 || found[1].Path != "b.go" || found[1].Line != 0 {
		t.Errorf("%+v, %v", found, err)
	}
	if found, err := secrets.Scan([]byte("id := \"" + aws + "\"\n")); err == nil || len(found) != 0 {
		t.Errorf("%+v, %v", found, err)
	}
}

// FuzzScan: any patch is read to its end, and no finding shows a secret.
func FuzzScan(f *testing.F) {
	f.Add([]byte(patch("a.go", "@@ -1,1 +1,2 @@", " x", "+id := \""+aws+"\"")))
	f.Add([]byte(patch("b", "@@ -1,1 +1,2 @@", "-x", "+token = "+github, "+y")))
	f.Fuzz(func(t *testing.T, patch []byte) {
		found, _ := secrets.Scan(patch)
		for _, x := range found {
			if strings.Contains(x.What, aws) || strings.Contains(x.What, github) || x.Line < 0 {
				t.Errorf("%+v", x)
			}
		}
	})
}

// A diff that is full of what looks like secrets is told of up to a bound, and does not
// take longer with the square of its lines.
func TestManySecrets(t *testing.T) {
	t.Parallel()
	const n = 4000
	var b strings.Builder
	fmt.Fprintf(&b, "diff --git a/x.go b/x.go\n--- a/x.go\n+++ b/x.go\n@@ -1,%d +1,%d @@\n", n, n)
	for i := range n {
		fmt.Fprintf(&b, "-key_%d = old secret_token: \"zq%dJx8Kw9Lv%d\"\n", i, i*7919, i*104729)
	}
	for i := range n {
		fmt.Fprintf(&b, "+key_%d = some secret_token: \"aZ%dQx8Kw9Lv%d\"\n", i, i*7919, i*104729)
	}
	found, err := secrets.Scan([]byte(b.String()))
	if err != nil || len(found) != 100 {
		t.Errorf("%d findings, %v", len(found), err)
	}
}
