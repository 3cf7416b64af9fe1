//! A consumer's agent: what it has received, and the pretended objects that the test's driver applies for it.
//!
//! An agent has a memory of its own, apart from the server's tables: it works with the spec that it last received, and
//! hears nothing of the spec of a row that is being deleted.

use std::collections::{BTreeMap, VecDeque};

use serde_json::{Value, json};

use crate::database::{Database, manifests};

/// The most bytes of all manifests of a bundle together.
pub const LARGEST_BUNDLE: usize = 500 * 1024;

/// What an agent knows.
#[derive(Debug, Clone, Default)]
pub(crate) struct Agent {
    pub(crate) is_offline: bool,
    /// Bundles of which the agent has to hear.
    pub(crate) queue: VecDeque<String>,
    /// What the agent has received, by the bundle's id.
    pub(crate) works: BTreeMap<String, Work>,
    /// The pretended objects on the cluster.
    pub(crate) objects: BTreeMap<ObjectKey, Value>,
}

/// A bundle as the agent last received it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Work {
    pub(crate) version: i32,
    pub(crate) spec: Value,
    pub(crate) is_deleting: bool,
    /// The objects that the agent has written and not removed.
    pub(crate) applied: Vec<Applied>,
    /// Feedback values that a test gave, by object and name.
    pub(crate) feedback: BTreeMap<(ObjectKey, String), Value>,
}

/// An object that an agent has written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Applied {
    pub(crate) key: ObjectKey,
    pub(crate) api_version: String,
    /// Tells the object from a later one of the same name; none if it is only pretended.
    pub(crate) uid: Option<String>,
}

/// One object of a cluster.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ObjectKey {
    pub(crate) group: String,
    pub(crate) kind: String,
    pub(crate) namespace: String,
    pub(crate) name: String,
}

/// Why an agent does not take a bundle. The agent tells nobody.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum AgentRefusal {
    /// There is nothing to apply.
    #[error("the bundle has no manifests")]
    Empty,
    /// The manifests are larger than [`LARGEST_BUNDLE`].
    #[error("the manifests are larger than 512000 bytes")]
    TooLarge,
}

/// What an agent hears of one bundle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Heard {
    /// A spec to apply.
    Spec,
    /// A spec that the agent does not take.
    Refused(AgentRefusal),
    /// The bundle is being deleted.
    Deleting,
    /// The server does not know the bundle.
    Gone,
}

impl Agent {
    /// Tells the agent of a bundle, as the row is now.
    pub(crate) fn hear(&mut self, database: &Database, id: &str) -> Heard {
        self.queue.retain(|queued| queued != id);
        let bundle = database.bundles.get(id);
        if bundle.is_none_or(|bundle| bundle.deleted_at.is_some()) {
            // Earlier events of the bundle are skipped: the agent deletes by the spec that it has.
            if let Some(work) = self.works.get_mut(id) {
                work.is_deleting = true;
            }
        }
        let Some(bundle) = bundle else { return Heard::Gone };
        if bundle.deleted_at.is_some() {
            return Heard::Deleting;
        }
        let spec = bundle.data().cloned().unwrap_or(Value::Null);
        if let Err(refusal) = check_size(&spec) {
            return Heard::Refused(refusal);
        }
        let (applied, feedback) = self.works.remove(id).map(|work| (work.applied, work.feedback)).unwrap_or_default();
        let work = Work { version: bundle.version, spec, is_deleting: false, applied, feedback };
        self.works.insert(id.to_owned(), work);
        Heard::Spec
    }

    /// Queues every bundle of the consumer, and every one that only the agent knows: what it does after it reconnects.
    pub(crate) fn resync(&mut self, database: &Database, consumer: &str) {
        let unknown = |id: &&String| !database.bundles.contains_key(*id);
        let gone: Vec<String> = self.works.keys().filter(unknown).cloned().collect();
        // Pretended objects of bundles that the server does not know go at once: no agent is there to remove them.
        for id in &gone {
            let is_pretended = |work: &Work| work.applied.iter().all(|applied| applied.uid.is_none());
            if self.works.get(id).is_some_and(is_pretended) {
                self.remove_objects(id);
            }
        }
        let rows = database.bundles.values().filter(|bundle| bundle.consumer == consumer);
        self.queue = rows.map(|bundle| bundle.id.clone()).chain(gone).collect();
    }

    /// Whether another bundle, which stays, has the object, too.
    pub(crate) fn is_shared(&self, id: &str, key: &ObjectKey) -> bool {
        let others = self.works.iter().filter(|(other, work)| *other != id && !work.is_deleting);
        others.flat_map(|(_, work)| &work.applied).any(|applied| applied.key == *key)
    }
}

fn check_size(spec: &Value) -> Result<(), AgentRefusal> {
    let manifests = manifests(spec);
    if manifests.is_empty() {
        return Err(AgentRefusal::Empty);
    }
    let bytes: usize = manifests.iter().map(|manifest| manifest.to_string().len()).sum();
    if bytes > LARGEST_BUNDLE { Err(AgentRefusal::TooLarge) } else { Ok(()) }
}

