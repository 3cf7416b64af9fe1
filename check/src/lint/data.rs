//! Warns of the data of `ConfigMap`s and Secrets that Kubernetes rejects: values that are no text, and `data` of a
//! Secret that is not base64.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use lifecycle_config::document::{Content, Node};
use serde_json::Value;

use super::Linter;
use super::metadata::{Place, each_object};

/// What Kubernetes accepts as a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Text,
    Base64,
}

/// The mappings whose values have to be text, by kind and key.
const DATA: [(&str, &str, Form); 4] = [
    ("ConfigMap", "data", Form::Text),
    ("ConfigMap", "binaryData", Form::Base64),
    ("Secret", "data", Form::Base64),
    ("Secret", "stringData", Form::Text),
];

pub(super) fn lint(linter: &mut Linter<'_>) {
    each_object(linter, &mut |linter, place, object, resource| {
        let of_kind = DATA.iter().filter(|(kind, ..)| *kind == resource.kind.kind && resource.kind.group.is_empty());
        for (_, key, form) in of_kind {
            if let Some(Node { content: Content::Map(entries), .. }) = object.get(key) {
                let place = place.key(key);
                entries.iter().for_each(|entry| value(linter, &place.key(&entry.key), &entry.value, *form));
            }
        }
    });
}

fn value(linter: &mut Linter<'_>, place: &Place, node: &Node, form: Form) {
    let found = match &node.content {
        Content::Scalar(scalar) => match place.read(scalar) {
            Some(Value::Number(_)) => "a number",
            Some(Value::Bool(_)) => "a boolean",
            Some(Value::String(text)) if form == Form::Base64 => return base64(linter, place, &text),
            // Kubernetes ignores null, and in a patch it removes a key.
            Some(Value::Null | Value::String(_) | Value::Array(_) | Value::Object(_)) | None => return,
        },
        Content::List(_) | Content::Map(_) => node.describe(),
    };
    let help = match &node.content {
        Content::Scalar(scalar) => format!("put it in quotes: `\"{}\"`", scalar.text),
        Content::List(_) | Content::Map(_) => "write text: in quotes, or below `|`".to_owned(),
    };
    place.warn(linter, &format!("is {found}, but Kubernetes takes only text here, and refuses the object"), help);
}

fn base64(linter: &mut Linter<'_>, place: &Place, text: &str) {
    // As Kubernetes does, ignores line breaks.
    let encoded: String = text.chars().filter(|character| !matches!(character, '\r' | '\n')).collect();
    if !text.contains("{{") && STANDARD.decode(encoded).is_err() {
        let help = "encode it with base64; in a Secret, plain text can stand below `stringData` instead".to_owned();
        place.warn(linter, "is not base64: Kubernetes refuses the object", help);
    }
}
