//! Warns of secrets where everybody may read them, and of constants that replace the credential in a Secret.
//!
//! In: the params that are [secret](lifecycle_core::sensitive), and the templates and expressions that read them. Out: a warning
//! for each field of a manifest, payload and log line that shows one, but for the data of a Secret; and for each value in the
//! data of a Secret that has a constant default. What a function makes of a secret counts as the secret.

use std::collections::BTreeSet;

use lifecycle_config::document::Path;
use lifecycle_core::sensitive;
use lifecycle_core::task::{Manifest, ParamSource, PayloadNode, PayloadSource, Resource, Task};
use lifecycle_language::cel::Expression;
use lifecycle_language::secrets::SecretPaths;
use lifecycle_language::template::{Part, Template, Tree};
use serde_json::Value;

use super::{ACTIONS, Linter, PAYLOADS, entry, resources};
use crate::manifests::WrittenObject;

/// What the help says last: the name alone may have made the value a secret.
const NO_SECRET: &str = "write `sensitive: false` at the param if the value is no secret";

pub(super) fn lint(linter: &mut Linter<'_>) {
    let task = linter.task;
    let secrets = sensitive::secret_paths(task);
    for object in linter.manifests().iter() {
        shown_by_manifest(linter, &secrets, object);
        constants(linter, &object.at(linter.document, &Path::root()), object.resource, &data_of(&object.tree));
    }
    for (path, resource) in resources(task) {
        let (at, texts) = match &resource.bundle {
            Some(bundle) => (path.key("bundle").key("manifests"), bundle.manifests.as_slice()),
            None => (path.key("manifest"), std::slice::from_ref(&resource.manifest)),
        };
        for manifest in texts.iter().filter(|manifest| manifest.structures().is_empty()) {
            if let Manifest::Text(template) = manifest {
                constants(linter, &at, resource, &data_in_text(template));
            }
        }
    }
    if secrets.is_empty() {
        return;
    }
    for (index, payload) in task.payloads.iter().enumerate() {
        let at = linter.either(&entry(&PAYLOADS, index), ["build", "build_ref"]);
        if let Some(secret) = reported(&payload.build, &secrets) {
            let message = format!("`{secret}` is a secret, and the payload `{}` sends it", payload.name);
            linter.warn(&at, message, format!("report whether the value is there, not the value; {NO_SECRET}"));
        }
    }
    let preconditions = task.preconditions.iter().map(|it| it.log.as_ref()).enumerate();
    let preconditions = preconditions.map(|(index, log)| (entry(&["preconditions"], index), log));
    let actions = task.actions.iter().map(|it| it.log.as_ref()).enumerate();
    let actions = actions.map(|(index, log)| (entry(&ACTIONS, index), log));
    for (at, line) in preconditions.chain(actions) {
        if let Some(secret) = line.and_then(|line| rendered(&line.message, &secrets)) {
            let message = format!("`{secret}` is a secret: the log shows `[redacted]` in its place");
            linter.warn(&at.key("log").key("message"), message, format!("log something else of it; {NO_SECRET}"));
        }
    }
}

/// Warns of the fields of a manifest that show a secret.
fn shown_by_manifest(linter: &mut Linter<'_>, secrets: &SecretPaths, object: &WrittenObject<'_>) {
    let (at, resource) = (object.at(linter.document, &Path::root()), object.resource);
    let mut told = BTreeSet::new();
    for (variable, place) in object.variables() {
        let is_secret = secrets.touch(&variable.split('.').collect::<Vec<_>>());
        let Some(part) = exposed(&object.tree, &place).filter(|_| is_secret) else { continue };
        if !told.insert(place.clone()) {
            continue;
        }
        let message = format!("`{variable}` is a secret, and `{}` shows it in {part}: `{place}`", resource.name);
        let help = format!(
            "put it into the data of a Secret, which a container takes with `secretKeyRef` or as a volume; {NO_SECRET}"
        );
        linter.warn(&at, message, help);
    }
}

/// The part of an object, in words, if everybody who may read the object reads the value there. Other fields are not judged: a
/// custom resource may have a field for a credential.
fn exposed(tree: &Tree, place: &str) -> Option<&'static str> {
    let is_kind = |kind: &str| matches!(tree.part(&["kind"]), Part::Literal(Value::String(written)) if written == kind);
    let is_below = |keys: &[&str]| keys.iter().any(|key| place == *key || place.starts_with(&format!("{key}.")));
    if place.contains("metadata.annotations") {
        Some("an annotation")
    } else if place.contains("metadata.labels") {
        Some("a label")
    } else if is_below(&["metadata.name", "metadata.namespace"]) {
        Some("a name")
    } else if is_kind("ConfigMap") && is_below(&["data", "binaryData"]) {
        Some("a ConfigMap")
    } else if place.contains(".args[") || place.contains(".command[") {
        Some("an argument of a container")
    } else if place.contains(".env[") && place.ends_with(".value") {
        Some("the environment of a container")
    } else {
        None
    }
}

