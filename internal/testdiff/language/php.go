package language

import "strings"

// php is PHPUnit and Pest.
func php() *Language {
	return &Language{
		Name:    "PHP",
		globs:   []string{"*Test.php", "*.phpt", "*Cest.php", "*Tests.php"},
		folders: []string{"tests", "test", "Tests"},
		Syntax: Syntax{
			comment: []string{"//", "#"}, Block: true, quotes: "\"'", heredoc: "<<<",
		},
		Test: func(code, text string) (string, bool) {
			if name, ok := after(code, "function"); ok {
				return name, strings.HasPrefix(name, "test")
			}
			return titled(code, text, "it", "test")
		},
		attributes: []string{"#[Test]", "#[Test,", "#[DataProvider("},
		Mark:       "@test",
		Function:   func(code string) (string, bool) { return after(code, "function") },

		skip:  []string{"markTestSkipped(", "markTestIncomplete(", ">markTestSkipped(", ">markTestIncomplete(", ">skip(", ">todo(", ">expectNotToPerformAssertions("},
		guard: []string{"#[Requires*", ">skipOnWindows("},
		focus: []string{">only("},
		assert: []string{
			"assert*", "expect(", ">expectException*", "shouldHaveReceived(",
		},
		fail: []string{">fail("},
		exact: []string{
			"assertSame(", "assertEquals(", "assertCount(", "assertEqualsCanonicalizing(", "assertJsonStringEqualsJsonString(", "assertEmpty(", "toBe(", "toEqual(", "toHaveCount(", "toHaveLength(", "assertExactJson(", "expectExceptionMessage(", "assertStatus(",
		},
		Equal:   []string{" === ", " == "},
		Differ:  []string{" !== ", " != "},
		Negate:  []string{">not->", ">not()", "assertNot", "assertFalse("},
		present: []string{"assertNotNull(", "assertNull(", "assertNotEmpty(", "toBeNull(", "toBeEmpty("},
		truth: []string{
			"assertTrue(", "assertFalse(", "assertNotSame(", "assertNotEquals(", "toBeTrue(", "toBeTruthy(", "toBeFalse(", "toBeFalsy(", "assertOk(",
			"expectException(Exception::class", "expectException(Throwable::class", "expectException(RuntimeException::class", `expectException(\Exception::class`, `expectException(\Throwable::class`, `expectException(\RuntimeException::class`,
		},

		table:   []string{"@dataProvider", "#[DataProvider(", "foreach", ">with("},
		row:     []string{"#[TestWith("},
		soft:    []string{"echo", "var_dump(", "print_r("},
		swallow: []string{"catch (AssertionFailedError", "catch (ExpectationFailedException", `catch (\Throwable`, "catch (Throwable"},
	}
}
