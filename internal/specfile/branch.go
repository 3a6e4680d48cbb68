package specfile

import (
	"cmp"
	"fmt"
	"path"
	"strings"
	"time"
	"unicode"
)

// Branch names the branch of a spec by a template with {spec}, {id} and {date}.
func Branch(template, file, id string, at time.Time) string {
	name := strings.NewReplacer("{spec}", strings.TrimSuffix(file, ".md"), "{id}", id, "{date}", at.UTC().Format("2006-01-02")).Replace(template)
	return BranchName(name)
}

// TaskBranches names the branches of the tasks of a spec by the same template, with {id} for that of
// the task; where the template has none it comes last. None is ralph/<task>, where tasks work.
func TaskBranches(template, file string, at time.Time) string {
	const id = "0task0"
	if !strings.Contains(template, "{id}") {
		template += "-{id}"
	}
	name := strings.ReplaceAll(Branch(template, file, id, at), id, "{id}")
	if name == "ralph/{id}" {
		return "ralph/task-{id}"
	}
	return name
}

// BranchName makes of a name one that git takes for a branch.
func BranchName(name string) string {
	var b strings.Builder
	for _, r := range name {
		switch {
		case r == '/' || r == '-' || r == '_' || r == '.' || unicode.IsLetter(r) || unicode.IsDigit(r):
			b.WriteRune(r)
		default:
			b.WriteByte('-')
		}
	}
	var parts []string
	for part := range strings.SplitSeq(b.String(), "/") {
		for strings.Contains(part, "..") {
			part = strings.ReplaceAll(part, "..", ".")
		}
		for was := ""; was != part; { // what is left of a name may end in it again
			was = part
			part = strings.TrimSuffix(strings.Trim(part, ".-"), ".lock")
		}
		if part != "" {
			parts = append(parts, part)
		}
	}
	if name = path.Join(parts...); name == "" || name == "HEAD" {
		return "ralph/spec"
	}
	return name
}

// SetAside names the file of a plan that made room for another one: by its spec, and by the number of the
// fact that began the other one. A shell takes the name as it is.
func SetAside(file string, seq int64) string {
	name := BranchName(cmp.Or(strings.TrimSuffix(file, ".md"), "no-spec"))
	return fmt.Sprintf("%s-%d.jsonl", strings.ReplaceAll(name, "/", "_"), seq)
}
