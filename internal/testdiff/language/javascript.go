package language

import "strings"

// javascript also is TypeScript; jest, vitest, mocha, jasmine, playwright, cypress
// and node's own runner share nearly all words.
func javascript() *Language {
	return &Language{
		Name:    "JavaScript",
		globs:   []string{"*.test.*", "*.spec.*", "*.cy.*", "*.e2e.*", "*_test.*", "*-test.*", "*_spec.*", "*.e2e-spec.*", "test.js", "test.ts"},
		folders: []string{"__tests__", "test", "tests", "spec", "e2e", "cypress", "playwright"},
		Syntax: Syntax{
			comment: []string{"//"}, Block: true, quotes: "\"'", long: [][2]string{{"`", "`"}},
		},
		Test:     jsTest,
		Function: jsFunction,

		skip: []string{
			"it.skip(", "test.skip(", "describe.skip(", "context.skip(", "suite.skip(", "specify.skip(", "bench.skip(", "it.skip.each", "test.skip.each", "describe.skip.each",
			"it.concurrent.skip", "test.concurrent.skip", "describe.serial.skip", "test.describe.skip(",
			"xit(", "xtest(", "xdescribe(", "xcontext(", "xspecify(", "xit.each", "xtest.each",
			"it.todo(", "test.todo(", "describe.todo(", "it.fixme(", "test.fixme(", "test.describe.fixme(", "it.failing(", "test.failing(", "it.fails(", "test.fails(", "test.fail(",
			"this.skip()", "t.skip(", "ctx.skip(", "pending(", "skip: true", "todo: true",
		},
		guard: []string{"it.skipIf(", "test.skipIf(", "describe.skipIf(", "it.runIf(", "test.runIf(", "describe.runIf("},
		focus: []string{
			"it.only", "test.only", "describe.only", "context.only", "suite.only", "specify.only", "test.describe.only", "fit(", "fdescribe(", "ftest(", "fcontext(",
			"it.concurrent.only", "test.concurrent.only", "describe.serial.only", "test.describe.serial.only", "only: true",
		},
		assert: []string{
			"expect(", "expect.soft(", "expect.poll(", "expectTypeOf(", "assert(", "assert.*", "should(", ".should(", ".should.*", "t.is(", "t.deepEqual(", "t.true(", "t.false(", "t.truthy(", "t.throws(", "t.assert.*",
		},
		fail: []string{"throw new AssertionError(", "fail(", "t.fail(", "done.fail("},
		exact: []string{
			".toBe(", ".toEqual(", ".toStrictEqual(", ".toHaveLength(", ".toHaveText(", ".toHaveValue(", ".toHaveCount(", ".toHaveURL(", ".toHaveTitle(", ".toBeCloseTo(",
			".toHaveBeenCalledWith(", ".toHaveBeenNthCalledWith(", ".toHaveBeenLastCalledWith(", ".toHaveBeenCalledTimes(", ".toHaveBeenCalledOnceWith(", ".toReturnWith(", ".toHaveProperty(",
			".toMatchSnapshot(", ".toMatchInlineSnapshot(", ".toHaveScreenshot(", ".toThrowErrorMatchingInlineSnapshot(", ".toThrowErrorMatchingSnapshot(",
			".equal(", ".equals(", ".eql(", ".eq(", ".strictEqual(", ".deepEqual(", ".deepStrictEqual(", ".deepEquals(", ".is(", ".lengthOf(", ".calledWith(", ".calledWithExactly(",
		},
		Equal:   []string{" === ", " == "},
		Differ:  []string{" !== ", " != "},
		Negate:  []string{".not.", ".notEqual(", ".notStrictEqual(", ".notDeepEqual(", ".doesNotThrow("},
		present: []string{".toBeDefined(", ".toBeUndefined(", ".toBeNull(", ".exist", ".isDefined(", ".exists(", ".isOk(", ".isNotNull(", ".toHaveBeenCalled(", ".toBeInstanceOf(Object", "expect.anything()"},
		truth:   []string{".toBeTruthy(", ".toBeFalsy(", ".toBeTrue(", ".toBeFalse(", ".ok", ".true", ".false", ".isTrue(", ".isFalse(", ".truthy(", "assert(", "assert.ok(", ".toThrow()", ".toThrowError()", ".toThrow(Error)", ".throw()", "t.throws("},

		table: []string{".each(", ".each`", ".forEach(", ".for(", "for"},
		row:   nil,
		soft:  []string{"console.log(", "console.warn(", "console.error("},
	}
}

func jsTest(code, text string) (string, bool) {
	trimmed := strings.TrimLeft(code, " \t")
	for _, c := range []string{"])(", "`("} { // below the rows of it.each
		if strings.HasPrefix(trimmed, c) {
			return quoted(code, text, len(code)-len(trimmed)+len(c)-1)
		}
	}
	return titled(code, text, "it", "test", "specify", "xit", "fit", "xtest", "ftest", "xspecify", "Deno.test", "scenario")
}

func jsFunction(code string) (string, bool) {
	if name, ok := after(code, "function"); ok {
		return name, true
	}
	head, _, ok := strings.Cut(code, "=>")
	if !ok || !strings.HasSuffix(strings.TrimSpace(code), "{") {
		return "", false
	}
	head, _, _ = strings.Cut(head, "=")
	head = strings.TrimSpace(head)
	if strings.ContainsAny(head, "(.[") || !strings.Contains(head, " ") {
		return "", false
	}
	name := head[strings.LastIndexByte(head, ' ')+1:]
	return name, name != ""
}
