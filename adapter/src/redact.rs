//! Keeps secrets, those of Secrets and of the environment, out of traces, and out of what logs, errors and reports tell of
//! a server's refusal, which may quote them.
//!
//! In: the task, the variables at the end of a pass, and the objects of the store. Out: a [`Redactor`], which
//! replaces secrets in texts, values and objects. Secret are the values of `env` and of the variables that come
//! from it, from files or from redacted parts of the configuration ([`Scope::is_concealed`]); what a template or
//! expression of a manifest, patch, payload or post action makes of them; and the data of Secrets. Not found is
//! what a function makes of a secret in a manifest that is text with actions between its lines.

use std::borrow::Cow;
use std::collections::BTreeSet;

use lifecycle_core::task::{Manifest, PayloadNode, PayloadSource, Task};
use lifecycle_language::scope::Scope;
use lifecycle_language::template::Template;
use serde_json::{Map, Value};

/// What stands in place of a secret.
pub const REDACTED: &str = "[redacted]";

/// What stands in place of a secret that differs from the one before the pass.
const CHANGED: &str = "[redacted, changed]";

/// The shortest secret that is also looked for inside of longer texts. Shorter ones, such as `eu`, are parts of
/// many words; a text that is one as a whole is always redacted.
const WITHIN_TEXT: usize = 6;

/// The shortest secret; a shorter text tells nobody anything, and is in every trace.
const SHORTEST: usize = 3;

/// The annotation in which `kubectl apply` keeps the fields that it sent.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// Replaces the secrets of one pass.
#[derive(Debug, Default)]
pub struct Redactor {
    /// Each secret, as text and as JSON writes the text.
    secrets: BTreeSet<String>,
}

impl Redactor {
    /// Collects the secrets of a pass.
    #[must_use]
    pub fn of<'v>(task: &Task, scope: &Scope, objects: impl IntoIterator<Item = &'v Value>) -> Self {
        let mut redactor = Self { secrets: BTreeSet::new() };
        for (_, value) in scope.variables().filter(|(name, _)| scope.is_concealed(name)) {
            redactor.add(value);
        }
        for resource in &task.resources {
            let of_bundle = resource.bundle.iter().flat_map(|bundle| &bundle.manifests).flat_map(Manifest::structures);
            for tree in resource.manifest.structure().into_iter().chain(of_bundle) {
                tree.templates().into_iter().for_each(|template| redactor.add_rendered(template, scope));
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
        redactor
    }

    /// Adds every text and number of a value.
    fn add(&mut self, value: &Value) {
        match value {
            Value::String(text) if text.trim().len() >= SHORTEST => {
                let json = Value::from(text.as_str()).to_string();
                let escaped = json.strip_prefix('"').and_then(|json| json.strip_suffix('"')).unwrap_or(&json);
                self.secrets.extend([text.trim().to_owned(), escaped.to_owned(), text.clone()]);
            }
            Value::Number(number) => self.add(&Value::from(number.to_string())),
            Value::Array(items) => items.iter().for_each(|item| self.add(item)),
            Value::Object(members) => members.values().for_each(|member| self.add(member)),
            Value::Null | Value::Bool(_) | Value::String(_) => {}
        }
    }

    fn add_rendered(&mut self, template: &Template, scope: &Scope) {
        let reads_secret =
            template.variables().iter().any(|path| scope.is_concealed(path.split('.').next().unwrap_or_default()));
        if reads_secret && let Ok(text) = template.render(scope) {
            // What a manifest that is text makes of the text, such as the content of quotes.
            if let Ok(value) = serde_saphyr::from_str::<Value>(&text) {
                self.add(&value);
            }
            self.add(&Value::from(text.into_owned()));
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
                if expression.reads_variable(&|name| scope.is_concealed(name))
                    && let Ok(Some(answer)) = expression.evaluate_typed(scope)
                {
                    self.add(&answer.value);
                }
            }
        }
    }

    /// Adds the data of a Secret, wherever it is in an object.
    fn add_data(&mut self, object: &Value) {
        match object {
            Value::Object(members) => {
                for (key, member) in members {
                    if is_data(members, key) { self.add(member) } else { self.add_data(member) }
                }
            }
            Value::Array(items) => items.iter().for_each(|item| self.add_data(item)),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }

    /// The text without secrets.
    #[must_use]
    pub fn text<'t>(&self, text: &'t str) -> Cow<'t, str> {
        if self.secrets.contains(text) {
            return Cow::Borrowed(REDACTED);
        }
        let within = self.secrets.iter().filter(|secret| secret.len() >= WITHIN_TEXT && text.contains(secret.as_str()));
        let mut found: Vec<&String> = within.collect();
        // A secret may contain another one.
        found.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
        found.iter().fold(Cow::Borrowed(text), |text, secret| Cow::Owned(text.replace(secret.as_str(), REDACTED)))
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
            Value::Number(number) if self.secrets.contains(&number.to_string()) => Value::from(REDACTED),
            Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
        }
    }
}

/// Whether a key of a mapping is the data of a Secret.
fn is_data(members: &Map<String, Value>, key: &str) -> bool {
    matches!(key, "data" | "stringData") && members.get("kind").and_then(Value::as_str) == Some("Secret")
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
