package ralph_test

import (
	"go/ast"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// maxLines is how large a package of hand-written code may grow, tests and generated
// files apart: one that a newcomer can read in a day.
const maxLines = 3000

// larger are packages above maxLines, with the most that each may have: only less is
// better. Above all that is a reason to split, below it a reason to lower the number.
func larger() map[string]struct {
	most int
	why  string
} {
	return map[string]struct {
		most int
		why  string
	}{
		"R":                  {10150, "the nouns, facts and commands of one domain are one graph of types: State holds each noun, and each fact applies itself to State"},
		"internal/operation": {8060, "one judge of shell commands, which is one walk: what a command does may be what one within it does, so the files of programs call the walk and are called by it"},
		"internal/policy":    {5030, "Next and Schedule look at one State through one Config and at each other: a step asks whether the session goes on, the session what the step would be; what stands alone is out of it (breaker, rules, replay, internal/thread)"},
		"internal/step":      {5370, "one executor; its parts share the turn under way"},
		"internal/fleet":     {3320, "all that knows Temporal, which one package alone may; what needs no Temporal is below it"},
	}
}

// No package grows past what one can read (review: at most 3,000 lines).
func TestPackageSizes(t *testing.T) {
	t.Parallel()
	lines := map[string]int{}
	for _, f := range ourFiles(t) {
		if f.test || ast.IsGenerated(f.ast) || strings.HasPrefix(f.pkg, "internal/ralphtest") {
			continue
		}
		lines[f.pkg] += f.fset.File(f.ast.Pos()).LineCount()
	}
	for pkg, n := range lines {
		most, why := maxLines, "split it, or say in larger() why not"
		if x, ok := larger()[pkg]; ok {
			most, why = x.most, "it may only shrink: "+x.why
			if n <= maxLines {
				t.Errorf("%s has %d lines: take it out of larger()", pkg, n)
			}
		}
		if n > most {
			t.Errorf("%s has %d lines, more than %d: %s", pkg, n, most, why)
		}
	}
	for pkg := range larger() {
		if lines[pkg] == 0 {
			t.Errorf("%s is in larger(), and is no package", pkg)
		}
	}
}

// A file of internal/cli, and of what is below it, is a command: what it calls lives below (ADR 36).
func TestFilesOfCliAreCommands(t *testing.T) {
	t.Parallel()
	without := map[string]string{
		"agent_check_report.go": "what ralph agent-check prints",
		"agent_check_stand.go":  "the repository that ralph agent-check tries an agent in",
		"since.go":              "the flag --since, of log and report",
	}
	for _, f := range ourFiles(t) {
		name := filepath.Base(f.name)
		if f.test || f.pkg != "internal/cli" && !strings.HasPrefix(f.pkg, "internal/cli/") {
			continue
		}
		has := slices.ContainsFunc(f.ast.Imports, func(x *ast.ImportSpec) bool { return x.Path.Value == `"github.com/spf13/cobra"` })
		if _, known := without[name]; has == known {
			t.Errorf("%s: has a command %v, and the table says %q: what no command is goes to the package that owns it", f.name, has, without[name])
		}
	}
}
