package check

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/ralph-loop/ralph/internal/lazyregexp"
)

// readLimit bounds what Detect reads of each file.
const readLimit = 1 << 20

// Detected is what a repository offers as checks.
type Detected struct {
	Quality     []string // commands, in order
	QualityFile string   // what gave them away
	Test        string   // "" when there is none
	TestFile    string   // what gave it away, like package.json
	Framework   string   // what Test runs, like Vitest or pytest; "" when that is not known
	Why         []string // one line per finding, for `ralph doctor` and the config
}

// offer is what one kind of project offers.
type offer struct {
	file      string // what gave it away
	quality   []string
	test      string
	framework string // what test runs, for people
	// notes are what a person may want to know beside it: what cannot be made of the
	// file, or what else it has.
	notes []string
}

func (o offer) commands() string {
	all := slices.Clone(o.quality)
	if o.test != "" {
		all = append(all, o.test)
	}
	return strings.Join(all, ", ")
}

var (
	makeTest       = lazyregexp.New(`(?m)^test[ \t]*::?([^=:]|$)`)
	makeTestAlone  = lazyregexp.New(`(?m)^test[ \t]*:[ \t]*(#.*)?$`)
	makePhony      = lazyregexp.New(`(?m)^\.PHONY[ \t]*:(.*[ \t])?(test\b|.*\$)|^-?include\b`)
	cargoWorkspace = lazyregexp.New(`(?m)^[ \t]*\[workspace[].]`)
)

// Detect looks at the files at the top of dir and says which commands check
// it. Where there are several kinds of project, the first that has quality
// commands and the first that has a test command are taken, in the order
// below: what is not set up on this machine must not turn every task red. Why
// names the others.
func Detect(dir string) Detected {
	f := folder(dir)
	var d Detected
	for _, look := range []func(folder) (offer, bool){
		goOffer, nodeOffer, rustOffer, pythonOffer, mavenOffer, gradleOffer,
		rubyOffer, phpOffer, dotnetOffer, makeOffer,
	} {
		o, ok := look(f)
		if !ok {
			continue
		}
		var used offer
		if len(d.Quality) == 0 && len(o.quality) > 0 {
			d.Quality, d.QualityFile, used.quality = o.quality, o.file, o.quality
		}
		if d.Test == "" && o.test != "" {
			d.Test, d.TestFile, d.Framework, used.test = o.test, o.file, o.framework, o.test
		}
		switch {
		case o.commands() == "":
		case used.commands() == o.commands():
			d.Why = append(d.Why, o.file+": "+o.commands())
		case used.commands() == "":
			d.Why = append(d.Why, fmt.Sprintf("%s: %s not used, an earlier finding has the place; name it in the config to run it", o.file, o.commands()))
		default:
			d.Why = append(d.Why, fmt.Sprintf("%s: %s of %s; name the rest in the config to run it", o.file, used.commands(), o.commands()))
		}
		for _, note := range o.notes {
			d.Why = append(d.Why, o.file+": "+note)
		}
	}
	return d
}

// folder is a folder's files.
type folder string

func (f folder) has(name string) bool {
	_, err := os.Stat(filepath.Join(string(f), name))
	return err == nil
}

// first returns the first of these names that is there.
func (f folder) first(names ...string) (string, bool) {
	i := slices.IndexFunc(names, f.has)
	if i < 0 {
		return "", false
	}
	return names[i], true
}

// read returns the beginning of a regular file, "" when there is none.
func (f folder) read(name string) string {
	path := filepath.Join(string(f), name)
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
		return ""
	}
	file, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer file.Close()
	b, err := io.ReadAll(io.LimitReader(file, readLimit))
	if err != nil {
		return ""
	}
	return string(b)
}

// goOffer names the modules of a workspace one by one: ./... would mean the one at
// the top alone, or none.
func goOffer(f folder) (offer, bool) {
	if f.has("go.work") {
		all := " $(go list -f '{{.Dir}}/...' -m)"
		return offer{file: "go.work", quality: []string{"go vet" + all}, test: "go test" + all, framework: "Go"}, true
	}
	return offer{file: "go.mod", quality: []string{"go vet ./..."}, test: "go test ./...", framework: "Go"}, f.has("go.mod")
}

