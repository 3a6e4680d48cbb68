package secrets

import (
	"index/suffixarray"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/ralph-loop/ralph"
)

//go:generate go test -run TestRulesAreGitleaks -count=1 . -args -update

// ruleSet is the form of gitleaks's rules, as far as they use it. Rules that use
// more are refused by a test, not half understood.
type ruleSet struct {
	Title      string    `toml:"title"`
	MinVersion string    `toml:"minVersion"`
	Allow      allowlist `toml:"allowlist"` // of all rules
	Rules      []rule    `toml:"rules"`
}

// rule says what a secret looks like.
type rule struct {
	ID          string      `toml:"id"`
	Description string      `toml:"description"`
	Regex       string      `toml:"regex"`       // "": the path alone tells
	Path        string      `toml:"path"`        // of the files that it is for; "": all
	SecretGroup int         `toml:"secretGroup"` // of Regex; 0: the first that holds something, or all of it
	Entropy     float64     `toml:"entropy"`     // in bits for each byte; a secret has more
	Keywords    []string    `toml:"keywords"`    // of which the text has one, in lower case
	Allowlists  []allowlist `toml:"allowlists"`
}

// rank is 0 for the rule that knows only words like "key" before a value.
func (r *rule) rank() int {
	if strings.Contains(r.ID, "generic") {
		return 0
	}
	return 1
}

// allowlist is what a secret does not look like.
type allowlist struct {
	Description string   `toml:"description"`
	Condition   string   `toml:"condition"`   // AND: all of it must hold; else one is enough
	RegexTarget string   `toml:"regexTarget"` // what Regexes look at: match, line, or the secret
	Paths       []string `toml:"paths"`
	Regexes     []string `toml:"regexes"`
	StopWords   []string `toml:"stopwords"` // in lower case, in the secret
}

func (a *allowlist) all() bool { return a.Condition == "AND" }

// scanner applies the rules to fragments. A pattern is compiled when it is first
// needed: most diffs need few of them, and all take longer than the rest of a scan.
type scanner struct {
	rules    *ruleSet
	patterns map[string]*regexp.Regexp
	removed  *suffixarray.Index // what the patch takes away
}

// maxHits is how many secrets of one rule are told of a piece of a file: more say no more.
const maxHits = 100

func newScanner() *scanner {
	return &scanner{rules: rules(), patterns: map[string]*regexp.Regexp{}}
}

// rules are laid out when they are first needed: each task of a session has a diff.
var rules = sync.OnceValue(gitleaksRules)

// pattern compiles an expression of the rules; a test compiles all of them.
func (s *scanner) pattern(text string) *regexp.Regexp {
	re := s.patterns[text]
	if re == nil {
		re = regexp.MustCompile(text)
		s.patterns[text] = re
	}
	return re
}

func (s *scanner) any(patterns []string, text string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return s.pattern(p).MatchString(text) })
}

// hit is a secret that a rule found.
type hit struct {
	rule   *rule
	line   int
	secret string
}

func (s *scanner) scan(f fragment) []ralph.Finding {
	if f.path != "" && s.any(s.rules.Allow.Paths, f.path) {
		return nil
	}
	has := ruleKeywords().in(strings.ToLower(f.text))
	var hits []hit
	var out []ralph.Finding
	for i := range s.rules.Rules {
		r := &s.rules.Rules[i]
		switch {
		case r.Path != "" && !s.pattern(r.Path).MatchString(f.path), s.pathAllowed(r, f.path):
		case r.Regex == "":
			out = append(out, ralph.Finding{Path: f.path, Kind: Kind, What: r.words()})
		case has[i]:
			hits = append(hits, s.apply(r, &f)...)
		}
	}
	for _, h := range merge(hits) {
		out = append(out, ralph.Finding{Path: f.path, Line: h.line, Kind: Kind, What: masked(h.secret) + " " + h.rule.words()})
	}
	return out
}

func (r *rule) words() string { return r.ID + ": " + r.Description }

// apply returns the secrets that one rule finds.
func (s *scanner) apply(r *rule, f *fragment) []hit {
	re := s.pattern(r.Regex)
	var out []hit
	for _, at := range re.FindAllStringSubmatchIndex(f.text, -1) {
		from, to := at[0], at[1]
		if g := r.SecretGroup; g > 0 && 2*g+1 < len(at) && at[2*g] >= 0 {
			from, to = at[2*g], at[2*g+1]
		} else {
			for g := 2; g < len(at); g += 2 {
				if at[g] >= 0 && at[g+1] > at[g] {
					from, to = at[g], at[g+1]
					break
				}
			}
		}
		secret := strings.Trim(f.text[from:to], "\n")
		from += strings.Index(f.text[from:to], secret)
		if secret == "" || r.Entropy > 0 && entropy(secret) <= r.Entropy || s.removed.Lookup([]byte(secret), 1) != nil {
			continue
		}
		m := match{path: f.path, text: strings.Trim(f.text[at[0]:at[1]], "\n"), secret: secret}
		m.line = lines(f.text, at[0], at[0]+len(m.text))
		if s.allowed(&s.rules.Allow, m) || slices.ContainsFunc(r.Allowlists, func(a allowlist) bool { return s.allowed(&a, m) }) {
			continue
		}
		if out = append(out, hit{rule: r, line: f.line(from), secret: secret}); len(out) == maxHits {
			break
		}
	}
	return out
}

// match is what an allowlist looks at.
type match struct {
	path, line, text, secret string
}

// lines are the whole lines that a part of a text is in.
func lines(text string, from, to int) string {
	from = strings.LastIndexByte(text[:from], '\n') + 1
	if end := strings.IndexByte(text[to:], '\n'); end >= 0 {
		return text[from : to+end]
	}
	return text[from:]
}

// pathAllowed reports whether a rule is not for this file at all.
func (s *scanner) pathAllowed(r *rule, path string) bool {
	return slices.ContainsFunc(r.Allowlists, func(a allowlist) bool { return !a.all() && s.any(a.Paths, path) })
}

func (s *scanner) allowed(a *allowlist, m match) bool {
	target := m.secret
	switch a.RegexTarget {
	case "match":
		target = m.text
	case "line":
		target = m.line
	}
	lower := strings.ToLower(m.secret)
	stop := func(w string) bool { return strings.Contains(lower, w) }
	if !a.all() {
		return s.any(a.Regexes, target) || slices.ContainsFunc(a.StopWords, stop)
	}
	return (len(a.Paths) == 0 || s.any(a.Paths, m.path)) &&
		(len(a.Regexes) == 0 || s.any(a.Regexes, target)) &&
		(len(a.StopWords) == 0 || slices.ContainsFunc(a.StopWords, stop))
}

// entropy is Shannon's, in bits for each byte, of the characters of a text.
func entropy(text string) float64 {
	counts := map[rune]int{}
	for _, r := range text {
		counts[r]++
	}
	var sum float64
	for _, r := range slices.Sorted(maps.Keys(counts)) {
		p := float64(counts[r]) / float64(len(text))
		sum -= p * math.Log2(p)
	}
	return sum
}
