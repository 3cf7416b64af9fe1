//! Compares what templates render here and in Go.

use jiff::Timestamp;
use serde_json::json;

use super::*;

/// Templates, and their result in Go 1.26 with the functions of the Go adapter: `OK` and the text, `PARSE` or
/// `FAIL`. A line break is written `⏎`.
const GOLDEN: &str = include_str!("golden.tsv");

fn scope() -> Result<Scope, jiff::Error> {
    let mut scope = Scope::new("2026-02-03T04:05:06.07Z".parse::<Timestamp>()?);
    let variables = json!({
        "id": "c-1", "name": "Alice", "empty": "", "nil": null, "int": 5, "big": 1_234_567, "float": 1.5,
        "whole": 5.0, "large": 1_234_567.0, "small": 0.000_01, "huge": 1e21, "t": true, "f": false, "zero": 0,
        "list": ["a", "b", "c"], "nums": [1, 2.5, 1_234_567.0], "none": [],
        "map": {"b": {"c": "deep", "n": null}, "a": 1}, "emap": {},
        "nested": [{"name": "x"}, {"name": "y", "extra": 1}], "text": "a <b> & 'c' \"d\"", "multi": "l1\nl2",
        "uni": "héllo wörld", "num": "42", "fnum": "4.5", "mixed": [null, true, {"k": [1.0]}],
    });
    for (name, value) in variables.as_object().into_iter().flatten() {
        scope.set(name, value.clone());
    }
    Ok(scope)
}

/// The differences from Go: the template, its result here, and why the difference does no harm.
const DIFFERENT: &[(&str, &str, &str)] = &[
    ("{{ $x = 1 }}", "PARSE", "Go fails at every rendering instead"),
    ("{{ . | }}", "PARSE", "Go ignores a pipe without a function after it"),
    ("{{ /* bad */ }}x", "OK\tx", "Go allows no blanks around a comment"),
    ("{{ .List. }}", "FAIL", "Go fails at parsing instead"),
];

