package language

import "strings"

// python is pytest and unittest.
func python() *Language {
	return &Language{
		Name:    "Python",
		globs:   []string{"test_*.py", "*_test.py", "tests.py", "test.py"},
		folders: []string{"test", "tests", "testing"},
		strict:  true,
		Syntax: Syntax{
			comment: []string{"#"}, quotes: "\"'", long: [][2]string{{`"""`, `"""`}, {"'''", "'''"}},
		},
		Test: func(code, _ string) (string, bool) {
			name, ok := after(code, "def")
			return name, ok && strings.HasPrefix(name, "test")
		},
		Function: func(code string) (string, bool) { return after(code, "def") },

		skip: []string{
			"@pytest.mark.skip", "@pytest.mark.xfail", "pytestmark = pytest.mark.skip", "pytestmark = pytest.mark.xfail", "pytestmark = [pytest.mark.skip", "marks=pytest.mark.skip", "marks=pytest.mark.xfail", "marks=[pytest.mark.xfail", "pytest.skip(", "pytest.xfail(", "@unittest.skip", "@skip", "@expectedFailure", "@unittest.expectedFailure",
			"self.skipTest(", "cls.skipTest(", "raise SkipTest", "raise unittest.SkipTest", "__test__ = False", "collect_ignore", "collect_ignore_glob",
		},
		guard: []string{
			"@pytest.mark.skipif", "pytestmark = pytest.mark.skipif", "marks=pytest.mark.skipif", "@unittest.skipIf", "@unittest.skipUnless", "@skipIf", "@skipUnless", "pytest.importorskip(",
		},
		assert: []string{
			"assert*", "fail(", "failUnless(", "failIf(", "pytest.raises(", "pytest.warns(", "pytest.deprecated_call(", "npt.assert_*",
		},
		fail: []string{"pytest.fail(", "self.fail("},
		exact: []string{
			".assertEqual(", ".assertEquals(", ".assertListEqual(", ".assertDictEqual(", ".assertSetEqual(", ".assertTupleEqual(", ".assertCountEqual(", ".assertAlmostEqual(", ".assertIs(",
			".assertMultiLineEqual(", ".assertSequenceEqual(", "assert_called_with(", "assert_called_once_with(", "assert_has_calls(", "assert_not_called(", "assert_any_call(",
			"assert_array_equal(", "assert_equal(", "assert_allclose(", "assert_frame_equal(", "assert_series_equal(", "assert_almost_equal(", "match=", ".assertRaisesRegex(",
		},
		Equal:   []string{" == "},
		Differ:  []string{" != ", " not in "},
		Negate:  []string{"assert not ", ".assertNot*", ".assertFalse(", ".assertNotEqual(", ".assertNotIn(", ".assertIsNot("},
		Nothing: []string{" is None", " is not None", " is True", " is False"},
		present: []string{".assertIsNone(", ".assertIsNotNone(", "assert_called(", "assert_called_once("},
		truth: []string{
			"assert", ".assertTrue(", ".assertFalse(", ".assertNotEqual(", ".assertIsNot(", "assert_(",
			"raises(Exception", "raises(BaseException", "assertRaises(Exception", "assertRaises(BaseException", "warns(Warning",
		},

		table:   []string{"pytest.mark.parametrize(", "parameterized.expand(", "self.subTest(", "for"},
		row:     []string{"pytest.param("},
		soft:    []string{"print(", "logging.*", "logger.*", "warnings.warn(", "_ ="},
		swallow: []string{"except AssertionError", "suppress(AssertionError", "suppress(Exception"},
	}
}
