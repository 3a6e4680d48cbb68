package testoutput

import (
	"strings"
	"unicode"

	"github.com/ralph-loop/ralph/internal/lazyregexp"
)

// general looks for the line to read in output of any kind. It names no tests.
type general struct {
	rank  int
	head  string
	trace bool   // inside of a Python traceback
	chain bool   // another one follows from it
	path  string // of eslint: its messages are below the path
}

var (
	placed    = lazyregexp.New(`^(?:\./)?[^\s:()]+\.\w+(?::\d+(?::\d+)?|\(\d+(?:,\d+)?\)): ?(.+)$`)
	lintLine  = lazyregexp.New(`^\s+(\d+:\d+)\s+error\s+(\S.*)$`)
	thrown    = lazyregexp.New(`^(?:[\w.$]*(?:Error|Exception)(?: \[\w+\])?|Error|ERROR|error(?:\[\w+\])?|fatal|FATAL|Fatal error)\b:? `)
	lineError = lazyregexp.New(`(?i)^(?:\[error\]|\S* ?error:|uncaught |unhandled |caused by:)`)
	missing   = lazyregexp.New(`(?i)not found|no such file|permission denied|cannot |can't |couldn't |could not |unable to |is missing|no tests? (?:files? )?(?:ran|found|were)|not installed|invalid `)
	failedBy  = lazyregexp.New(`\bFAIL(?:ED|URE)?\b|\b[Ff]ail(?:ed|ures?)\b|^\s*(?:✕|✖|✗|×)`)
	passed    = lazyregexp.New(`^\s*(?:ok\b|PASS|✓|✔|√)|\b0 (?:failed|failures|errors|failing)\b`)
	noise     = lazyregexp.New(`^(?:npm (?:ERR!|error|warn|WARN|notice)|> |g?make(?:\[\d+\])?: (?:\*\*\*|Entering|Leaving|Nothing)|error Command failed|info Visit|error: (?:test failed, to rerun|doctest failed, to rerun|could not compile|\d+ targets? failed)|exit status \d+$|FAIL$|Ran all test suites|ELIFECYCLE|\s*ELIFECYCLE|(?:yarn|pnpm) |Node\.js v\d|A complete log|Exit code|Process exited|Done in |\$ |warning: build failed|For more information about|note: |--- |=== |\s+at )`)
)

// isThrown reports whether a line is an error with its name, as runtimes write it.
func isThrown(s string) bool { return suspicious(s) && thrown.MatchString(s) }

func (g *general) line(s string) {
	text := strings.TrimSpace(s)
	if text == "" || !hasWords(text) {
		return
	}
	if g.traceback(s) {
		return
	}
	rank, words := g.rankOf(s, text)
	if rank > g.rank || rank == rankLast && g.rank == rankLast {
		g.rank, g.head = rank, cutTo(words, 2*longestHeadline, "")
	}
}

// traceback reads Python's: its cause is the last line, of several that follow from each
// other that of the last.
func (g *general) traceback(s string) bool {
	text := strings.TrimSpace(s)
	switch {
	case text == "Traceback (most recent call last):":
		g.trace = true
		return true
	case strings.HasSuffix(text, "exception occurred:") || strings.HasSuffix(text, "direct cause of the following exception:"):
		g.chain = true
		return true
	case !g.trace:
		return false
	case unicode.IsSpace(rune(s[0])):
		return true
	}
	g.trace = false
	if g.rank < rankTraceback || g.rank == rankTraceback && g.chain {
		g.rank, g.head = rankTraceback, cutTo(text, 2*longestHeadline, "")
	}
	g.chain = false
	return true
}

func (g *general) rankOf(s, text string) (int, string) {
	if m := lintLine.FindStringSubmatch(s); m != nil && g.path != "" {
		return rankPlace, g.path + ":" + m[1] + " " + m[2]
	}
	if strings.ContainsAny(text, "/.") && !strings.ContainsAny(text, " \t") && s == text {
		g.path = text
	}
	switch {
	case noise.MatchString(s):
		return g.noisy(text)
	case placed.MatchString(s):
		if m := placed.FindStringSubmatch(s); strings.HasPrefix(strings.ToLower(m[1]), "warning") || strings.HasPrefix(m[1], "note") {
			return rankFailed - 1, text
		}
		return rankPlace, text
	case !suspicious(text):
		return rankLast, text
	case passed.MatchString(s):
		return rankLast, text
	case strings.Contains(text, "Discord") || strings.Contains(text, "lease stop by"): // eslint's, below what it cannot do
		return rankNoise, text
	case thrown.MatchString(text), lineError.MatchString(text), strings.HasPrefix(s, "panic: "):
		return rankError, text
	case missing.MatchString(text):
		return rankMissing, text
	case failedBy.MatchString(text):
		return rankFailed, text
	}
	return rankLast, text
}

// hasWords tells text from bars and figures.
func hasWords(s string) bool {
	run := 0
	for _, r := range s {
		if !unicode.IsLetter(r) {
			run = 0
		} else if run++; run == 2 {
			return true
		}
	}
	return false
}

// suspicious is a quick look for a part of any word that the patterns know: output can be
// long, and most of it says nothing.
func suspicious(text string) bool {
	for _, part := range []string{
		"rror", "RROR", "xception", "atal", "ATAL", "ail", "AIL", "annot", "ANNOT", "an't", "ouldn't", "ould not", "ot found",
		"uch file", "enied", "nable", "issing", "nvalid", "o test", "aught", "handled", "anic", "aused", "ot installed", "✕", "✖", "✗", "×",
	} {
		if strings.Contains(text, part) {
			return true
		}
	}
	return false
}

// noisy: what make and npm say of commands that they ran says nothing; that they have
// nothing to run is all there is.
func (g *general) noisy(text string) (int, string) {
	switch {
	case strings.Contains(text, "No rule to make target"), strings.Contains(text, "Missing script"), strings.Contains(text, "missing separator"):
		return rankStep, text
	}
	return rankNoise, text
}

func (g *general) result() outcome { return outcome{rank: g.rank, headline: g.head} }
