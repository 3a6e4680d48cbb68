package config

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ralph-loop/ralph"
	"go.yaml.in/yaml/v3"
)

// value is one setting bound to its place in a Config. A set that fails leaves
// the place as it was; its error completes the sentence "`key` ...".
type value interface {
	setNode(n *yaml.Node) error
	setText(s string) error // from the environment, a flag or `config edit`
	plain() any             // what encodes to YAML and JSON as the file has it
	schema() object
}

type object = map[string]any

// lineError is an error inside a value that spans several lines.
type lineError struct {
	line int
	error
}

// must is the error of a value that is not what it has to be.
func must(want, got string) error { return fmt.Errorf("must be %s, not %s", want, got) }

// scalar returns the text of a scalar that has one of the YAML types.
func scalar(n *yaml.Node, want string, tags ...string) (string, error) {
	if n.Kind != yaml.ScalarNode || !slices.Contains(tags, n.ShortTag()) {
		return "", must(want, describe(n))
	}
	return n.Value, nil
}

// number is a whole number.
type number[T int | int64] struct {
	p        *T
	min, max T
}

func (v number[T]) want() string {
	switch {
	case v.max >= maxCount && v.min == 0:
		return "a whole number, 0 or more"
	case v.max >= maxCount:
		return fmt.Sprintf("a whole number, %d or more", v.min)
	}
	return fmt.Sprintf("a whole number from %d to %d", v.min, v.max)
}

func (v number[T]) setNode(n *yaml.Node) error {
	s, err := scalar(n, v.want(), "!!int")
	if err != nil {
		return err
	}
	return v.setText(s)
}

func (v number[T]) setText(s string) error {
	i, err := strconv.ParseInt(s, 0, 64)
	if err != nil || i < int64(v.min) || i > int64(v.max) {
		return must(v.want(), show(s))
	}
	*v.p = T(i)
	return nil
}

func (v number[T]) plain() any { return *v.p }
func (v number[T]) schema() object {
	return object{"type": "integer", "minimum": v.min, "maximum": v.max}
}

// amount is a number with a fraction: dollars, percent, shares.
type amount struct {
	p        *float64
	min, max float64
}

func (v amount) want() string {
	if v.max == math.MaxFloat64 {
		return fmt.Sprintf("a number, %v or more", v.min)
	}
	return fmt.Sprintf("a number from %v to %v", v.min, v.max)
}

func (v amount) setNode(n *yaml.Node) error {
	s, err := scalar(n, v.want(), "!!int", "!!float")
	if err != nil {
		return err
	}
	return v.setText(s)
}

func (v amount) setText(s string) error {
	f, err := strconv.ParseFloat(strings.ReplaceAll(s, "_", ""), 64)
	// NaN compares false with everything, so the range is asked the positive way.
	if inside := f >= v.min && f <= v.max; err != nil || !inside {
		return must(v.want(), show(s))
	}
	*v.p = f
	return nil
}

func (v amount) plain() any { return *v.p }
func (v amount) schema() object {
	o := object{"type": "number", "minimum": v.min}
	if v.max != math.MaxFloat64 {
		o["maximum"] = v.max
	}
	return o
}

// toggle is true or false.
type toggle struct{ p *bool }

func (v toggle) setNode(n *yaml.Node) error {
	s, err := scalar(n, "true or false", "!!bool")
	if err != nil {
		return err
	}
	return v.setText(s)
}

func (v toggle) setText(s string) error {
	b, err := strconv.ParseBool(s)
	if err != nil {
		return must("true or false", show(s))
	}
	*v.p = b
	return nil
}

func (v toggle) plain() any     { return *v.p }
func (v toggle) schema() object { return object{"type": "boolean"} }

// text is a string; one of a few words, or what check accepts. check returns
// what is wrong, "" for nothing.
type text struct {
	p     *string
	words []string
	check func(string) string
}

func (v text) want() string {
	if v.words != nil {
		return "one of " + strings.TrimPrefix(strings.Join(v.words, ", "), ", ")
	}
	return "text"
}

