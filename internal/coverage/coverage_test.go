package coverage_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/ralph-loop/ralph"
	"github.com/ralph-loop/ralph/internal/coverage"
)

// began is when the runs of these tests began; what they write is a second younger.
func began() time.Time { return time.Date(2026, 1, 5, 10, 0, 0, 500e6, time.UTC) }

// project makes a folder with these files, whose texts are fixtures or, where they
// begin with "=", what follows.
func project(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, from := range files {
		text, literal := strings.CutPrefix(from, "=")
		if !literal {
			b, err := os.ReadFile(filepath.Join("testdata", from))
			if err != nil {
				t.Fatal(err)
			}
			text = string(b)
		}
		write(t, filepath.Join(dir, name), text, began().Add(time.Second))
	}
	return dir
}

func write(t *testing.T, name, text string, at time.Time) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(name, at, at); err != nil {
		t.Fatal(err)
	}
}

// C-061: every format that is read, as its tools write it. Those of Go, c8, jest and
// vitest were recorded, the others follow their documentation.
func TestRead(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		files   map[string]string
		want    string // format, covered/total, file
		percent float64
	}{
		{"go of several packages", map[string]string{"cover.out": "go.out"}, "go 5/7 cover.out", 100 * 5. / 7},
		{"c8 summary", map[string]string{"coverage/coverage-summary.json": "c8/coverage-summary.json"}, "istanbul 9/13 coverage/coverage-summary.json", 100 * 9. / 13},
		{"c8", map[string]string{"coverage/coverage-final.json": "c8/coverage-final.json"}, "istanbul 9/13 coverage/coverage-final.json", 100 * 9. / 13},
		{"c8 lcov", map[string]string{"coverage/lcov.info": "c8/lcov.info"}, "lcov 9/13 coverage/lcov.info", 100 * 9. / 13},
		{"c8 cobertura", map[string]string{"coverage/cobertura-coverage.xml": "c8/cobertura-coverage.xml"}, "cobertura 9/13 coverage/cobertura-coverage.xml", 100 * 9. / 13},
		{"jest summary", map[string]string{"coverage/coverage-summary.json": "jest/coverage-summary.json"}, "istanbul 4/7 coverage/coverage-summary.json", 100 * 4. / 7},
		{"jest", map[string]string{"coverage/coverage-final.json": "jest/coverage-final.json"}, "istanbul 4/7 coverage/coverage-final.json", 100 * 4. / 7},
		{"jest lcov", map[string]string{"lcov.info": "jest/lcov.info"}, "lcov 4/7 lcov.info", 100 * 4. / 7},
		{"jest cobertura", map[string]string{"coverage/cobertura-coverage.xml": "jest/cobertura-coverage.xml"}, "cobertura 4/7 coverage/cobertura-coverage.xml", 100 * 4. / 7},
		{"vitest", map[string]string{"coverage/coverage-final.json": "vitest/coverage-final.json"}, "istanbul 7/12 coverage/coverage-final.json", 100 * 7. / 12},
		{"coverage.py json", map[string]string{"coverage.json": "python/coverage.json"}, "coverage.py 7/12 coverage.json", 100 * 7. / 12},
		{"coverage.py xml", map[string]string{"coverage.xml": "python/coverage.xml"}, "cobertura 5/8 coverage.xml", 62.5},
		{"jacoco", map[string]string{"target/site/jacoco/jacoco.xml": "jacoco/core.xml"}, "jacoco 1/5 target/site/jacoco/jacoco.xml", 20},
		{"gradle", map[string]string{"build/reports/jacoco/test/jacocoTestReport.xml": "jacoco/app.xml"}, "jacoco 9/10 build/reports/jacoco/test/jacocoTestReport.xml", 90},
		{"jacoco of classes without lines", map[string]string{"target/site/jacoco/jacoco.xml": `=<report name="x"><counter type="INSTRUCTION" missed="1" covered="3"/></report>`}, "jacoco 3/4 target/site/jacoco/jacoco.xml", 75},
		{"coverlet", map[string]string{"TestResults/6f1c/coverage.cobertura.xml": "dotnet/a.cobertura.xml"}, "cobertura 2/4 TestResults/6f1c/coverage.cobertura.xml", 50},

		{"modules add up", map[string]string{"core/target/site/jacoco/jacoco.xml": "jacoco/core.xml", "app/target/site/jacoco/jacoco.xml": "jacoco/app.xml"}, "jacoco 10/15 app/target/site/jacoco/jacoco.xml", 100 * 10. / 15},
		{"an aggregate has them", map[string]string{"core/target/site/jacoco/jacoco.xml": "jacoco/core.xml", "all/target/site/jacoco-aggregate/jacoco.xml": "jacoco/app.xml"}, "jacoco 9/10 all/target/site/jacoco-aggregate/jacoco.xml", 90},
		{"packages add up", map[string]string{"packages/a/coverage/coverage-final.json": "c8/coverage-final.json", "packages/b/coverage/coverage-final.json": "vitest/coverage-final.json", "packages/b/coverage/lcov.info": "jest/lcov.info"}, "istanbul 16/25 packages/a/coverage/coverage-final.json", 64},
		{"packages with the same names", map[string]string{"packages/a/coverage/lcov.info": "jest/lcov.info", "packages/b/coverage/lcov.info": "jest/lcov.info"}, "lcov 8/14 packages/a/coverage/lcov.info", 100 * 8. / 14},
		{"the root is all of it", map[string]string{"coverage/coverage-summary.json": "c8/coverage-summary.json", "packages/b/coverage/coverage-summary.json": "jest/coverage-summary.json"}, "istanbul 9/13 coverage/coverage-summary.json", 100 * 9. / 13},
		{"a library that two test projects measure counts once", map[string]string{"A.Tests/TestResults/1/coverage.cobertura.xml": "dotnet/a.cobertura.xml", "B.Tests/TestResults/2/coverage.cobertura.xml": "dotnet/b.cobertura.xml"}, "cobertura 3/4 A.Tests/TestResults/1/coverage.cobertura.xml", 75},
		{"others' reports", map[string]string{"node_modules/x/coverage/lcov.info": "jest/lcov.info", ".cache/lcov.info": "jest/lcov.info", "ralph/.worktrees/1/lcov.info": "jest/lcov.info", "vendor/x/coverage.xml": "python/coverage.xml"}, "", 0},
		{"nothing to cover", map[string]string{"cover.out": "=mode: set\n"}, "", 0},
		{"no report", map[string]string{"a.go": "=package a\n"}, "", 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := coverage.Read(project(t, tt.files), began(), "")
			if err != nil {
				t.Fatal(err)
			}
			checkCoverage(t, got, tt.want, tt.percent)
		})
	}
}

