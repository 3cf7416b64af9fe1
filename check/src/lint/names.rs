//! Warns of names that Kubernetes rejects.
//!
//! In: `metadata.name` and `metadata.namespace` of a manifest. Out: a warning where no event renders a valid
//! name. A template is rendered with two sample values, a text and a number, that are valid names themselves. A
//! template with a branch, or one that does not render for a sample, is not judged.

use jiff::Timestamp;
use lifecycle_config::document::Path;
use lifecycle_language::scope::Scope;
use lifecycle_language::template::{Part, Template, Tree};
use lifecycle_objects::kinds::{self, NameRule};
use serde_json::{Map, Value, json};

use super::linter::{Linter, resources};

/// The clock of the sample events with which the lint renders names: 2026-01-02T12:00:00Z, an arbitrary time.
const NOON: i64 = 1_767_355_200;

/// How many characters of a name a warning shows.
const SHOWN: usize = 60;

pub(super) fn lint(linter: &mut Linter<'_>) {
    let task = linter.task;
    let document = linter.document;
    for object in linter.manifests().iter() {
        let rules = [("name", object.kind.as_ref().map(kinds::name_rule)), ("namespace", Some(NameRule::Label))];
        for (key, rule) in rules {
            let Some(fault) = rule.and_then(|rule| fault(&object.tree, key, rule)) else { continue };
            fault.report(linter, &object.at(document, &Path::of_keys("metadata").key(key)), &object.subject());
        }
    }
    // The object of an entry with a bundle is the parent, whose manifest the author does not write.
    for (path, resource) in resources(task).filter(|(_, resource)| resource.bundle.is_some()) {
        let Some(tree) = resource.manifest.structure() else { continue };
        let bundle = path.key("bundle");
        for (key, rule) in [("name", kinds::name_rule(&resource.kind)), ("namespace", NameRule::Label)] {
            let Some(fault) = fault(&tree, key, rule) else { continue };
            fault.report(linter, &linter.place_or(bundle.key(key), &bundle), "");
        }
    }
}

/// A name that Kubernetes rejects.
struct Fault {
    message: String,
    help: &'static str,
}

impl Fault {
    fn report(self, linter: &mut Linter<'_>, place: &Path, subject: &str) {
        linter.warn(place, format!("{subject}{}", self.message), self.help.to_owned());
    }
}

/// What is wrong with the name or the namespace of a manifest, whatever the event brings.
fn fault(tree: &Tree, key: &str, rule: NameRule) -> Option<Fault> {
    let (samples, reads_time) = match tree.part(&["metadata", key]) {
        Part::Literal(Value::String(name)) => (vec![name.clone()], false),
        Part::Template(template) => (samples(template), reads_time(template)),
        Part::Literal(_) | Part::Absent | Part::Uncertain => return None,
    };
    let faults: Option<Vec<String>> = samples.iter().map(|sample| rule.fault(sample)).collect();
    let (Some(sample), Some([fault, ..])) = (samples.first(), faults.as_deref()) else { return None };
    let shown: String = sample.chars().take(SHOWN).collect();
    // RFC 3339 writes these characters, which names may not have.
    let is_time = reads_time && ["`T`", "`Z`", "`:`"].iter().any(|character| fault.ends_with(character));
    Some(Fault {
        message: format!("gives names like \"{shown}\", which Kubernetes refuses: {fault}"),
        help: if is_time { "write the time as `{{ .now | date \"20060102-150405\" }}`" } else { rule.cure() },
    })
}

fn reads_time(template: &Template) -> bool {
    template.reads_clock() || template.variables().contains("now")
}

/// The texts that a template renders to if every variable is a text, or a number; none if it has branches.
pub(super) fn samples(template: &Template) -> Vec<String> {
    if template.reads_root() || template.has_branch() {
        return Vec::new();
    }
    [json!("x1"), json!(1)].iter().filter_map(|leaf| sample(template, leaf)).collect()
}

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