#[test]
fn templates_render_the_same_text_as_in_go() -> Result<(), jiff::Error> {
    let scope = scope()?;
    let mut differences = Vec::new();
    for row in GOLDEN.lines() {
        let (source, in_go) = row.split_once('\t').unwrap_or((row, ""));
        let known = DIFFERENT.iter().find(|(template, _, _)| *template == source);
        let expected = known.map_or(in_go, |(_, here, _)| here);
        let (actual, error) = match Template::parse(&source.replace('⏎', "\n")) {
            Err(error) => ("PARSE".to_owned(), error.to_string()),
            Ok(template) => match template.render(&scope) {
                Err(error) => ("FAIL".to_owned(), error.to_string()),
                Ok(text) => (format!("OK\t{}", text.replace('\n', "⏎")), String::new()),
            },
        };
        if actual != expected {
            differences.push(format!("{source}\n  expected: {expected}\n  here:     {actual} {error}"));
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
    Ok(())
}

mod formats;

fn rendered(source: &str) -> String {
    let Ok(scope) = scope() else { return "no scope".to_owned() };
    match Template::parse(source) {
        Err(error) => error.to_string(),
        Ok(template) => match template.render(&scope) {
            Err(error) => error.to_string(),
            Ok(text) => text.into_owned(),
        },
    }
}

#[test]
fn text_encodes_to_and_decodes_from_base64() {
    let cases = [
        ("{{ b64enc .uni }}", "aMOpbGxvIHfDtnJsZA=="),
        ("{{ .uni | b64enc | b64dec }}", "héllo wörld"),
        ("{{ b64dec \"aGk\" }}|{{ b64enc \"\" }}|", "hi||"),
    ];
    for (source, expected) in cases {
        assert_eq!(rendered(source), expected, "{source}");
    }
}

#[test]
fn error_names_the_mistake_and_its_position() {
    let cases = [
        ("{{ .missing }}", "failed to render template: map has no entry for key \"missing\""),
        ("{{ .map.b.missing }}", "failed to render template: map has no entry for key \"missing\""),
        ("{{ .nil.x }}", "failed to render template: nil data; no entry for key \"x\""),
        ("{{ .name.x }}", "failed to render template: can't evaluate field x in type string"),
        ("{{ lower .int }}", "failed to render template: wrong type for value of lower; expected string; got int"),
        ("{{ lower .nil }}", "failed to render template: invalid value for lower; expected string"),
        ("{{ replace \"a\" }}", "failed to render template: wrong number of args for replace: want 3 got 1"),
        ("{{ b64dec .name }}", "failed to render template: b64dec: not base64 text, such as \"aGk=\""),
        ("{{ b64dec \"//4=\" }}", "failed to render template: b64dec: the decoded bytes are not text"),
        ("{{ b64enc .int }}", "failed to render template: wrong type for value of b64enc; expected string; got int"),
        ("{{ date \"2006\" .name }}", "failed to render template: date: \"Alice\" is not a time"),
        ("{{ .image", "template parse error at 1:1: unclosed action: `}}` is missing"),
        ("a\n  é {{ .image | ", "template parse error at 2:5: unclosed action: `}}` is missing"),
        ("{{ .a }} {{ if .image\nmore", "template parse error at 1:10: unclosed action: `}}` is missing"),
        ("{{ .image }", "template parse error at 1:11: unexpected character: '}'"),
        ("{{ \"abc", "template parse error at 1:8: unterminated string"),
        ("{{ toYaml . }}", "template parse error: function \"toYaml\" not defined"),
        ("{{ $x }}", "template parse error: undefined variable \"$x\""),
        ("{{ break }}", "template parse error: {{break}} outside {{range}}"),
        ("a{{ end }}b", "template parse error: an {{end}} is missing, or there is one too many"),
        ("{{ if .t }}", "template parse error: an {{end}} is missing, or there is one too many"),
    ];
    for (source, expected) in cases {
        assert_eq!(rendered(source), expected, "{source}");
    }
}

#[test]
fn text_without_actions_is_never_parsed() -> Result<(), Box<dyn std::error::Error>> {
    for text in ["", "plain", "a }} b", "{ {", "\u{1}end of template\u{1}"] {
        let template = Template::parse(text)?;
        let scope = scope()?;
        assert!(matches!(template.render(&scope)?, Cow::Borrowed(same) if same == text), "{text:?}");
    }
    Ok(())
}

#[test]
fn resource_reads_lists_the_entries_that_a_template_can_read() -> Result<(), TemplateError> {
    let cases: [(&str, &str, Option<&[&str]>); 12] = [
        ("no resource", "{{ .a }}{{ index .b \"c\" }}{{ .a.resources }}", Some(&[])),
        ("a path", "{{ .resources.job.status }}{{ $.resources.other }}", Some(&["job", "other"])),
        ("an index that is a constant", "{{ (index .resources \"my-job\" \"status\").phase }}", Some(&["my-job"])),
        ("a name with a dot", "{{ index $.resources \"a.b\" | len }}", Some(&["a.b"])),
        ("an index with a read as second key", "{{ index .resources \"a\" .resources.b }}", Some(&["a", "b"])),
        ("an index that is computed", "{{ index .resources .name }}", None),
        ("an index that is piped", "{{ \"job\" | index .resources }}", None),
        ("an index without a key", "{{ index .resources }}", None),
        ("an index of another value", "{{ with .a }}{{ index .resources \"job\" }}{{ end }}", Some(&[])),
        ("all resources beside an index", "{{ index .resources \"a\" }}{{ len .resources }}", None),
        ("the root", "{{ print . }}", None),
        ("another function", "{{ printf .resources \"job\" }}", None),
    ];
    for (name, source, expected) in cases {
        let only = |names: &[&str]| ResourceReads::Only(names.iter().map(ToString::to_string).collect());
        let expected = expected.map_or(ResourceReads::Any, only);
        assert_eq!(*Template::parse(source)?.resource_reads(), expected, "{name}");
    }
    Ok(())
}

#[test]
fn variables_lists_the_paths_read_from_the_root() -> Result<(), TemplateError> {
    let cases: [(&str, &str, &[&str]); 18] = [
        ("fields", "{{ .a }}{{ .b.c }}", &["a", "b.c"]),
        ("an argument of a function", "{{ printf \"%s\" .a | default .b }}", &["a", "b"]),
        ("conditions", "{{ if .a }}{{ else if .b }}{{ end }}", &["a", "b"]),
        ("a parenthesis", "{{ if (and .a (not .b.c)) }}{{ end }}", &["a", "b.c"]),
        ("fields of an expression", "{{ (index .a 0).b }}", &["a"]),
        ("a variable's value", "{{ $x := .a }}{{ $x.b }}", &["a"]),
        ("the list of a range", "{{ range .a }}{{ .b }}{{ end }}", &["a"]),
        ("the root inside range", "{{ range .a }}{{ $.b.c }}{{ end }}", &["a", "b.c"]),
        ("the else of range", "{{ range .a }}{{ else }}{{ .b }}{{ end }}", &["a", "b"]),
        ("with", "{{ with .a }}{{ .b }}{{ else }}{{ .c }}{{ end }}", &["a", "c"]),
        ("with the root", "{{ with $ }}{{ .a }}{{ end }}{{ with . }}{{ .b }}{{ end }}", &["a", "b"]),
        ("a template with the root", "{{ define \"q\" }}{{ .a }}{{ $.b }}{{ end }}{{ template \"q\" . }}", &["a", "b"]),
        ("a template with $", "{{ define \"q\" }}{{ .a }}{{ end }}{{ template \"q\" $ }}", &["a"]),
        (
            "a template called with another value",
            "{{ define \"q\" }}{{ .a }}{{ $.b }}{{ end }}{{ template \"q\" .c }}",
            &["c"],
        ),
        ("a block", "{{ block \"q\" .c }}{{ .a }}{{ end }}", &["c"]),
        (
            "a template that calls itself",
            "{{ define \"q\" }}{{ .a }}{{ template \"q\" . }}{{ end }}{{ template \"q\" . }}",
            &["a"],
        ),
        ("the root itself is no path", "{{ . }}{{ $ }}", &[]),
        ("the function now is no variable", "{{ now }}{{ .now }}", &["now"]),
    ];
    for (name, source, expected) in cases {
        let template = Template::parse(source)?;
        assert_eq!(template.variables().iter().map(String::as_str).collect::<Vec<_>>(), expected, "{name}");
        assert_eq!(template.source(), source);
    }
    Ok(())
}

#[test]
fn every_way_to_read_a_variable_gives_its_value() {
    let cases = [
        "{{ .id }}",
        "{{ $.id }}",
        "{{ index . \"id\" }}",
        "{{ index $ \"id\" }}",
        "{{ $root := . }}{{ $root.id }}",
        "{{ with . }}{{ .id }}{{ end }}",
        "{{ with $ }}{{ .id }}{{ end }}",
        "{{ range $key, $value := . }}{{ if eq $key \"id\" }}{{ $value }}{{ end }}{{ end }}",
        "{{ range $key, $value := .emap }}{{ else }}{{ $.id }}{{ end }}",
        "{{ with .list }}{{ $.id }}{{ end }}",
        "{{ define \"inner\" }}{{ .id }}{{ end }}{{ template \"inner\" . }}",
        "{{ define \"inner\" }}{{ $.id }}{{ end }}{{ template \"inner\" $ }}",
        "{{ define \"inner\" }}{{ .id }}{{ end }}{{ with .list }}{{ template \"inner\" $ }}{{ end }}",
        "{{ define \"inner\" }}{{ index . \"id\" }}{{ end }}{{ template \"inner\" . }}",
    ];
    for source in cases {
        assert_eq!(rendered(source), "c-1", "{source}");
    }
}

#[test]
fn now_returns_the_time_of_the_rendered_event() -> Result<(), Box<dyn std::error::Error>> {
    let template = Template::parse("{{ define \"q\" }}{{ now | date \"05\" }}{{ end }}{{ template \"q\" 1 }}")?;
    for second in ["07", "42"] {
        let scope = Scope::new(format!("2026-01-01T00:00:{second}Z").parse()?);
        assert_eq!(template.render(&scope)?, second);
    }
    Ok(())
}

#[test]
fn hostile_templates_fail_at_a_limit() {
    let double = "{{ $x := \"0123456789\" }}{{ range 100 }}{{ $x = print $x $x }}{{ end }}";
    let cases = [
        ("a string that doubles", double.to_owned(), "a string is longer"),
        ("a string that multiplies", double.replace("print $x $x", "replace $x \"0\" $x"), "a string is longer"),
        (
            "a string that doubles by printf",
            double.replace("print $x $x", "printf \"%s%s\" $x $x"),
            "a string is longer",
        ),
        ("too much output", "{{ range 100000 }}{{ printf \"%1000d\" 1 }}{{ end }}".to_owned(), "output is longer"),
        ("too many iterations", "{{ range 1000 }}{{ range 1000 }}{{ end }}{{ end }}".to_owned(), "iterations of range"),
        ("a huge count", "{{ range 9223372036854775807 }}{{ end }}".to_owned(), "iterations of range"),
        (
            "wide columns",
            format!("{{{{ printf \"{}\" {} }}}}", "%1000d".repeat(5000), "1 ".repeat(5000)),
            "a string is longer",
        ),
        (
            "endless recursion",
            "{{ define \"r\" }}{{ template \"r\" . }}{{ end }}{{ template \"r\" . }}".to_owned(),
            "recursion limit",
        ),
        ("deep nesting", format!("{}{}", "{{ if 1 }}".repeat(5000), "{{ end }}".repeat(5000)), "depth"),
        ("deep parentheses", format!("{{{{ {}1{} }}}}", "(".repeat(5000), ")".repeat(5000)), "depth"),
    ];
    for (name, source, expected) in cases {
        let outcome = rendered(&source);
        assert!(outcome.contains(expected), "{name}: {}", outcome.chars().take(200).collect::<String>());
    }
}

#[test]
fn exponential_template_calls_fail_at_the_limit_of_writes() {
    let mut source = String::new();
    for level in 0..40 {
        let next = level + 1;
        source.push_str(&format!(
            "{{{{ define \"t{level}\" }}}}{{{{ template \"t{next}\" }}}}{{{{ template \"t{next}\" }}}}{{{{ end }}}}"
        ));
    }
    source.push_str("{{ define \"t40\" }}{{ if 0 }}{{ end }}{{ end }}{{ template \"t0\" }}");
    let outcome = rendered(&source);
    assert!(outcome.contains("pieces of text"), "{outcome}");
}

#[test]
fn long_chain_of_template_calls_is_checked_to_its_end() -> Result<(), TemplateError> {
    let link =
        |level: usize| format!("{{{{ define \"t{level}\" }}}}{{{{ template \"t{}\" . }}}}{{{{ end }}}}", level + 1);
    let chain: String = (0..5000).map(link).collect();
    let source = format!("{chain}{{{{ define \"t5000\" }}}}{{{{ .last }}}}{{{{ end }}}}{{{{ template \"t0\" . }}}}");
    assert!(Template::parse(&source)?.variables().contains("last"));
    Ok(())
}

proptest::proptest! {
    #[test]
    fn random_template_never_panics(
        source in r#"(\{\{-? ?(if|range|with|end|else|define "q"|template "q"|block "q"|break|continue|now|printf|index|\$x|\$x :=|\.|\.a\.b|\.list|\||\(|\)|"s"|1|nil|lower|replace|date)?( (\.name|\.list|\.nil|\$|\.|"%v"|1\.5|-1|\(now\))){0,3} ?-?\}\}|[a-z \n"']{0,3}){0,8}|.*\{\{.*"#
    ) {
        let _either = rendered(&source);
    }

    #[test]
    fn inserted_text_is_rendered_unchanged(text in proptest::prelude::any::<String>()) {
        let mut scope = Scope::new(Timestamp::UNIX_EPOCH);
        scope.set("x", text.clone().into());
        let template = Template::parse("a{{ .x }}b").map_err(|error| proptest::test_runner::TestCaseError::fail(error.to_string()))?;
        proptest::prop_assert_eq!(template.render(&scope).ok(), Some(Cow::Owned(format!("a{text}b"))));
    }
}
