package secrets_test

import (
	"strings"
	"testing"

	"github.com/ralph-loop/ralph/internal/secrets"
)

// S10: the rules find secrets in any text, and name them.
func TestFinder(t *testing.T) {
	t.Parallel()
	var f secrets.Finder
	found := f.Find("OUT " + aws + " " + github + " and " + github + "\napi_key = '" + generic + "'\n")
	got := ""
	for _, x := range found {
		got += x.Rule + " "
		if all := aws + github + generic; !strings.Contains(all, x.Secret) {
			t.Errorf("%s found a part that is none: %s", x.Rule, x.Secret)
		}
	}
	for _, rule := range []string{"aws-access-token", "github-pat", "generic-api-key"} {
		if !strings.Contains(got, rule) {
			t.Errorf("%s is not among %s", rule, got)
		}
	}
	if none := f.Find("ordinary words about a token"); len(none) > 0 {
		t.Errorf("found %+v", none)
	}
}
