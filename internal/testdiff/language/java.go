package language

// java also is Kotlin, Groovy and Scala, with JUnit, TestNG, AssertJ, Hamcrest.
func java() *Language {
	return &Language{
		Name: "Java",
		globs: []string{
			"*Test.java", "*Tests.java", "*TestCase.java", "*IT.java", "Test*.java", "*Test.kt", "*Tests.kt", "*Spec.kt", "*IT.kt", "*Spec.groovy", "*Test.groovy", "*Test.scala", "*Spec.scala", "*Suite.scala",
		},
		folders: []string{"test", "androidTest", "integrationTest", "commonTest", "jvmTest", "testFixtures", "it"},
		Syntax: Syntax{
			comment: []string{"//"}, Block: true, quotes: "\"'", runes: true, long: [][2]string{{`"""`, `"""`}},
		},
		attributes: []string{"@Test", "@ParameterizedTest", "@RepeatedTest", "@TestFactory", "@TestTemplate", "@Property", "@org.junit.Test", "@org.junit.jupiter.api.Test"},
		Function: func(code string) (string, bool) {
			if name, ok := after(code, "fun"); ok {
				return name, true
			}
			return method(code)
		},

		skip: []string{"@Ignore", "@Disabled", "@org.junit.Ignore", "enabled = false", "throw SkipException(", "throw new SkipException(", "throw new TestAbortedException("},
		guard: []string{
			"assumeTrue(", "assumeFalse(", "assumeThat(", "assumeNoException(", "assumingThat(", "Assume.*", "Assumptions.*",
			"@DisabledOn*", "@DisabledIf*", "@DisabledFor*", "@EnabledOn*", "@EnabledIf*", "@EnabledFor*",
		},
		assert: []string{
			"assertThat(", "assertEquals(", "assertNotEquals(", "assertTrue(", "assertFalse(", "assertNull(", "assertNotNull(", "assertSame(", "assertNotSame(", "assertArrayEquals(",
			"assertIterableEquals(", "assertLinesMatch(", "assertThrows(", "assertThrowsExactly(", "assertDoesNotThrow(", "assertInstanceOf(", "assertTimeout(", "assertContentEquals(", "assertFailsWith(",
			"assertThatThrownBy(", "assertThatExceptionOfType(", "assertContains(", "assertIs(", "verify(", "verifyNoInteractions(", "verifyNoMoreInteractions(", "expected =", "thrown.expect(", "shouldBe", "shouldThrow", "assert ",
		},
		fail: []string{"fail(", "Assertions.fail(", "Assert.fail("},
		exact: []string{
			"assertEquals(", "assertSame(", "assertArrayEquals(", "assertIterableEquals(", "assertLinesMatch(", "assertContentEquals(", ".isEqualTo(", ".isSameAs(", ".containsExactly*", ".hasSize(", ".isEqualToIgnoringCase(",
			".hasMessage(", ".isZero(", ".isEmpty(", "is(", "equalTo(", "shouldBe", "expectMessage(", "shouldContainExactly",
		},
		Equal:   []string{" == "},
		Differ:  []string{" != "},
		Negate:  []string{"assertFalse(", ".isFalse(", "assertNotEquals(", "assertNotSame(", ".isNotEqualTo(", "not(", "shouldNotBe", "never()"},
		present: []string{"assertNull(", "assertNotNull(", ".isNotNull(", ".isNull(", "notNullValue(", "nullValue(", ".isPresent(", ".isNotEmpty(", "shouldNotBeNull"},
		truth: []string{
			"assertTrue(", "assertFalse(", "assertNotEquals(", "assertNotSame(", ".isTrue(", ".isFalse(", ".isNotEqualTo(", "assert ", "assertDoesNotThrow(",
			"Exception.class", "Throwable.class", "RuntimeException.class", "assertFailsWith<Exception>", "assertFailsWith<Throwable>", "assertThrows<Exception>", "assertThrows<Throwable>", "any(",
		},

		table:   []string{"@ParameterizedTest", "@MethodSource(", "@CsvSource(", "for", "forEach"},
		soft:    []string{"System.out.*", "System.err.*", "println(", "log.*", "logger.*"},
		swallow: []string{"catch (AssertionError", "catch (AssertionFailedError", "catch (Throwable", "catch (e: AssertionError", "catch (e: Throwable"},
	}
}
