package browser

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"slices"
	"testing"
)

// Two pictures of a page are alike when nearly all of their blocks are: browsers of
// different versions set the same text a little differently, by a pixel or by a shade,
// but a part that is missing changes whole blocks.
const (
	blockSize  = 8
	shiftMost  = 1     // pixels that a block may have moved by
	blockLimit = 14.0  // how far the mean of a block may be off, of 255
	shareLimit = 0.004 // how many of the blocks may be off
)

// sums are the colours of a picture, added up so that the mean of any part of it is a
// matter of four numbers.
type sums struct {
	wide, high int
	at         [][3]int
}

func sumUp(m image.Image) sums {
	b := m.Bounds()
	s := sums{wide: b.Dx(), high: b.Dy()}
	s.at = make([][3]int, (s.wide+1)*(s.high+1))
	rgba := image.NewRGBA(image.Rect(0, 0, s.wide, s.high))
	draw.Draw(rgba, rgba.Bounds(), m, b.Min, draw.Src)
	for y := range s.high {
		var row [3]int
		for x := range s.wide {
			p := rgba.Pix[rgba.PixOffset(x, y):]
			for c := range row {
				row[c] += int(p[c])
				s.at[(y+1)*(s.wide+1)+x+1][c] = s.at[y*(s.wide+1)+x+1][c] + row[c]
			}
		}
	}
	return s
}

// mean is the mean colour of the part of a rectangle that is in the picture.
func (s *sums) mean(r image.Rectangle) (m [3]float64) {
	r = r.Intersect(image.Rect(0, 0, s.wide, s.high))
	n := float64(r.Dx() * r.Dy())
	if n == 0 {
		return m
	}
	at := func(x, y int) [3]int { return s.at[y*(s.wide+1)+x] }
	a, b, c, d := at(r.Min.X, r.Min.Y), at(r.Max.X, r.Min.Y), at(r.Min.X, r.Max.Y), at(r.Max.X, r.Max.Y)
	for i := range m {
		m[i] = float64(d[i]-b[i]-c[i]+a[i]) / n
	}
	return m
}

// unlike are the blocks of a picture that no part of the other one near by looks like.
func unlike(want, got *sums) (off []image.Rectangle, all int) {
	for y := 0; y < want.high; y += blockSize {
		for x := 0; x < want.wide; x += blockSize {
			all++
			r := image.Rect(x, y, x+blockSize, y+blockSize)
			if nearest(want.mean(r), got, r) > blockLimit {
				off = append(off, r)
			}
		}
	}
	return off, all
}

// nearest is how far a colour is at least from what is round a block.
func nearest(want [3]float64, got *sums, r image.Rectangle) float64 {
	best := 255.0
	for dy := -shiftMost; dy <= shiftMost; dy++ {
		for dx := -shiftMost; dx <= shiftMost; dx++ {
			m, far := got.mean(r.Add(image.Pt(dx, dy))), 0.0
			for c := range m {
				far = max(far, m[c]-want[c], want[c]-m[c])
			}
			best = min(best, far)
		}
	}
	return best
}

// compare says why two pictures are not alike, "" when they are, with a picture of the
// difference.
func compare(want, got image.Image) (string, image.Image) {
	if want.Bounds().Size() != got.Bounds().Size() {
		return fmt.Sprintf("it is %v large, not %v", got.Bounds().Size(), want.Bounds().Size()), got
	}
	w, g := sumUp(want), sumUp(got)
	off, all := unlike(&w, &g)
	back, _ := unlike(&g, &w) // what is new is near nothing that was
	for _, r := range back {
		if !slices.Contains(off, r) {
			off = append(off, r)
		}
	}
	if float64(len(off)) <= shareLimit*float64(all) {
		return "", nil
	}
	diff := image.NewRGBA(image.Rect(0, 0, g.wide, g.high))
	draw.Draw(diff, diff.Bounds(), got, got.Bounds().Min, draw.Src)
	for _, r := range off {
		draw.Draw(diff, r, image.NewUniform(color.RGBA{R: 110, A: 110}), image.Point{}, draw.Over)
	}
	return fmt.Sprintf("%d of %d blocks differ, first at %v", len(off), all, off[0].Min), diff
}

