// Package redact takes secrets out of text on its way to people and files: values that it
// is told, in the forms in which programs write them, credentials in addresses, and
// whatever its Find knows. It owns how they are found in texts, structures and streams. It
// does not own which values are secret, which is cli's, nor gitleaks's rules, which are
// internal/secrets's.
package redact

import (
	"cmp"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"net/url"
	"slices"
	"strings"

	"github.com/ralph-loop/ralph/internal/lazyregexp"
)

// Secret is a value that must not be seen, and what it is called instead.
type Secret struct{ Name, Value string }

// Least is how short a value may be: what is shorter stands in texts by chance.
const Least = 8

// minLine is how short a line of a value may be to count by itself: the lines of a key
// may come one by one.
const minLine = 16

// Redactor takes secrets out. A nil one takes out nothing. It is safe for concurrent use.
type Redactor struct {
	literals *strings.Replacer // nil: none
	values   []string          // what literals look for, longest first
	find     func(text string) []Secret
}

// New returns a redactor. find says which secrets a text has that nobody told; it is asked
// only for text that looks like one (Suspicious), and may be nil.
func New(secrets []Secret, find func(text string) []Secret) *Redactor {
	r := &Redactor{find: find}
	names := map[string]string{}
	for _, s := range secrets {
		for _, form := range forms(s.Value) {
			if names[form] == "" {
				names[form] = Mark(s.Name)
				r.values = append(r.values, form)
			}
		}
	}
	slices.SortFunc(r.values, func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) })
	var pairs []string
	for _, v := range r.values {
		pairs = append(pairs, v, names[v])
	}
	if len(pairs) > 0 {
		r.literals = strings.NewReplacer(pairs...)
	}
	return r
}

// Mark is what stands in the place of a secret.
func Mark(name string) string { return "***[" + name + "]" }

// forms are the ways in which a value is written: as it is, line by line, in JSON, in
// addresses, in hex, and in base64 wherever in a longer text it stands.
func forms(value string) []string {
	value = strings.TrimSpace(value)
	if len(value) < Least {
		return nil
	}
	out := []string{value, url.QueryEscape(value), url.PathEscape(value), hex.EncodeToString([]byte(value))}
	if b, err := json.Marshal(value); err == nil { // a string always encodes
		out = append(out, strings.Trim(string(b), `"`))
	}
	out = append(out, strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\t", `\t`).Replace(value))
	for _, enc := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		for before := range 3 {
			text := enc.EncodeToString(append(make([]byte, before), value...))
			out = append(out, text[(before*8+5)/6:(before+len(value))*8/6])
		}
	}
	if strings.Contains(value, "\n") {
		for line := range strings.Lines(value) {
			if line = strings.TrimSpace(line); len(line) >= minLine && !strings.HasPrefix(line, "-----") {
				out = append(out, line)
			}
		}
	}
	return out
}

var (
	// An address with credentials before its host; a name alone is one only for http: git@host is none.
	withUser = lazyregexp.New(`(?i)\b(https?:(?:\\?/){2})([^\s/@'"<>\\*]+(?:@[^\s/@'"<>\\]+)*)@|\b([a-z][a-z0-9+.-]{1,20}:(?:\\?/){2})([^\s/@:'"<>\\]*:[^\s/@'"<>\\*]+(?:@[^\s/@'"<>\\]+)*)@`)
	inQuery  = lazyregexp.New(`(?i)([?&](?:access_token|auth|token|api_?key|key|secret|client_secret|password|passwd|sig|signature)=)([^\s&'"<>\\*]{8,})`)
	// Half of a key is one, too.
	privateKey = lazyregexp.New(`(?s)-----BEGIN[A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----.*?(?:-----END[A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----|\z)`)
)

// String returns a text without its secrets. What is done twice is the same as once.
func (r *Redactor) String(text string) string {
	if r == nil || len(text) < Least {
		return text
	}
	if slices.ContainsFunc(r.values, func(v string) bool { return strings.Contains(text, v) }) { // most texts have none: faster than to replace nothing
		text = r.literals.Replace(text)
	}
	if strings.Contains(text, ":/") || strings.Contains(text, `:\/`) {
		if strings.Contains(text, "@") {
			text = withUser.ReplaceAllString(text, "${1}${3}"+Mark("credentials")+"@")
		}
		if strings.Contains(text, "=") {
			text = inQuery.ReplaceAllString(text, "${1}"+Mark("token"))
		}
	}
	if strings.Contains(text, "-----BEGIN") {
		text = privateKey.ReplaceAllString(text, Mark("private-key"))
	}
	if r.find == nil || !Suspicious(text) {
		return text
	}
	return r.found(text)
}

// found takes out what find finds, in the lines that look like it and those beside them.
func (r *Redactor) found(text string) string {
	lines := strings.SplitAfter(text, "\n")
	var b strings.Builder
	for i := 0; i < len(lines); {
		from := i
		for i < len(lines) && (Suspicious(lines[i]) || i > 0 && Suspicious(lines[i-1]) || i+1 < len(lines) && Suspicious(lines[i+1])) {
			i++
		}
		if from == i {
			b.WriteString(lines[i])
			i++
			continue
		}
		block := strings.Join(lines[from:i], "")
		for range maxRounds {
			before := block
			for _, s := range r.find(block) {
				if len(s.Value) >= Least && !strings.Contains(Mark(s.Name), s.Value) {
					block = replaceWord(block, s.Value, Mark(s.Name))
				}
			}
			if block == before {
				break
			}
		}
		b.WriteString(block)
	}
	return b.String()
}

// replaceWord replaces a secret with what follows it in the same word: a rule may know how
// long a key is at least.
func replaceWord(text, secret, mark string) string {
	var b strings.Builder
	for {
		before, after, ok := strings.Cut(text, secret)
		b.WriteString(before)
		if !ok {
			return b.String()
		}
		b.WriteString(mark)
		text = strings.TrimLeft(after, "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
	}
}

// maxRounds bounds how often a block is looked at: find may tell a part of what is there.
const maxRounds = 20

// Suspicious reports whether a text may have a secret that only its looks give away: a run
// of letters and digits such as nobody types, that is no hash alone.
func Suspicious(text string) bool {
	const run = 10
	for i := run - 1; i < len(text); i += run { // each run that is long enough has one of these
		if !alphanumeric(text[i]) {
			continue
		}
		from := i
		for from > 0 && alphanumeric(text[from-1]) {
			from--
		}
		for i+1 < len(text) && alphanumeric(text[i+1]) {
			i++
		}
		if i+1-from >= run && typedByNobody(text[from:i+1], i+1-from < len(text)) {
			return true
		}
	}
	return false
}

// typedByNobody reports letters beside digits, which are no hash where they stand alone.
func typedByNobody(run string, beyond bool) bool {
	letters, digits := 0, 0
	for i := range len(run) {
		c := run[i]
		if c <= '9' {
			digits++
			continue
		}
		letters++
		beyond = beyond || c|0x20 > 'f'
	}
	return letters >= 3 && digits > 0 && beyond
}

func alphanumeric(c byte) bool {
	return c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z'
}
