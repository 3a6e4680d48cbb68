package language

// rust has its unit tests in the files that they test.
func rust() *Language {
	return &Language{
		Name:    "Rust",
		globs:   []string{"tests.rs", "test.rs", "*_test.rs", "*_tests.rs", "test_*.rs"},
		folders: []string{"tests"},
		Inline:  true,
		Module:  "mod test",
		Syntax: Syntax{
			comment: []string{"//"}, Block: true, quotes: "\"'", runes: true,
			long: [][2]string{{`r#"`, `"#`}, {`r##"`, `"##`}},
		},
		attributes: []string{
			"#[test]", "#[tokio::test", "#[async_std::test", "#[actix_rt::test", "#[actix_web::test", "#[rstest", "#[test_case(", "#[wasm_bindgen_test",
			"#[quickcheck", "#[gpui::test", "#[sqlx::test", "#[test_log::test", "#[bench]", "#[proptest", "#[test_matrix(",
		},
		Function: func(code string) (string, bool) { return after(code, "fn") },

		skip:  []string{"#[ignore", "cfg(any())"},
		guard: []string{"cfg_attr("},
		assert: []string{
			"assert!(", "assert_eq!(", "assert_ne!(", "assert_matches!(", "assert_snapshot!(", "assert_debug_snapshot!(", "assert_yaml_snapshot!(", "assert_json_snapshot!(",
			"prop_assert!(", "prop_assert_eq!(", "prop_assert_ne!(", "#[should_panic", "check!(", "assert_that!(", "expect!(", "verify_that!(", "expect_that!(",
		},
		exact:   []string{"assert_eq!(", "prop_assert_eq!(", "assert_snapshot!(", "assert_debug_snapshot!(", "assert_yaml_snapshot!(", "assert_json_snapshot!(", "expected ="},
		Equal:   []string{" == "},
		Differ:  []string{" != ", "assert_ne!("},
		Negate:  []string{"assert!(!"},
		present: []string{".is_ok())", ".is_some())", ".is_err())", ".is_none())"},
		truth:   []string{"assert!(", "prop_assert!(", "assert_ne!(", "check!("},

		table: []string{"for", "#[rstest", "#[test_case(", "#[case*"},
		row:   []string{"#[case*", "#[test_case("},
		soft:  []string{"println!(", "eprintln!(", "let _ ="},
	}
}
