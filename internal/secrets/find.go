package secrets

import (
	"cmp"
	"index/suffixarray"
	"slices"
	"strings"
	"sync"
)

// Found is a secret in a text, by the name of the rule that knows it.
type Found struct{ Rule, Secret string }

// Finder finds secrets in any text. A pattern is
// compiled for the first text that has one of its keywords. It is safe for concurrent use.
type Finder struct {
	mu   sync.Mutex
	scan *scanner
}

// Find returns the secrets in a text, each once, longest first.
func (f *Finder) Find(text string) []Found {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.scan == nil {
		f.scan = newScanner()
		f.scan.removed = suffixarray.New(nil)
	}
	has := ruleKeywords().in(strings.ToLower(text))
	var out []Found
	part := fragment{text: text}
	for i := range f.scan.rules.Rules {
		r := &f.scan.rules.Rules[i]
		if r.Regex == "" || r.Path != "" || len(r.Keywords) == 0 || !has[i] {
			continue
		}
		for _, h := range f.scan.apply(r, &part) {
			if one := (Found{r.ID, h.secret}); !slices.Contains(out, one) {
				out = append(out, one)
			}
		}
	}
	generic := func(x Found) int { // the rule that knows only words gives the poorest name
		if strings.Contains(x.Rule, "generic") {
			return 1
		}
		return 0
	}
	slices.SortStableFunc(out, func(a, b Found) int { return cmp.Or(len(b.Secret)-len(a.Secret), generic(a)-generic(b)) })
	return out
}
