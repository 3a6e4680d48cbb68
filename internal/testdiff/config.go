package testdiff

import (
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/ralph-loop/ralph/internal/lazyregexp"
	"github.com/ralph-loop/ralph/internal/text"
)

// isConfig reports whether a file says how tests are run, or how much they must
// cover.
func isConfig(file string) bool {
	name := base(file)
	switch name {
	case "package.json", "composer.json", "Makefile", "makefile", "GNUmakefile", "justfile", "Justfile", "Taskfile.yml", "Taskfile.yaml", "Rakefile", "Jenkinsfile",
		"karma.conf.js", "codecov.yml", ".codecov.yml", "codecov.yaml", "pyproject.toml", "setup.cfg", "tox.ini", "pytest.ini", ".coveragerc", "noxfile.py", "conftest.py",
		"Cargo.toml", "pom.xml", "build.gradle", "build.gradle.kts", "build.sbt", "phpunit.xml", "phpunit.xml.dist", ".rspec", ".simplecov", "spec_helper.rb", "rails_helper.rb", "test_helper.rb",
		".gitlab-ci.yml", ".travis.yml", "azure-pipelines.yml", "bitbucket-pipelines.yml", "Directory.Build.props":
		return true
	}
	for _, start := range []string{"jest.config.", "vitest.config.", "vite.config.", "playwright.config.", "cypress.config.", ".nycrc", ".c8rc", ".mocharc"} {
		if strings.HasPrefix(name, start) {
			return true
		}
	}
	switch path.Ext(name) {
	case ".mk", ".sh", ".csproj", ".runsettings":
		return true
	case ".yml", ".yaml":
		return contains("/"+file, []string{"/.github/", "/.circleci/", "/.gitea/", "/.forgejo/", "/.buildkite/", "/.woodpecker"})
	}
	return false
}

// testCommand is a command that runs tests.
var testCommand = lazyregexp.New(`\b(go test|gotestsum|(npm|pnpm|yarn|bun)( run)? test|npm t\b|jest|vitest|mocha|ava|karma start|pytest|unittest|tox|nox|cargo (nextest|test)|` +
	`mvnw? .*\b(test|verify)|gradlew? .*\b(test|check)|sbt test|rspec|rake test|rails test|phpunit|pest|dotnet test|bats|ctest|make (test|check)|(just|task) test|playwright test|cypress run|deno test|coverage run)\b`)

// ignored is how a command's failure is let go, and narrowed how it leaves tests out.
var (
	ignored  = lazyregexp.New(`\|\|\s*(true|:|exit 0|echo|/bin/true)(\s|["';)]|$)|;\s*(true|exit 0)\s*["']?,?$|--passWithNoTests|--pass-with-no-tests|-Dmaven\.test\.failure\.ignore|^-\s*\S|^\t[@+]*-`)
	narrowed = lazyregexp.New(`-DskipTests|-Dmaven\.test\.skip|\s-x\s+test\b|--deselect|--ignore[= ]|--ignore-glob|-k\s+["']?not\b|-m\s+["']?not\b|\s-skip[= ]|\s-short\b|--skip[= ]|--testPathIgnorePatterns|--exclude[= ]|--grep-invert|--invert`)
	idle     = lazyregexp.New(`^(?:["'][\w:.-]+["']\s*:\s*|(?:-\s+)?(?:run|script|commands?)\s*[:=]\s*|[@-]*\s*)["']?\s*(echo\b.*|true|exit 0|:)["']?,?$`)
	hasTest  = lazyregexp.New(`(?i)\btests?\b|e2e|\bspecs?\b|coverage`)
)

// switches turn tests off, or their failures, wherever they stand.
var (
	soften = lazyregexp.New(`^(- )?continue-on-error:\s*true\b|^(- )?allow_failure:\s*true\b|passWithNoTests["']?\s*:\s*true|ignoreFailures\s*=\s*true|<testFailureIgnore>\s*true|<maven\.test\.failure\.ignore>\s*true|^soft_fail:\s*true`)
	silent = lazyregexp.New(`^(- )?if:\s*(\$\{\{\s*)?false\b|^when:\s*never\b|<skipTests>\s*true|<maven\.test\.skip>\s*true|^test\s*=\s*false|testPathIgnorePatterns|testIgnore\b|grepInvert|collect_ignore|norecursedirs`)
	steps  = lazyregexp.New(`^(- )?(continue-on-error|allow_failure|if|when|soft_fail)\b`)
)

