//! Compiles manifests: parses their templates, and requires a fixed kind.

use std::collections::BTreeMap;

use lifecycle_config::document::{Content, Document, Node};
use lifecycle_language::template::{Template, Tree};
use lifecycle_objects::id::GroupVersionKind;
use lifecycle_objects::keys;
use serde_json::Value;

use super::check::{Checker, Key, Place};
use crate::task::Manifest;
use crate::task::spec::ManifestSpec;

pub(super) fn compile(
    checker: &mut Checker<'_>,
    spec: &ManifestSpec,
    place: &Place<'_>,
) -> Option<(Manifest, GroupVersionKind)> {
    match read(checker, spec, place)? {
        Written::Inline(value) => {
            let kind = inline_kind(checker, &value, place);
            refuse_disowned_label(checker, &value, place);
            let tree = tree(checker, &value, place, Key::Inherited);
            Some((Manifest::Inline(tree?), kind?))
        }
        Written::Text { text, place } => text_manifest(checker, &text, &place),
    }
}

/// A manifest as its author wrote it, with the content of a file in place of the reference.
pub(super) enum Written<'d> {
    Inline(Value),
    /// A text, and the place of the text or of the reference to its file.
    Text {
        text: String,
        place: Place<'d>,
    },
}

/// Reads the file of a manifest that is a reference; none, with an error, if that fails, and none for an empty text.
pub(super) fn read<'d>(checker: &mut Checker<'_>, spec: &ManifestSpec, place: &Place<'d>) -> Option<Written<'d>> {
    match spec {
        ManifestSpec::Inline(object) => Some(Written::Inline(Value::Object(object.clone()))),
        ManifestSpec::Text(text) if text.is_empty() => None,
        ManifestSpec::Text(text) => Some(Written::Text { text: text.clone(), place: place.clone() }),
        ManifestSpec::Reference(file) => {
            warn_about_keys_beside_ref(checker, place);
            let place = place.key("ref");
            if file.is_empty() {
                checker.error(&place, "manifest ref cannot be empty");
                return None;
            }
            match (checker.surroundings.read)(file) {
                Ok(text) => Some(Written::Text { text, place }),
                Err(message) => {
                    checker.error(&place, message);
                    None
                }
            }
        }
    }
}

fn warn_about_keys_beside_ref(checker: &mut Checker<'_>, place: &Place<'_>) {
    let Some(Node { content: Content::Map(entries), .. }) = place.document.node(&place.path) else { return };
    for entry in entries.iter().filter(|entry| entry.key != "ref") {
        let help = "write the object into the file that `ref` names, or remove `ref`".to_owned();
        checker.warn(&place.key(&entry.key), "is ignored: `ref` names the whole manifest", Some(help));
    }
}

fn text_manifest(checker: &mut Checker<'_>, text: &str, place: &Place<'_>) -> Option<(Manifest, GroupVersionKind)> {
    let known = checker.known;
    let template = checker.template(place, text, known);
    // Text with templates is not YAML yet; rendering refuses the label then.
    if !text.contains("{{")
        && let Ok(document) = Document::parse("manifest", text)
        && has_disowned_label(&document.root().to_value())
    {
        checker.error_with_help(place, DISOWNED_LABEL_WRITTEN, REMOVE_DISOWNED_LABEL);
    }
    if has_second_document(text) {
        let help = "make the second object a resource of its own".to_owned();
        checker.warn(place, "holds a second YAML document, which is dropped, as in the Go adapter", Some(help));
    }
    let api_version = fixed(checker, text_key(text, "apiVersion"), "apiVersion", place);
    let kind = fixed(checker, text_key(text, "kind"), "kind", place);
    Some((Manifest::Text(template?), GroupVersionKind::new(api_version?, kind?)))
}

/// Whether a text has content before and after a line `---`. Templates may render either part to nothing, so
/// the second document is only a warning.
fn has_second_document(text: &str) -> bool {
    let has_content = |line: &str| !line.trim().is_empty() && !line.trim_start().starts_with('#');
    let is_separator = |line: &str| line.trim_end() == "---";
    let mut lines = text.lines().skip_while(|line| !has_content(line) || is_separator(line));
    lines.any(is_separator) && lines.any(has_content)
}

fn inline_kind(checker: &mut Checker<'_>, object: &Value, place: &Place<'_>) -> Option<GroupVersionKind> {
    let read = |key: &str| object.get(key).and_then(Value::as_str);
    let api_version = fixed(checker, read("apiVersion"), "apiVersion", place);
    let kind = fixed(checker, read("kind"), "kind", place);
    Some(GroupVersionKind::new(api_version?, kind?))
}

