package operation

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// tokens are the parts of a word that are words themselves: deploy:prod has two, and
// deployToProduction three.
func tokens(w word) []string {
	var b strings.Builder
	lower := false
	for _, r := range w.String() {
		if unicode.IsUpper(r) && lower {
			b.WriteByte(' ')
		}
		lower = unicode.IsLower(r)
		b.WriteRune(unicode.ToLower(r))
	}
	return strings.FieldsFunc(b.String(), func(r rune) bool { return !unicode.IsLetter(r) })
}

func deploysTo(w word) bool {
	return slices.ContainsFunc(tokens(w), func(t string) bool {
		return slices.Contains([]string{"prod", "production", "prd", "nprod", "nproduction", "eprod", "eproduction"}, t)
	})
}

func deployWord(w word) bool {
	return slices.ContainsFunc(tokens(w), func(t string) bool {
		return slices.Contains([]string{"deploy", "deploys", "redeploy", "autodeploy", "deployprod", "deployproduction", "productiondeploy", "proddeploy"}, t)
	})
}

// onlyFiles are programs for whose arguments deploy and production are names of files and
// branches.
func onlyFiles() []string {
	return []string{
		"ls", "cat", "bat", "less", "more", "head", "tail", "vim", "vi", "nano", "emacs", "code", "cp", "mv", "mkdir", "touch", "rm", "rmdir", "diff", "find", "fd",
		"pytest", "gofmt", "gofumpt", "tee", "wc", "stat", "chmod", "chown", "cd", "pushd", "ln", "tree", "du", "file", "test", "[", "jq", "yq", "yamllint", "eslint",
		"prettier", "shellcheck", "hadolint", "sort", "uniq", "tar", "zip", "unzip", "which", "type", "realpath", "basename", "dirname", "readlink", "open", "xdg-open",
		"golangci-lint", "mypy", "ruff", "black", "rustfmt", "tsc", "actionlint", "kubeval", "kubeconform", "man", "gh", "glab", "export", "source", ".", "set", "nl", "cmp", "sha256sum",
	}
}

// deploy judges whether a command puts something into production.
func (k *look) deploy(name string, ws, set []word) {
	if slices.Contains(onlyFiles(), name) || name == "go" && len(ws) > 1 && slices.Contains([]string{"test", "vet", "build", "fmt", "list", "doc", "mod", "install", "generate"}, ws[1].text) {
		if name == "cd" && slices.ContainsFunc(ws, deploysTo) {
			k.prod = true
		}
		return
	}
	if name == "git" && !slices.ContainsFunc(ws, func(w word) bool { return slices.Contains([]string{"push", "deploy"}, w.text) }) {
		return
	}
	all := slices.Concat(set, ws)
	prod := slices.ContainsFunc(all, deploysTo)
	deploys := slices.ContainsFunc(ws, deployWord)
	for i := range ws {
		deploys = deploys || deployer(base(ws[i]), ws[i:])
	}
	k.prod = k.prod || prod && k.quiet == 0
	k.deploys = k.deploys || deploys && k.quiet == 0
	switch {
	case deploys && (prod || k.prod && k.quiet == 0):
		k.never(productionDeploy, all)
	case deploys && slices.ContainsFunc(all, word.holes):
		k.unknown("where it deploys to is hidden in a variable or a substitution", all)
	}
}

// deployer reports whether a program that has other words for it deploys.
func deployer(name string, ws []word) bool {
	has := func(list ...string) bool {
		return slices.ContainsFunc(ws[1:], func(w word) bool { return slices.Contains(list, w.lower()) })
	}
	switch name {
	case "vercel", "vc":
		return !has("ls", "list", "logs", "inspect", "whoami", "help", "--help", "--version")
	case "netlify":
		return has("deploy", "--prod")
	case "kubectl", "oc", "k", "kustomize":
		return has("apply", "create", "replace", "patch", "set", "delete", "scale", "restart", "undo", "run", "edit")
	case "helm", "helmfile":
		return has("upgrade", "install", "rollback", "apply", "sync")
	case "terraform", "tofu", "terragrunt", "pulumi", "cdktf":
		return has("apply", "up", "destroy")
	case "heroku", "wrangler", "argocd", "nomad", "skaffold", "waypoint":
		return has("promote", "pipelines:promote", "publish", "sync", "run", "up")
	}
	return false
}

var (
	sqlComment = regexp.MustCompile(`(?s)/\*.*?\*/|--[^\n]*(\n|$)`)
	sqlJoin    = regexp.MustCompile(`'\s*(\|\||\+)\s*'`)
	dropBase   = regexp.MustCompile(`(?i)(?:\b|-[ec])drop[\s_]*database\b|\bdropdatabase\s*\(|\bdb:drop\b`)
)

// plainSQL is SQL without comments, in one line.
func plainSQL(text string) string {
	text = sqlJoin.ReplaceAllString(sqlComment.ReplaceAllString(text, " "), "")
	return strings.Join(strings.Fields(text), " ")
}

func dropSQL(text string) bool {
	// Most texts have neither the word nor a quote that it may be put together with; the
	// expressions cost a hundred times more.
	if !strings.Contains(text, "'") && !strings.Contains(strings.ToLower(text), "drop") {
		return false
	}
	return dropBase.MatchString(text) || dropBase.MatchString(plainSQL(text))
}
