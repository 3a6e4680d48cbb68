// Package setting owns what a single setting can be: the kinds of values, how one is
// read from YAML, from the environment and from a flag, what is refused and with which
// words, how it is shown and described in the schema, and where it came from. It does
// not own which settings there are, nor which layer wins (internal/config).
package setting

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

// Value is one setting bound to its place in a Config. A set that fails leaves
// the place as it was; its error completes the sentence "`key` ...".
type Value interface {
	SetNode(n *yaml.Node) error
	SetText(s string) error // from the environment, a flag or `config edit`
	Plain() any             // what encodes to YAML and JSON as the file has it
	Schema() Object
}

// MaxCount bounds counts, so that sums of them cannot overflow.
const MaxCount = 1_000_000_000

// The kinds of values, each bound to its place: whole numbers, shares of one, dollars, durations, bytes.
// Bounds are the lowest and the highest that is taken.

func Count(p *int, lowest int) Value             { return number[int]{p, lowest, MaxCount} }
func UpTo(p *int, lowest, highest int) Value     { return number[int]{p, lowest, highest} }
func Tokens(p *int64, highest int64) Value       { return number[int64]{p, 0, highest} }
func Share(p *float64) Value                     { return amount{p, 0, 1} }
func Percent(p *float64) Value                   { return amount{p, 0, 100} }
func Dollars(p *float64) Value                   { return amount{p, 0, math.MaxFloat64} }
func OnOff(p *bool) Value                        { return toggle{p} }
func OneOf(p *string, words ...string) Value     { return text{p: p, words: words} }
func Duration(p *time.Duration) Value            { return span{p: p} }
func Positive(p *time.Duration) Value            { return span{p, true} }
func Size(p *int64, lowest, highest int64) Value { return size{p, lowest, highest} }

// Text is any text, or what check accepts.
func Text(p *string, check func(string) string) Value { return text{p: p, check: check} }

// List is a list of texts; check looks at each.
func List(p *[]string, check func(string) string) Value { return list{p, check} }

// Table is a mapping of texts to texts: want is what it is for people, the checks
// look at each key and each value.
func Table(p *map[string]string, want string, checkKey, checkValue func(string) string) Value {
	return table{p, want, checkKey, checkValue}
}

func Prices(p *map[string]Price) Value { return priceList{p} }
func Sources(p *[]IssueSource) Value   { return sourceList{p} }
func Events(p *[]ralph.EventRow) Value { return eventRows{p} }

// IsMapping reports whether a value is a mapping with keys of a person's own.
func IsMapping(v Value) bool {
	switch v.(type) {
	case table, priceList, keyMap:
		return true
	}
	return false
}

// Object is a JSON schema, or a part of one.
type Object = map[string]any

// LineError is an error inside a value that spans several lines.
type LineError struct {
	Line int
	error
}

// Mismatch is the error of a value that is not what it has to be.
func Mismatch(want, got string) error { return fmt.Errorf("must be %s, not %s", want, got) }

// scalar returns the text of a scalar that has one of the YAML types.
func scalar(n *yaml.Node, want string, tags ...string) (string, error) {
	if n.Kind != yaml.ScalarNode || !slices.Contains(tags, n.ShortTag()) {
		return "", Mismatch(want, Describe(n))
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
	case v.max >= MaxCount && v.min == 0:
		return "a whole number, 0 or more"
	case v.max >= MaxCount:
		return fmt.Sprintf("a whole number, %d or more", v.min)
	}
	return fmt.Sprintf("a whole number from %d to %d", v.min, v.max)
}

func (v number[T]) SetNode(n *yaml.Node) error {
	s, err := scalar(n, v.want(), "!!int")
	if err != nil {
		return err
	}
	return v.SetText(s)
}

func (v number[T]) SetText(s string) error {
	i, err := strconv.ParseInt(s, 0, 64)
	if err != nil || i < int64(v.min) || i > int64(v.max) {
		return Mismatch(v.want(), Quote(s))
	}
	*v.p = T(i)
	return nil
}

