//! Warns of objects with data that a bundle writes under a condition, if the condition reads a param that has a constant in place of
//! a value of the API: an answer without the value takes the object out of the bundle, which deletes it. Where only an event tells
//! whether the constant takes the object out, there is a note.

use std::borrow::Cow;
use std::collections::BTreeSet;

use jiff::Timestamp;
use lifecycle_bundle::policy::{Delete, Policy as _};
use lifecycle_config::diagnostics::Severity;
use lifecycle_core::task::{Manifest, Param, ParamSource, Task};
use lifecycle_language::cel::Answer;
use lifecycle_language::scope::Scope;
use lifecycle_language::template::Template;
use lifecycle_objects::id::GroupVersionKind;
use serde_json::{Map, Value, json};

use super::credentials::value_path;
use super::defaulted_names::in_place_of_answer;
use super::linter::{Linter, resources};
use super::lost_data::loss;
use super::secrets::manifests;

pub(super) fn lint(linter: &mut Linter<'_>) {
    let task = linter.task;
    for (path, resource) in resources(task) {
        let Some(bundle) = &resource.bundle else { continue };
        for (at, manifest) in manifests(&path, resource) {
            let Manifest::Text(template) = manifest else { continue };
            for branch in template.branches() {
                let lost = |object: &Object<'_>| {
                    let policy = object.delete_policy(&bundle.prefix).unwrap_or(bundle.policies.delete);
                    loss(&object.kind.group, &object.kind.kind, true)
                        .filter(|_| matches!(policy, Delete::Delete | Delete::OrphanOnDelete))
                };
                let roots: BTreeSet<&str> = branch.reads.iter().filter_map(|path| path.split('.').next()).collect();
                for root in roots {
                    let Some(constant) = in_place_of_answer(task, root) else { continue };
                    let rendered = rendered(task, template, root, constant.param);
                    let is_kept = |object: &Object<'_>| {
                        let mut kept = rendered.iter().flat_map(|text| objects(text));
                        kept.any(|it| it.kind == object.kind && it.name.contains(object.name))
                    };
                    let mut taken = objects(&branch.text).filter(|object| !is_kept(object));
                    let found = taken.find_map(|object| Some((lost(&object)?, object)));
                    let Some((loss, object)) = found else { continue };
                    let message = format!(
                        "a condition that reads `{root}` decides whether the bundle has the {}, and `{root}` has {}: an answer \
                         without the value can delete the object, and {loss} with it",
                        object.kind.kind, constant.written
                    );
                    let help = format!(
                        "write `required: true` at `{}` in place of the constant: such an event then fails, and deletes nothing; \
                         a deletion whose answer lacks the value fails, too; or give the object the delete policy `orphan`",
                        constant.param.name
                    );
                    let severity = if rendered.is_some() { Severity::Warning } else { Severity::Note };
                    linter.report(severity, &at, message, help);
                }
            }
        }
    }
}

/// What the text of a document says of its object.
struct Object<'t> {
    kind: GroupVersionKind,
    /// The constant part of the name.
    name: &'t str,
    text: &'t str,
}

fn objects(text: &str) -> impl Iterator<Item = Object<'_>> {
    text.split("\n---").filter_map(Object::of)
}

impl<'t> Object<'t> {
    fn of(text: &'t str) -> Option<Self> {
        let value = |key: &str| text.lines().find_map(|line| line.strip_prefix(key)).map(str::trim);
        let kind = GroupVersionKind::new(value("apiVersion:")?, value("kind:")?);
        let name = text.split_once("metadata:").and_then(|(_, metadata)| word_behind(metadata, "name:"));
        Some(Self { kind, name: name.unwrap_or_default(), text })
    }

    fn delete_policy(&self, prefix: &str) -> Option<Delete> {
        let word = word_behind(self.text, &format!("{prefix}/delete-policy"))?;
        Delete::parse(word).ok().flatten()
    }
}

fn word_behind<'t>(text: &'t str, key: &str) -> Option<&'t str> {
    let (_, rest) = text.split_once(key)?;
    let word = rest.split([',', '}', '\n']).next()?;
    Some(word.trim_matches([':', '"', '\'', ' ']))
}

/// The text of a manifest after an answer without the value of a param; none if its conditions depend on more than the param.
fn rendered(task: &Task, template: &Template, root: &str, param: &Param) -> Option<String> {
    let is_root = |path: &String| path.split('.').next() == Some(root);
    let decides_alone = template.branches().iter().all(|it| it.reads_nothing_else && it.reads.iter().all(is_root));
    let constant = constant_value(task, param).filter(|_| decides_alone && param.name == root)?;
    // The others are empty, as they are in the text of a branch.
    let mut variables = Map::new();
    for path in template.variables() {
        let (name, below) = path.split_once('.').unwrap_or((path, ""));
        let mut at = variables.entry(name).or_insert_with(|| json!(""));
        for field in below.split('.').filter(|field| !field.is_empty()) {
            if !at.is_object() {
                *at = json!({});
            }
            at = at.as_object_mut()?.entry(field).or_insert_with(|| json!(""));
        }
    }
    variables.insert(root.to_owned(), constant);
    let mut scope = Scope::new(Timestamp::UNIX_EPOCH);
    variables.into_iter().for_each(|(name, value)| scope.set(&name, value));
    template.render(&scope).ok().map(Cow::into_owned)
}

/// The value of a param after an answer that lacks what the param is made of.
fn constant_value(task: &Task, param: &Param) -> Option<Value> {
    if let Some(default) = &param.default {
        return Some(default.clone());
    }
    let ParamSource::Expression(expression) = &param.source else { return None };
    let mut scope = Scope::new(Timestamp::UNIX_EPOCH);
    scope.set(value_path(task, param)?.first()?, json!({}));
    match expression.evaluate(&scope) {
        Ok(Answer::Value(value)) => Some(value),
        Ok(Answer::Absent) | Err(_) => None,
    }
}