func (v text) setNode(n *yaml.Node) error {
	s, err := scalar(n, v.want(), "!!str")
	if err != nil {
		if v.words == nil && n.Kind == yaml.ScalarNode && n.Value != "" {
			return fmt.Errorf("%w; put it in quotes", err)
		}
		return err
	}
	return v.setText(s)
}

func (v text) setText(s string) error {
	if v.words != nil && !slices.Contains(v.words, s) {
		return must(v.want(), show(s))
	}
	if wrong := checkText(s, v.check); wrong != "" {
		return errors.New(wrong)
	}
	*v.p = s
	return nil
}

func (v text) plain() any { return *v.p }
func (v text) schema() object {
	o := object{"type": "string"}
	if v.words != nil {
		o["enum"] = v.words
	}
	return o
}

// checkText refuses what no command line, file name or environment can hold.
func checkText(s string, check func(string) string) string {
	if strings.ContainsRune(s, 0) {
		return "must not hold a NUL character"
	}
	if check == nil {
		return ""
	}
	return check(s)
}

// span is a duration; some must be more than nothing.
type span struct {
	p        *time.Duration
	positive bool
}

func (v span) want() string {
	if v.positive {
		return "a duration above 0 with its unit, such as 500ms, 90s, 30m or 2h"
	}
	return "a duration with its unit, such as 500ms, 90s, 30m or 2h"
}

func (v span) setNode(n *yaml.Node) error {
	s, err := scalar(n, v.want(), "!!str", "!!int", "!!float")
	if err != nil {
		return err
	}
	return v.setText(s)
}

func (v span) setText(s string) error {
	d, err := time.ParseDuration(s)
	switch {
	case err != nil:
		return must(v.want(), show(s))
	case d < 0:
		return must("0s or longer", show(s))
	case d == 0 && v.positive:
		return must(v.want(), show(s))
	}
	*v.p = d
	return nil
}

func (v span) plain() any { return ralph.ClockTime(*v.p) }
func (v span) schema() object {
	// Go's own form; the integer is the 0 that needs no unit.
	return object{"type": []string{"string", "integer"}, "pattern": `^([0-9]+(\.[0-9]*)?(ns|us|µs|ms|s|m|h))+$|^0$`, "minimum": 0, "maximum": 0}
}

// size is a number of bytes.
type size struct {
	p        *int64
	min, max int64
}

const sizeWant = "a size from 1KiB to 64MiB, such as 64KiB or 1MiB"

func (v size) setNode(n *yaml.Node) error {
	s, err := scalar(n, sizeWant, "!!str", "!!int")
	if err != nil {
		return err
	}
	return v.setText(s)
}

func (v size) setText(s string) error {
	i, ok := parseSize(s)
	if !ok || i < v.min || i > v.max {
		return must(sizeWant, show(s))
	}
	*v.p = i
	return nil
}

func (v size) plain() any { return sizeText(*v.p) }
func (v size) schema() object {
	return object{"type": []string{"string", "integer"}, "pattern": `^[0-9]+ ?(B|KiB|MiB|GiB|KB|MB|GB)?$`, "minimum": v.min, "maximum": v.max}
}

func parseSize(s string) (int64, bool) {
	digits := strings.TrimRight(s, "BKMGi ")
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil {
		return 0, false
	}
	factor := int64(1)
	switch strings.TrimPrefix(s[len(digits):], " ") {
	case "", "B":
	case "KB":
		factor = 1e3
	case "MB":
		factor = 1e6
	case "GB":
		factor = 1e9
	case "KiB":
		factor = 1 << 10
	case "MiB":
		factor = 1 << 20
	case "GiB":
		factor = 1 << 30
	default:
		return 0, false
	}
	if n < 0 || n > math.MaxInt64/factor {
		return 0, false
	}
	return n * factor, true
}

func sizeText(n int64) string {
	switch {
	case n > 0 && n%(1<<20) == 0:
		return strconv.FormatInt(n>>20, 10) + "MiB"
	case n > 0 && n%(1<<10) == 0:
		return strconv.FormatInt(n>>10, 10) + "KiB"
	}
	return strconv.FormatInt(n, 10) + "B"
}
