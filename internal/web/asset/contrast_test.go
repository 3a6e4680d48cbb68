package asset_test

import (
	"math"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// pairs are what stands on what: the words of the design for both, and how much the first
// has to differ. Text needs 4.5, large text and drawings 3 (WCAG 2.2, AA).
func pairs() []struct {
	on, over string
	least    float64
} {
	const text, drawing = 4.5, 3
	return []struct {
		on, over string
		least    float64
	}{
		{"text muted link", "bg card sunk hover picked", text},
		{"text muted link", "accent-bg good-bg warn-bg bad-bg", text},
		{"good busy warn bad", "bg card sunk hover picked", text},
		{"good", "good-bg", text},
		{"busy", "busy-bg", text},
		{"warn", "warn-bg", text},
		{"bad", "bad-bg", text},
		{"accent-text", "accent-fill", text},
		{"card", "warn-fill", text},
		{"line-strong", "bg card sunk", drawing},
		{"focus", "bg card sunk", drawing},
		{"warn-fill", "bg card", drawing},
		{"series-1 series-2 series-3 series-4 series-5 series-6", "card", drawing},
		// what agents print, and code
		{"a1 a2 a3 a4 a5 a6 a7 a8 a9 a10 a11 a12 a13 a14 a15", "sunk", text},
		{"a2 a3 a4 a5 a6", "card", text},
		{"text muted add a2 a3 a4 a5 a6", "add-bg", text},
		{"text muted del a2 a3 a4 a5 a6", "del-bg", text},
		{"text", "add-strong del-strong", text},
	}
}

// TestContrast: every text and every drawing can be told from what it stands on, light and
// dark (WCAG AA).
func TestContrast(t *testing.T) {
	t.Parallel()
	for theme, words := range map[string]map[string]string{"light": design(t, 0), "dark": design(t, 1)} {
		for _, p := range pairs() {
			for _, on := range strings.Fields(p.on) {
				for _, over := range strings.Fields(p.over) {
					if got := contrast(t, words, on, over); got < p.least {
						t.Errorf("%s: --%s on --%s has %.2f, not %.1f", theme, on, over, got, p.least)
					}
				}
			}
		}
	}
}

// design are the colours of the style sheets in one theme: 0 is light, 1 dark.
func design(t *testing.T, theme int) map[string]string {
	t.Helper()
	words := map[string]string{}
	for _, name := range []string{"css/base.css", "css/code.css"} {
		css, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`--([a-z0-9-]+): ([^;]+);`).FindAllStringSubmatch(string(css), -1) {
			value := m[2]
			if both, ok := strings.CutPrefix(value, "light-dark("); ok {
				parts := strings.Split(strings.TrimSuffix(both, ")"), ", ")
				if len(parts) != 2 {
					continue // no plain colours
				}
				value = parts[theme]
			}
			if _, twice := words[m[1]]; !twice {
				words[m[1]] = value
			}
		}
	}
	return words
}

// contrast is the ratio of two colours.
func contrast(t *testing.T, words map[string]string, on, over string) float64 {
	t.Helper()
	a, b := light(t, words, on), light(t, words, over)
	return (max(a, b) + 0.05) / (min(a, b) + 0.05)
}

// light is the relative luminance of a colour.
func light(t *testing.T, words map[string]string, name string) float64 {
	t.Helper()
	value := words[name]
	for range 5 { // a word may stand for another
		if other, ok := strings.CutPrefix(value, "var(--"); ok {
			value = words[strings.TrimSuffix(other, ")")]
		}
	}
	n, err := strconv.ParseUint(strings.TrimPrefix(value, "#"), 16, 32)
	if err != nil || len(value) != 7 {
		t.Fatalf("--%s is no colour: %q", name, value)
	}
	out := 0.0
	for i, weight := range []float64{0.0722, 0.7152, 0.2126} {
		v := float64(n>>(8*i)&0xff) / 255
		if v <= 0.04045 {
			v /= 12.92
		} else {
			v = math.Pow((v+0.055)/1.055, 2.4)
		}
		out += weight * v
	}
	return out
}
