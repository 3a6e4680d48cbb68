package policy

import (
	"slices"
	"strings"

	"github.com/ralph-loop/ralph/internal/lazyregexp"
	"github.com/ralph-loop/ralph/internal/text"
)

const (
	maxRefusedText = 256 << 10 // bytes of an output that are looked at: the end
	maxRefused     = 20        // paths of one output
)

var (
	refusal  = lazyregexp.New(`(?i)\b(permission denied|read-only file system|EACCES|EROFS)\b`)
	inQuotes = lazyregexp.New("['\"`‘“]((?:/|~/|\\.\\./)[^'\"`’”\\n]+)['\"`’”]")
	inBare   = lazyregexp.New(`(?:^|[\s:(=])((?:/|~/|\.\./)[^\s:'"` + "`" + `()]+)`)
)

// RefusedPaths are the paths that an output says could not be written or entered, in the words
// of the system: by shells, by the usual programs, by Go, Node and Python. A relative path
// is only taken when it leads up. Who asks decides whether it was the sandbox that refused.
func RefusedPaths(output string) []string {
	if len(output) > maxRefusedText {
		output = output[len(output)-maxRefusedText:]
	}
	if !text.HasAnyFold(output, "denied", "-only", "eacce", "erof") || !refusal.MatchString(output) { // one of these is in each word of it
		return nil
	}
	var out []string
	for line := range strings.SplitSeq(output, "\n") {
		at := refusal.FindStringIndex(line)
		if at == nil {
			continue
		}
		path := ""
		if m := inQuotes.FindAllStringSubmatch(line, -1); m != nil {
			path = m[len(m)-1][1]
		} else if m := inBare.FindAllStringSubmatch(line[:at[0]], -1); m != nil {
			path = m[len(m)-1][1] // the last before the words: in front there is the program's name
			if rest, program := strings.CutPrefix(line[:at[0]], path); program && strings.Trim(rest, ": (") != "" {
				path = "" // and nothing else: what it could not write is a path of the work tree
			}
		}
		if path != "" && !slices.Contains(out, path) && len(out) < maxRefused {
			out = append(out, path)
		}
	}
	return out
}