const DISOWNED_LABEL_WRITTEN: &str =
    "writes the label `hyperfleet.io/disowned`, with which an object is never updated or deleted again";
const REMOVE_DISOWNED_LABEL: &str = "remove the label, and use `lifecycle.orphan` to disown the object";

/// Refuses the label `disowned`: the adapter would create the object and never touch it again.
fn refuse_disowned_label(checker: &mut Checker<'_>, object: &Value, place: &Place<'_>) {
    if has_disowned_label(object) {
        checker.error_with_help(
            &place.key("metadata").key("labels").key(keys::DISOWNED),
            DISOWNED_LABEL_WRITTEN,
            REMOVE_DISOWNED_LABEL,
        );
    }
}

fn has_disowned_label(object: &Value) -> bool {
    object.pointer("/metadata/labels").is_some_and(|labels| labels.get(keys::DISOWNED).is_some())
}

fn fixed<'t>(checker: &mut Checker<'_>, value: Option<&'t str>, key: &str, place: &Place<'_>) -> Option<&'t str> {
    let value = value.filter(|value| !value.is_empty());
    match value {
        None => checker.error(place, format!("`{key}` is required, as text")),
        Some(value) if value.contains("{{") => checker.error_with_help(
            &place.key(key),
            format!("`{key}` must be fixed, but is the template `{value}`"),
            "live objects are looked up by kind before anything is rendered",
        ),
        Some(_) => return value,
    }
    None
}

/// Returns the value of the first line that sets `key`, at any depth: a text manifest is a template, and not
/// yet YAML.
fn text_key<'t>(text: &'t str, key: &str) -> Option<&'t str> {
    let mut values = text.lines().filter_map(|line| line.trim_start().strip_prefix(key)?.strip_prefix(':'));
    let value = values.next()?.trim();
    let value = value.split(" #").next().unwrap_or(value).trim_end();
    let unquoted = ['"', '\''].into_iter().find_map(|quote| value.strip_prefix(quote)?.strip_suffix(quote));
    Some(unquoted.unwrap_or(value))
}

/// Compiles an inline value: checks each of its strings, then parses the value as a tree of templates.
pub(super) fn tree(checker: &mut Checker<'_>, value: &Value, place: &Place<'_>, key: Key) -> Option<Tree> {
    let is_sound = strings(checker, value, place, key);
    if spans_strings(value) {
        // The Go adapter renders the manifest as one text, so such a file works there; here every event would
        // fail.
        let help = match key {
            Key::Inherited | Key::Unchecked => "write the manifest as text: `manifest: |`",
            Key::New => "end each action in the string in which it begins",
        };
        checker.error_with_help(place, "an action begins in one string of the manifest and ends in another", help);
        return None;
    }
    let tree = is_sound.then(|| Tree::parse_lenient(value))?;
    Some(match place.document.node(&place.path) {
        Some(written) => tree.tagged(written),
        None => tree,
    })
}

/// Whether strings that do not parse one by one do parse when joined.
fn spans_strings(value: &Value) -> bool {
    let mut all = Vec::new();
    collect_strings(value, &mut all);
    all.iter().any(|text| Template::parse(text).is_err()) && Template::parse(&all.join("\n")).is_ok()
}

/// Collects all strings, keys included, in the order in which the Go adapter writes them: sorted by key.
fn collect_strings<'v>(value: &'v Value, all: &mut Vec<&'v str>) {
    match value {
        Value::String(text) => all.push(text),
        Value::Array(items) => items.iter().for_each(|item| collect_strings(item, all)),
        Value::Object(object) => {
            let sorted: BTreeMap<&String, &Value> = object.iter().collect();
            for (key, value) in sorted {
                all.push(key);
                collect_strings(value, all);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn strings(checker: &mut Checker<'_>, value: &Value, place: &Place<'_>, of: Key) -> bool {
    let known = checker.known;
    match value {
        Value::String(text) => checker.template_in(place, text, known, of).is_some(),
        Value::Array(items) => {
            let items = items.iter().enumerate();
            items.fold(true, |sound, (index, item)| strings(checker, item, &place.index(index), of) && sound)
        }
        Value::Object(object) => object.iter().fold(true, |sound, (key, value)| {
            let place = place.key(key);
            let key_is_sound = checker.template_in(&place, key, known, of).is_some();
            strings(checker, value, &place, of) && key_is_sound && sound
        }),
        Value::Null | Value::Bool(_) | Value::Number(_) => true,
    }
}
