//! Compares the verbs of `printf`, and times, with Go's `text/template`; what is refused has an error.

#![expect(clippy::unwrap_used, reason = "tests")]

use jiff::Timestamp;
use serde_json::json;

use crate::scope::Scope;
use crate::template::Template;
use crate::value::as_go_numbers;
use crate::value::typed::{Kind, Kinds, Typed};

/// Templates, and their result in Go 1.26: `OK` and the text, `PARSE` or `FAIL`. A line break is written `⏎`,
/// a NUL `␀`. What docs/compatibility.md says is refused is left out.
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
fn times_and_durations_are_text() -> Result<(), Box<dyn std::error::Error>> {
    let mut scope = scope()?;
    let typed = |text: &str, kind| Typed { value: json!(text), kinds: Kinds::from([(String::new(), kind)]) };
    scope.set_typed("since", typed("2026-02-03T04:00:00Z", Kind::Timestamp));
    scope.set_typed("last", typed("9999-12-31T23:59:59Z", Kind::Timestamp));
    scope.set_typed("grace", typed("300s", Kind::Duration));
    let source = "{{ .since | date `15:04` }}, {{ .grace }}, {{ .last }}, {{ now | date `2006` }}, {{ printf `%s|%q` now .grace }}";
    let text = Template::parse(source)?.render(&scope)?.into_owned();
    let expected = "04:00, 5m0s, 9999-12-31 23:59:59 +0000 UTC, 2026, 2026-02-03 04:05:06.07 +0000 UTC|\"5m0s\"";
    assert_eq!(text, expected);
    Ok(())
}

#[test]
fn what_no_task_uses_is_refused_at_load() {
    const METHODS: &str = "write `now | date";
    let cases = [
        ("{{ now.UTC }}", METHODS),
        ("{{ (now).Unix }}", METHODS),
        ("{{ now.Format `2006` }}", METHODS),
        ("{{ .since.Format `2006` }}", METHODS),
        ("{{ `2006` | .since.Format }}", METHODS),
        ("{{ $x := now }}{{ $x.Format `2006` }}", METHODS),
        ("{{ printf `%T` 1 }}", "`%T` is none of"),
        ("{{ printf `%+v` 1 }}", "`%+` is none of"),
        ("{{ printf `%[1]d` 1 }}", "`%[` is none of"),
        ("{{ printf `%*d` 1 2 }}", "`%*` is none of"),
        ("{{ printf `%.2s` `x` }}", "`%.2s` is none of"),
        ("{{ printf `%5000d` 1 }}", "`%5000d` is none of"),
        ("{{ printf `a%` }}", "`%` is none of"),
        ("{{ printf `%s` }}", "1 verbs, but 0 values"),
        ("{{ 1 | printf `%d %d` 1 }} {{ printf `x` 1 }}", "0 verbs, but 1 values"),
    ];
    for (source, expected) in cases {
        let error = Template::parse(source).map(drop).unwrap_err().to_string();
        assert!(error.contains(expected), "{source}: {error}");
    }
}

#[test]
fn printf_fails_for_a_value_that_its_verb_does_not_print() -> Result<(), Box<dyn std::error::Error>> {
    let scope = scope()?;
    let cases = [
        ("{{ printf `%s` .int }}", "`%s` prints no int; write `%v`"),
        ("{{ printf `%d` .float }}", "`%d` prints no float64"),
        ("{{ printf `%d` .id }}", "`%d` prints no string"),
        ("{{ printf `%q` .list }}", "`%q` prints no []interface {}"),
        ("{{ printf `%t` .nil }}", "`%t` prints no"),
        ("{{ printf .id 1 }}", "more values than verbs"),
        ("{{ printf (print `%` `d`) }}", "a value is missing for `%d`"),
        ("{{ printf (print `%` `b`) 1 }}", "`%b` is none of"),
        ("{{ printf .int }}", "the first argument is not a format"),
    ];
    for (source, expected) in cases {
        let error = Template::parse(source)?.render(&scope).map(drop).unwrap_err().to_string();
        assert!(error.contains(expected), "{source}: {error}");
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
