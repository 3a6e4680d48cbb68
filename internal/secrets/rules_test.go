package secrets

import (
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// Every rule can be applied: newer rules that this package would only half
// understand fail here.
func TestRules(t *testing.T) {
	t.Parallel()
	s := newScanner()
	if len(s.rules.Rules) < 200 {
		t.Errorf("%d rules", len(s.rules.Rules))
	}
	lists := []allowlist{s.rules.Allow}
	for _, r := range s.rules.Rules {
		for _, text := range []string{r.Regex, r.Path} {
			if _, err := regexp.Compile(text); err != nil {
				t.Errorf("%s: %v", r.ID, err)
			}
		}
		if r.ID == "" || r.Description == "" || r.Regex == "" && r.Path == "" {
			t.Errorf("an empty rule: %+v", r)
		}
		for _, k := range r.Keywords {
			if k != strings.ToLower(k) {
				t.Errorf("%s: the keyword %s is not in lower case", r.ID, k)
			}
		}
		lists = append(lists, r.Allowlists...)
	}
	for _, a := range lists {
		for _, text := range append(a.Regexes, a.Paths...) {
			if _, err := regexp.Compile(text); err != nil {
				t.Error(err)
			}
		}
		for _, w := range a.StopWords {
			if w != strings.ToLower(w) {
				t.Errorf("the stop word %s is not in lower case", w)
			}
		}
		if a.Condition != "" && a.Condition != "AND" && a.Condition != "OR" {
			t.Errorf("condition %s", a.Condition)
		}
	}
}

// Issue 17, row 2: the rules are decoded once, whoever scans how often.
func TestRulesAreReadOnce(t *testing.T) {
	t.Parallel()
	if a, b := newScanner(), newScanner(); a.rules != b.rules {
		t.Error("each scanner has rules of its own")
	}
}

// BenchmarkScan: a diff of 1 MiB of ordinary text.
func BenchmarkScan(b *testing.B) {
	line := "+\tkey := lookup(ctx, \"some-name\", token) // an ordinary line of a program\n"
	n := 1 << 20 / len(line)
	patch := "diff --git a/a.go b/a.go\nindex 1..2 100644\n--- a/a.go\n+++ b/a.go\n@@ -0,0 +1," + strconv.Itoa(n) + " @@\n" + strings.Repeat(line, n)
	for b.Loop() {
		if _, err := Scan([]byte(patch)); err != nil {
			b.Fatal(err)
		}
	}
}
