package approval

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/ralph-loop/ralph/internal/lazyregexp"
	"github.com/ralph-loop/ralph/internal/operation"
)

// ordinary reports whether what a pattern has found is everyday work all the same:
//   - a check of the project, or a narrower call of one;
//   - `rm -rf` of what lies in the work tree, or inside the sandbox, which bounds it; with
//     `ask` a person is asked about it in any case;
//   - a word such as `deploy` or `secret` that is no word of the program, as in `ls deploy`,
//     `go test -run TestSecret` and `NODE_ENV=production npm run build`.
//
// Only the words that ralph has by itself are looked at so: a pattern that a person has
// written finds what it says.
func ordinary(f operation.Found, c Settings, dir string, g *ground) bool {
	switch {
	case c.Approvals == "" || len(f.Words) == 0:
		return false
	case f.Rule == "rm -rf":
		return c.bounded() || c.Approvals != approvalsAsk && removesInside(f.Words, dir, g)
	case !slices.Contains(wordPatterns(), f.Rule):
		return false
	case runsCheck(c.Commands, f.Words) != "":
		return true
	}
	words, known := programWords(f.Words, 0)
	re, err := regexp.Compile("(?i)" + f.Rule)
	if err != nil {
		return false
	}
	if !known { // what is said first, or nowhere among the words, counts
		words = saidFirst(f.Words)
		known = re.MatchString(strings.Join(f.Words, " "))
	}
	return known && !re.MatchString(strings.Join(words, " "))
}

// saidFirst are the words that say what a program does of which nothing else is known: what is set
// before it, its name, and the first three that are no files, values or texts, with the options before them.
func saidFirst(words []string) []string {
	var said []string
	plain, value := 0, false
	for _, w := range words {
		switch {
		case len(said) == 0 || assigns.MatchString(w) && plain == 0:
			said = append(said, w)
			continue
		case strings.HasPrefix(w, "-"):
			key, _, given := strings.Cut(w, "=")
			value = !given && strings.HasPrefix(w, "--")
			if plain == 0 {
				said = append(said, key)
			}
			continue
		case plain == 0 && !value, said[len(said)-1] == "run":
			said = append(said, w) // what is to run, by its file too
			plain++
		case value, strings.ContainsAny(w, "/=@ ") || looksLikeFile.MatchString(w):
		case plain < 3:
			said = append(said, w)
			plain++
		}
		value = false
	}
	return said
}

var looksLikeFile = lazyregexp.New(`\.(ya?ml|json|toml|ts|js|py|go|rs|rb|md|txt|sql|lock|env)(,|$)`)

// wordPatterns are those of ralph's own patterns that are a single word. The others say
// what is done, and to what.
func wordPatterns() []string {
	return []string{"deploy", "migrate", "publish", "production", "api.*key", "secret", "password"}
}

// removesInside reports whether rm removes only what lies in the work tree, and not all of
// it. The words are of one simple command: where it stands behind a cd, nobody knows where
// its folder is, and the caller gives "" for it.
func removesInside(words []string, dir string, g *ground) bool {
	if words[0] != "rm" || dir == "" {
		return false
	}
	j := &judge{ground: g, dirs: []string{dir}}
	var args []word
	for _, w := range words[1:] {
		if strings.ContainsAny(w, "$~`?[{\x00") {
			return false // a variable, a home, or a pattern of more than a name's end
		}
		args = append(args, word(strings.ReplaceAll(w, "*", liveGlob+"*")))
	}
	return j.removes(args) == nil
}

// maxWrapped bounds programs that start another one.
const maxWrapped = 4

