package coverage

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// FuzzRead: whatever a report holds, reading it ends, and what is said can be.
func FuzzRead(f *testing.F) {
	for _, from := range []string{"go.out", "c8/coverage-summary.json", "jest/coverage-final.json", "jest/lcov.info", "jest/cobertura-coverage.xml", "jacoco/core.xml", "python/coverage.json"} {
		b, err := os.ReadFile(filepath.Join("testdata", from))
		if err != nil {
			f.Fatal(err)
		}
		for i, k := range kinds() {
			if _, err := k.read(bytes.NewReader(b)); err == nil {
				f.Add(uint8(i), b)
			}
		}
	}
	f.Fuzz(func(t *testing.T, which uint8, text []byte) {
		all := kinds()
		got, err := all[int(which)%len(all)].read(bytes.NewReader(text))
		if err != nil {
			return
		}
		if got, err = add([]figures{got, got}).checked(); err == nil && (got.covered < 0 || got.covered > got.total) {
			t.Errorf("%+v", got)
		}
	})
}