func checkCoverage(t *testing.T, got *ralph.Coverage, want string, percent float64) {
	t.Helper()
	if got == nil || want == "" {
		if got != nil || want != "" {
			t.Errorf("got %+v, want %q", got, want)
		}
		return
	}
	if s := fmt.Sprintf("%s %d/%d %s", got.Format, got.Covered, got.Total, got.File); s != want || got.Percent != percent {
		t.Errorf("got %s, %v %%\nwant %s, %v %%", s, got.Percent, want, percent)
	}
}

// C-061: 79.9 % is below 80, 80 % is not, to the last digit.
func TestReadExactly(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		covered, total int
		reaches        bool
	}{
		{799, 1000, false}, {800, 1000, true}, {4, 5, true}, {79999, 100000, false}, {7999999999, 10000000000, false}, {24, 30, true}, {23, 29, false}, {5600, 7000, true}, {3, 3, true},
	} {
		for name, text := range map[string]string{
			"cover.out":                      fmt.Sprintf("=mode: set\nx/a.go:1.1,2.2 %d 1\nx/a.go:3.1,4.2 %d 0\n", tt.covered, tt.total-tt.covered),
			"coverage/coverage-summary.json": fmt.Sprintf(`={"total":{"lines":{"total":%d,"covered":%d,"pct":80}}}`, tt.total, tt.covered),
			"lcov.info":                      fmt.Sprintf("=SF:a\nLF:%d\nLH:%d\nend_of_record\n", tt.total, tt.covered),
			"coverage.xml":                   fmt.Sprintf(`=<coverage line-rate="0.8" lines-valid="%d" lines-covered="%d"/>`, tt.total, tt.covered),
			"target/site/jacoco/jacoco.xml":  fmt.Sprintf(`=<report><counter type="LINE" missed="%d" covered="%d"/></report>`, tt.total-tt.covered, tt.covered),
			"coverage.json":                  fmt.Sprintf(`={"totals":{"covered_lines":%d,"num_statements":%d}}`, tt.covered, tt.total),
		} {
			got, err := coverage.Read(project(t, map[string]string{name: text}), began(), "")
			if err != nil || got == nil {
				t.Fatalf("%s: %v, %v", name, got, err)
			}
			if (got.Percent >= 80) != tt.reaches || got.Percent > 100 {
				t.Errorf("%s: %d of %d are %v %%", name, tt.covered, tt.total, got.Percent)
			}
		}
	}
}

