package proc

import (
	"context"
	"testing"
)

// BenchmarkRun measures what one process costs: git calls are untracked,
// agents and gates tracked.
func BenchmarkRun(b *testing.B) {
	for _, tracked := range []bool{false, true} {
		name := map[bool]string{false: "untracked", true: "tracked"}[tracked]
		b.Run(name, func(b *testing.B) {
			r := NewRunner(b.TempDir())
			var out count
			for b.Loop() {
				res, err := r.Run(context.Background(), Command{
					Args: []string{"/bin/true"}, Env: []string{"PATH=/bin"}, Stdout: &out, Stderr: &out, Tracked: tracked,
				})
				if err != nil || res.Code != 0 || res.Leftover != 0 {
					b.Fatalf("%+v, %v", res, err)
				}
			}
		})
	}
}

// count counts bytes.
type count int64

func (c *count) Write(p []byte) (int, error) {
	*c += count(len(p))
	return len(p), nil
}