// programWords are those of a command's words that say what is done: its program, and the
// script or target that it is to run. Further words are files, tests, values. known is false
// of a program whose words may all say something.
func programWords(words []string, depth int) (said []string, known bool) {
	for depth == 0 && len(words) > 0 && assigns.MatchString(words[0]) {
		words = words[1:] // what a variable says is no word of the program
	}
	if len(words) == 0 || depth > maxWrapped {
		return nil, false
	}
	name := path.Base(words[0])
	sub, at := operand(words, 1)
	switch {
	case slices.Contains(fileTools(), name), name == "find" && !slices.ContainsFunc(words, func(w string) bool { return strings.HasPrefix(w, "-exec") || strings.HasPrefix(w, "-ok") }):
		return []string{name}, true
	case slices.Contains([]string{"npx", "bunx", "env", "time", "nice", "timeout", "poetry", "uv", "bundle"}, name):
		if sub == "run" || sub == "exec" || name == "timeout" {
			_, at = operand(words, at+1)
		}
		for at > 0 && at < len(words) && strings.Contains(words[at], "=") {
			at++
		}
		if at <= 0 || at >= len(words) {
			return nil, false
		}
		return programWords(words[at:], depth+1)
	case (name == "python" || name == "python3") && len(words) > 2 && words[1] == "-m":
		return programWords(words[2:], depth+1)
	}
	if own, ok := subcommands()[name]; ok {
		if slices.Contains(own, sub) {
			return []string{name, sub}, true
		}
		return nil, false
	}
	switch name {
	case "npm", "pnpm", "yarn", "bun":
		if sub == "run" || sub == "run-script" {
			sub, _ = operand(words, at+1)
		}
		if sub == "publish" || sub == "exec" || sub == "dlx" || sub == "x" {
			return nil, false
		}
		return []string{name, sub}, true
	case "make", "gmake", "just", "task", "rake", "mage":
		said = []string{name}
		for _, w := range words[1:] {
			if !strings.HasPrefix(w, "-") && !strings.Contains(w, "=") {
				said = append(said, w)
			}
		}
		return said, true
	}
	return nil, false
}

var assigns = lazyregexp.New(`^[A-Za-z_][A-Za-z0-9_]*=`)

// operand is the first word from i on that is no option, and its place; -1 for none.
func operand(words []string, i int) (string, int) {
	for ; i < len(words); i++ {
		if !strings.HasPrefix(words[i], "-") {
			return words[i], i
		}
	}
	return "", -1
}

// fileTools are programs whose words are files, texts and tests.
func fileTools() []string {
	return strings.Fields(`ls cat head tail less more wc nl grep egrep fgrep rg ag sort uniq cut tr diff cmp comm tree file stat du df
		mkdir rmdir cp mv touch ln chmod rm sed awk gawk jq yq tee test [ echo printf cd pushd popd pwd true false basename dirname realpath
		readlink which type command export unset read set gofmt goimports golangci-lint staticcheck gotestsum rustfmt rustc gcc g++ clang cc
		pytest unittest tox ruff black mypy flake8 isort pylint coverage jest vitest mocha ava eslint tsc prettier stylelint webpack vite rollup esbuild
		rspec rubocop phpunit ctest cmake ninja tar zip unzip gzip gunzip sha256sum md5sum date sleep`)
}

// subcommands are programs that do several things, with those that only build, test or
// work on the repository here.
func subcommands() map[string][]string {
	return map[string][]string{
		"go":    strings.Fields("test build vet fmt mod list doc env generate get version tool work install clean"),
		"cargo": strings.Fields("test build check clippy fmt doc add remove update tree bench nextest metadata clean"),
		"git": strings.Fields(`add status log diff show commit checkout switch branch merge rebase stash fetch pull grep blame restore rm mv
			ls-files ls-tree rev-parse rev-list cat-file init worktree cherry-pick reset describe tag shortlog reflog apply am bisect clean format-patch`),
		"docker": strings.Fields("build images ps logs inspect"), "podman": strings.Fields("build images ps logs inspect"),
		"pip": strings.Fields("install list show freeze check"), "pip3": strings.Fields("install list show freeze check"),
		"dotnet": strings.Fields("test build restore format"), "mix": strings.Fields("test compile format deps.get"), "swift": strings.Fields("test build"),
	}
}