// What a run did not write says nothing of it.
func TestReadOnlyWhatTheRunWrote(t *testing.T) {
	t.Parallel()
	dir := project(t, map[string]string{"coverage/lcov.info": "jest/lcov.info", "b/coverage.json": "python/coverage.json"})
	age := func(name string, at time.Time) {
		t.Helper()
		if err := os.Chtimes(filepath.Join(dir, name), at, at); err != nil {
			t.Fatal(err)
		}
	}
	age("coverage/lcov.info", began().Add(-time.Second))
	got, err := coverage.Read(dir, began(), "")
	if err != nil {
		t.Fatal(err)
	}
	checkCoverage(t, got, "coverage.py 7/12 b/coverage.json", 100*7./12)
	age("coverage/lcov.info", began().Truncate(time.Second)) // a file system of whole seconds
	if got, err = coverage.Read(dir, began(), ""); err != nil {
		t.Fatal(err)
	}
	checkCoverage(t, got, "lcov 4/7 coverage/lcov.info", 100*4./7)
	if name, format := coverage.Written(dir); name != "coverage/lcov.info" || format != "lcov" {
		t.Errorf("written: %s, %s", name, format)
	}
}

// The profile that was asked for is what counts, outside the tree.
func TestReadProfile(t *testing.T) {
	t.Parallel()
	dir := project(t, map[string]string{"coverage/lcov.info": "jest/lcov.info"})
	scratch := project(t, map[string]string{"cover.out": "go.out"})
	_, profile := coverage.Prepare("go test ./...", scratch)
	got, err := coverage.Read(dir, began(), profile)
	if err != nil {
		t.Fatal(err)
	}
	checkCoverage(t, got, "go 5/7 cover.out", 100*5./7)
	got, err = coverage.Read(dir, began().Add(time.Hour), profile) // of an earlier run
	if got != nil || err != nil {
		t.Errorf("%+v, %v", got, err)
	}
	got, err = coverage.Read(dir, began(), filepath.Join(scratch, "none"))
	if err != nil {
		t.Fatal(err)
	}
	checkCoverage(t, got, "lcov 4/7 coverage/lcov.info", 100*4./7)
}

