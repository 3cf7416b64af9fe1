//! Keeps secrets out of traces, and out of what logs, errors and reports tell of a server's refusal, which may quote them.
//!
//! In: the task, the variables at the end of a pass, and the objects of the store. Out: a [`Redactor`], which
//! replaces secrets in texts, values and objects. Secret are the values that the scope [conceals](Scope::conceal); what a
//! template or expression of a manifest, patch, payload or post action makes of them; and the data of Secrets. Not found is
//! what a function makes of a secret in a manifest that is text with actions between its lines.

use std::borrow::Cow;

use lifecycle_core::task::{Manifest, PayloadNode, PayloadSource, Task};
use lifecycle_language::scope::Scope;
pub use lifecycle_language::secrets::REDACTED;
use lifecycle_language::secrets::Secrets;
use lifecycle_language::template::{Part, Template, Tree};
use lifecycle_objects::keys::LAST_APPLIED;
use serde_json::{Map, Value};

/// What stands in place of a secret that differs from the one before the pass.
const CHANGED: &str = "[redacted, changed]";

/// The kind whose data is secret.
const SECRET: &str = "Secret";

/// The keys of that data.
const DATA: [&str; 2] = ["data", "stringData"];

/// Replaces the secrets of one pass.
#[derive(Debug, Default)]
pub struct Redactor {
    secrets: Secrets,
}

impl Redactor {
    /// Collects the secrets of a pass.
    #[must_use]
    pub fn of<'v>(task: &Task, scope: &Scope, objects: impl IntoIterator<Item = &'v Value>) -> Self {
        let mut redactor = Self { secrets: scope.secrets().clone() };
        for resource in &task.resources {
            let of_bundle = resource.bundle.iter().flat_map(|bundle| &bundle.manifests).flat_map(Manifest::structures);
            for tree in resource.manifest.structure().into_iter().chain(of_bundle) {
                tree.templates().into_iter().for_each(|template| redactor.add_rendered(template, scope));
                redactor.add_data_of(&tree, scope);
            }
            let patches = resource.gates.patches.iter().flat_map(|patch| patch.document.templates());
            patches.for_each(|template| redactor.add_rendered(template, scope));
        }
        for action in &task.actions {
            let call = action.api_call.iter();
            let of_call = call.flat_map(|call| call.body.iter().chain(call.headers.iter().map(|(_, value)| value)));
            let of_log = action.log.iter().map(|line| &line.message);
            of_call.chain(of_log).for_each(|template| redactor.add_rendered(template, scope));
        }
        task.payloads.iter().for_each(|payload| redactor.add_built(&payload.build, scope));
        objects.into_iter().for_each(|object| redactor.add_data(object));
        scope.forget_public(&mut redactor.secrets);
        redactor
    }

    fn add_rendered(&mut self, template: &Template, scope: &Scope) {
        if scope.secret_paths().are_rendered_by(template) {
            self.add_text_of(template, scope);
        }
    }

    fn add_text_of(&mut self, template: &Template, scope: &Scope) {
        let Ok(text) = template.render(scope) else { return };
        // What a manifest that is text makes of the text, such as the content of quotes.
        if let Ok(value) = serde_saphyr::from_str::<Value>(&text) {
            self.secrets.add(&value);
        }
        self.secrets.add(&Value::from(text.into_owned()));
    }

    /// Adds what the manifest of a Secret makes its data of, which the store holds in base64.
    fn add_data_of(&mut self, manifest: &Tree, scope: &Scope) {
        if !matches!(manifest.part(&["kind"]), Part::Literal(kind) if kind == SECRET) {
            return;
        }
        for key in DATA {
            let data = manifest.keep(&[&[key]]);
            data.templates().into_iter().for_each(|template| self.add_text_of(template, scope));
        }
    }

    fn add_built(&mut self, node: &PayloadNode, scope: &Scope) {
        match node {
            PayloadNode::Literal(_) => {}
            PayloadNode::Text(template) => self.add_rendered(template, scope),
            PayloadNode::List(nodes) => nodes.iter().for_each(|node| self.add_built(node, scope)),
            PayloadNode::Map(entries) => entries.iter().for_each(|(_, node)| self.add_built(node, scope)),
            PayloadNode::Lookup { source: PayloadSource::Field(_), .. } => {}
            PayloadNode::Lookup { source: PayloadSource::Expression(expression), .. } => {
                if scope.secret_paths().are_read_by(expression)
                    && let Ok(Some(answer)) = expression.evaluate_typed(scope)
                {
                    self.secrets.add(&answer.value);
                }
            }
        }
    }

    /// Adds the data of a Secret, wherever it is in an object.
    fn add_data(&mut self, object: &Value) {
        match object {
            Value::Object(members) => {
                for (key, member) in members {
                    if is_data(members, key) { self.secrets.add(member) } else { self.add_data(member) }
                }
            }
            Value::Array(items) => items.iter().for_each(|item| self.add_data(item)),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }

    /// The text without secrets.
    #[must_use]
    pub fn text<'t>(&self, text: &'t str) -> Cow<'t, str> {
        self.secrets.text(text)
    }

    /// Removes secrets from the body of a request or response, which is mostly JSON: there, also short ones are found.
    pub fn body(&self, body: &mut String) {
        let value = serde_json::from_str::<Value>(body).ok();
        let redacted =
            value.as_ref().map(|value| self.value(value)).filter(|redacted| Some(redacted) != value.as_ref());
        *body = redacted.map_or_else(|| self.text(body).into_owned(), |redacted| redacted.to_string());
    }

    /// The value without secrets.
    #[must_use]
    pub fn value(&self, value: &Value) -> Value {
        self.beside(value, None)
    }

    /// The value without secrets, which says where a secret differs from the one in `before`.
    #[must_use]
    pub fn beside(&self, value: &Value, before: Option<&Value>) -> Value {
        match value {
            Value::String(text) => match self.text(text) {
                Cow::Borrowed(kept) if kept == text => value.clone(),
                _ if before.is_some_and(|before| before != value) => Value::from(CHANGED),
                redacted => Value::from(redacted.into_owned()),
            },
            Value::Array(items) => {
                let before = |index: usize| before.and_then(|before| before.get(index));
                items.iter().enumerate().map(|(index, item)| self.beside(item, before(index))).collect()
            }
            Value::Object(members) => {
                let member = |(key, member): (&String, &Value)| {
                    let before = before.and_then(|before| before.get(key));
                    let member = if is_data(members, key) || key == LAST_APPLIED {
                        concealed(member, before)
                    } else {
                        self.beside(member, before)
                    };
                    (key.clone(), member)
                };
                Value::Object(members.iter().map(member).collect())
            }
            Value::Number(number) if self.secrets.contain_number(number) => Value::from(REDACTED),
            Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
        }
    }
}

/// Whether a key of a mapping is the data of a Secret.
fn is_data(members: &Map<String, Value>, key: &str) -> bool {
    DATA.contains(&key) && members.get("kind").and_then(Value::as_str) == Some(SECRET)
}

/// A value with every text in it concealed.
pub fn concealed(value: &Value, before: Option<&Value>) -> Value {
    match value {
        Value::Object(members) => {
            let before = |key: &String| before.and_then(|before| before.get(key));
            Value::Object(members.iter().map(|(key, value)| (key.clone(), concealed(value, before(key)))).collect())
        }
        _ if before.is_some_and(|before| before != value) => Value::from(CHANGED),
        _ => Value::from(REDACTED),
    }
}

#[cfg(test)]
mod tests;
