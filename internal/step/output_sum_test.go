package step

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// The sum of an output is that of its file, also when a part in the middle was left out.
func TestSumOfOutput(t *testing.T) {
	t.Parallel()
	for _, size := range []int{0, 10, 30, 35, 1000} {
		path := filepath.Join(t.TempDir(), "out")
		o, err := openOutput(path, nil)
		if err != nil {
			t.Fatal(err)
		}
		o.maxHead, o.maxEnd = 30, 10
		_, err = o.Stream().Write(bytes.Repeat([]byte("x"), size))
		if err = errors.Join(err, o.Close()); err != nil {
			t.Fatal(err)
		}
		kept, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if sum := sha256.Sum256(kept); o.sha256() != hex.EncodeToString(sum[:]) {
			t.Errorf("%d bytes: the sum is not that of the file's %d", size, len(kept))
		}
	}
}
