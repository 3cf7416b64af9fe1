#![expect(clippy::unwrap_used, reason = "tests")]

use proptest::prelude::*;

use super::*;

fn matches(pattern: &str, text: &str) -> bool {
    Pattern::parse(pattern).unwrap_or_else(|error| panic!("{pattern}: {error}")).is_match(text)
}

#[test]
fn patterns_match_as_in_re2() {
    let cases: &[(&str, &[&str], &[&str])] = &[
        // pattern, what it matches, what it does not match
        (r"^\w+$", &["a_9"], &["é", "a-b", "ſ", ""]),
        (r"^\W$", &["é", "-"], &["a", "_"]),
        (r"^\d+$", &["09"], &["٣", "", "a"]),
        (r"^\D$", &["٣", "\n"], &["3"]),
        (r"^\s$", &[" ", "\t", "\n", "\x0c", "\r"], &["\x0b", "\u{a0}", "\u{2028}"]),
        (r"^\S$", &["\x0b", "\u{a0}"], &[" "]),
        (r"^[\w.-]+$", &["a.b-c_d"], &["é", "a b"]),
        (r"^[\W]$", &["é"], &["a"]),
        (r"^[^\d]$", &["٣"], &["3"]),
        (r"\bb", &["éb", "b"], &["ab"]),
        (r"é\b", &["éa"], &["é", "éé"]),
        (r"^a\B", &["ab"], &["a", "a-"]),
        (r"^\Qa.b{\E+$", &["a.b{", "a.b{{"], &["axb{"]),
        (r"\Q(a", &["x(a"], &["a"]),
        (r"^a{$", &["a{"], &["a"]),
        (r"^a{,2}$", &["a{,2}"], &["aa", ""]),
        (r"^a{x}$", &["a{x}"], &["a"]),
        (r"^a{01}$", &["a{01}"], &["a"]),
        (r"^{}$", &["{}"], &[""]),
        (r"^a{2}$", &["aa"], &["a", "aaa"]),
        (r"^a{2,}$", &["aa", "aaa"], &["a"]),
        (r"^a{1,2}?$", &["a", "aa"], &["", "aaa"]),
        (r"^(?:ab){0}$", &[""], &["ab"]),
        (r"^}]$", &["}]"], &[]),
        (r"^(?P<x>a)(?<y>b)$", &["ab"], &["a"]),
        (r"^[[:word:]]+$", &["a_9"], &["é"]),
        (r"^[[:^alpha:]-]$", &["1", "é"], &["a"]),
        (r"^[:word]$", &[":", "w"], &["x"]),
        (r"^[[:x]$", &["[", ":", "x"], &["y"]),
        (r"^[]a]$", &["]", "a"], &["b"]),
        (r"^[^]a]$", &["b"], &["]", "a"]),
        (r"^[a-]$", &["a", "-"], &["b"]),
        (r"^[-a]$", &["a", "-"], &["b"]),
        (r"^[a&&b]$", &["&", "a", "b"], &["c"]),
        (r"^[+--~~c]$", &["+", ",", "-", "~", "c"], &["a"]),
        (r"^[\x41-\x{43}\n]$", &["A", "C", "\n"], &["D"]),
        (r"^\pN+$", &["3٣Ⅳ"], &["a"]),
        (r"^\p{Greek}\PL$", &["α1"], &["αa", "a1"]),
        (r"^\p{^Lu}[\p{Lu}]$", &["aB"], &["Bb"]),
        (r"^(?i)straSSe$", &["STRAsse"], &["straße"]),
        (r"^(?i:a)b$", &["Ab"], &["AB"]),
        (r"^(?i)a(?-i)b$", &["Ab"], &["AB"]),
        (r"^a(?i)b|c$", &["aB", "C"], &["AB"]),
        (r"^(?i)\w$", &["ſ"], &["é"]),
        (r"^.$", &["é"], &["\n", "ab"]),
        (r"(?s)^.$", &["\n"], &["ab"]),
        (r"a$", &["a"], &["a\n"]),
        (r"(?m)^b$", &["a\nb\nc"], &["ab"]),
        (r"\Aa\z", &["a"], &["a\n", "ba"]),
        (r"^\<a\>\/\-\_$", &["<a>/-_"], &["a"]),
        (r"^\101\x41\0$", &["AA\0"], &["A"]),
        (r"^\a\f\n\r\t\v$", &["\x07\x0c\n\r\t\x0b"], &[]),
        (r"^(a|b|)$", &["a", ""], &["c"]),
        (r"^(?)a(?:)$", &["a"], &["b"]),
        (r"^ # $", &[" # "], &[""]),
        (r"", &["", "a"], &[]),
    ];
    for (pattern, yes, no) in cases {
        yes.iter().for_each(|text| assert!(matches(pattern, text), "{pattern} matches {text:?}"));
        no.iter().for_each(|text| assert!(!matches(pattern, text), "{pattern} does not match {text:?}"));
    }
}

