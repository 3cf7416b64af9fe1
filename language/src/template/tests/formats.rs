//! Compares every verb over every type of value, and times, with Go's `text/template`.

use jiff::Timestamp;
use serde_json::json;

use crate::scope::Scope;
use crate::template::{Template, TemplateError};
use crate::value::as_go_numbers;
use crate::value::typed::{Kind, Kinds, Typed};

/// Templates, and their result in Go 1.26: `OK` and the text, `PARSE` or `FAIL`. A line break is written `⏎`,
/// a NUL `␀`. The differences that docs/compatibility.md lists are left out: `%p`, and verbs of numbers and
/// `%#v` for a time.
const GOLDEN: &str = include_str!("formats.tsv");

fn scope() -> Result<Scope, jiff::Error> {
    let mut scope = Scope::new("2026-02-03T04:05:06.07Z".parse::<Timestamp>()?);
    let answered = json!({
        "id": "c-1", "empty": "", "nil": null, "float": 1.5, "whole": 5, "large": 1_234_567, "small": 0.000_01, "huge": 1e21,
        "neg": -2.5, "t": true, "f": false, "list": ["a", "b"], "nums": [1, 2.5], "none": [], "map": {"b": "x", "a": 1}, "emap": {},
        "mixed": [null, true, {"k": [1]}], "uni": "hé☺", "ctl": "a\n\"b\"\\", "tick": "a`b",
        "bin": "\u{0}\u{7f}\u{80}\u{feff}😀", "deep": {"l": [{"x": "y"}]},
    });
    // Numbers in API responses are doubles; those of a template and of `type: int` are integers.
    let integers =
        json!({"int": 5, "nint": -42, "big": 1_234_567, "code": 9786, "esc": 120, "unsigned": [u64::MAX, "a"]});
    for (name, value) in as_go_numbers(answered).as_object().into_iter().chain(integers.as_object()).flatten() {
        scope.set(name, value.clone());
    }
    Ok(scope)
}

#[test]
fn times_and_durations_from_expressions_have_methods() -> Result<(), Box<dyn std::error::Error>> {
    let mut scope = scope()?;
    let typed = |text: &str, kind| Typed { value: json!(text), kinds: Kinds::from([(String::new(), kind)]) };
    scope.set_typed("since", typed("2026-02-03T04:00:00Z", Kind::Timestamp));
    scope.set_typed("last", typed("9999-12-31T23:59:59Z", Kind::Timestamp));
    scope.set_typed("grace", typed("300s", Kind::Duration));
    scope.set_typed("none", typed("0s", Kind::Duration));
    let source = "{{ .since.Format `15:04` }} {{ now.Sub .since }} {{ .grace }} {{ .grace.Minutes }} {{ (now.Add .grace).Minute }} \
                  {{ if .none }}y{{ else }}n{{ end }} {{ gt .grace .none }} {{ .last }}";
    let text = Template::parse(source)?.render(&scope)?.into_owned();
    assert_eq!(text, "04:00 5m6.07s 5m0s 5 10 n true 9999-12-31 23:59:59 +0000 UTC");
    Ok(())
}

#[test]
fn unknown_methods_and_verbs_of_times_give_warnings() -> Result<(), TemplateError> {
    let cases = [
        ("{{ now.UTC.Format `2006` }}{{ (now).Unix }}{{ printf `%s %d` now 1 }}", None),
        ("{{ now.GoString }}", Some("`GoString` is no known method of time.Time")),
        ("{{ (now).UTC.unix }}", Some("`unix` is no known method of time.Time")),
        ("{{ now.Year.x }}", Some("`x` is no known method of a number or text")),
        ("{{ if true }}{{ printf `%d` now }}{{ end }}", Some("`%d` of a time is not what Go prints")),
        ("{{ printf `%v %#v` 1 now }}", Some("`%#v` of a time is not what Go prints")),
    ];
    for (source, expected) in cases {
        let template = Template::parse(source)?;
        assert_eq!(template.warnings().first().map(String::as_str), expected, "{source}");
    }
    Ok(())
}

#[test]
fn verbs_and_times_render_the_same_text_as_in_go() -> Result<(), jiff::Error> {
    let scope = scope()?;
    let mut differences = Vec::new();
    for row in GOLDEN.lines() {
        let (source, in_go) = row.split_once('\t').unwrap_or((row, ""));
        let (here, error) = match Template::parse(&source.replace('⏎', "\n")) {
            Err(error) => ("PARSE".to_owned(), error.to_string()),
            Ok(template) => match template.render(&scope) {
                Err(error) => ("FAIL".to_owned(), error.to_string()),
                Ok(text) => (format!("OK\t{}", text.replace('\n', "⏎").replace('\0', "␀")), String::new()),
            },
        };
        if here != in_go {
            differences.push(format!("{source}\n  in Go: {in_go}\n  here:  {here} {error}"));
        }
    }
    assert!(differences.is_empty(), "{} differences\n{}", differences.len(), differences.join("\n"));
    Ok(())
}