// small writes a picture as a PNG with few colours: those that are used most, and for
// each other one the nearest of them.
func small(m image.Image) ([]byte, error) {
	b := m.Bounds()
	count := map[color.RGBA]int{}
	for y := b.Min.Y; y < b.Max.Y; y++ {
		for x := b.Min.X; x < b.Max.X; x++ {
			count[coarse(m.At(x, y))]++
		}
	}
	used := make([]color.RGBA, 0, len(count))
	for c := range count {
		used = append(used, c)
	}
	slices.SortFunc(used, func(a, b color.RGBA) int {
		if d := count[b] - count[a]; d != 0 {
			return d
		}
		return bytes.Compare([]byte{a.R, a.G, a.B}, []byte{b.R, b.G, b.B})
	})
	palette := color.Palette{}
	for _, c := range used[:min(len(used), 64)] {
		palette = append(palette, c)
	}
	index := map[color.RGBA]uint8{}
	for _, c := range used {
		index[c] = uint8(palette.Index(c)) //nolint:gosec // the palette has 64 colours
	}
	out := image.NewPaletted(image.Rect(0, 0, b.Dx(), b.Dy()), palette)
	for y := range b.Dy() {
		for x := range b.Dx() {
			out.SetColorIndex(x, y, index[coarse(m.At(b.Min.X+x, b.Min.Y+y))])
		}
	}
	var file bytes.Buffer
	err := (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&file, out)
	return file.Bytes(), err
}

// coarse is a colour with fewer shades.
func coarse(c color.Color) color.RGBA {
	r, g, b, _ := c.RGBA()
	round := func(v uint32) uint8 { return uint8(min(255, (v>>8+2)&^3)) } //nolint:gosec // below 256
	return color.RGBA{round(r), round(g), round(b), 255}
}

// drawn is a made-up page: cards with lines of text, moved by some pixels, without one
// of the cards where missing is its number.
func drawn(dx, dy, missing int, shade uint8) image.Image {
	m := image.NewRGBA(image.Rect(0, 0, 800, 600))
	fill := func(r image.Rectangle, c color.RGBA) { draw.Draw(m, r, image.NewUniform(c), image.Point{}, draw.Src) }
	fill(m.Bounds(), color.RGBA{245, 245, 247, 255})
	for card := range 6 {
		if card == missing {
			continue
		}
		at := image.Pt(20+card%2*390, 20+card/2*190)
		fill(image.Rectangle{at, at.Add(image.Pt(370, 170))}, color.RGBA{255, 255, 255, 255})
		for line := range 6 {
			for letter := range 40 {
				if (letter*7+line*3+card)%6 == 0 {
					continue // between words
				}
				from := at.Add(image.Pt(12+letter*8+dx, 14+line*24+dy))
				fill(image.Rectangle{from, from.Add(image.Pt(2, 10))}, color.RGBA{shade, shade, shade, 255})
				fill(image.Rectangle{from.Add(image.Pt(2, letter%3*4)), from.Add(image.Pt(6, letter%3*4+2))}, color.RGBA{shade, shade, shade, 255})
			}
		}
	}
	return m
}

func TestComparePictures(t *testing.T) {
	t.Parallel()
	want := drawn(0, 0, -1, 30)
	for name, c := range map[string]struct {
		got  image.Image
		same bool
	}{
		"the same":                  {drawn(0, 0, -1, 30), true},
		"text a pixel to the right": {drawn(1, 0, -1, 30), true},
		"text a pixel lower":        {drawn(0, 1, -1, 30), true},
		"text a shade lighter":      {drawn(0, 0, -1, 50), true},
		"a card is missing":         {drawn(0, 0, 3, 30), false},
		"text four pixels lower":    {drawn(0, 4, -1, 30), false},
		"another size":              {image.NewRGBA(image.Rect(0, 0, 800, 601)), false},
		"an empty page":             {image.NewRGBA(image.Rect(0, 0, 800, 600)), false},
	} {
		if why, _ := compare(want, c.got); (why == "") != c.same {
			t.Errorf("%s: alike %t, want %t (%s)", name, why == "", c.same, why)
		}
		if why, _ := compare(c.got, want); (why == "") != c.same {
			t.Errorf("%s, the other way round: alike %t, want %t (%s)", name, why == "", c.same, why)
		}
	}
}

func TestSmallPicturesLookTheSame(t *testing.T) {
	t.Parallel()
	want := drawn(0, 0, -1, 30)
	file, err := small(want)
	if err != nil {
		t.Fatal(err)
	}
	got, err := png.Decode(bytes.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	if why, _ := compare(want, got); why != "" {
		t.Error(why)
	}
}
