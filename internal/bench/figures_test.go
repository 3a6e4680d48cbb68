package bench

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/ralph-loop/ralph/internal/measure"
	"github.com/ralph-loop/ralph/internal/proc"
)

var update = flag.Bool("update", false, "write the table of a benchmark into docs/performance.md")

// performanceDoc is where people read the figures. Each table stands there between two
// marks and is written by the benchmark that has its name, never by hand.
const performanceDoc = "../../docs/performance.md"

// table gathers the figures of one benchmark for people to read.
type table struct {
	name   string // of its place in the doc
	before string // how busy the machine was
	rows   [][4]string
}

func newTable(name string) *table { return &table{name: name, before: measure.Load()} }

// add adds a figure for which nobody set a goal.
func (t *table) add(what, figure string) { t.rows = append(t.rows, [4]string{what, figure, "-", "-"}) }

// goal adds a figure with its goal, and whether that is met.
func (t *table) goal(what, figure, goal string, met bool) {
	said := "**no**"
	switch {
	case small():
		said = "-"
	case met:
		said = "yes"
	}
	t.rows = append(t.rows, [4]string{what, figure, goal, said})
}

// text is the table as it stands in the doc.
func (t *table) text(tb testing.TB) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Measured on %s, commit %s, benchmark code %s; %s; load average %s before, %s after.\n\n| figure | measured | goal | met |\n|---|---|---|---|\n",
		time.Now().UTC().Format(time.DateOnly), commit(tb), codeOf(tb, t.name), machine(tb), t.before, measure.Load())
	for _, r := range t.rows {
		fmt.Fprintf(&b, "| %s |\n", strings.Join(r[:], " | "))
	}
	return b.String()
}

// print shows the table, and writes it into the doc with -update.
func (t *table) print(tb testing.TB) {
	tb.Helper()
	if tb.Failed() {
		return // a table with holes is none
	}
	text := t.text(tb)
	if small() {
		fmt.Printf("\nThe smallest sizes: these prove that the benchmark runs, and are no figures.\n\n%s\n", text)
		if *update {
			tb.Error("-update with -short: what -short prints is no figure, and is not written into the doc")
		}
		return
	}
	fmt.Printf("\n%s\n", text)
	if !*update {
		return
	}
	doc, err := os.ReadFile(performanceDoc)
	if err != nil {
		tb.Fatal(err)
	}
	if doc, err = place(doc, t.name, text); err != nil {
		tb.Fatal(err)
	}
	if err := os.WriteFile(performanceDoc, doc, 0o644); err != nil {
		tb.Fatal(err)
	}
}

// place puts a text between the marks of a name.
func place(doc []byte, name, text string) ([]byte, error) {
	begin, end := fmt.Appendf(nil, "<!-- figures: %s -->\n", name), []byte("<!-- end of figures -->")
	before, rest, ok := bytes.Cut(doc, begin)
	_, after, closed := bytes.Cut(rest, end)
	if !ok || !closed {
		return nil, fmt.Errorf("%s has no place for the figures of %s: it begins with %q and ends with %q", performanceDoc, name, begin, end)
	}
	return bytes.Join([][]byte{before, begin, []byte("\n" + text + "\n"), end, after}, nil), nil
}

// Each benchmark with a table has its place in the doc, and a table replaces the one
// before it and nothing else (F-07).
func TestFiguresHaveTheirPlace(t *testing.T) {
	t.Parallel()
	doc, err := os.ReadFile(performanceDoc)
	if err != nil {
		t.Fatal(err)
	}
	for name := range tables() {
		once, err := place(doc, name, "one\n")
		if err != nil {
			t.Error(err)
			continue
		}
		twice, err := place(once, name, "two\n")
		if err != nil || !bytes.Contains(twice, []byte("\ntwo\n")) || bytes.Contains(twice, []byte("\none\n")) {
			t.Errorf("%s: the second table does not stand in the place of the first: %v", name, err)
		}
		if want, got := bytes.Count(doc, []byte("<!--")), bytes.Count(twice, []byte("<!--")); got != want {
			t.Errorf("%s: %d marks after writing, %d before", name, got, want)
		}
	}
	if _, err := place(doc, "nobody's", ""); err == nil {
		t.Error("figures without a place were written")
	}
}

