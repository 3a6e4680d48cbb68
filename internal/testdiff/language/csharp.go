package language

// csharp is xUnit, NUnit and MSTest, with FluentAssertions and Shouldly.
func csharp() *Language {
	return &Language{
		Name:    "C#",
		globs:   []string{"*Test.cs", "*Tests.cs", "*Spec.cs", "*Specs.cs", "Test*.cs", "*Tests.fs", "*Tests.vb", "*Test.vb"},
		folders: []string{"test", "tests", "Tests", "Test", "*.Tests", "*.Test", "*.UnitTests", "*.IntegrationTests", "*Tests"},
		Syntax: Syntax{
			comment: []string{"//"}, Block: true, quotes: "\"'", runes: true, long: [][2]string{{`"""`, `"""`}},
		},
		attributes: []string{
			"[Fact", "[Theory", "[Test]", "[Test,", "[Test(", "[TestCase(", "[TestCaseSource(", "[TestMethod", "[DataTestMethod", "[SkippableFact", "[Property", "[UIFact",
		},
		Function: method,

		skip:  []string{"[Ignore", "Skip =", "Ignore =", "Assert.Ignore(", "Assert.Inconclusive(", "[Explicit", "Skip.Always("},
		guard: []string{"Skip.If(", "Skip.IfNot(", "Assume.That(", "Assert.Skip*", "[SkipOnPlatform", "[PlatformSpecific("},
		assert: []string{
			"Assert.*", "CollectionAssert.*", "StringAssert.*", "Should()", ".ShouldBe*", ".Should*", ".Verify(", ".Received(", "ExpectedException(",
		},
		fail: []string{"Assert.Fail("},
		exact: []string{
			"Assert.Equal(", "Assert.AreEqual(", "Assert.Same(", "Assert.AreSame(", "Assert.Equivalent(", "Assert.Empty(", "Assert.Single(", "CollectionAssert.AreEqual(", "Is.EqualTo(", ".Be(", ".BeEquivalentTo(",
			".HaveCount(", ".ShouldBe(", ".BeEmpty(", ".WithMessage(", "Has.Count.EqualTo(", "Assert.Collection(", "Times.Once",
		},
		Equal:   []string{" == "},
		Differ:  []string{" != "},
		Negate:  []string{"Assert.Not", "Assert.AreNot", "Assert.False(", "Assert.IsFalse(", "Is.Not.", ".NotBe(", ".ShouldNotBe("},
		present: []string{"Assert.NotNull(", "Assert.Null(", "Assert.IsNotNull(", "Assert.IsNull(", "Is.Not.Null", "Is.Null", ".NotBeNull(", ".BeNull(", ".ShouldNotBeNull(", "Assert.NotEmpty(", ".NotBeEmpty("},
		truth: []string{
			"Assert.True(", "Assert.IsTrue(", "Assert.False(", "Assert.IsFalse(", "Assert.NotEqual(", "Assert.AreNotEqual(", ".BeTrue(", ".BeFalse(", ".NotBe(", "Is.True", "Is.False",
			"Throws<Exception>", "ThrowsAny<Exception>", "ThrowsAsync<Exception>", "ThrowsAnyAsync<Exception>", "ThrowsException<Exception>", "Throw<Exception>", "Assert.Catch(",
		},

		table:   []string{"[Theory", "[MemberData(", "[TestCaseSource(", "foreach"},
		row:     []string{"[InlineData(", "[TestCase(", "[DataRow("},
		soft:    []string{"Console.Write*", "Debug.Write*", "output.WriteLine("},
		swallow: []string{"catch (XunitException", "catch (AssertionException", "catch (AssertFailedException"},
	}
}
