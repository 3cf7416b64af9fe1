#![expect(clippy::unwrap_used, reason = "tests")]

use proptest::prelude::*;

use super::*;

fn matches(pattern: &str, text: &str) -> bool {
    Pattern::parse(pattern).unwrap_or_else(|error| panic!("{pattern}: {error}")).is_match(text)
}

#[test]
fn patterns_match_as_in_go() {
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
        (r"^a{2}$", &["aa"], &["a", "aaa"]),
        (r"^a{2,}$", &["aa", "aaa"], &["a"]),
        (r"^a{1,2}?$", &["a", "aa"], &["", "aaa"]),
        (r"^(?:ab){0}$", &[""], &["ab"]),
        (r"^}]$", &["}]"], &[]),
        (r"^(?P<x>a)(?<y>b)$", &["ab"], &["a"]),
        (r"^[[:word:]]+$", &["a_9"], &["é"]),
        (r"^[[:^alpha:]-]$", &["1", "é"], &["a"]),
        (r"^[:word]$", &[":", "w"], &["x"]),
        (r"^[]a]$", &["]", "a"], &["b"]),
        (r"^[^]a]$", &["b"], &["]", "a"]),
        (r"^[a-]$", &["a", "-"], &["b"]),
        (r"^[-a]$", &["a", "-"], &["b"]),
        (r"^[\x41-\x{43}\n]$", &["A", "C", "\n"], &["D"]),
        (r"^\pN+$", &["3٣Ⅳ"], &["a"]),
        (r"^\p{Greek}\PL$", &["α1"], &["αa", "a1"]),
        (r"^\P{Lu}[\p{Lu}]$", &["aB"], &["Bb"]),
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
        (r"^\a\f\n\r\t\v$", &["\x07\x0c\n\r\t\x0b"], &[]),
        (r"^(a|b|)$", &["a", ""], &["c"]),
        (r"^ # $", &[" # "], &[""]),
        (r"", &["", "a"], &[]),
    ];
    for (pattern, yes, no) in cases {
        yes.iter().for_each(|text| assert!(matches(pattern, text), "{pattern} matches {text:?}"));
        no.iter().for_each(|text| assert!(!matches(pattern, text), "{pattern} does not match {text:?}"));
    }
}

#[test]
fn error_names_the_part_that_is_no_syntax_or_differs_in_go() {
    let cases = [
        (r"(a)\1", r"`\1` in the pattern: backreferences are not supported"),
        (r"a(?=b)", "`(?=` in the pattern: look-around"),
        (r"(?<!a)b", "`(?<!` in the pattern: look-around"),
        (r"(?P<a>b)(?P<a>c)", "duplicate capture group name"),
        (r"a{2,1}", "invalid repetition count range"),
        (r"*a", "repetition operator missing expression"),
        (r"(a", "`(` in the pattern: unclosed group"),
        (r"a)", "`)` in the pattern: unopened group"),
        (r"[a", "unclosed character class"),
        (r"\Qa\E", r"`\Q` in the pattern: unrecognized escape sequence"),
        (r"a{", "unclosed counted repetition"),
        ("a\\", "incomplete escape sequence"),
        (r"\<a", r"`\<` in the pattern: means something else in Go"),
        (r"\b{start}a", r"`\b{start}` in the pattern: means something else in Go"),
        (r"[a&&b]", "`a&&b` in the pattern: means something else in Go"),
        (r"[+--~~c]", "means something else in Go"),
        (r"[a[b]", "unclosed character class"),
        (r"[a[b]]", "`[b]` in the pattern: means something else in Go"),
        (r"a{,2}", "`a{,2}` in the pattern: repetition quantifier expects a valid decimal"),
        (r"a{1, 2}", "`{1, 2}` in the pattern: means something else in Go; write the count without spaces"),
        (r"\p{Cyrilic}", "Unicode property not found"),
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
    assert!(Pattern::parse(&nested(1000)).is_err());
}

proptest! {
    #[test]
    fn random_pattern_never_panics(pattern in r"[a-c(){}\[\]|*+?.^$\\:<>PQEdDwWbBx0-9,iUms é-]{0,24}", text in ".{0,10}") {
        let _ = Pattern::parse(&pattern).map(|pattern| pattern.is_match(&text));
    }
}

#[test]
fn too_long_pattern_is_rejected_before_parsing() {
    for part in ["{", r"\pL", "[:", "(", "a|", "(?i)"] {
        let pattern = part.repeat((1 << 20) / part.len());
        assert_eq!(Pattern::parse(&pattern).unwrap_err(), PatternError::TooLarge, "{part}");
    }
}