func (v number[T]) Plain() any { return *v.p }
func (v number[T]) Schema() Object {
	return Object{"type": "integer", "minimum": v.min, "maximum": v.max}
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

func (v amount) SetNode(n *yaml.Node) error {
	s, err := scalar(n, v.want(), "!!int", "!!float")
	if err != nil {
		return err
	}
	return v.SetText(s)
}

func (v amount) SetText(s string) error {
	f, err := strconv.ParseFloat(strings.ReplaceAll(s, "_", ""), 64)
	// NaN compares false with everything, so the range is asked the positive way.
	if inside := f >= v.min && f <= v.max; err != nil || !inside {
		return Mismatch(v.want(), Quote(s))
	}
	*v.p = f
	return nil
}

func (v amount) Plain() any { return *v.p }
func (v amount) Schema() Object {
	o := Object{"type": "number", "minimum": v.min}
	if v.max != math.MaxFloat64 {
		o["maximum"] = v.max
	}
	return o
}

// toggle is true or false.
type toggle struct{ p *bool }

func (v toggle) SetNode(n *yaml.Node) error {
	s, err := scalar(n, "true or false", "!!bool")
	if err != nil {
		return err
	}
	return v.SetText(s)
}

func (v toggle) SetText(s string) error {
	b, err := strconv.ParseBool(s)
	if err != nil {
		return Mismatch("true or false", Quote(s))
	}
	*v.p = b
	return nil
}

func (v toggle) Plain() any     { return *v.p }
func (v toggle) Schema() Object { return Object{"type": "boolean"} }

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

func (v text) SetNode(n *yaml.Node) error {
	s, err := scalar(n, v.want(), "!!str")
	if err != nil {
		if v.words == nil && n.Kind == yaml.ScalarNode && n.Value != "" {
			return fmt.Errorf("%w; put it in quotes", err)
		}
		return err
	}
	return v.SetText(s)
}

func (v text) SetText(s string) error {
	if v.words != nil && !slices.Contains(v.words, s) {
		return Mismatch(v.want(), Quote(s))
	}
	if wrong := checkText(s, v.check); wrong != "" {
		return errors.New(wrong)
	}
	*v.p = s
	return nil
}

func (v text) Plain() any { return *v.p }
func (v text) Schema() Object {
	o := Object{"type": "string"}
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

func (v span) SetNode(n *yaml.Node) error {
	s, err := scalar(n, v.want(), "!!str", "!!int", "!!float")
	if err != nil {
		return err
	}
	return v.SetText(s)
}

func (v span) SetText(s string) error {
	d, err := time.ParseDuration(s)
	switch {
	case err != nil:
		return Mismatch(v.want(), Quote(s))
	case d < 0:
		return Mismatch("0s or longer", Quote(s))
	case d == 0 && v.positive:
		return Mismatch(v.want(), Quote(s))
	}
	*v.p = d
	return nil
}

func (v span) Plain() any { return ralph.ClockTime(*v.p) }
func (v span) Schema() Object {
	// Go's own form; the integer is the 0 that needs no unit.
	return Object{"type": []string{"string", "integer"}, "pattern": `^([0-9]+(\.[0-9]*)?(ns|us|µs|ms|s|m|h))+$|^0$`, "minimum": 0, "maximum": 0}
}

// size is a number of bytes.
type size struct {
	p        *int64
	min, max int64
}

const sizeWant = "a size from 1KiB to 64MiB, such as 64KiB or 1MiB"

func (v size) SetNode(n *yaml.Node) error {
	s, err := scalar(n, sizeWant, "!!str", "!!int")
	if err != nil {
		return err
	}
	return v.SetText(s)
}

func (v size) SetText(s string) error {
	i, ok := parseSize(s)
	if !ok || i < v.min || i > v.max {
		return Mismatch(sizeWant, Quote(s))
	}
	*v.p = i
	return nil
}

func (v size) Plain() any { return sizeText(*v.p) }
func (v size) Schema() Object {
	return Object{"type": []string{"string", "integer"}, "pattern": `^[0-9]+ ?(B|KiB|MiB|GiB|KB|MB|GB)?$`, "minimum": v.min, "maximum": v.max}
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
