package approval_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ralph-loop/ralph/internal/approval"
)

// What a command calls is known word for word, as its programs get the words, or it is left
// out: what a person approved is compared with it (X-62, C-036).
func TestSimpleCommands(t *testing.T) {
	t.Parallel()
	for command, want := range map[string]string{
		"git push origin main":                   `[["git" "push" "origin" "main"]]`,
		`cd a && git commit -m "a; b" | tee 'l'`: `[["cd" "a"] ["git" "commit" "-m" "a; b"] ["tee" "l"]]`,
		"if x; then (make deploy) & fi":          `[["x"] ["make" "deploy"]]`,
		"echo $(git push)":                       `[["git" "push"]]`, // what echo gets is not known
		"git push $REMOTE; git push {a,b}":       `[]`,
		"A=1 git push":                           `[]`, // it is not the same without A
		"rm *":                                   "[[\"rm\" \"\\x00*\"]]",
		"rm '*'":                                 `[["rm" "*"]]`,
		"git push # git push --force":            `[["git" "push"]]`,
		"bash -c 'git push'":                     `[["bash" "-c" "git push"]]`,
		"git push > log":                         `[["git" "push"]]`,
		"git push '":                             `[]`,
		"":                                       `[]`,
		"true " + strings.Repeat("x", 16<<10):    `[]`,
	} {
		if got := fmt.Sprintf("%q", approval.SimpleCommands(command)); got != want {
			t.Errorf("%.60s: %s, want %s", command, got, want)
		}
	}
}
