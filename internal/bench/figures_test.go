package bench

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

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

func newTable(name string) *table { return &table{name: name, before: load()} }

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
	fmt.Fprintf(&b, "Measured on %s, commit %s; %s; load average %s before, %s after.\n\n| figure | measured | goal | met |\n|---|---|---|---|\n",
		time.Now().UTC().Format(time.DateOnly), commit(tb), machine(tb), t.before, load())
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
	for _, name := range []string{"program", "dashboard", "drivers"} {
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

// load is how busy the machine was in the last minutes, with the table's own
// work: two runs compare only when it is alike.
func load() string {
	b, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	return strings.Fields(string(b))[0]
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
	kernel := ""
	var u unix.Utsname
	if unix.Uname(&u) == nil {
		release, _, _ := strings.Cut(unix.ByteSliceToString(u.Release[:]), "-") // without who built it
		kernel = unix.ByteSliceToString(u.Sysname[:]) + " " + release
	}
	model := ""
	if text, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		_, rest, _ := strings.Cut(string(text), "model name")
		line, _, _ := strings.Cut(rest, "\n")
		model = " of " + strings.Trim(line, "\t :")
	}
	place := "the temporary folder"
	if memory() != "" {
		place = memory()
	}
	return fmt.Sprintf("%s, %d cores%s, %s, %s, repositories in %s", kernel, runtime.NumCPU(), model, said(tb, "git", "version"), runtime.Version(), filepath.Clean(place))
}

// said is what a program prints, "unknown" when it fails.
func said(tb testing.TB, args ...string) string {
	out, _, res, err := proc.NewRunner("").Output(tb.Context(), proc.Command{Args: args, Env: os.Environ()})
	if err != nil || res.Code != 0 {
		return "unknown"
	}
	return strings.TrimSpace(string(out))
}