// threshold is a key that says how much must be covered, and its number.
var (
	threshold = lazyregexp.New(`(?i)(fail[_-]under|cov[_-]fail[_-]under|minimum_coverage|min_?coverage|coverage_?min\w*|coverage_?threshold\w*|<minimum>|\bminimum\b|\bthreshold\b|\btarget\b|\bbranches\b|\bfunctions\b|\blines\b|\bstatements\b)["']?(?:\s*[:=>]?\s*|.*?[=:]\s*)["']?(-?\d+(?:\.\d+)?)%?`)
	demand    = lazyregexp.New(`(?i)fail[_-]under|cov[_-]fail[_-]under|minimum_coverage|min_?coverage|coverage_?min|coverage_?threshold`)
	number    = lazyregexp.New(`-?\d+(\.\d+)?`)
)

func (f *finder) judgeConfigs() {
	commands := 0 // that the patch adds, anywhere
	for _, c := range f.configs {
		for _, h := range c.hunks {
			for _, l := range h.new {
				if l.changed && isCommand(l.text) {
					commands++
				}
			}
		}
	}
	for _, c := range f.configs {
		if c.name == "" || c.old == "" {
			continue // nothing is weaker than it was
		}
		for _, h := range c.hunks {
			f.judgeCommands(c, h, commands)
			f.judgeSwitches(c, h)
			f.judgeThresholds(c, h)
		}
	}
}

// runsTests reports whether a line has a command that runs tests. The words come
// first: they are a hundred times as quick as the expression.
func runsTests(text string) bool {
	return contains(text, []string{"test", "spec", "jest", "mocha", "ava", "karma", "tox", "nox", "verify", "check", "pest", "phpunit", "bats", "cypress", "coverage"}) &&
		testCommand.MatchString(text)
}

// isCommand reports whether a line runs tests and can fail for them.
func isCommand(text string) bool {
	return runsTests(text) && !isNote(text) && !ignored.MatchString(command(text))
}

func isNote(text string) bool {
	trimmed := strings.TrimSpace(text)
	return strings.HasPrefix(trimmed, "#") || strings.HasPrefix(trimmed, "//")
}

// command keeps a tab that begins a recipe of make, after which - means to go on.
func command(text string) string {
	if strings.HasPrefix(text, "\t") {
		return "\t" + strings.TrimSpace(text)
	}
	return strings.TrimLeft(strings.TrimSpace(text), "- ")
}

// judgeCommands looks for a command that could fail and now cannot, runs fewer tests,
// or is nothing now.
func (f *finder) judgeCommands(c *change, h hunk, elsewhere int) {
	var hard []rawLine
	for _, l := range h.old {
		if l.changed && isCommand(l.text) {
			hard = append(hard, l)
		}
	}
	replaced := map[int]bool{} // runs of changes in which something came
	for _, l := range h.new {
		if l.changed && strings.TrimSpace(l.text) != "" {
			replaced[l.run] = true
		}
		if !l.changed || len(hard) == 0 {
			continue
		}
		kind, what := "", ""
		switch {
		case isNote(l.text):
		case runsTests(l.text) && ignored.MatchString(command(l.text)):
			kind, what = Weakened, "the failure of tests is ignored: "
		case runsTests(l.text) && narrowed.MatchString(l.text) && len(narrowed.FindAllString(hard[0].text, -1)) < len(narrowed.FindAllString(l.text, -1)):
			kind, what = Skipped, "tests are left out: "
		case idle.MatchString(strings.TrimSpace(l.text)) && !runsTests(l.text):
			kind, what = Weakened, "runs no tests any more: "
		case runsTests(l.text):
			hard = hard[1:]
		}
		if kind != "" {
			f.report(c, l.number, kind, what+text.Line(l.text, maxQuote))
			hard = hard[1:]
		}
	}
	if len(hard) > 0 && !replaced[hard[0].run] && elsewhere == 0 {
		f.report(c, hard[0].number, Weakened, "a test command is gone: "+text.Line(hard[0].text, maxQuote))
	}
}

// judgeSwitches looks for words that turn tests off. Those of a step of a workflow
// only count when the step is about tests and is not new itself.
func (f *finder) judgeSwitches(c *change, h hunk) {
	for _, s := range []struct {
		re   *lazyregexp.Regexp
		kind string
		what string
	}{
		{soften, Weakened, "the failure of tests is ignored: "},
		{silent, Skipped, "tests are left out: "},
	} {
		match := func(l rawLine) bool { return s.re.MatchString(strings.TrimSpace(l.text)) }
		if !slices.ContainsFunc(h.new, func(l rawLine) bool { return l.changed && match(l) }) {
			continue
		}
		was := 0
		for _, l := range h.old {
			if match(l) {
				was++
			}
		}
		for i, l := range h.new {
			trimmed := strings.TrimSpace(l.text)
			if isNote(trimmed) || !s.re.MatchString(trimmed) {
				continue
			}
			if was--; was >= 0 || !l.changed || steps.MatchString(trimmed) && !testStep(h.new, i) {
				continue
			}
			f.report(c, l.number, s.kind, s.what+text.Line(trimmed, maxQuote))
		}
	}
}

