//! Warns of names that Kubernetes rejects.
//!
//! In: `metadata.name` and `metadata.namespace` of a manifest. Out: a warning where no event renders a valid
//! name. A template is rendered with two sample values, a text and a number, that are valid names themselves. A
//! template with a branch, or one that does not render for a sample, is not judged.

use jiff::Timestamp;
use lifecycle_config::document::Path;
use serde_json::{Map, Value, json};

use super::{Linter, resources};
use lifecycle_core::task::Resource;
use lifecycle_core::task::kinds::{self, NameRule};
use lifecycle_language::scope::Scope;
use lifecycle_language::template::{Part, Template, Tree};

pub(super) fn lint(linter: &mut Linter<'_>) {
    let task = linter.task;
    for (path, resource) in resources(task) {
        let at = path.key("manifest");
        if let Some(tree) = resource.manifest.structure() {
            metadata(linter, &at, resource, &tree);
        }
    }
}

fn metadata(linter: &mut Linter<'_>, manifest: &Path, resource: &Resource, tree: &Tree) {
    let rules = [("name", kinds::name_rule(&resource.kind)), ("namespace", NameRule::Label)];
    for (key, rule) in rules {
        let Some(fault) = fault(tree.part(&["metadata", key]), rule) else { continue };
        let inline = manifest.key("metadata").key(key);
        let is_there = linter.document.node(&inline).is_some();
        let place = if is_there { inline } else { manifest.clone() };
        let what = if is_there { String::new() } else { format!("`metadata.{key}` ") };
        linter.warn(&place, format!("{what}{}", fault.message), fault.help);
    }
}

struct Fault {
    message: String,
    help: String,
}

fn fault(name: Part<'_>, rule: NameRule) -> Option<Fault> {
    match name {
        Part::Literal(Value::String(name)) => {
            let fault = rule.fault(name)?;
            let message = format!("is the name \"{}\", which Kubernetes refuses: {fault}", shortened(name));
            Some(Fault { message, help: rule.cure().to_owned() })
        }
        Part::Template(template) => rendered(template, rule),
        Part::Literal(_) | Part::Absent | Part::Uncertain => None,
    }
}

/// The fault that every rendered sample of a template has.
fn rendered(template: &Template, rule: NameRule) -> Option<Fault> {
    if template.reads_root() || template.has_branch() {
        return None;
    }
    let samples: Vec<String> = [json!("x1"), json!(1)].iter().filter_map(|leaf| sample(template, leaf)).collect();
    let faults: Option<Vec<String>> = samples.iter().map(|sample| rule.fault(sample)).collect();
    let (sample, fault) = (samples.first()?, faults?.into_iter().next()?);
    let message = format!("renders to names like \"{}\", which Kubernetes refuses: {fault}", shortened(sample));
    let reads_time = template.reads_clock() || template.variables().contains("now");
    let help = if reads_time && TIME.iter().any(|character| fault.ends_with(character)) {
        "write the time as `{{ .now | date \"20060102-150405\" }}`".to_owned()
    } else {
        rule.cure().to_owned()
    };
    Some(Fault { message, help })
}

/// Characters of RFC 3339 times that names may not have, as they end the text of a fault.
const TIME: [&str; 3] = ["`T`", "`Z`", "`:`"];

/// The text that a template renders to if every variable is `leaf`.
fn sample(template: &Template, leaf: &Value) -> Option<String> {
    let mut scope = Scope::new(Timestamp::from_second(NOON).ok()?);
    let mut variables = Map::new();
    for path in template.variables().iter().filter(|path| !matches!(path.as_str(), "now" | "date")) {
        set(&mut variables, &path.split('.').collect::<Vec<_>>(), leaf);
    }
    for (name, value) in variables {
        scope.set(&name, value);
    }
    let text = template.render(&scope).ok()?.into_owned();
    // `printf` renders a sample of the wrong type as `%!d(string=x1)`.
    (!text.contains("%!")).then_some(text)
}

/// The clock of the sample events with which the lint renders names: 2026-01-02T12:00:00Z, an arbitrary time.
const NOON: i64 = 1_767_355_200;

fn set(object: &mut Map<String, Value>, path: &[&str], leaf: &Value) {
    let Some((first, rest)) = path.split_first() else { return };
    let entry = object.entry((*first).to_owned());
    if rest.is_empty() {
        // A variable that another path reads as an object stays an object.
        entry.or_insert_with(|| leaf.clone());
        return;
    }
    let below = entry.or_insert_with(|| Value::Object(Map::new()));
    if !below.is_object() {
        *below = Value::Object(Map::new());
    }
    if let Value::Object(below) = below {
        set(below, rest, leaf);
    }
}

fn shortened(name: &str) -> String {
    const SHOWN: usize = 60;
    if name.chars().count() <= SHOWN {
        return name.to_owned();
    }
    name.chars().take(SHOWN).chain(['…']).collect()
}
