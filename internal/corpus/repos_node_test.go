//go:build corpus

package corpus

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// box gives the repository the packages that `npm install` has put somewhere. git ignores
// them; in worktrees node finds them above, as it does in packages of a workspace.
func (l *lab) box() {
	l.Helper()
	l.check(os.Symlink(filepath.Join(npmBox(l.T), "node_modules"), filepath.Join(l.dir, "node_modules")))
}

// fromBox copies a package as npm has unpacked it.
func (l *lab) fromBox(name, to string) {
	l.Helper()
	l.copyOf(filepath.Join(npmBox(l.T), "node_modules", name), to)
}

// nodeChore adds a module and its test, in the words of a test program.
func nodeChore(dir, code, test, source, text string) func(string) chore {
	return func(name string) chore {
		fill := strings.NewReplacer("NAME", name)
		path := dir + fill.Replace(code)
		return chore{
			Red: []edit{
				{Path: path, Text: fill.Replace(strings.ReplaceAll(source, "VALUE", "0"))}, {Path: dir + fill.Replace(test), Text: fill.Replace(text)},
			},
			Green: []edit{{Path: path, Text: fill.Replace(strings.ReplaceAll(source, "VALUE", "1"))}},
			Told:  name + " answers one",
		}
	}
}

func nodeTest(dir string) func(string) chore {
	return nodeChore(dir, "lib/NAME.js", "spec/NAME.test.js", "module.exports = () => VALUE;\n",
		"const test = require('node:test');\nconst assert = require('node:assert');\n\ntest('NAME answers one', () => assert.strictEqual(require('../lib/NAME')(), 1));\n")
}

// minimist is the package of that name, tested by node alone: its own test programs are many.
func minimist(l *lab, dir string) {
	l.Helper()
	l.fromBox("minimist", dir)
	l.must("rm", "-r", filepath.Join(l.dir, dir, "test"))
	l.write(map[string]string{
		filepath.Join(dir, "package.json"):       "{\"name\": \"" + filepath.Base("minimist/"+dir) + "\", \"version\": \"1.2.8\", \"main\": \"index.js\", \"scripts\": {\"test\": \"node --test spec/\"}}\n",
		filepath.Join(dir, "spec/parse.test.js"): "const test = require('node:test');\nconst assert = require('node:assert');\n\ntest('it parses', () => assert.strictEqual(require('..')(['-n', '5']).n, 5));\n",
	})
}

func nodeRepositories() []repository {
	return []repository{
		{
			name: "minimist 1.2.8, node --test",
			make: func(l *lab) {
				minimist(l, ".")
				l.start()
			},
			chore: nodeTest(""),
		},
		{
			name: "express 4.19.2, lint red before",
			make: func(l *lab) {
				l.fromBox("express", ".")
				l.must("rm", "-rf", filepath.Join(l.dir, "node_modules"))
				l.write(map[string]string{
					".gitignore":            "node_modules\n",
					"test/support/env.js":   "process.env.NODE_ENV = 'test';\n",
					"test/app.js":           "var assert = require('assert')\nvar express = require('..')\n\ndescribe('app', function () {\n  it('is callable', function () {\n    assert.strictEqual(typeof express(), 'function')\n  })\n})\n",
					"test/acceptance/.keep": "",
				})
				l.box()
				l.start()
			},
			chore: nodeChore("", "lib/NAME.js", "test/NAME.js", "module.exports = function () { return VALUE }\n",
				"var assert = require('assert')\n\ndescribe('NAME', function () {\n  it('NAME answers one', function () {\n    assert.strictEqual(require('../lib/NAME')(), 1)\n  })\n})\n"),
			// `npm run lint` has no settings in the package as it is published.
			settings: []string{"quality.baseline=known"},
		},
		{
			name: "a project with Jest 29", only: "autopilot",
			make: func(l *lab) {
				l.write(map[string]string{
					".gitignore":   "node_modules\ncoverage/\n",
					"package.json": "{\"name\": \"sums\", \"version\": \"1.0.0\", \"private\": true, \"scripts\": {\"test\": \"jest --coverage\"}, \"devDependencies\": {\"jest\": \"29.7.0\"}}\n",
					"sum.js":       "module.exports = (a, b) => a + b;\n",
					"sum.test.js":  "const sum = require('./sum');\n\ntest('it adds', () => expect(sum(1, 2)).toBe(3));\n",
				})
				l.box()
				l.start()
			},
			chore: nodeChore("", "NAME.js", "NAME.test.js", "module.exports = () => VALUE;\n",
				"test('NAME answers one', () => expect(require('./NAME')()).toBe(1));\n"),
		},
		{
			name: "create-vite 6.5.0 with Vitest 3",
			make: func(l *lab) {
				l.copyOf(filepath.Join(npmBox(l.T), "node_modules/create-vite/template-vanilla-ts"), ".")
				l.check(os.Rename(filepath.Join(l.dir, "_gitignore"), filepath.Join(l.dir, ".gitignore"))) // as create-vite does
				text, err := os.ReadFile(filepath.Join(l.dir, "package.json"))
				l.check(err)
				l.write(map[string]string{
					"package.json":        strings.Replace(string(text), `"dev": "vite",`, `"test": "vitest run", "dev": "vite",`, 1),
					"src/counter.test.ts": "import { expect, test } from 'vitest'\nimport { setupCounter } from './counter'\n\ntest('it counts', () => expect(typeof setupCounter).toBe('function'))\n",
				})
				l.box()
				l.start()
			},
			chore: nodeChore("src/", "NAME.ts", "NAME.test.ts", "export const NAME = () => VALUE\n",
				"import { expect, test } from 'vitest'\nimport { NAME } from './NAME'\n\ntest('NAME answers one', () => expect(NAME()).toBe(1))\n"),
		},
		{
			name: "npm workspaces",
			make: func(l *lab) {
				for _, name := range []string{"packages/left", "packages/right"} {
					minimist(l, name)
				}
				l.write(map[string]string{"package.json": fmt.Sprintln(`{"name": "all", "private": true, "workspaces": ["packages/*"]}`)})
				l.start()
			},
			chore: nodeTest("packages/left/"),
		},
	}
}
