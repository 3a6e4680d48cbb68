package past

import (
	"fmt"
	"testing"
)

// TestKept: a text is made into something once, unless there were many others since.
func TestKept(t *testing.T) {
	t.Parallel()
	var k Kept[string]
	made := 0
	get := func(kind, text string) string {
		return k.Of(kind, []byte(text), func(b []byte) string { made++; return kind + string(b) })
	}
	for range 2 {
		if got := get("a", "x") + get("b", "x") + get("a", "y"); got != "axbxay" {
			t.Errorf("got %s", got)
		}
	}
	if made != 3 {
		t.Errorf("made %d times, want 3", made)
	}
	for i := range 2 * maxKept {
		get("a", fmt.Sprint(i))
		get("b", "x") // in use
	}
	if made = 0; get("b", "x") != "bx" || made != 0 {
		t.Error("what is in use was thrown away")
	}
	if get("a", "x"); made != 1 || len(k.list) != maxKept {
		t.Errorf("made %d, %d are kept", made, len(k.list))
	}
}