/// The secret that a payload sends.
fn reported(node: &PayloadNode, secrets: &SecretPaths) -> Option<String> {
    match node {
        PayloadNode::Literal(_) => None,
        PayloadNode::Text(template) => rendered(template, secrets),
        PayloadNode::List(nodes) => nodes.iter().find_map(|node| reported(node, secrets)),
        PayloadNode::Map(entries) => entries.iter().find_map(|(_, node)| reported(node, secrets)),
        PayloadNode::Lookup { source: PayloadSource::Field(path), .. } => {
            secrets.cover(&path.prefix()).then(|| path.prefix().join("."))
        }
        // What an expression makes of a secret is mostly whether it is there.
        PayloadNode::Lookup { source: PayloadSource::Expression(expression), .. } => {
            let paths = expression.member_paths();
            let path = paths.iter().find(|path| secrets.cover(path))?;
            let is_variable = expression.source() == path.join(".");
            (is_variable || expression.is_path() || is_guarded_path(expression)).then(|| path.join("."))
        }
    }
}

/// Whether an expression is a path with a constant for its absence, such as `cluster.?token.orValue('')`.
fn is_guarded_path(expression: &Expression) -> bool {
    let source = expression.source();
    source.ends_with(')') && source.matches(".orValue(").count() == 1 && !source.contains(char::is_whitespace)
}

/// The secret that a template renders.
fn rendered(template: &Template, secrets: &SecretPaths) -> Option<String> {
    let touches = |path: &&String| secrets.cover(&path.split('.').collect::<Vec<_>>());
    template.variables().iter().find(touches).cloned()
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

/// Warns of variables in the data of a Secret that have a constant when their source has no value, unless a gate asks for them.
fn constants(linter: &mut Linter<'_>, at: &Path, resource: &Resource, variables: &[String]) {
    let task = linter.task;
    let gates = &resource.gates;
    let asks = |name: &str| {
        let mut gates = [&gates.when, &gates.apply].into_iter().flatten();
        gates.any(|gate| gate.reads_variable(&|variable| variable == name))
    };
    let mut told = BTreeSet::new();
    for variable in variables {
        let root = variable.split('.').next().unwrap_or_default();
        let Some(constant) = constant(task, root, &asks, &mut BTreeSet::new()) else { continue };
        if !told.insert(root) {
            continue;
        }
        let message = format!(
            "the data of a Secret takes `{root}`, which {constant}: an answer without the value replaces the credential that is there"
        );
        let help = format!(
            "without the constant, such an event fails and leaves the Secret alone; or ask for the value: `when: {{expression: \"{root} \
             != ''\"}}`"
        );
        linter.warn(at, message, help);
    }
}

/// The constant that a param has in place of a value, in words; none if a gate asks for the param.
fn constant<'t>(
    task: &'t Task,
    name: &'t str,
    asks: &dyn Fn(&str) -> bool,
    seen: &mut BTreeSet<&'t str>,
) -> Option<String> {
    if asks(name) || !seen.insert(name) {
        return None;
    }
    let param = task.params.iter().rev().find(|param| param.name == name)?;
    if let Some(default) = param.default.as_ref().filter(|default| !default.is_null()) {
        let of = if seen.len() > 1 { format!(" of `{name}`") } else { String::new() };
        let shown = if default.as_str() == Some("") { "`default: \"\"`" } else { "`default`" };
        return Some(format!("has the {shown}{of}"));
    }
    match &param.source {
        ParamSource::Expression(expression) => {
            let source = expression.source();
            if [".orValue('", ".orValue(\""].iter().any(|call| source.contains(call)) {
                return Some(format!("has the constant of `orValue` in `{}`", expression.one_line()));
            }
            let paths = expression.member_paths();
            let params = task.params.iter().map(|param| param.name.as_str());
            let mut read = params.filter(|param| paths.iter().any(|path| path.first() == Some(param)));
            read.find_map(|name| constant(task, name, asks, seen))
        }
        ParamSource::Path(path) => {
            let root = path.split('.').next().unwrap_or_default();
            if root == name { None } else { constant(task, root, asks, seen) }
        }
        ParamSource::Environment(_)
        | ParamSource::Event(_)
        | ParamSource::Config(_)
        | ParamSource::ApiCall(_)
        | ParamSource::File { .. } => None,
    }
}
