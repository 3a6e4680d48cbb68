package approval

import (
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// A check of the project is what ralph runs itself after each COMPLETE, with the person's
// own rights. An agent that runs it before that, or a narrower call of it, gains nothing by
// it: its code is run in any case.

// runner is a command that runs checks: how many words name it, and what may follow them.
type runner struct {
	words []string
	// goals: each further word names something else to do, so that only options may follow.
	goals bool
	// name: the word that follows belongs to the name, as with `npm run lint`.
	name bool
}

// runners are the commands whose calls get narrower by what follows them.
func runners() []runner {
	list := []runner{}
	add := func(r runner, lines ...string) {
		for _, line := range lines {
			r.words = strings.Fields(line)
			list = append(list, r)
		}
	}
	add(
		runner{}, "go test", "go vet", "go build", "gotestsum", "golangci-lint run", "staticcheck", "cargo test", "cargo check", "cargo clippy", "cargo build", "cargo nextest run", "cargo fmt",
		"pytest", "python -m pytest", "python3 -m pytest", "python -m unittest", "python3 -m unittest", "tox", "nox", "ruff check", "mypy", "flake8", "uv run pytest", "poetry run pytest",
		"npm test", "npm t", "yarn test", "pnpm test", "bun test", "deno test", "node --test", "jest", "vitest", "vitest run", "mocha", "ava", "eslint", "tsc",
		"npx jest", "npx vitest", "npx vitest run", "npx mocha", "npx ava", "npx eslint", "npx tsc", "pnpm exec jest", "pnpm exec vitest", "yarn jest", "yarn vitest",
		"rspec", "bundle exec rspec", "phpunit", "vendor/bin/phpunit", "dotnet test", "dotnet build", "mix test", "swift test", "swift build", "ctest", "zig build test", "dart test", "flutter test",
	)
	add(runner{name: true}, "npm run", "npm run-script", "yarn run", "pnpm run", "bun run", "deno task", "composer run", "uv run", "poetry run")
	add(runner{goals: true}, "make", "gmake", "just", "task", "rake", "mvn", "./mvnw", "gradle", "./gradlew", "ant", "bazel test", "nx", "turbo", "tox -e")
	slices.SortStableFunc(list, func(a, b runner) int { return len(b.words) - len(a.words) }) // the longest name counts
	return list
}

// Narrower reports whether a simple command, as the words that its program gets, runs what a
// check runs or a part of it: the same program and command, with other files, tests or
// options. What would have it run another program, or work elsewhere, is not.
func Narrower(check string, call []string) bool {
	for _, words := range simple(check) {
		if narrower(words, call) {
			return true
		}
	}
	return false
}

func narrower(check, call []string) bool {
	if len(check) == 0 || len(call) == 0 {
		return false
	}
	if slices.Equal(check, call) {
		return true
	}
	at := slices.IndexFunc(runners(), func(r runner) bool { return begins(check, r.words) })
	if at < 0 {
		return begins(call, check) && harmlessWords(check[0], call[len(check):], false)
	}
	r := runners()[at]
	name := r.words
	if r.name {
		if len(check) <= len(name) || strings.HasPrefix(check[len(name)], "-") {
			return false
		}
		name = check[:len(name)+1]
	}
	if r.goals {
		return begins(call, check) && harmlessWords(check[0], call[len(check):], true)
	}
	return begins(call, name) && harmlessWords(check[0], call[len(name):], false)
}

func begins(words, with []string) bool {
	return len(words) >= len(with) && slices.Equal(words[:len(with)], with)
}

// harmlessWords reports whether what follows a check's name keeps it the same check: it
// names no program, settings or folder elsewhere.
func harmlessWords(program string, words []string, goals bool) bool {
	for i, w := range words {
		option := strings.HasPrefix(w, "-")
		key, value, given := strings.Cut(w, "=")
		switch {
		case strings.ContainsAny(w, "\x00\n"), elsewhereWord(w), given && elsewhereWord(value):
			return false
		case option && slices.Contains(turning(program), "-"+strings.TrimLeft(key, "-")):
			return false
		case goals && !option && (!given || turningVariable(key)):
			return false
		case goals && option && i+1 < len(words) && !strings.HasPrefix(words[i+1], "-") && !strings.Contains(words[i+1], "="):
			return false // its value, or one thing more to do
		}
	}
	return true
}

// turning are options that make a program run another one, or by other settings.
func turning(program string) []string {
	switch path.Base(program) {
	case "go", "gotestsum":
		return []string{"-exec", "-toolexec", "-vettool", "-C", "-modfile", "-overlay", "-o", "-raw-command", "-post-run-command", "-pre-run-command"}
	case "cargo":
		return []string{"-config", "-manifest-path", "-C", "-Z", "-target-dir", "-out-dir", "-fix"}
	case "npm", "pnpm", "yarn", "bun", "npx":
		return []string{"-prefix", "-C", "-dir", "-cwd", "-script-shell", "-node-options", "-shell", "-userconfig", "-globalconfig"}
	case "make", "gmake", "just", "task", "rake", "mvn", "mvnw", "gradle", "gradlew", "ant":
		return []string{"-C", "-directory", "-f", "-file", "-makefile", "-I", "-E", "-eval", "-justfile", "-d", "-shell", "-s", "-settings", "-init-script", "-b", "-p", "-project-dir", "-rakefile", "-r", "-e", "-execute"}
	}
	return nil
}

// turningVariable reports whether a variable of make says what runs.
func turningVariable(name string) bool {
	switch strings.TrimRight(name, ":+?") {
	case "SHELL", "MAKEFLAGS", "MAKEFILES", "MAKE", "PATH", "GOFLAGS":
		return true
	}
	return false
}

// elsewhereWord reports whether a word names a file outside of the folder, or may.
func elsewhereWord(w string) bool {
	if strings.HasPrefix(w, "~") || strings.HasPrefix(w, "/") && w != "/dev/null" {
		return true
	}
	return slices.Contains(strings.Split(w, "/"), "..")
}

// simple are the simple commands of a check whose words mean what they say, without
// variables that only change how output looks.
func simple(check string) [][]string {
	var all [][]string
	eachCall(check, func(c *syntax.CallExpr) bool {
		if words, ok := literals(c.Args); ok {
			all = append(all, words)
		}
		return false // what runs within is no check
	})
	return all
}

// SimpleCommands are the programs that a command calls, wherever in it, each word as the
// program gets it. Calls of which that is not known are left out, and all of what is too
// long or no shell.
func SimpleCommands(command string) [][]string {
	if len(command) > maxShell {
		return nil
	}
	var all [][]string
	eachCall(command, func(c *syntax.CallExpr) bool {
		if words, ok := literals(c.Args); ok && len(c.Assigns) == 0 {
			all = append(all, words)
		}
		return true
	})
	return all
}

// eachCall goes through the simple commands of shell text; within says whether to go
// through those inside of one.
func eachCall(command string, within func(*syntax.CallExpr) bool) {
	f, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(command), "")
	if err != nil {
		return
	}
	syntax.Walk(f, func(n syntax.Node) bool {
		c, ok := n.(*syntax.CallExpr)
		return !ok || within(c)
	})
}

// literals are words that mean what they say, at least one.
func literals(args []*syntax.Word) (words []string, ok bool) {
	for _, a := range args {
		w, err := literal(a)
		if err != nil {
			return nil, false
		}
		words = append(words, string(w))
	}
	return words, len(words) > 0
}

// runsCheck returns the check of the project that a simple command runs, "" for none.
func runsCheck(checks, call []string) string {
	for _, check := range checks {
		if Narrower(check, call) {
			return check
		}
	}
	return ""
}
