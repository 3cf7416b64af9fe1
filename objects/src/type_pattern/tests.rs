#![expect(clippy::unwrap_used, reason = "tests")]

use proptest::prelude::*;
use serde_json::json;

use super::*;

fn pattern(text: &str) -> TypePattern {
    text.parse().unwrap()
}

#[test]
fn pattern_matches_group_and_kind() {
    let cases = [
        ("an exact pattern, its type", "example.io/Widget", "example.io", "Widget", true),
        ("an exact pattern, another kind", "example.io/Widget", "example.io", "Gadget", false),
        ("an exact pattern, a group below", "example.io/Widget", "a.example.io", "Widget", false),
        ("all kinds of a group", "example.io/*", "example.io", "Gadget", true),
        ("a suffix, one label before it", "*.example.io/*", "a.example.io", "Gadget", true),
        ("a suffix, two labels before it", "*.example.io/*", "b.a.example.io", "Gadget", true),
        ("a suffix, no label before it", "*.example.io/*", "example.io", "Gadget", false),
        ("a suffix, text without a dot before it", "*.example.io/*", "counterexample.io", "Gadget", false),
        ("a suffix and a kind, another kind", "*.example.io/Widget", "a.example.io", "Gadget", false),
        ("every group, a kind", "*/Widget", "example.io", "Widget", true),
        ("every group, another kind", "*/Widget", "example.io", "Gadget", false),
        ("every group, the core group", "*/*", "", "ConfigMap", false),
        ("every group, a custom resource definition", "*/*", "apiextensions.k8s.io", "CustomResourceDefinition", false),
        ("every group, an API service", "*/*", "apiregistration.k8s.io", "APIService", false),
        ("every group, a Deployment", "*/*", "apps", "Deployment", true),
    ];
    for (name, text, group, kind, expected) in cases {
        assert_eq!(pattern(text).matches(&GroupKind::new(group, kind)), expected, "{name}");
    }
}

#[test]
fn pattern_that_would_match_nothing_is_refused() {
    type Make = fn(String) -> PatternError;
    let cases: [(&str, Make); 15] = [
        ("", PatternError::Form),
        ("*", PatternError::Form),
        ("example.io", PatternError::Form),
        ("example.io/v1/Widget", PatternError::Form),
        ("/ConfigMap", PatternError::CoreGroup),
        ("/*", PatternError::CoreGroup),
        ("*.*.io/Widget", PatternError::Group),
        ("example.*/Widget", PatternError::Group),
        ("*example.io/Widget", PatternError::Group),
        ("*./Widget", PatternError::Group),
        ("Example.io/Widget", PatternError::Group),
        ("example.io/", PatternError::Kind),
        ("example.io/W*", PatternError::Kind),
        ("example.io/**", PatternError::Kind),
        ("example.io/Widget Gadget", PatternError::Kind),
    ];
    for (text, make) in cases {
        assert_eq!(text.parse::<TypePattern>(), Err(make(text.to_owned())), "{text}");
    }
}

#[test]
fn types_introduce_their_instances() {
    let of = |group: &str, kind: &str, spec: serde_json::Value| {
        let introduced = TypePattern::introduced_by(&GroupKind::new(group, kind), &json!({ "spec": spec }));
        introduced.map(|pattern| pattern.to_string())
    };
    let crd = |spec| of("apiextensions.k8s.io", "CustomResourceDefinition", spec);
    let service = |spec| of("apiregistration.k8s.io", "APIService", spec);
    let widget = json!({ "group": "example.io", "names": { "kind": "Widget" }, "version": "v1" });
    assert_eq!(crd(widget.clone()).as_deref(), Some("example.io/Widget"));
    assert_eq!(service(widget.clone()).as_deref(), Some("example.io/*"));
    assert_eq!(of("example.io", "CustomResourceDefinition", widget), None);
    assert_eq!(crd(json!({ "group": "example.io" })), None);
    assert_eq!(crd(json!({ "group": "example.io", "names": { "kind": "" } })), None);
    // The API service of the core group, which the API server makes for itself.
    assert_eq!(service(json!({ "version": "v1" })), None);
}

proptest! {
    #[test]
    fn printed_pattern_parses_to_itself(
        text in "(\\*|(\\*\\.)?[a-z]{1,6}(\\.[a-z]{1,6}){0,2})/(\\*|[A-Z][a-zA-Z]{0,6})",
    ) {
        prop_assert_eq!(pattern(&text).to_string(), text);
    }

    #[test]
    fn any_text_is_a_pattern_or_an_error_that_quotes_it(text in any::<String>()) {
        match text.parse::<TypePattern>() {
            Ok(pattern) => prop_assert_eq!(pattern.to_string(), text),
            Err(error) => prop_assert!(error.to_string().contains(&text)),
        }
    }
}
