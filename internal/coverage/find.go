package coverage

import (
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// entryLimit bounds the search below a folder: how many files and folders are looked at.
const entryLimit = 200_000

// kind is a format of reports.
type kind struct {
	format string
	// places are where its tools write it, relative to a project's folder; * is one name.
	places []string
	read   func(io.Reader) (figures, error)
}

// kinds are in the order in which they are believed: what adds up by itself first. A
// run often writes several of them about the same code.
func kinds() []kind {
	return []kind{
		{"istanbul", []string{"coverage/coverage-summary.json"}, readIstanbulSummary},
		{"istanbul", []string{"coverage/coverage-final.json"}, readIstanbul},
		{"lcov", []string{"coverage/lcov.info", "lcov.info"}, readLcov},
		{"cobertura", []string{
			"coverage.xml", "cobertura.xml", "coverage/cobertura-coverage.xml",
			"TestResults/*/coverage.cobertura.xml", "TestResults/coverage.cobertura.xml", "coverage.cobertura.xml",
		}, readCobertura},
		{"jacoco", []string{"target/site/jacoco-aggregate/jacoco.xml", "build/reports/jacoco/testCodeCoverageReport/testCodeCoverageReport.xml"}, readJacoco},
		{"jacoco", []string{"target/site/jacoco/jacoco.xml", "build/reports/jacoco/test/jacocoTestReport.xml"}, readJacoco},
		{"coverage.py", []string{"coverage.json"}, readPython},
		{"go", []string{"coverage.out", "cover.out", "coverage.txt"}, readGo},
	}
}

// Written returns the report that lies in dir, however old, relative to dir, and its
// format: what a run would most likely be judged by. "" when there is none.
func Written(dir string) (name, format string) {
	k, files := find(dir, func(path string) bool {
		info, err := os.Lstat(path)
		return err == nil && info.Mode().IsRegular()
	})
	if len(files) == 0 {
		return "", ""
	}
	return shown(dir, files[0]), k.format
}

// find returns the reports to believe, all of one kind, as full names in a stable
// order: those of dir itself, else those of the projects below it.
func find(dir string, fresh func(path string) bool) (kind, []string) {
	take := func(rel string) bool { return fresh(filepath.Join(dir, filepath.FromSlash(rel))) }
	all := kinds()
	for _, k := range all {
		for _, place := range k.places {
			names, err := fs.Glob(os.DirFS(dir), place)
			if err != nil {
				continue
			}
			if files := under(dir, slices.DeleteFunc(names, func(rel string) bool { return !take(rel) })); len(files) > 0 {
				return k, files
			}
		}
	}
	below := walk(dir)
	for _, k := range all {
		if files := under(dir, k.among(below, take)); len(files) > 0 {
			return k, files
		}
	}
	return kind{}, nil
}

// among returns the reports of this kind, of each project those at the first place
// where it has any.
func (k kind) among(files []string, take func(rel string) bool) []string {
	var out []string
	has := map[string]bool{}
	for _, place := range k.places {
		found := map[string]bool{}
		for _, rel := range files {
			project, ok := projectOf(rel, place)
			if ok && !has[project] && !slices.Contains(out, rel) && take(rel) {
				out = append(out, rel)
				found[project] = true
			}
		}
		for project := range found {
			has[project] = true
		}
	}
	slices.Sort(out)
	return out
}

// projectOf returns the folder whose report at place the file is.
func projectOf(rel, place string) (string, bool) {
	parts, n := strings.Split(rel, "/"), strings.Count(place, "/")+1
	if len(parts) <= n {
		return "", false
	}
	at := len(parts) - n
	ok, err := path.Match(place, path.Join(parts[at:]...))
	return path.Join(parts[:at]...), ok && err == nil
}

// walk returns the files below dir that have a report's name, relative and with
// slashes, without those in folders that hold what others made.
func walk(dir string) []string {
	base := map[string]bool{}
	for _, k := range kinds() {
		for _, place := range k.places {
			base[path.Base(place)] = true
		}
	}
	var out []string
	seen := 0
	err := filepath.WalkDir(dir, func(name string, e fs.DirEntry, err error) error {
		if seen++; seen > entryLimit {
			return fs.SkipAll
		}
		switch {
		case err != nil:
			return nil // what cannot be looked into has no report for us
		case e.IsDir():
			if name != dir && skipped(dir, name) {
				return fs.SkipDir
			}
		case base[e.Name()]:
			if rel, err := filepath.Rel(dir, name); err == nil {
				out = append(out, filepath.ToSlash(rel))
			}
		}
		return nil
	})
	if err != nil {
		return nil
	}
	return out
}

func skipped(dir, name string) bool {
	base := filepath.Base(name)
	return strings.HasPrefix(base, ".") || slices.Contains([]string{"node_modules", "vendor", "venv", "site-packages"}, base) ||
		name == filepath.Join(dir, "ralph", ".worktrees")
}

// under are the full names of files in dir.
func under(dir string, files []string) []string {
	out := make([]string, len(files))
	for i, rel := range files {
		out[i] = filepath.Join(dir, filepath.FromSlash(rel))
	}
	return out
}
