package coverage

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"path"
	"strconv"
	"strings"
)

// Reports in XML are read as they stream by, element after element: nothing grows with
// their depth but the decoder's stack, entities are never expanded, and what a doctype
// names is not fetched.

// handler sees the elements of a report.
type handler interface {
	element(around []string, e xml.StartElement) error
	text(around []string, text string) error
}

// elements shows h each start element with the names of those around it, and each
// text. The root must have this name.
func elements(r io.Reader, root string, h handler) error {
	d := xml.NewDecoder(r)
	d.CharsetReader = func(_ string, in io.Reader) (io.Reader, error) { return in, nil } // the figures are ASCII
	var around []string
	began := false
	for {
		t, err := d.Token()
		if errors.Is(err, io.EOF) {
			if !began {
				return fmt.Errorf("has no <%s>", root)
			}
			return nil
		}
		if err != nil {
			return err
		}
		switch x := t.(type) {
		case xml.StartElement:
			if !began && x.Name.Local != root {
				return fmt.Errorf("is a <%s>, not a <%s>", x.Name.Local, root)
			}
			began = true
			if err := h.element(around, x); err != nil {
				return err
			}
			around = append(around, x.Name.Local)
		case xml.CharData:
			if err := h.text(around, string(x)); err != nil {
				return err
			}
		case xml.EndElement:
			around = around[:len(around)-1]
		}
	}
}

func attr(e xml.StartElement, name string) (string, bool) {
	for _, a := range e.Attr {
		if a.Name.Local == name {
			return a.Value, true
		}
	}
	return "", false
}

// number returns an attribute that counts something.
func number(e xml.StartElement, name string) (int64, error) {
	text, _ := attr(e, name)
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%s of <%s>: %w", name, e.Name.Local, err)
	}
	return n, nil
}

// cobertura gathers a report of cobertura's form.
type cobertura struct {
	figures
	sources []string // folders that file names are below
	file    string
	rooted  bool // the root has figures
}

// readCobertura reads the form that coverlet, coverage.py, istanbul and others write.
// Its own total counts, in lines; older tools have none, and lines are counted.
func readCobertura(r io.Reader) (figures, error) {
	c := cobertura{figures: figures{lines: lines{}}}
	if err := elements(r, "coverage", &c); err != nil {
		return figures{}, err
	}
	if !c.rooted {
		c.covered, c.total = c.lines.count()
	}
	if len(c.lines) == 0 && c.total > 0 {
		c.lines = nil
	}
	return c.checked()
}

func (c *cobertura) element(around []string, e xml.StartElement) error {
	switch e.Name.Local {
	case "coverage":
		if len(around) > 0 {
			return nil
		}
		if _, c.rooted = attr(e, "lines-valid"); !c.rooted {
			if _, clover := attr(e, "clover"); clover {
				return errors.New("is a report of clover, which is not read")
			}
			return nil
		}
		var err error
		if c.total, err = number(e, "lines-valid"); err != nil {
			return err
		}
		c.covered, err = number(e, "lines-covered")
		return err
	case "class":
		c.file, _ = attr(e, "filename")
		if len(c.sources) == 1 && !isFull(c.file) {
			c.file = path.Join(c.sources[0], c.file)
		}
	case "line":
		// a method's lines are among its class's once more
		if n := len(around); n < 2 || around[n-1] != "lines" || around[n-2] != "class" {
			return nil
		}
		line, err := number(e, "number")
		if err != nil {
			return err
		}
		hits, err := number(e, "hits")
		if err != nil {
			return err
		}
		c.lines.hit(c.file, int(line), hits > 0)
	}
	return nil
}

func (c *cobertura) text(around []string, text string) error {
	if n := len(around); n > 0 && around[n-1] == "source" {
		if text = strings.TrimSpace(text); text != "" {
			c.sources = append(c.sources, strings.ReplaceAll(text, `\`, "/"))
		}
	}
	return nil
}

// jacoco gathers a report of jacoco.
type jacoco struct {
	lines, instructions figures
}

// readJacoco reads the report's own counters: lines, or instructions where classes
// were compiled without line numbers.
func readJacoco(r io.Reader) (figures, error) {
	var j jacoco
	if err := elements(r, "report", &j); err != nil {
		return figures{}, err
	}
	if j.lines.total > 0 {
		return j.lines, nil
	}
	return j.instructions, nil
}

func (j *jacoco) element(around []string, e xml.StartElement) error {
	if e.Name.Local != "counter" || len(around) != 1 {
		return nil
	}
	var f *figures
	switch what, _ := attr(e, "type"); what {
	case "LINE":
		f = &j.lines
	case "INSTRUCTION":
		f = &j.instructions
	default:
		return nil
	}
	missed, err := number(e, "missed")
	if err != nil {
		return err
	}
	covered, err := number(e, "covered")
	if err != nil {
		return err
	}
	if missed < 0 || covered < 0 {
		return fmt.Errorf("counts %d missed and %d covered", missed, covered)
	}
	f.covered, f.total = covered, covered+missed
	return nil
}

func (*jacoco) text([]string, string) error { return nil }
