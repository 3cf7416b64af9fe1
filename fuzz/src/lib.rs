//! The functions behind the fuzz targets: each parses one input and uses the result as the adapter does.
//!
//! Every result is fine, errors included. The fuzzer reports panics, aborts, hangs and excessive memory use.

#![warn(missing_docs)]

/// The adapter's configuration loader, as a symbolic link: depending on the whole adapter would multiply the
/// build time.
pub mod config;
/// The redaction of secrets, which the loader uses; also a symbolic link.
pub mod secret;

use std::hint::black_box;
use std::path::Path;

use config::{Environment, Flags};
use jiff::Timestamp;
use lifecycle_check::lint::lint;
use lifecycle_config::diagnostics::Diagnostics;
use lifecycle_config::document::Document;
use lifecycle_language::cel::{Expression, Presence};
use lifecycle_core::event::LifecycleEvent;
use lifecycle_language::field::FieldPath;
use lifecycle_language::scope::Scope;
use lifecycle_core::task::compile::{Surroundings, compile};
use lifecycle_language::template::{Template, Tree};
use serde_json::{Value, json};

/// The size limit of a message, in bytes.
const MAX_EVENT: usize = 1 << 20;
/// Separates the deployment file from the task file in an input of [`config`](config()).
const NEXT_FILE: &str = "\n%%%\n";

/// Prints panics that the code catches, and goes on: a defect of the CEL interpreter fails one expression. An
/// uncaught panic still ends the run.
pub fn report_panics() {
    std::panic::set_hook(Box::new(|panic| eprintln!("{panic}")));
}

/// Parses a message in structured mode, and in binary mode with lines of attributes before a blank line.
pub fn event(input: &[u8]) {
    let _ = black_box(LifecycleEvent::from_structured(input, MAX_EVENT));
    let (head, body) = match input.windows(2).position(|pair| pair == b"\n\n") {
        Some(end) => (&input[..end], &input[end + 2..]),
        None => (&b""[..], input),
    };
    let head = String::from_utf8_lossy(head);
    let attributes = head.lines().filter_map(|line| line.split_once(':'));
    let given = [("specversion", "1.0"), ("id", "1"), ("source", "s"), ("type", "t")];
    let _ = black_box(LifecycleEvent::from_binary(given.into_iter().chain(attributes), body, MAX_EVENT));
}

/// Loads a deployment file and, after a line `%%%`, a task file.
pub fn config(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    let (deployment, task) = text.split_once(NEXT_FILE).unwrap_or(("", &text));
    let mut diagnostics = Diagnostics::default();
    let (environment, flags) = (Environment::default(), Flags::default());
    let no_key = |_: &Path| Err("it does not exist".to_owned());
    let loaded =
        config::load_adapter("config.yaml", deployment, &environment, &flags, "1.0.0", &no_key, &mut diagnostics);
    black_box(loaded);
    let read = |file: &str| if file == "self" { Ok(text.to_string()) } else { Err("it does not exist".to_owned()) };
    let compiled = compile("task.yaml", task, &Surroundings { read: &read, environment: &|_| None });
    if let (Some(compiled), Ok(document)) = (&compiled.task, Document::parse("task.yaml", task)) {
        diagnostics.extend(lint(compiled, &document));
    }
    diagnostics.extend(compiled.diagnostics);
    diagnostics.sort();
    black_box(diagnostics.to_string());
}

/// Renders a template, alone and as a value of a manifest.
pub fn template(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    let scope = scope();
    if let Ok(template) = Template::parse(&text) {
        let _ = black_box(template.render(&scope));
    }
    if let Ok(tree) = Tree::parse(&json!({ "metadata": { "name": text, &*text: [text] } })) {
        let _ = black_box(tree.render(&scope));
    }
}

/// Evaluates an expression, and looks the same text up as a field path.
pub fn expression(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    let scope = scope();
    if let Ok(expression) = Expression::parse(&text) {
        for presence in [Presence::Unknown, Presence::Absent, Presence::Present] {
            black_box(expression.abstract_value(&|_| presence, &|_| None).possible());
        }
        let _ = black_box(expression.evaluate(&scope));
        black_box(expression.readings(&scope));
    }
    if let Ok(path) = FieldPath::parse(&text) {
        black_box(path.find_in(&scope));
    }
}

/// A small scope with variables of each type, and one discovered resource.
fn scope() -> Scope {
    let mut scope = Scope::new(Timestamp::UNIX_EPOCH);
    let variables: [(&str, Value); 8] = [
        ("a", json!(1)),
        ("b", json!(-0.5)),
        ("s", json!("héé \u{0}")),
        ("l", json!([1, "2", [3], { "x": null }])),
        ("m", json!({ "x": { "y": ["z"] }, "example.io/k": "v", "": 0 })),
        ("t", json!(true)),
        ("at", json!("2026-02-28T23:59:60Z")),
        ("event", json!({ "id": "c-1", "generation": 3, "kind": "Cluster" })),
    ];
    for (name, value) in variables {
        scope.set(name, value);
    }
    let conditions = json!([{ "type": "Complete", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z" }]);
    scope.set_member("resources", "job", Some(json!({ "status": { "conditions": conditions } })));
    scope
}