#[test]
fn error_names_the_part_that_re2_rejects() {
    let cases = [
        (r"(a)\1", r"`\1` in the pattern: RE2 has no references to groups"),
        (r"a(?=b)", "`(?=` in the pattern: RE2 has no look-ahead"),
        (r"a(?!b)", "`(?!` in the pattern: RE2 has no look-ahead"),
        (r"(?<=a)b", "`(?<=` in the pattern: RE2 has no look-behind"),
        (r"(?<!a)b", "`(?<!` in the pattern: RE2 has no look-behind"),
        (r"(?>a)", "`(?>` in the pattern: RE2 has no such group"),
        (r"(?x)a b", "`(?x` in the pattern: RE2 has no such group"),
        (r"(?P=x)", "RE2 has no such group"),
        (r"(?P<a-b>c)", "a group's name is made of"),
        (r"(?P<a>b)(?P<a>c)", "two groups have the same name"),
        (r"a{1001}", "`{1001}` in the pattern: counts go up to 1000"),
        (r"a{2,1}", "counts go up to 1000"),
        (r"a{99999999999999999999}", "counts go up to 1000"),
        (r"(a{100}){11}", "`{11}` in the pattern: counts go up to 1000, nested counts"),
        (r"((a{2,10}){10}b{5,}){11,}", "nested counts"),
        (r"a**", "`*` in the pattern: a repetition is repeated"),
        (r"a++", "a repetition is repeated"),
        (r"a{2}{3}", "a repetition is repeated"),
        (r"*a", "there is nothing to repeat"),
        (r"a|+", "there is nothing to repeat"),
        (r"(?:{2})", "there is nothing to repeat"),
        (r"(a", "a `(` is not closed"),
        (r"a)", "no `(` is open"),
        (r"[a", "a `[` is not closed"),
        (r"[]", "a `[` is not closed"),
        (r"[b-a]", "`b-a` in the pattern: the range ends before it begins"),
        (r"[a-\d]", r"`\d` in the pattern: RE2 has no such escape"),
        (r"[[:letters:]]", "no such named class"),
        (r"\C", "RE2 has no such escape"),
        (r"\Z", "RE2 has no such escape"),
        (r"\E", "RE2 has no such escape"),
        (r"\é", "only ASCII punctuation"),
        (r"\x4", "not the number of a character"),
        (r"\x{110000}", "not the number of a character"),
        (r"\p{Alphabetic}", "not a general category or script"),
        (r"\p{sc=Greek}", "not a general category or script"),
        (r"\p{L", "a `{` is not closed"),
        ("a\\", "a backslash ends the pattern"),
        (r"(\pL{300}){3}", "the pattern is too large"),
    ];
    for (pattern, expected) in cases {
        let error = Pattern::parse(pattern).map(drop).unwrap_err().to_string();
        assert!(error.contains(expected), "{pattern}: {error}");
    }
}

#[test]
fn counts_side_by_side_are_not_multiplied() {
    let uuid = "^[0-9a-f]{8}-[0-9a-f]{4}-[1-5][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$";
    assert!(matches(uuid, "123e4567-e89b-12d3-a456-426614174000"));
    assert!(Pattern::parse(uuid).unwrap().size() < 60);
    assert!(matches(
        "^(?:a{500}b{500}c{1000}){1}$",
        &format!("{}{}{}", "a".repeat(500), "b".repeat(500), "c".repeat(1000))
    ));
    assert!(Pattern::parse("(?:a{10}){100}").unwrap().size() >= 1000);
}

#[test]
fn deep_and_long_patterns_do_not_crash() {
    for pattern in
        ["(".repeat(100_000), "(?i)".repeat(100_000), "[".repeat(100_000), "a|".repeat(1_000_000), "a?".repeat(50_000)]
    {
        let _ = Pattern::parse(&pattern);
    }
    let nested = |depth: usize| format!("{}a{}", "(".repeat(depth), ")*".repeat(depth));
    assert!(Pattern::parse(&nested(100)).is_ok());
    assert!(Pattern::parse(&nested(101)).is_err());
}

proptest! {
    #[test]
    fn random_pattern_never_panics(pattern in r"[a-c(){}\[\]|*+?.^$\\:<>PQEdDwWbBx0-9,iUms é-]{0,24}", text in ".{0,10}") {
        let _ = Pattern::parse(&pattern).map(|pattern| pattern.is_match(&text));
    }

    #[test]
    fn quoted_text_matches_itself(text in any::<String>()) {
        prop_assume!(!text.contains(r"\E"));
        let pattern = Pattern::parse(&format!(r"^\Q{text}\E$"));
        prop_assume!(pattern.as_ref().err() != Some(&PatternError::TooLarge));
        prop_assert!(pattern.unwrap().is_match(&text));
    }

    #[test]
    fn translated_pattern_compiles_as_a_regex(pattern in r"[ab(){}\[\]|*+?.^$\\:dwbB0-9,is-]{0,16}") {
        if let Ok(translation) = translate::translate(&pattern) {
            prop_assert!(regex::Regex::new(&translation.text).is_ok(), "{} -> {}", pattern, translation.text);
        }
    }
}

#[test]
fn too_long_pattern_is_rejected_before_parsing() {
    for part in ["{", "{1", r"\pL", r"\p{Lu}", "[:", "[[:", r"[\pL", "(", "a|", "(?i)"] {
        let checked = class::CHECKED.get();
        let pattern = part.repeat((1 << 20) / part.len());
        assert_eq!(Pattern::parse(&pattern).unwrap_err(), PatternError::TooLarge, "{part}");
        assert_eq!(class::CHECKED.get(), checked, "{part}");
    }
}

#[test]
fn repeated_unicode_class_is_looked_up_once_a_pattern() {
    for pattern in [r"\pL".repeat(16_000), format!(r"[{}]", r"\pL".repeat(16_000)), r"\pL\p{Greek}".repeat(5_000)] {
        let checked = class::CHECKED.get();
        let _ = Pattern::parse(&pattern);
        assert!(class::CHECKED.get() - checked <= 2, "{}", class::CHECKED.get() - checked);
    }
}

#[test]
fn parsing_stops_where_a_pattern_gets_too_large() {
    // The syntax error comes after the limit, so that only the limit is reported.
    assert_eq!(Pattern::parse(&format!("{})", r"\pL".repeat(1000))).unwrap_err(), PatternError::TooLarge);
    assert!(Pattern::parse(&"{".repeat(40_000)).is_ok());
    assert!(matches!(Pattern::parse("[[:x] and [y:]"), Err(PatternError::Syntax { .. })));
}