// testStep reports whether line i is in a block of YAML that was there before and
// that is about tests.
func testStep(lines []rawLine, i int) bool {
	at := columns(lines[i].text)
	head := i
	for head > 0 && !strings.HasPrefix(strings.TrimSpace(lines[head].text), "- ") {
		if c := columns(lines[head].text); c < at && strings.TrimSpace(lines[head].text) != "" {
			break
		}
		head--
	}
	if lines[head].changed && head != i {
		return false
	}
	top := columns(lines[head].text)
	for j := head; j < len(lines); j++ {
		if j > head && strings.TrimSpace(lines[j].text) != "" && columns(lines[j].text) <= top {
			break
		}
		if j != i && (runsTests(lines[j].text) || hasTest.MatchString(lines[j].text)) {
			return true
		}
	}
	return false
}

// judgeThresholds looks for the same key with a lower number, or for none in its place.
func (f *finder) judgeThresholds(c *change, h hunk) {
	for _, o := range h.old {
		if !o.changed || !strings.ContainsAny(o.text, "0123456789") {
			continue
		}
		m := threshold.FindStringSubmatch(o.text)
		if m == nil || !covering(c, o.text, m[1]) {
			continue
		}
		found := false
		for _, n := range h.new {
			if !n.changed || !strings.Contains(n.text, m[1]) {
				continue
			}
			found = true
			now := threshold.FindStringSubmatch(n.text)
			if now == nil || number.ReplaceAllString(o.text, "") != number.ReplaceAllString(n.text, "") && !demand.MatchString(m[1]) {
				continue
			}
			was, _ := strconv.ParseFloat(m[2], 64)
			is, _ := strconv.ParseFloat(now[2], 64)
			if is < was {
				f.report(c, n.number, Weakened, "the threshold is lower: "+text.Line(n.text, maxQuote)+" (was "+m[2]+")")
			}
			break
		}
		if !found && demand.MatchString(m[1]) {
			f.report(c, o.number, Weakened, "the threshold is gone: "+text.Line(o.text, maxQuote))
		}
	}
}

// covering reports whether a number is about coverage: by its key, or by the file.
func covering(c *change, text, key string) bool {
	if demand.MatchString(key) {
		return true
	}
	name := base(c.name)
	return contains(name, []string{"jest.config", "vitest.config", "vite.config", "nycrc", "c8rc", "codecov", "karma.conf"}) ||
		name == "package.json" && strings.HasPrefix(strings.TrimSpace(text), `"`) ||
		contains(name, []string{"pom.xml", "build.gradle"}) && strings.Contains(strings.ToLower(key), "minimum")
}

// isSnapshot reports whether a file holds what a test compares with.
func isSnapshot(file string) bool {
	return contains("/"+file, []string{"/__snapshots__/", "-snapshots/", "/__image_snapshots__/"}) || slices.Contains([]string{".snap", ".ambr", ".golden"}, path.Ext(file)) ||
		strings.HasSuffix(file, ".approved.txt") || strings.HasSuffix(file, ".verified.txt")
}

// judgeSnapshots looks for snapshots that go while their test stays as it is: the
// next run then takes whatever comes for right.
func (f *finder) judgeSnapshots() {
	for _, c := range f.snapshots {
		if !f.added.has(base(c.old)) && !f.touched(c.old) {
			f.report(c, 0, Deleted, "a snapshot that tests compare with")
		}
	}
}

// touched reports whether the patch also changes the test that a snapshot is named
// after: what becomes of it there is judged with it.
func (f *finder) touched(snapshot string) bool {
	return slices.ContainsFunc(f.files, func(x *file) bool {
		name := base(x.old)
		return name != "" && strings.Contains(snapshot, name) && slices.ContainsFunc(x.hunks, func(h hunk) bool {
			return slices.ContainsFunc(h.old, func(l rawLine) bool {
				return l.changed && strings.Contains(strings.ToLower(l.text), "snapshot")
			})
		}) || name != "" && strings.Contains(snapshot, name) && x.name == ""
	})
}