impl ObjectKey {
    pub(crate) fn of(manifest: &Value) -> Self {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let api_version = text(&manifest["apiVersion"]);
        Self {
            group: api_version.split_once('/').map(|(group, _)| group.to_owned()).unwrap_or_default(),
            kind: text(&manifest["kind"]),
            namespace: text(&manifest["metadata"]["namespace"]),
            name: text(&manifest["metadata"]["name"]),
        }
    }
}

impl Applied {
    /// The record of an object that is only pretended.
    pub(crate) fn pretended(manifest: &Value) -> Self {
        let api_version = manifest["apiVersion"].as_str().unwrap_or_default().to_owned();
        Self { key: ObjectKey::of(manifest), api_version, uid: None }
    }
}

/// The parts of a bundle's spec that an agent asks for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Spec<'a>(pub(crate) &'a Value);

impl<'a> Spec<'a> {
    pub(crate) fn manifests(self) -> &'a [Value] {
        manifests(self.0)
    }

    /// The configuration of one manifest, by the plural of its kind.
    pub(crate) fn config(self, key: &ObjectKey, plural: &str) -> Option<&'a Value> {
        let configs = self.0.get("manifestConfigs").and_then(Value::as_array).into_iter().flatten().collect::<Vec<_>>();
        configs.into_iter().find(|config| is_same(&config["resourceIdentifier"], key, plural))
    }

    /// How the manifest is applied; `Update` by default.
    pub(crate) fn strategy(self, key: &ObjectKey, plural: &str) -> &'a str {
        let config = self.config(key, plural);
        config.and_then(|config| config["updateStrategy"]["type"].as_str()).unwrap_or("Update")
    }

    /// Whether the object stays when the bundle is deleted.
    pub(crate) fn is_orphaned(self, key: &ObjectKey, plural: &str) -> bool {
        let option = &self.0["deleteOption"];
        match option["propagationPolicy"].as_str() {
            Some("Orphan") => true,
            Some("SelectivelyOrphan") => {
                let rules = option["selectivelyOrphans"]["orphaningRules"].as_array();
                rules.into_iter().flatten().any(|rule| is_same(rule, key, plural))
            }
            _ => false,
        }
    }

    /// How the values of the object's feedback are read.
    pub(crate) fn feedback_rules(self, key: &ObjectKey, plural: &str) -> Vec<FeedbackRule<'a>> {
        let rules = self.config(key, plural).and_then(|config| config["feedbackRules"].as_array());
        let mut found = Vec::new();
        for rule in rules.into_iter().flatten() {
            match rule["type"].as_str() {
                Some("JSONPaths") => {
                    let paths = rule["jsonPaths"].as_array().into_iter().flatten();
                    found.extend(paths.filter_map(|path| {
                        Some(FeedbackRule::Path { name: path["name"].as_str()?, path: path["path"].as_str()? })
                    }));
                }
                Some("WellKnownStatus") => found.push(FeedbackRule::WellKnown),
                _ => {}
            }
        }
        found
    }
}

/// How a value gets into the feedback.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FeedbackRule<'a> {
    /// By a path in the object.
    Path {
        /// The value's name.
        name: &'a str,
        /// The path.
        path: &'a str,
    },
    /// By what the kind of object is known to have.
    WellKnown,
}

fn is_same(identifier: &Value, key: &ObjectKey, plural: &str) -> bool {
    let is = |name: &str, wanted: &str| identifier.get(name).and_then(Value::as_str).unwrap_or_default() == wanted;
    is("group", &key.group) && is("resource", plural) && is("name", &key.name) && is("namespace", &key.namespace)
}

/// The plural of a kind, by the rules that name nearly all of them: there is no API server to ask.
pub(crate) fn plural(kind: &str) -> String {
    let kind = kind.to_lowercase();
    if kind == "endpoints" {
        kind
    } else if let Some(stem) = kind.strip_suffix('y').filter(|stem| !stem.ends_with(['a', 'e', 'o', 'u'])) {
        format!("{stem}ies")
    } else if ["s", "x", "ch", "sh"].iter().any(|end| kind.ends_with(end)) {
        format!("{kind}es")
    } else {
        format!("{kind}s")
    }
}

/// A value as feedback reports it: scalars by their type, the rest as JSON in a string.
pub(crate) fn feedback_value(name: &str, value: &Value) -> Value {
    let field = match value {
        Value::String(text) => json!({ "type": "String", "string": text }),
        Value::Bool(flag) => json!({ "type": "Boolean", "boolean": flag }),
        Value::Number(number) if number.is_i64() => json!({ "type": "Integer", "integer": number }),
        other => json!({ "type": "JsonRaw", "jsonRaw": other.to_string() }),
    };
    json!({ "name": name, "fieldValue": field })
}
