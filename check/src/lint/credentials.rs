//! Warns of constants that replace the credential in a Secret.
//!
//! In: the params that the data of a Secret reads. Out: a warning for each that has a constant when the API's answer lacks the
//! value, unless a gate keeps the Secret from being written then.

use std::collections::BTreeSet;

use lifecycle_config::document::Path;
use lifecycle_core::sensitive::origin;
use lifecycle_core::task::{Manifest, Param, ParamSource, Resource, Task};
use lifecycle_language::cel::Expression;
use lifecycle_language::template::{Part, Template, Tree};
use serde_json::Value;

use super::linter::{Linter, resources};
use super::secrets::manifests;

pub(super) fn lint(linter: &mut Linter<'_>) {
    for object in linter.manifests().iter() {
        constants(linter, &object.at(linter.document, &Path::root()), object.resource, &data_of(&object.tree));
    }
    for (path, resource) in resources(linter.task) {
        for (at, manifest) in manifests(&path, resource) {
            if let (true, Manifest::Text(template)) = (manifest.structures().is_empty(), manifest) {
                constants(linter, &at, resource, &data_in_text(template));
            }
        }
    }
}

/// The variables that the data of a Secret reads.
fn data_of(tree: &Tree) -> Vec<String> {
    if !matches!(tree.part(&["kind"]), Part::Literal(Value::String(kind)) if kind == "Secret") {
        return Vec::new();
    }
    let is_data = |place: &str| place.starts_with("data.") || place.starts_with("stringData.");
    tree.variables().into_iter().filter(|(_, place)| is_data(place)).map(|(variable, _)| variable).collect()
}

/// The variables behind the line `data:` or `stringData:` of a Secret whose manifest is text.
fn data_in_text(template: &Template) -> Vec<String> {
    let source = template.source();
    let starts = ["\ndata:", "\nstringData:"].iter().filter_map(|key| source.find(key)).min();
    let Some(start) = starts.filter(|_| source.lines().any(|line| line.trim_end() == "kind: Secret")) else {
        return Vec::new();
    };
    let data = &source[start..];
    template.variables().iter().filter(|variable| data.contains(&format!(".{variable}"))).cloned().collect()
}

/// A constant that stands in for a value.
pub(super) struct Constant<'t> {
    /// The param that has the constant.
    pub(super) param: &'t Param,
    /// What the author wrote, in words.
    pub(super) written: String,
    /// The constant; none if it is no text.
    text: Option<&'t str>,
}

/// Warns of variables in the data of a Secret that have a constant when their source has no value, unless a gate asks for it.
fn constants(linter: &mut Linter<'_>, at: &Path, resource: &Resource, variables: &[String]) {
    let task = linter.task;
    let gates: Vec<&Expression> = [&resource.gates.when, &resource.gates.apply].into_iter().flatten().collect();
    let roots: BTreeSet<&str> = variables.iter().filter_map(|variable| variable.split('.').next()).collect();
    for root in roots {
        let mut chain = BTreeSet::new();
        let Some(constant) = constant(task, root, &mut chain) else { continue };
        if gates.iter().any(|gate| asks(task, gate, &constant, &chain)) {
            continue;
        }
        let of = if constant.param.name == root { String::new() } else { format!(" of `{}`", constant.param.name) };
        let message = format!(
            "the data of a Secret takes `{root}`, which has {}{of}: an answer without the value replaces the credential that is there",
            constant.written
        );
        let guard = value_path(task, constant.param).map_or_else(
            || "let `when` ask whether there is a value".to_owned(),
            |path| format!("write `when: {{expression: \"{}.orValue('') != ''\"}}` at the entry", path.join(".?")),
        );
        linter.warn(
            at,
            message,
            format!("remove the constant, and {guard}: an answer without the value then leaves the Secret alone"),
        );
    }
}

/// Whether a gate does not hold while the constant stands in for the value: it asks for the value at its source, or tells the
/// constant from other values.
fn asks<'t>(task: &'t Task, gate: &Expression, constant: &Constant<'_>, chain: &BTreeSet<&'t str>) -> bool {
    let tells = constant.text.is_some_and(|text| text.is_empty() || gate.source().contains(text));
    let of_source = value_path(task, constant.param).is_some_and(|path| reads(task, gate, &path, &mut chain.clone()));
    of_source || tells && gate.reads_variable(&|variable| chain.contains(variable))
}

/// Whether an expression reads a path, itself or through params.
fn reads<'t>(task: &'t Task, expression: &Expression, path: &[&str], seen: &mut BTreeSet<&'t str>) -> bool {
    let paths = expression.member_paths();
    paths.iter().any(|read| read.starts_with(path))
        || task.params.iter().any(|param| match &param.source {
            ParamSource::Expression(inner) => {
                paths.iter().any(|read| read.first() == Some(&param.name.as_str()))
                    && param.default.is_none()
                    && !path.starts_with(&[&param.name])
                    && seen.insert(&param.name)
                    && reads(task, inner, path, seen)
            }
            ParamSource::Environment(_)
            | ParamSource::Event(_)
            | ParamSource::Config(_)
            | ParamSource::Path(_)
            | ParamSource::ApiCall(_)
            | ParamSource::File { .. } => false,
        })
}

/// The path of the value for which a param has a constant.
pub(super) fn value_path<'t>(task: &'t Task, param: &'t Param) -> Option<Vec<&'t str>> {
    let path = origin(&param.source)?;
    let is_known = path.first().is_some_and(|root| *root == "event" || task.times_set(root) > 0);
    if is_known { Some(path) } else { Some(std::iter::once("event").chain(path).collect()) }
}

/// The constant that a param has in place of a value; `chain` gets the params on the way there.
pub(super) fn constant<'t>(task: &'t Task, name: &str, chain: &mut BTreeSet<&'t str>) -> Option<Constant<'t>> {
    let param = task.params.iter().rev().find(|param| param.name == name)?;
    if !chain.insert(&param.name) {
        return None;
    }
    if let Some(default) = param.default.as_ref().filter(|default| !default.is_null()) {
        let shown = if default.as_str() == Some("") { "`default: \"\"`" } else { "`default`" };
        return Some(Constant { param, written: format!("the {shown}"), text: default.as_str() });
    }
    match &param.source {
        ParamSource::Expression(expression) => {
            let source = expression.source();
            let text = ["'", "\""].iter().find_map(|quote| {
                let (_, rest) = source.split_once(&format!(".orValue({quote}"))?;
                rest.split(quote).next()
            });
            if let Some(text) = text {
                let written = format!("the constant of `orValue` in `{}`", expression.one_line());
                return Some(Constant { param, written, text: Some(text) });
            }
            let paths = expression.member_paths();
            let params = task.params.iter().map(|param| param.name.as_str());
            let mut read = params.filter(|param| paths.iter().any(|path| path.first() == Some(param)));
            read.find_map(|name| constant(task, name, chain))
        }
        ParamSource::Path(path) => constant(task, path.split('.').next().unwrap_or_default(), chain),
        ParamSource::Environment(_)
        | ParamSource::Event(_)
        | ParamSource::Config(_)
        | ParamSource::ApiCall(_)
        | ParamSource::File { .. } => None,
    }
}
