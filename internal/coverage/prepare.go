package coverage

import (
	"path/filepath"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Prepare makes a command leave a coverage report where that is safe to ask for: a
// plain `go test` also writes a profile to cover.out in scratch, an existing folder
// outside the work tree, so that the tree stays what it was. run is what a shell is
// to run, profile the file to give to Read afterwards.
//
// Everything else stays as it is, with no profile: lists and pipelines, other
// programs, a command that says itself what to write, and one whose run would change
// its meaning or that runs a part of the tests alone, which says nothing about the
// coverage of all of them.
func Prepare(command, scratch string) (run, profile string) {
	at, ok := goTest(command)
	if !ok {
		return command, ""
	}
	profile = filepath.Join(scratch, "cover.out")
	quoted, err := syntax.Quote(profile, syntax.LangPOSIX)
	if err != nil {
		return command, ""
	}
	return command[:at] + " -coverprofile=" + quoted + command[at:], profile
}

// Spoiled reports whether the output of a run is red for the profile alone: in a Go
// toolchain without covdata, which is how some are downloaded, packages without tests
// cannot be measured. The command as it was before Prepare is the one to believe then.
func Spoiled(output string) bool {
	return strings.Contains(output, `no such tool "covdata"`)
}

// goTest returns where in a command, in bytes, a flag of `go test` can be put.
func goTest(command string) (int, bool) {
	file, err := syntax.NewParser(syntax.Variant(syntax.LangPOSIX)).Parse(strings.NewReader(command), "")
	if err != nil || len(file.Stmts) != 1 {
		return 0, false
	}
	stmt := file.Stmts[0]
	call, ok := stmt.Cmd.(*syntax.CallExpr)
	if !ok || stmt.Negated || stmt.Background || slices.ContainsFunc(call.Assigns, touchesFlags) {
		return 0, false
	}
	words := make([]string, len(call.Args))
	for i, w := range call.Args {
		if words[i], ok = plain(w); !ok {
			return 0, false
		}
	}
	if len(words) < 2 || words[0] != "go" || words[1] != "test" {
		return 0, false
	}
	last := 1
	if len(words) > 2 { // -C has to stay the first flag
		switch flag, _ := flagOf(words[2]); {
		case flag == "C" && strings.Contains(words[2], "="):
			last = 2
		case flag == "C" && len(words) > 3:
			last = 3
		}
	}
	if slices.ContainsFunc(own(words[last+1:]), inTheWay) {
		return 0, false
	}
	return int(call.Args[last].End().Offset()), true
}

// touchesFlags reports whether an assignment before a command may hold flags for go.
func touchesFlags(a *syntax.Assign) bool {
	return a.Name == nil || a.Name.Value == "GOFLAGS"
}

// plain returns a word's text. That of a command's output, like $(go list ./...), is
// not known, but stands where packages stand; a variable may hold anything.
func plain(w *syntax.Word) (string, bool) {
	var b strings.Builder
	for i, part := range w.Parts {
		switch x := part.(type) {
		case *syntax.Lit:
			b.WriteString(strings.ReplaceAll(x.Value, `\`, ""))
		case *syntax.SglQuoted:
			b.WriteString(x.Value)
		case *syntax.DblQuoted:
			for _, in := range x.Parts {
				l, ok := in.(*syntax.Lit)
				if !ok {
					return "", false
				}
				b.WriteString(l.Value)
			}
		case *syntax.CmdSubst:
			return "", i == 0 && len(w.Parts) == 1
		default:
			return "", false
		}
	}
	return b.String(), true
}

// own are the words before -args: what follows is for the tests.
func own(words []string) []string {
	for i, w := range words {
		if flag, ok := flagOf(w); ok && flag == "args" {
			return words[:i]
		}
	}
	return words
}

// flagOf returns the name of the flag that a word gives, without test. before it,
// which go allows.
func flagOf(word string) (string, bool) {
	if !strings.HasPrefix(word, "-") {
		return "", false
	}
	name, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(word, "-"), "-"), "=")
	return strings.TrimPrefix(name, "test."), true
}

// inTheWay reports whether a flag writes a profile of its own, runs no tests, runs
// them elsewhere, or only a part of them.
func inTheWay(word string) bool {
	flag, ok := flagOf(word)
	return ok && slices.Contains([]string{
		"coverprofile", "C", "c", "o", "exec", "toolexec", "n", "h", "help", "fuzz", "list", "run", "skip", "bench",
	}, flag)
}
