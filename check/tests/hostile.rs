//! Hostile input: deep, long, wide or slow. Each parser may accept or reject it, but must return.
//!
//! Each input goes to each parser, on a stack as large as that of a worker thread. A stack overflow aborts
//! the test run; more than a minute counts as a hang.

#![expect(clippy::expect_used, reason = "tests")]

use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use jiff::Timestamp;
use lifecycle_check::lint::lint;
use lifecycle_config::document::Document;
use lifecycle_config::duration::{Units, parse_nanoseconds};
use lifecycle_core::event::LifecycleEvent;
use lifecycle_core::task::compile::{Surroundings, compile};
use lifecycle_language::cel::{Expression, Presence};
use lifecycle_language::field::FieldPath;
use lifecycle_language::scope::Scope;
use lifecycle_language::template::{Template, Tree};
use serde_json::{Value, json};

const STACK: usize = 2 << 20;
const HANG: Duration = Duration::from_secs(60);
const MEGABYTE: usize = 1 << 20;

/// A parser's name, and a function that parses a text and uses the result; returns whether both succeed.
type Parser = (&'static str, fn(&str) -> bool);

const PARSERS: [Parser; 9] = [
    ("an event", |text| LifecycleEvent::from_structured(text.as_bytes(), 2 * MEGABYTE).is_ok()),
    ("an event's data", |text| {
        let attributes = [("specversion", "1.0"), ("id", "1"), ("source", "s"), ("type", "t")];
        LifecycleEvent::from_binary(attributes, text.as_bytes(), 2 * MEGABYTE).is_ok()
    }),
    ("a document", |text| Document::parse("file.yaml", text).is_ok()),
    ("a task", task),
    ("a template", |text| Template::parse(text).is_ok_and(|template| template.render(&scope()).is_ok())),
    ("a tree", |text| {
        let value = json!({ "spec": { text: [text] } });
        Tree::parse(&value).is_ok_and(|tree| tree.render(&scope()).is_ok())
    }),
    ("an expression", |text| {
        let Ok(expression) = Expression::parse(text) else { return false };
        let _ = expression.abstract_value(&|_| Presence::Absent, &|_| None).possible();
        let _ = expression.readings(&scope());
        expression.evaluate(&scope()).is_ok()
    }),
    ("a path", |text| FieldPath::parse(text).map(|path| path.find_in(&scope())).is_ok()),
    ("a duration", |text| parse_nanoseconds(text, Units::Go).is_ok()),
];

fn task(text: &str) -> bool {
    let read = |_: &str| Ok(text.to_owned());
    let compiled = compile("task.yaml", text, &Surroundings { read: &read, environment: &|_| None });
    let mut shown = compiled.diagnostics.to_string();
    if let (Some(task), Ok(document)) = (&compiled.task, Document::parse("task.yaml", text)) {
        shown += &lint(task, &document).to_string();
    }
    !shown.is_empty() && compiled.task.is_some()
}

fn scope() -> Scope {
    let mut scope = Scope::new(Timestamp::UNIX_EPOCH);
    let variables: [(&str, Value); 3] = [("a", json!(1)), ("l", json!([[1], [2]])), ("s", json!("x".repeat(200)))];
    for (name, value) in variables {
        scope.set(name, value);
    }
    scope
}

/// Asserts that every parser returns, each on a thread of its own.
fn assert_parsers_return(name: &str, text: &str) {
    for (parser, parse) in PARSERS {
        let (done, end) = mpsc::channel();
        let text = text.to_owned();
        let work = move || {
            // The receiver is gone only after a hang, which has already failed the test.
            let _ = done.send(parse(&text));
        };
        let worker = thread::Builder::new().stack_size(STACK).spawn(work).expect("a thread starts");
        match end.recv_timeout(HANG) {
            Ok(_) => worker.join().expect("the worker has answered"),
            Err(mpsc::RecvTimeoutError::Timeout) => panic!("{parser} hangs on {name}"),
            Err(mpsc::RecvTimeoutError::Disconnected) => panic!("{parser} panics on {name}"),
        }
    }
}

#[test]
fn deeply_nested_input_does_not_crash_parsers() {
    let depth = 50_000;
    let shapes = [
        ("open lists", "[", ""),
        ("lists", "[", "]"),
        ("open mappings", "{\"a\":", ""),
        ("mappings", "{\"a\":", "}"),
        ("items", "- ", ""),
        ("keys", "? ", ""),
        ("anchors", "&a [", ""),
        ("parentheses", "(", ")"),
        ("actions", "{{ (", ""),
        ("conditions", "{{ if .a }}", "{{ end }}"),
        ("open conditions", "{{ if .a }}", ""),
        ("definitions", "{{ define \"a\" }}", "{{ end }}"),
        ("ranges", "{range .l}", "{end}"),
        ("filters", "[?(@.a", ")]"),
        ("negations", "!", ""),
        ("signs", "-", ""),
        ("conditionals", "a?", ":a"),
        ("tags", "!!a ", ""),
    ];
    for (name, open, close) in shapes {
        assert_parsers_return(name, &format!("{}1{}", open.repeat(depth), close.repeat(depth)));
    }
}

#[test]
fn megabytes_of_text_do_not_crash_parsers() {
    let letters = "x".repeat(MEGABYTE);
    let texts = [
        ("a megabyte of letters", letters.clone()),
        ("a megabyte of blanks", " ".repeat(MEGABYTE)),
        ("a megabyte of line breaks", "\n".repeat(MEGABYTE)),
        ("a megabyte of quotes", "\"".repeat(MEGABYTE)),
        ("a megabyte of backslashes", format!("\"{}", "\\".repeat(MEGABYTE))),
        ("a megabyte of NUL", "\0".repeat(MEGABYTE)),
        ("a megabyte of digits", "9".repeat(MEGABYTE)),
        ("a megabyte of dots", format!("a{}", ".a".repeat(MEGABYTE / 2))),
        ("a megabyte of colons", "a: ".repeat(MEGABYTE / 3)),
        ("a megabyte of braces", "{{".repeat(MEGABYTE / 2)),
        ("a megabyte of actions", "{{ .a }}".repeat(MEGABYTE / 8)),
        ("a megabyte of sums", format!("1{}", "+1".repeat(MEGABYTE / 2))),
        ("a quoted megabyte", format!("\"{letters}\"")),
        ("a megabyte in an action", format!("{{{{ .{letters} }}}}")),
        ("a comment of a megabyte", format!("#{letters}")),
        ("a key that is repeated over a megabyte", "a: 1\n".repeat(MEGABYTE / 5)),
        ("a megabyte of keys", (0..100_000).map(|n| format!("k{n}: 1\n")).collect()),
        ("a megabyte as a key", format!("{letters}: 1\n{letters}: 2")),
    ];
    for (name, text) in texts {
        assert_parsers_return(name, &text);
    }
}

#[test]
fn expansion_bombs_do_not_crash_parsers() {
    let aliases: String = (1..30).map(|n| format!("a{n}: &a{n} [*a{0}, *a{0}, *a{0}, *a{0}]\n", n - 1)).collect();
    let merges: String = (1..30).map(|n| format!("a{n}: &a{n} {{<<: [*a{0}, *a{0}], k{n}: *a{0}}}\n", n - 1)).collect();
    let templates: String = (1..30)
        .map(|n| {
            format!("{{{{ define \"t{n}\" }}}}{0}{0}{{{{ end }}}}", format!("{{{{ template \"t{}\" . }}}}", n - 1))
        })
        .collect();
    let list = format!("[{}1]", "1,".repeat(400));
    let texts = [
        ("an alias bomb", format!("a0: &a0 [x, x, x, x]\n{aliases}params: *a29\n")),
        ("a merge bomb", format!("a0: &a0 {{k: v}}\n{merges}params: *a29\n")),
        ("an alias of itself", "params: &a [*a]".to_owned()),
        ("a template bomb", format!("{templates}{{{{ define \"t0\" }}}}x{{{{ end }}}}{{{{ template \"t29\" . }}}}")),
        (
            "a template that calls itself",
            "{{ define \"t\" }}{{ template \"t\" . }}{{ end }}{{ template \"t\" . }}".to_owned(),
        ),
        ("a wide number", "{{ printf \"%999999999d\" .a }}".to_owned()),
        ("a wide argument", "{{ printf \"%*d\" 2147483647 .a }}".to_owned()),
        ("nested ranges", format!("{}x{}", "{{ range $.l }}".repeat(60), "{{ end }}".repeat(60))),
        ("nested loops", format!("{list}.map(a, {list}.map(b, {list}.map(c, a + b + c)))")),
        ("nested quantifiers", format!("{list}.all(a, {list}.all(b, {list}.all(c, a < b + c)))")),
        ("text that doubles", format!("{list}.map(a, {list}.map(b, s + s + s + s)).size()")),
        ("a catastrophic pattern", "(s + '!').matches('(x+x+)+y')".to_owned()),
        ("a large pattern", "s.matches('((x{1000}){1000}){1000}')".to_owned()),
        ("an endless range", "lists.range(9223372036854775807)".to_owned()),
        ("an exponent", "{\"id\": 1e999999999, \"a\": -1e-999999999}".to_owned()),
        ("recursive descent", format!("{{{}}}", "..".repeat(2000))),
        ("wildcards", format!("{{.l{}}}", "[*]".repeat(20_000))),
        ("unions", format!("{{.l[{}0]}}", "0,".repeat(100_000))),
        ("a slice", "{.l[0:9223372036854775807:1]}".to_owned()),
        ("a slice without steps", "{.l[::0]}".to_owned()),
    ];
    for (name, text) in texts {
        assert_parsers_return(name, &text);
    }
}

#[test]
fn task_with_hostile_values_does_not_crash_the_compiler() {
    let deep = "(".repeat(4000);
    let texts = [
        ("an expression", format!("params: [{{name: a, source: {{expression: '{deep}'}}}}]")),
        ("a template", format!("post: {{post_actions: [{{name: a, log: {{message: '{{{{ {deep}'}}}}]}}")),
        (
            "a path",
            format!(
                "preconditions: [{{name: a, conditions: [{{field: '{}', operator: exists}}]}}]",
                "[?(@.a".repeat(4000)
            ),
        ),
        (
            "a manifest",
            format!(
                "resources: [{{name: a, manifest: {{apiVersion: v1, kind: Pod, spec: {}{}}}, discovery: {{by_name: a}}}}]",
                "[".repeat(90),
                "]".repeat(90)
            ),
        ),
        ("many entries", format!("params: [{}]", "{name: a, source: event.id},".repeat(20_000))),
        ("many mistakes", format!("params: [{}]", "{nam: a},".repeat(20_000))),
    ];
    for (name, text) in texts {
        assert_parsers_return(name, &text);
    }
}

#[test]
fn harmless_input_is_accepted_by_every_parser() {
    let cases: [(&str, &str); 9] = [
        (
            "an event",
            r#"{"specversion":"1.0","id":"1","source":"s","type":"t","data":{"id":"c","kind":"Cluster","generation":1}}"#,
        ),
        ("an event's data", r#"{"id":"c","kind":"Cluster","generation":1}"#),
        ("a document", "a: [b]"),
        ("a task", "params: [{name: a, source: event.id}]"),
        ("a template", "{{ .a }}"),
        ("a tree", "{{ .a }}"),
        ("an expression", "a + 1"),
        ("a path", "{.l[0]}"),
        ("a duration", "1h"),
    ];
    for ((name, parse), (parser, text)) in PARSERS.into_iter().zip(cases) {
        assert_eq!(name, parser);
        assert!(parse(text), "{name}: {text}");
    }
}