func rustOffer(f folder) (offer, bool) {
	o := offer{file: "Cargo.toml", quality: []string{"cargo check"}, test: "cargo test", framework: "Cargo"}
	if cargoWorkspace.MatchString(f.read(o.file)) { // else only the package at the top
		o.quality, o.test = []string{"cargo check --workspace"}, "cargo test --workspace"
	}
	return o, f.has(o.file)
}

func pythonOffer(f folder) (offer, bool) {
	o := offer{test: "pytest", framework: "pytest"}
	for _, x := range []struct{ file, sign string }{
		{"pytest.ini", ""},
		{"pyproject.toml", "pytest"},
		{"setup.cfg", "pytest"},
		{"tox.ini", "[pytest]"},
		{"conftest.py", ""},
		{"requirements-dev.txt", "pytest"},
		{"requirements.txt", "pytest"},
		{"Pipfile", "pytest"},
	} {
		if f.has(x.file) && strings.Contains(f.read(x.file), x.sign) {
			o.file = x.file
			break
		}
	}
	for _, x := range []struct{ lock, run string }{
		{"uv.lock", "uv run"}, {"poetry.lock", "poetry run"}, {"pdm.lock", "pdm run"}, {"Pipfile.lock", "pipenv run"},
	} {
		if f.has(x.lock) {
			o.test = x.run + " pytest"
			break
		}
	}
	return o, o.file != ""
}

func mavenOffer(f folder) (offer, bool) {
	o := offer{file: "pom.xml", test: "mvn -q test", framework: "Maven"}
	if f.has("mvnw") {
		o.test = "./mvnw -q test"
	}
	return o, f.has(o.file)
}

func gradleOffer(f folder) (offer, bool) {
	file, ok := f.first("build.gradle", "build.gradle.kts", "settings.gradle", "settings.gradle.kts")
	o := offer{file: file, test: "gradle test", framework: "Gradle"}
	if f.has("gradlew") {
		o.test = "./gradlew test"
	}
	return o, ok
}

func rubyOffer(f folder) (offer, bool) {
	return offer{file: "Gemfile", test: "bundle exec rspec", framework: "RSpec"}, f.has("Gemfile") && (f.has("spec") || f.has(".rspec"))
}

func phpOffer(f folder) (offer, bool) {
	file, ok := f.first("phpunit.xml", "phpunit.xml.dist")
	return offer{file: file, test: "vendor/bin/phpunit", framework: "PHPUnit"}, ok
}

// dotnetOffer names the solution where there are projects beside it: `dotnet test`
// refuses to choose.
func dotnetOffer(f folder) (offer, bool) {
	entries, err := os.ReadDir(string(f))
	if err != nil {
		return offer{}, false
	}
	var solutions, projects []string
	for _, e := range entries {
		switch filepath.Ext(e.Name()) {
		case ".sln", ".slnx":
			solutions = append(solutions, e.Name())
		case ".csproj", ".fsproj", ".vbproj":
			projects = append(projects, e.Name())
		}
	}
	all := slices.Concat(solutions, projects)
	if len(all) == 0 {
		return offer{}, false
	}
	o := offer{file: all[0], framework: ".NET"}
	switch {
	case len(all) == 1:
		o.test = "dotnet test"
	case len(solutions) == 1:
		name, err := syntax.Quote(all[0], syntax.LangPOSIX)
		if err != nil {
			return offer{}, false
		}
		o.test = "dotnet test " + name
	default:
		o.notes = []string{"one of " + strings.Join(all, ", ") + "; say which in test.command, like dotnet test " + all[0]}
	}
	return o, true
}

func makeOffer(f folder) (offer, bool) {
	file, ok := f.first("GNUmakefile", "makefile", "Makefile") // make's own order
	text := f.read(file)
	o := offer{file: file, test: "make test", framework: "Make"}
	if makeTestAlone.MatchString(text) && !makePhony.MatchString(text) && f.has("test") {
		o.test = "" // it would be green whatever the tests say
		o.notes = []string{"make does nothing for its target test, since there is a test beside it: add `.PHONY: test`"}
	}
	return o, ok && makeTest.MatchString(text)
}
