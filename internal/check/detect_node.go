package check

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"unicode"

	"go.yaml.in/yaml/v3"
)

// packageJSON is what matters of a package.json.
type packageJSON struct {
	Scripts         map[string]string `json:"scripts"`
	Packager        string            `json:"packageManager"` // "pnpm@9.1.0"
	Dependencies    map[string]any    `json:"dependencies"`
	DevDependencies map[string]any    `json:"devDependencies"`
	Workspaces      json.RawMessage   `json:"workspaces"` // names, or an object that has them
}

func (p packageJSON) uses(name string) bool {
	_, dep := p.Dependencies[name]
	_, dev := p.DevDependencies[name]
	return dep || dev
}

// test returns the script that tests; what `npm init` writes there does not.
func (p packageJSON) test() string {
	if script := p.Scripts["test"]; !strings.Contains(script, "no test specified") {
		return script
	}
	return ""
}

// nodeFramework is a test framework of JavaScript.
type nodeFramework struct {
	name    string
	words   []string // by which a script calls it
	depends string   // the package
	run     string   // how it runs once, without watching
}

// nodeFrameworks are in the order in which they are taken where no script says which:
// those that test a whole application first.
func nodeFrameworks() []nodeFramework {
	return []nodeFramework{
		{"Playwright", []string{"playwright"}, "@playwright/test", "playwright test"},
		{"Cypress", []string{"cypress"}, "cypress", "cypress run"},
		{"Vitest", []string{"vitest"}, "vitest", "vitest run"},
		{"Jest", []string{"jest", "react-scripts"}, "jest", "jest"},
		{"Mocha", []string{"mocha"}, "mocha", "mocha"},
		{"AVA", []string{"ava"}, "ava", "ava"},
	}
}

// nodeOffer takes the project's own scripts, run by the package manager whose lock
// file is there, else the test framework it depends on, else the scripts of its
// workspaces.
func nodeOffer(f folder) (offer, bool) {
	o := offer{file: "package.json"}
	text := f.read(o.file)
	if text == "" {
		return o, false
	}
	var p packageJSON
	if err := json.Unmarshal([]byte(text), &p); err != nil {
		o.notes = []string{"cannot be read: " + err.Error()}
		return o, true
	}
	pm := f.packager(p)
	for _, names := range [][]string{{"lint"}, {"typecheck", "type-check", "check-types"}} {
		if i := slices.IndexFunc(names, func(n string) bool { return p.Scripts[n] != "" }); i >= 0 {
			o.quality = append(o.quality, pm+" run "+names[i])
		}
	}
	switch {
	case p.test() != "":
		o.script(p, pm)
	case o.dependency(p, pm):
	case f.workspaces(p):
		o.test = f.everywhere(p, pm)
	}
	if o.test == "" {
		o.notes = append(o.notes, `no script "test" and no test framework that is known; add one, or set test.command`)
	}
	return o, true
}

// script takes the script "test" as it is, whatever it runs, and names the frameworks
// beside it, which it may leave out.
func (o *offer) script(p packageJSON, pm string) {
	o.test = pm + " test"
	if pm == "bun" {
		o.test = "bun run test" // `bun test` is bun's own test runner, not the script
	}
	words := p.words("test")
	all := nodeFrameworks()
	called := func(x nodeFramework) bool {
		return slices.ContainsFunc(x.words, func(w string) bool { return slices.Contains(words, w) })
	}
	whole, units := all[:2], all[2:]
	for _, x := range whole { // these are usually not in "test"
		if p.uses(x.depends) && !called(x) {
			o.notes = append(o.notes, fmt.Sprintf("%s (%s %s) is there too; name it in quality.commands to run it", x.name, runners(pm), x.run))
		}
	}
	if i := slices.IndexFunc(all, called); i >= 0 {
		o.framework = all[i].name
		return
	}
	slices.Reverse(units) // a script that says nothing means what tests a unit
	if i := slices.IndexFunc(units, func(x nodeFramework) bool { return p.uses(x.depends) }); i >= 0 {
		o.framework = units[i].name
	}
}

// words are those of a script and of the scripts that it names.
func (p packageJSON) words(name string) []string {
	split := func(text string) []string {
		return strings.FieldsFunc(text, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '-' })
	}
	words := split(p.Scripts[name])
	for _, field := range strings.Fields(p.Scripts[name]) {
		if field != name {
			words = append(words, split(p.Scripts[field])...)
		}
	}
	return words
}

// dependency takes a framework that nothing but a dependency tells of.
func (o *offer) dependency(p packageJSON, pm string) bool {
	all := nodeFrameworks()
	i := slices.IndexFunc(all, func(x nodeFramework) bool { return p.uses(x.depends) })
	if i >= 0 {
		o.framework, o.test = all[i].name, runners(pm)+" "+all[i].run
	}
	return i >= 0
}

func (f folder) packager(p packageJSON) string {
	switch name, _, _ := strings.Cut(p.Packager, "@"); name {
	case "npm", "pnpm", "yarn", "bun":
		return name
	}
	for _, x := range []struct{ lock, name string }{
		{"pnpm-lock.yaml", "pnpm"}, {"pnpm-workspace.yaml", "pnpm"}, {"yarn.lock", "yarn"}, {"bun.lock", "bun"}, {"bun.lockb", "bun"},
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

// workspaces reports whether a package of the workspace has tests.
func (f folder) workspaces(p packageJSON) bool {
	var patterns []string
	if json.Unmarshal(p.Workspaces, &patterns) != nil {
		var object struct {
			Packages []string `json:"packages"`
		}
		if json.Unmarshal(p.Workspaces, &object) == nil {
			patterns = object.Packages
		}
	}
	var pnpm struct {
		Packages []string `yaml:"packages"`
	}
	if yaml.Unmarshal([]byte(f.read("pnpm-workspace.yaml")), &pnpm) == nil {
		patterns = append(patterns, pnpm.Packages...)
	}
	for _, pattern := range patterns {
		pattern = path.Join(strings.ReplaceAll(pattern, "**", "*"), "package.json")
		names, err := fs.Glob(os.DirFS(string(f)), pattern)
		if err != nil {
			continue
		}
		for _, name := range names {
			var member packageJSON
			if json.Unmarshal([]byte(f.read(name)), &member) == nil && member.test() != "" {
				return true
			}
		}
	}
	return false
}

// everywhere is how a package manager runs the script "test" of all packages that
// have one; "" where it cannot leave out the others.
func (f folder) everywhere(p packageJSON, pm string) string {
	switch pm {
	case "pnpm":
		return "pnpm -r test"
	case "bun":
		return "bun run --filter '*' test"
	case "yarn":
		if _, version, _ := strings.Cut(p.Packager, "@"); f.has(".yarnrc.yml") || version != "" && !strings.HasPrefix(version, "1.") {
			return "yarn workspaces foreach -A run test"
		}
		return ""
	}
	return "npm test --workspaces --if-present"
}
