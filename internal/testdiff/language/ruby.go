package language

import "strings"

// ruby is RSpec and minitest.
func ruby() *Language {
	return &Language{
		Name:    "Ruby",
		globs:   []string{"*_spec.rb", "*_test.rb", "test_*.rb", "spec_*.rb"},
		folders: []string{"spec", "test", "features"},
		strict:  true,
		Syntax: Syntax{
			comment: []string{"#"}, apart: true, quotes: "\"'`", heredoc: "<<",
		},
		Test: func(code, text string) (string, bool) {
			if name, ok := after(code, "def"); ok {
				return name, strings.HasPrefix(name, "test_")
			}
			if !strings.Contains(code, " do") && !strings.Contains(code, "{") {
				return "", false
			}
			return titled(code, text, "it", "specify", "scenario", "example", "test", "xit", "fit", "xspecify", "pending", "fspecify", "should")
		},
		Function: func(code string) (string, bool) { return after(code, "def") },

		skip: []string{
			"skip", "skip:", "pending", "pending:", ":skip", ":pending", "xit", "xdescribe", "xcontext", "xspecify", "xscenario", "xfeature", "xexample",
		},
		focus: []string{"fit", "fdescribe", "fcontext", "fspecify", "fscenario", "ffeature", "fexample", ":focus", "focus: true", "focus"},
		assert: []string{
			"expect(", "expect {", "is_expected", "assert*", "refute*", "must_*", "wont_*", "_(", ".should", ".should_not", "assert",
		},
		fail: []string{"flunk"},
		exact: []string{
			"eq(", "eq", "eql(", "equal(", "be(", "match_array(", "contain_exactly(", "assert_equal", "assert_same", "assert_empty", "must_equal", "must_be_same_as", "be_empty", "with_message(",
			"have_attributes(", "have_received(", "assert_difference", "change {",
		},
		Equal:   []string{" == "},
		Differ:  []string{" != "},
		Negate:  []string{"not_to", "to_not", "refute", "wont_", "should_not", "assert_not"},
		present: []string{"be_nil", "be_present", "be_truthy", "be_falsey", "be_falsy", "assert_nil", "refute_nil", "assert_not_nil", "wont_be_nil", "be_blank", "assert_predicate"},
		truth:   []string{"assert", "refute", "be_truthy", "be_falsey", "be_falsy", "raise_error$", "raise_error(StandardError)", "raise_error(Exception)", "assert_raises do", "assert_raises {", "assert_raises(StandardError)", "assert_raises(Exception)", "refute_equal"},

		table:   []string{".each", "each", "where"},
		soft:    []string{"puts", "warn"},
		swallow: []string{"rescue Minitest::Assertion", "rescue RSpec::Expectations", "rescue Exception"},
	}
}