// A report that cannot be read is named, with the reason; it never counts by half.
func TestReadBroken(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, text, why string }{
		{"coverage/coverage-summary.json", `{"total":{"lines":{"tot`, "unexpected EOF"},
		{"coverage/coverage-summary.json", `{}`, "total"},
		{"coverage/coverage-summary.json", `{"total":{"lines":{"total":5,"covered":6}}}`, "6 of 5"},
		{"coverage/coverage-summary.json", `{"total":{"lines":{"total":5,"covered":4}}} {}`, "after its end"},
		{"coverage/coverage-final.json", `[]`, "array"},
		{"lcov.info", "", "no record"},
		{"lcov.info", "SF:a\nDA:1,1\n", "middle of a record"},
		{"lcov.info", "SF:a\nDA:x,1\nend_of_record\n", "line 2"},
		{"coverage.xml", `<coverage lines-valid="3" lines-covered="4"/>`, "4 of 3"},
		{"coverage.xml", `<coverage lines-valid="x"/>`, "lines-valid"},
		{"coverage.xml", `<coverage lines-valid="3" lines-covered="1"><packages>`, "EOF"},
		{"coverage.xml", `<html></html>`, "is a <html>, not a <coverage>"},
		{"coverage.xml", ``, "no <coverage>"},
		{"coverage.xml", `<coverage clover="4.1"><project/></coverage>`, "clover"},
		{"coverage.xml", `<!DOCTYPE c [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;">]><coverage>&b;</coverage>`, "entity"},
		{"target/site/jacoco/jacoco.xml", `<report><counter type="LINE" missed="-1" covered="4"/></report>`, "-1 missed"},
		{"coverage.json", `{"results": []}`, "coverage.py"},
		{"cover.out", "not a profile\n", "mode"},
		{"cover.out", "mode: set\nx.go:1.1,2.2 1\n", "x.go"},
	} {
		got, err := coverage.Read(project(t, map[string]string{tt.name: "=" + tt.text}), began(), "")
		if err == nil || got != nil || !strings.Contains(err.Error(), tt.name) || !strings.Contains(err.Error(), tt.why) {
			t.Errorf("%s of %q: %+v, %v", tt.name, tt.text, got, err)
		}
	}
}

// Hostile reports end: too deep, too long, no file at all.
func TestReadHostile(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat("<a>", 100_000)
	dir := project(t, map[string]string{"coverage.xml": `=<coverage>` + deep, "j/coverage.json": "=" + strings.Repeat("[", 100_000)})
	if got, err := coverage.Read(dir, began(), ""); err == nil {
		t.Errorf("%+v", got)
	}
	if got, err := coverage.Read(filepath.Join(dir, "j"), began(), ""); err == nil {
		t.Errorf("%+v", got)
	}
	long := filepath.Join(dir, "j", "coverage.xml")
	write(t, long, "<coverage/>", began())
	if err := os.Truncate(long, 1<<40); err != nil {
		t.Skip("no sparse files here: ", err)
	}
	if err := os.Chtimes(long, began(), began()); err != nil {
		t.Fatal(err)
	}
	if _, err := coverage.Read(filepath.Join(dir, "j"), began(), ""); err == nil || !strings.Contains(err.Error(), "64 are not read") {
		t.Error(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "lcov.info"), 0o755); err != nil {
		t.Fatal(err)
	}
	if name, _ := coverage.Written(filepath.Join(dir, "none")); name != "" {
		t.Errorf("in no folder: %s", name)
	}
}

// A folder whose name looks like a pattern is read like any other.
func TestReadOddFolder(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "a[b]*?")
	write(t, filepath.Join(dir, "TestResults/1/coverage.cobertura.xml"), `<coverage lines-valid="2" lines-covered="1"/>`, began())
	got, err := coverage.Read(dir, began(), "")
	want := &ralph.Coverage{Percent: 50, Covered: 1, Total: 2, Format: "cobertura", File: "TestResults/1/coverage.cobertura.xml"}
	if d := cmp.Diff(want, got, cmpopts.EquateEmpty()); err != nil || d != "" {
		t.Errorf("%v\n%s", err, d)
	}
}
