package gate

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// readLimit bounds what Detect reads of each file.
const readLimit = 1 << 20

// Detected is what a repository offers as checks.
type Detected struct {
	Quality []string // commands, in order
	Test    string   // "" when there is none
	Why     []string // one line per finding, for `ralph doctor` and the config
}

// offer is what one kind of project offers.
type offer struct {
	file    string // what gave it away
	quality []string
	test    string
	note    string // when nothing can be made of the file
}

func (o offer) commands() string {
	all := slices.Clone(o.quality)
	if o.test != "" {
		all = append(all, o.test)
	}
	return strings.Join(all, ", ")
}

var makeTest = regexp.MustCompile(`(?m)^test[ \t]*::?([^=:]|$)`)

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
		if o.note != "" {
			d.Why = append(d.Why, o.file+": "+o.note)
			continue
		}
		var used offer
		if len(d.Quality) == 0 && len(o.quality) > 0 {
			d.Quality, used.quality = o.quality, o.quality
		}
		if d.Test == "" && o.test != "" {
			d.Test, used.test = o.test, o.test
		}
		switch {
		case used.commands() == o.commands():
			d.Why = append(d.Why, o.file+": "+o.commands())
		case used.commands() == "":
			d.Why = append(d.Why, fmt.Sprintf("%s: %s not used, an earlier finding has the place; name it in the config to run it", o.file, o.commands()))
		default:
			d.Why = append(d.Why, fmt.Sprintf("%s: %s of %s; name the rest in the config to run it", o.file, used.commands(), o.commands()))
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

func goOffer(f folder) (offer, bool) {
	return offer{file: "go.mod", quality: []string{"go vet ./..."}, test: "go test ./..."}, f.has("go.mod")
}

func rustOffer(f folder) (offer, bool) {
	return offer{file: "Cargo.toml", quality: []string{"cargo check"}, test: "cargo test"}, f.has("Cargo.toml")
}

// packageJSON is what matters of a package.json.
type packageJSON struct {
	Scripts         map[string]string `json:"scripts"`
	Packager        string            `json:"packageManager"` // "pnpm@9.1.0"
	Dependencies    map[string]any    `json:"dependencies"`
	DevDependencies map[string]any    `json:"devDependencies"`
}

func (p packageJSON) uses(name string) bool {
	_, dep := p.Dependencies[name]
	_, dev := p.DevDependencies[name]
	return dep || dev
}

// nodeOffer takes the project's own scripts, run by the package manager whose
// lock file is there, else the test framework it depends on (C-065 to C-069).
func nodeOffer(f folder) (offer, bool) {
	o := offer{file: "package.json"}
	text := f.read(o.file)
	if text == "" {
		return o, false
	}
	var p packageJSON
	if err := json.Unmarshal([]byte(text), &p); err != nil {
		o.note = "cannot be read: " + err.Error()
		return o, true
	}
	pm := f.packager(p)
	for _, names := range [][]string{{"lint"}, {"typecheck", "type-check", "check-types"}} {
		if i := slices.IndexFunc(names, func(n string) bool { return p.Scripts[n] != "" }); i >= 0 {
			o.quality = append(o.quality, pm+" run "+names[i])
		}
	}
	if script := p.Scripts["test"]; script != "" && !strings.Contains(script, "no test specified") {
		o.test = pm + " test"
		if pm == "bun" {
			o.test = "bun run test" // `bun test` is bun's own test runner, not the script
		}
		return o, true
	}
	for _, x := range []struct{ name, run string }{
		{"@playwright/test", "playwright test"}, {"cypress", "cypress run"}, {"vitest", "vitest run"}, {"jest", "jest"},
	} {
		if p.uses(x.name) {
			o.test = runners(pm) + " " + x.run
			break
		}
	}
	return o, o.commands() != ""
}

func (f folder) packager(p packageJSON) string {
	switch name, _, _ := strings.Cut(p.Packager, "@"); name {
	case "npm", "pnpm", "yarn", "bun":
		return name
	}
	for _, x := range []struct{ lock, name string }{
		{"pnpm-lock.yaml", "pnpm"}, {"yarn.lock", "yarn"}, {"bun.lock", "bun"}, {"bun.lockb", "bun"},
	} {
		if f.has(x.lock) {
			return x.name
		}
	}
	return "npm"
}

// runners is how a package manager runs a program of a dependency. npx must
// not fetch one from the network, or ask.
func runners(pm string) string {
	switch pm {
	case "pnpm":
		return "pnpm exec"
	case "yarn":
		return "yarn run"
	case "bun":
		return "bunx"
	}
	return "npx --no-install"
}

func pythonOffer(f folder) (offer, bool) {
	o := offer{test: "pytest"}
	for _, x := range []struct{ file, sign string }{
		{"pytest.ini", ""}, {"pyproject.toml", "pytest"}, {"setup.cfg", "pytest"}, {"tox.ini", "[pytest]"},
	} {
		if f.has(x.file) && strings.Contains(f.read(x.file), x.sign) {
			o.file = x.file
			break
		}
	}
	switch {
	case f.has("uv.lock"):
		o.test = "uv run pytest"
	case f.has("poetry.lock"):
		o.test = "poetry run pytest"
	}
	return o, o.file != ""
}

func mavenOffer(f folder) (offer, bool) {
	o := offer{file: "pom.xml", test: "mvn -q test"}
	if f.has("mvnw") {
		o.test = "./mvnw -q test"
	}
	return o, f.has(o.file)
}

func gradleOffer(f folder) (offer, bool) {
	file, ok := f.first("build.gradle", "build.gradle.kts")
	o := offer{file: file, test: "gradle test"}
	if f.has("gradlew") {
		o.test = "./gradlew test"
	}
	return o, ok
}

func rubyOffer(f folder) (offer, bool) {
	return offer{file: "Gemfile", test: "bundle exec rspec"}, f.has("Gemfile") && f.has("spec")
}

func phpOffer(f folder) (offer, bool) {
	file, ok := f.first("phpunit.xml", "phpunit.xml.dist")
	return offer{file: file, test: "vendor/bin/phpunit"}, ok
}

func dotnetOffer(f folder) (offer, bool) {
	entries, err := os.ReadDir(string(f))
	if err != nil {
		return offer{}, false
	}
	for _, e := range entries {
		switch filepath.Ext(e.Name()) {
		case ".sln", ".slnx", ".csproj", ".fsproj":
			return offer{file: e.Name(), test: "dotnet test"}, true
		}
	}
	return offer{}, false
}

func makeOffer(f folder) (offer, bool) {
	file, ok := f.first("GNUmakefile", "makefile", "Makefile") // make's own order
	return offer{file: file, test: "make test"}, ok && makeTest.MatchString(f.read(file))
}
