package coverage

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"golang.org/x/tools/cover"
)

// readGo reads a profile of `go test -coverprofile`, in statements. Blocks that
// several packages' tests ran through count once.
func readGo(r io.Reader) (figures, error) {
	profiles, err := cover.ParseProfilesFromReader(r)
	if err != nil {
		return figures{}, err
	}
	var f figures
	for _, p := range profiles {
		for _, b := range p.Blocks {
			n := int64(b.NumStmt)
			if n < 0 {
				return figures{}, fmt.Errorf("%s: a block of %d statements", p.FileName, n)
			}
			f.total += n
			if b.Count > 0 {
				f.covered += n
			}
		}
	}
	return f, nil
}

// readIstanbulSummary reads coverage-summary.json: nyc, c8, jest and vitest with the
// reporter json-summary. Lines, of "total".
func readIstanbulSummary(r io.Reader) (figures, error) {
	var s struct {
		Total *struct {
			Lines struct{ Total, Covered int64 } `json:"lines"`
		} `json:"total"`
	}
	if err := decode(r, &s); err != nil {
		return figures{}, err
	}
	if s.Total == nil {
		return figures{}, errors.New(`has no "total"`)
	}
	return figures{covered: s.Total.Lines.Covered, total: s.Total.Lines.Total}.checked()
}

// readIstanbul reads coverage-final.json, istanbul's map of each file. As istanbul
// counts them, lines are those where a statement begins.
func readIstanbul(r io.Reader) (figures, error) {
	var files map[string]struct {
		Statements map[string]struct {
			Start struct {
				Line int `json:"line"`
			} `json:"start"`
		} `json:"statementMap"`
		Hits map[string]float64 `json:"s"`
	}
	if err := decode(r, &files); err != nil {
		return figures{}, err
	}
	f := figures{lines: lines{}}
	for name, file := range files {
		for id, s := range file.Statements {
			f.lines.hit(name, s.Start.Line, file.Hits[id] > 0)
		}
	}
	f.covered, f.total = f.lines.count()
	return f, nil
}

// readPython reads `coverage json` of coverage.py. Where branches were measured they
// count as its own total counts them, beside the statements.
func readPython(r io.Reader) (figures, error) {
	var s struct {
		Totals *struct {
			Covered         int64 `json:"covered_lines"`
			Statements      int64 `json:"num_statements"`
			CoveredBranches int64 `json:"covered_branches"`
			Branches        int64 `json:"num_branches"`
		} `json:"totals"`
	}
	if err := decode(r, &s); err != nil {
		return figures{}, err
	}
	if s.Totals == nil {
		return figures{}, errors.New(`has no "totals": it is not from coverage.py`)
	}
	return figures{covered: s.Totals.Covered + s.Totals.CoveredBranches, total: s.Totals.Statements + s.Totals.Branches}.checked()
}

// decode reads one JSON value and nothing after it: half a report is none.
func decode(r io.Reader, v any) error {
	d := json.NewDecoder(r)
	if err := d.Decode(v); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("goes on after its end")
	}
	return nil
}

// readLcov reads a tracefile of lcov, in lines. A file may have several records, one
// for each test, and the same lines in each.
func readLcov(r io.Reader) (figures, error) {
	f := figures{lines: lines{}}
	var found, hit int64
	file, open, records := "", false, 0
	scan := bufio.NewScanner(r)
	scan.Buffer(nil, 1<<20)
	for n := 1; scan.Scan(); n++ {
		key, value, _ := strings.Cut(strings.TrimSpace(scan.Text()), ":")
		var err error
		switch key {
		case "SF":
			file, open = value, true
			records++
		case "DA":
			err = f.lines.da(file, value)
		case "LF":
			err = count(&found, value)
		case "LH":
			err = count(&hit, value)
		case "end_of_record":
			open = false
		}
		if err != nil {
			return figures{}, fmt.Errorf("line %d: %w", n, err)
		}
	}
	switch err := scan.Err(); {
	case err != nil:
		return figures{}, err
	case records == 0:
		return figures{}, errors.New("has no record of a file")
	case open:
		return figures{}, errors.New("ends in the middle of a record")
	case len(f.lines) == 0: // a summary alone
		return figures{covered: hit, total: found}.checked()
	}
	f.covered, f.total = f.lines.count()
	return f, nil
}

// da reads "line,hits" or "line,hits,checksum".
func (l lines) da(file, value string) error {
	no, rest, _ := strings.Cut(value, ",")
	times, _, _ := strings.Cut(rest, ",")
	line, err := strconv.Atoi(no)
	if err != nil {
		return err
	}
	hits, err := strconv.ParseFloat(times, 64)
	if err != nil {
		return err
	}
	l.hit(file, line, hits > 0)
	return nil
}

func count(n *int64, value string) error {
	v, err := strconv.ParseInt(value, 10, 64)
	if err != nil {
		return err
	}
	*n += v
	return nil
}
