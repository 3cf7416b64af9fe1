//! Warns of secrets where everybody may read them.
//!
//! In: the params that are [secret](lifecycle_core::sensitive), and the templates and expressions that read them. Out: a warning
//! for each field of a manifest, payload and log line that shows one, but for the data of a Secret. What a function makes of a
//! secret counts as the secret.

use std::collections::BTreeSet;

use lifecycle_config::document::Path;
use lifecycle_core::sensitive;
use lifecycle_core::task::{Manifest, Param, ParamSource, PayloadNode, PayloadSource, Resource};
use lifecycle_language::secrets::SecretPaths;
use lifecycle_language::template::{Part, Template, Tree};
use serde_json::Value;

use super::linter::{ACTIONS, Linter, PAYLOADS, entry};
use crate::manifests::WrittenObject;

/// What the help says last: the name alone may have made the value a secret.
const NO_SECRET: &str = "write `sensitive: false` at the param if the value is no secret";

pub(super) fn lint(linter: &mut Linter<'_>) {
    let task = linter.task;
    let secrets = sensitive::secret_paths(task);
    undecided(linter, &secrets);
    for object in linter.manifests().iter() {
        password(linter, object);
        shown_by_manifest(linter, &secrets, object);
    }
    if secrets.is_empty() {
        return;
    }
    for (index, payload) in task.payloads.iter().enumerate() {
        let at = linter.either(&entry(&PAYLOADS, index), ["build", "build_ref"]);
        if let Some(secret) = reported(&payload.build, &secrets) {
            let message = format!("{secret}, and the payload `{}` sends it", payload.name);
            linter.warn(&at, message, format!("report whether the value is there, not the value; {NO_SECRET}"));
        }
    }
    let preconditions = task.preconditions.iter().map(|it| it.log.as_ref()).enumerate();
    let preconditions = preconditions.map(|(index, log)| (entry(&["preconditions"], index), log));
    let actions = task.actions.iter().map(|it| it.log.as_ref()).enumerate();
    let actions = actions.map(|(index, log)| (entry(&ACTIONS, index), log));
    for (at, line) in preconditions.chain(actions) {
        if let Some(secret) = line.and_then(|line| rendered(&line.message, &secrets)) {
            let message = format!("{secret}: the log shows `[redacted]` in its place");
            linter.warn(&at.key("log").key("message"), message, format!("log something else of it; {NO_SECRET}"));
        }
    }
}

/// Warns of params that are named like a credential, take a value of the API, and do not say whether it is a secret.
fn undecided(linter: &mut Linter<'_>, secrets: &SecretPaths) {
    let task = linter.task;
    let is_answer = |name: &str| {
        let is_call = |param: &Param| param.name == name && matches!(param.source, ParamSource::ApiCall(_));
        task.params.iter().any(is_call) || task.preconditions.iter().any(|precondition| precondition.name == name)
    };
    for (index, param) in task.params.iter().enumerate() {
        let is_open = param.sensitive.is_none() && !sensitive::is_boolean(param) && !secrets.cover(&[&param.name]);
        let of_answer = sensitive::origin(&param.source).is_some_and(|path| path.len() > 1 && is_answer(path[0]));
        if is_open && of_answer && sensitive::is_secret_name(&param.name) {
            let message =
                format!("`{}` has the name of a credential, and nothing keeps it out of logs and traces", param.name);
            let help = "say `sensitive: true`, or `sensitive: false` if the value is no secret";
            linter.warn(&entry(&["params"], index), message, help.to_owned());
        }
    }
}

/// Warns of a password that a ConfigMap writes: as a constant, or from a param that is not said to be no secret.
fn password(linter: &mut Linter<'_>, object: &WrittenObject<'_>) {
    let tree = &object.tree;
    let Part::Literal(Value::String(kind)) = tree.part(&["kind"]) else { return };
    if kind != "ConfigMap" {
        return;
    }
    let written = tree.keep(&[&["data"]]).specimen();
    let is_password = |key: &String| {
        let key = key.to_lowercase();
        ["password", "passwd", "passphrase"].iter().any(|word| key.ends_with(word))
    };
    let is_open = |key: &String, value: &Value| {
        let is_template = matches!(tree.part(&["data", key]), Part::Template(_));
        let place = format!("data.{key}");
        let mut reads = object.variables().into_iter().filter(|(_, at)| *at == place).map(|(variable, _)| variable);
        let is_said = |variable: String| {
            let root = variable.split('.').next();
            linter.task.params.iter().any(|it| root == Some(&it.name) && it.sensitive.is_some())
        };
        value.as_str().is_some_and(|text| !is_setting(text)) && (!is_template || reads.any(|it| !is_said(it)))
    };
    let mut data = written.get("data").and_then(Value::as_object).into_iter().flatten();
    if let Some((key, _)) = data.find(|(key, value)| is_password(key) && is_open(key, value)) {
        let message = format!("a ConfigMap shows the credential `{key}` to everybody who may read it");
        let at = object.at(linter.document, &Path::root());
        let help = "put it into a Secret, and take the value from a param; if it is no credential, take it from a param with \
                    `sensitive: false`";
        linter.warn(&at, message, help.to_owned());
    }
}

/// Whether the value of a key with the name of a password is none: nothing, a switch, or where something is.
fn is_setting(text: &str) -> bool {
    let is_switch = ["", "true", "false", "yes", "no"].iter().any(|word| text.eq_ignore_ascii_case(word));
    is_switch || text.starts_with('/') || text.contains("://") || text.contains("}}/")
}

pub(super) fn manifests<'t>(path: &Path, resource: &'t Resource) -> Vec<(Path, &'t Manifest)> {
    match &resource.bundle {
        Some(bundle) => {
            let list = path.key("bundle").key("manifests");
            bundle.manifests.iter().enumerate().map(|(index, manifest)| (list.index(index), manifest)).collect()
        }
        None => vec![(path.key("manifest"), &resource.manifest)],
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
        PayloadNode::Lookup { source: PayloadSource::Field(path), .. } => describe(&path.prefix(), secrets),
        // Whether a secret is there is none.
        PayloadNode::Lookup { source: PayloadSource::Expression(expression), .. } => {
            let shown = expression.shown_paths();
            shown.iter().find_map(|path| describe(&path.iter().map(String::as_str).collect::<Vec<_>>(), secrets))
        }
    }
}

/// The secret that a template renders.
fn rendered(template: &Template, secrets: &SecretPaths) -> Option<String> {
    template.variables().iter().find_map(|path| describe(&path.split('.').collect::<Vec<_>>(), secrets))
}

/// Says of a path that it is a secret, or has one within it.
fn describe(path: &[&str], secrets: &SecretPaths) -> Option<String> {
    let written = path.join(".");
    if secrets.cover(path) {
        Some(format!("`{written}` is a secret"))
    } else if secrets.touch(path) {
        Some(format!("`{written}` has a secret within it"))
    } else {
        None
    }
}
