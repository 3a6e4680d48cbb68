package ui

import (
	"fmt"
	"html"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/charmbracelet/colorprofile"

	"github.com/ralph-loop/ralph/internal/ui/draw"
)

// The picture of the README is the screen as it is: go test ./internal/ui -run Readme -update
// draws it anew.
func TestReadmeHasThePicture(t *testing.T) {
	t.Parallel()
	r := atWork(t)
	write(t, r.root, "t-0002/diff.patch", sampleDiff)
	p := play(t, r, 110, 30).press("2", "j", "]", "]", "]")
	have := svg(draw.NewTheme(colorprofile.TrueColor, true).Frame(p.m.frame()), 110, 30)
	const file = "../../docs/ui.svg"
	if *update {
		if err := os.WriteFile(file, []byte(have), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if string(want) != have {
		t.Errorf("%s is not the screen as it is now: go test ./internal/ui -run Readme -update, and look at it", file)
	}
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(readme), "docs/ui.svg") {
		t.Error("README.md does not show docs/ui.svg")
	}
}

const sampleDiff = `diff --git a/body.go b/body.go
index 3b18e51..a1f0c2e 100644
--- a/body.go
+++ b/body.go
@@ -8,9 +8,15 @@ import "io"
 // Write writes the body behind its header.
 func Write(w io.Writer, b Body) error {
-	_, err := w.Write(b.bytes)
-	return err
+	for _, part := range b.parts {
+		if _, err := w.Write(part); err != nil {
+			return fmt.Errorf("write the body: %w", err)
+		}
+	}
+	return nil
 }
diff --git a/body_test.go b/body_test.go
index 91d0f3a..7be2d10 100644
--- a/body_test.go
+++ b/body_test.go
@@ -20,3 +20,10 @@ func TestWrite(t *testing.T) {
 	}
 }
+
+func TestWriteStopsAtAnError(t *testing.T) {
+	if err := Write(broken{}, sample()); err == nil {
+		t.Fatal("no error")
+	}
+}
`

var (
	sequence  = regexp.MustCompile("\x1b\\[([0-9;]*)m")
	trueColor = regexp.MustCompile(`([34])8;2;(\d+);(\d+);(\d+)`)
)

// svg is a picture in the colours of its sequences, a sign in each place of a grid.
func svg(picture string, columns, rows int) string {
	const wide, high = 8.4, 16.5 // the signs of borders meet
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.0f %.0f" font-family="ui-monospace,Menlo,Consolas,'DejaVu Sans Mono',monospace" font-size="14">`+"\n", float64(columns)*wide+24, float64(rows)*high+24)
	fmt.Fprintf(&b, "<rect width=\"100%%\" height=\"100%%\" rx=\"8\" fill=\"#16191f\"/>\n")
	for y, line := range strings.Split(picture, "\n") {
		at, fill, back, weight := 0, "#c8cdd6", "", ""
		put := func(words string) {
			if words == "" {
				return
			}
			w := draw.Width(words)
			x, top := 12+float64(at)*wide, 12+float64(y)*high
			if back != "" {
				fmt.Fprintf(&b, `<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" fill="%s"/>`+"\n", x, top, float64(w)*wide, high, back)
			}
			if strings.TrimSpace(words) != "" {
				fmt.Fprintf(&b, `<text x="%.1f" y="%.1f" fill="%s"%s textLength="%.1f" lengthAdjust="spacingAndGlyphs" xml:space="preserve">%s</text>`+"\n", x, top+13, fill, weight, float64(w)*wide, html.EscapeString(words))
			}
			at += w
		}
		from := 0
		for _, m := range sequence.FindAllStringSubmatchIndex(line, -1) {
			put(line[from:m[0]])
			from = m[1]
			codes := line[m[2]:m[3]]
			fill, back, weight = "#c8cdd6", "", ""
			for _, c := range trueColor.FindAllStringSubmatch(codes, -1) {
				colour := fmt.Sprintf("rgb(%s,%s,%s)", c[2], c[3], c[4])
				if c[1] == "3" {
					fill = colour
				} else {
					back = colour
				}
			}
			if strings.HasPrefix(codes, "0;1") {
				weight = ` font-weight="bold"`
			}
		}
		put(line[from:])
	}
	return b.String() + "</svg>\n"
}