// tables are those of the doc, with the sources that make them: what is measured, and how.
func tables() map[string][]string {
	shared := []string{"process_test.go", "../measure/spread.go"}
	return map[string][]string{
		"program": append(
			shared, "program_test.go", "tasks_test.go", "parallel_test.go", "start_test.go", "shim_test.go", "stream_test.go", "ingest_test.go", "control_test.go",
			"testdata/floor/main.go", "testdata/nothing/main.go", "testdata/talker/main.go",
			"testdata/lean/main.go", "testdata/least/main.go", "testdata/asker/main.go", "testdata/hearer/main.go",
		),
		"drivers": append(shared, "drivers_test.go"), "dashboard": append(shared, "dashboard_test.go"), "threads": append(shared, "threads_test.go"),
		"scale":  append(shared, "scale_test.go", "parallel_test.go", "tasks_test.go", "testdata/floor/main.go", "testdata/lean/main.go", "testdata/history/main.go"),
		"fleet":  append(shared, "fleet_test.go", "testdata/way/main.go"),
		"screen": append(shared, "screen_linux_test.go", "testdata/chatter/main.go"),
	}
}

// codeOf is a hash of the sources that make a table. Figures that have another were made by
// other code, and do not compare.
func codeOf(tb testing.TB, name string) string {
	tb.Helper()
	hash := sha256.New()
	for _, file := range tables()[name] {
		text, err := os.ReadFile(file)
		if err != nil {
			tb.Fatal(err)
		}
		fmt.Fprintf(hash, "%s %d\n", filepath.Base(file), len(text))
		_, _ = hash.Write(text)
	}
	return hex.EncodeToString(hash.Sum(nil))[:12]
}

// The figures of the doc were made by the benchmarks as they are: .ci/run asks for it
// (RALPH_FIGURES), since nobody makes figures after each change of a benchmark.
func TestFiguresAreOfThisCode(t *testing.T) {
	t.Parallel()
	if os.Getenv("RALPH_FIGURES") == "" {
		t.Skip("asked for by .ci/run bench (RALPH_FIGURES=1)")
	}
	doc, err := os.ReadFile(performanceDoc)
	if err != nil {
		t.Fatal(err)
	}
	for name := range tables() {
		if err := ofCode(doc, name, codeOf(t, name)); err != nil {
			t.Error(err)
		}
	}
}

// ofCode says why the figures of a name are not of this code. A place that is empty has none.
func ofCode(doc []byte, name, code string) error {
	_, rest, _ := bytes.Cut(doc, fmt.Appendf(nil, "<!-- figures: %s -->\n", name))
	text, _, _ := bytes.Cut(rest, []byte("<!-- end of figures -->"))
	if empty := len(bytes.TrimSpace(text)) == 0; empty && len(rest) > 0 || bytes.Contains(text, []byte("benchmark code "+code+";")) {
		return nil
	}
	return fmt.Errorf("%s: the figures of %s were made by other benchmark code than this (%s): `make figures`, on a quiet machine", performanceDoc, name, code)
}

// Figures of other code are refused, and those of this code are not.
func TestOfCode(t *testing.T) {
	t.Parallel()
	code := codeOf(t, "program")
	table := &table{name: "program", before: "0.10", rows: [][4]string{{"a", "1 ms", "-", "-"}}}
	doc, err := place([]byte("<!-- figures: program -->\nold\n<!-- end of figures -->\n"), "program", table.text(t))
	if err != nil {
		t.Fatal(err)
	}
	if err := ofCode(doc, "program", code); err != nil {
		t.Error(err)
	}
	if ofCode(doc, "program", "000000000000") == nil || ofCode(doc, "drivers", code) == nil {
		t.Error("figures of other code were taken")
	}
	if doc, err = place(doc, "program", "Measured on 2026-12-01, commit 0123456789ab; a machine\n"); err != nil || ofCode(doc, "program", code) == nil {
		t.Errorf("figures that name no code were taken: %v", err)
	}
}

// commit is the version that is measured.
func commit(tb testing.TB) string {
	hash := said(tb, "git", "rev-parse", "--short=12", "HEAD")
	if said(tb, "git", "status", "--porcelain", "--", "*.go", "go.mod", "go.sum") != "" {
		hash += " with changes"
	}
	return hash
}

// machine is what the figures depend on.
func machine(tb testing.TB) string {
	place := "the temporary folder"
	if memory() != "" {
		place = memory()
	}
	return fmt.Sprintf("%s, %s, %s, repositories in %s", measure.Machine(), said(tb, "git", "version"), runtime.Version(), filepath.Clean(place))
}

// said is what a program prints, "unknown" when it fails.
func said(tb testing.TB, args ...string) string {
	out, _, res, err := proc.NewRunner("").Output(tb.Context(), proc.Command{Args: args, Env: os.Environ()})
	if err != nil || res.Code != 0 {
		return "unknown"
	}
	return strings.TrimSpace(string(out))
}
