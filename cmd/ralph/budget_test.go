package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Most of what the suite costs are programs that scripts start: so many lines of those of every day
// start ralph, and of all, and of those so many an engine, which is ten times as dear. All
// have some room. A script that needs more of it shares the repository and the run of another
// one, or the number goes up, and the commit's message says what that buys.
const (
	maxStartsADay  = 600
	maxEnginesADay = 80
	maxStarts      = 1950
	maxEngines     = 360
)

func TestScriptsStartFewPrograms(t *testing.T) {
	t.Parallel()
	starts, engines := startsIn(t, "script")
	more, moreEngines := startsIn(t, "thorough", "thorough_disk")
	t.Logf("%d starts of ralph a day, %d of them engines; %d and %d in all", starts, engines, starts+more, engines+moreEngines)
	if starts > maxStartsADay || engines > maxEnginesADay {
		t.Errorf("the scripts of every day start ralph %d times, %d times as an engine: at most %d and %d (others lie in testdata/thorough)", starts, engines, maxStartsADay, maxEnginesADay)
	}
	if starts+more > maxStarts || engines+moreEngines > maxEngines {
		t.Errorf("all scripts start ralph %d times, %d times as an engine: at most %d and %d", starts+more, engines+moreEngines, maxStarts, maxEngines)
	}
}

// startsIn are the lines that start ralph, and an engine, in the scripts of some folders of testdata.
func startsIn(t *testing.T, dirs ...string) (starts, engines int) {
	t.Helper()
	start := regexp.MustCompile(`^(\[[^\]]*\] )?(! )?(exits \d+ |exec )?ralph( |$)`)
	engine := regexp.MustCompile(`\bralph (-\S+ )*(agent|autopilot|construct|plan|demo)\b`)
	for _, dir := range dirs {
		files, err := filepath.Glob(filepath.Join("testdata", dir, "*.txtar"))
		if err != nil || len(files) == 0 {
			t.Fatalf("no scripts in testdata/%s: %v", dir, err)
		}
		for _, name := range files {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			commands, _, _ := strings.Cut(string(text), "\n-- ")
			for line := range strings.Lines(commands) {
				if line = strings.TrimSpace(line); !start.MatchString(line) {
					continue
				}
				starts++
				if engine.MatchString(line) {
					engines++
				}
			}
		}
	}
	return starts, engines
}
