package doctor

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ralph-loop/ralph/internal/bootstrap"
	"github.com/ralph-loop/ralph/internal/check"
	"github.com/ralph-loop/ralph/internal/config"
	"github.com/ralph-loop/ralph/internal/config/setting"
	"github.com/ralph-loop/ralph/internal/coverage"
	"github.com/ralph-loop/ralph/internal/workspace"
)

// checks are the commands that prove a claim, where each comes from, and what is seen
// of coverage (C-061).
func (x *examination) checks(root string, c config.Config) {
	specs, d := workspace.ChecksOf(c, root), check.Detect(root)
	if len(specs) == 0 {
		x.note("checks", "none: an agent's COMPLETE would be believed as it is", "set quality.commands in ralph/config.yaml, like [go test ./...]")
	}
	test := testOf(c, d)
	for _, s := range specs {
		switch {
		case s.Command == test.command:
		case len(c.Quality.Commands) > 0:
			x.ok("checks", "%s (configured)", s.Command)
		default:
			x.ok("checks", "%s (detected from %s)", s.Command, d.QualityFile)
		}
	}
	if test.command != "" {
		x.ok("tests", "%s", test)
		x.coverage(root, c, test)
	}
	for _, why := range d.Why {
		if !slices.Contains(inUse(c, d), why) {
			x.ok("detected", "%s", why)
		}
	}
}

// inUse are the detected lines that the findings about checks and tests have said already.
func inUse(c config.Config, d check.Detected) []string {
	if len(c.Quality.Commands) > 0 || c.Test.Command != "" {
		return nil
	}
	both := append(slices.Clone(d.Quality), d.Test)
	return []string{
		d.TestFile + ": " + d.Test, d.QualityFile + ": " + strings.Join(d.Quality, ", "),
		d.TestFile + ": " + strings.Join(both, ", "),
	}
}

// testCommand is the command that tests, and how it was come by.
type testCommand struct {
	command   string
	framework string // what it runs, "" when that is not known
	from      string // words for people
}

func (t testCommand) String() string {
	if t.framework == "" {
		return fmt.Sprintf("%s (%s)", t.command, t.from)
	}
	return fmt.Sprintf("%s: %s (%s)", t.framework, t.command, t.from)
}

// testOf is the test command as checksOf takes it: what is configured goes before what
// is detected, and an empty one that a person wrote means none.
func testOf(c config.Config, d check.Detected) testCommand {
	from := c.Where("test.command")
	switch {
	case c.Test.Command != "" && d.Test != "" && c.Test.Command != d.Test:
		seen := testCommand{command: d.Test, framework: d.Framework, from: "detected from " + d.TestFile}
		return testCommand{command: c.Test.Command, from: from.String() + ", instead of " + seen.String()}
	case c.Test.Command != "":
		return testCommand{command: c.Test.Command, from: from.String()}
	case d.Test != "" && from.Kind == setting.FromDefault:
		return testCommand{command: d.Test, framework: d.Framework, from: "detected from " + d.TestFile}
	}
	return testCommand{}
}

// DetectedSettings says of settings that are left to ralph what it takes, by key.
func DetectedSettings(c config.Config, root string, environ []string) map[string]string {
	out := map[string]string{}
	d := check.Detect(root)
	if len(c.Quality.Commands) == 0 && c.Where("quality.commands").Kind == setting.FromDefault && len(d.Quality) > 0 {
		out["quality.commands"] = fmt.Sprintf("detected from %s: %s", d.QualityFile, strings.Join(d.Quality, ", "))
	}
	if c.Where("gate.approvals").Kind == setting.FromDefault {
		word, why := bootstrap.ApprovalsNow(c, environ)
		out["gate.approvals"] = word + " here: " + why
	}
	if c.Where("test.command").Kind == setting.FromDefault && d.Test != "" {
		out["test.command"] = fmt.Sprintf("detected from %s: %s", d.TestFile, d.Test)
	}
	return out
}

// coverage says from which report coverage will be read. It can only know for sure
// where ralph asks for the report itself; elsewhere one that an earlier run left tells.
func (x *examination) coverage(root string, c config.Config, test testCommand) {
	if c.Test.Coverage == 0 {
		x.ok("coverage", "not held against anything: test.coverage is 0")
		return
	}
	least := fmt.Sprintf("at least %v%% (%s)", c.Test.Coverage, thresholdFrom(c))
	if _, profile := coverage.Prepare(test.command, root); profile != "" {
		x.ok("coverage", "%s of statements; ralph has go test write a profile", least)
		return
	}
	if name, format := coverage.Written(root); name != "" {
		x.ok("coverage", "%s where the tests write %s anew (%s)", least, name, format)
		return
	}
	x.note("coverage", "no report is there yet: where the tests write none, "+least+" holds nothing back", reportHint(test.framework))
}

func thresholdFrom(c config.Config) string {
	if from := c.Where("test.coverage"); from.Kind != setting.FromDefault {
		return from.String()
	}
	return "test.coverage"
}

// reportHint is how the tests of a framework come to write a report that is read.
func reportHint(framework string) string {
	switch framework {
	case "Vitest":
		return "have the script run `vitest run --coverage`, which writes coverage/coverage-final.json"
	case "Jest":
		return "have the script run `jest --coverage`, which writes coverage/coverage-final.json"
	case "Mocha", "AVA":
		return "have the script run it under `c8 -r json-summary`, which writes coverage/coverage-summary.json"
	case "Playwright", "Cypress":
		return "have it write coverage/lcov.info or coverage/coverage-final.json, or set test.coverage to 0"
	case "pytest":
		return "set test.command to `pytest --cov --cov-report=xml` (pytest-cov), which writes coverage.xml"
	case "Cargo":
		return "set test.command to `cargo llvm-cov --lcov --output-path lcov.info`"
	case "Maven":
		return "let the jacoco plugin report in the phase test: target/site/jacoco/jacoco.xml"
	case "Gradle":
		return "finalize the task test by jacocoTestReport with XML: build/reports/jacoco/test/jacocoTestReport.xml"
	case ".NET":
		return "set test.command to `dotnet test --collect:\"XPlat Code Coverage\"` (coverlet.collector)"
	case "RSpec":
		return "have simplecov write coverage/lcov.info (simplecov-lcov) or coverage.xml (simplecov-cobertura)"
	case "PHPUnit":
		return "set test.command to `vendor/bin/phpunit --coverage-cobertura cobertura.xml`"
	}
	return "have the tests write a report of istanbul, lcov, cobertura, jacoco or coverage.py, or set test.coverage to 0"
}
