package ralph

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ralph-loop/ralph/internal/lazyregexp"
)

var subjectField = lazyregexp.New(`\{[^{}]*\}`)

// subjectFields are the fields that a template may name.
func subjectFields() []string { return []string{"{summary}", "{spec}", "{task}", "{id}"} }

// BadSubject says what is wrong with a template of commit subjects (commit.message), "" when it is one.
func BadSubject(template string) string {
	if strings.TrimSpace(template) == "" || strings.ContainsAny(template, "\r\n") {
		return "must be one line, such as \"PROJ-123 {summary}\""
	}
	for _, f := range subjectField.FindAllString(template, -1) {
		if !slices.Contains(subjectFields(), f) {
			return fmt.Sprintf("has the field %s: there are %s", f, strings.Join(subjectFields(), ", "))
		}
	}
	return ""
}
