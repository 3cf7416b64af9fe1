//! The objects of all workspaces, and how requests about them end.
//!
//! In: requests, one after the other. Out: answers as the server's, faults included.

use std::collections::BTreeMap;

use http::request::Parts;
use percent_encoding::percent_decode_str;
use serde_json::{Value, json};

use super::{Api, Asked, Fault, Outcome, Says};

/// The provider that each workspace has.
const PROVIDER: &str = "claude";

/// An object, and how often it was read since it was written.
#[derive(Debug)]
struct Kept {
    object: Value,
    reads: usize,
}

/// Everything that the server knows.
#[derive(Debug)]
pub(super) struct Store {
    api: Api,
    objects: BTreeMap<String, Kept>,
    pub(super) faults: Vec<Fault>,
    pub(super) asked: Vec<Asked>,
    pub(super) writes: usize,
    /// How many versions were written; UIDs are made of it too.
    versions: u64,
}

type Answer = (u16, Value);

fn refused(status: u16, reason: &str, message: String) -> Answer {
    (status, json!({ "reason": reason, "message": message }))
}

impl Store {
    pub(super) fn new(api: Api) -> Self {
        Self { api, objects: BTreeMap::new(), faults: Vec::new(), asked: Vec::new(), writes: 0, versions: 0 }
    }

    pub(super) fn reset(&mut self) {
        *self = Self { versions: self.versions, ..Self::new(self.api) };
    }

    pub(super) fn list(&self) -> Vec<String> {
        self.objects.keys().cloned().collect()
    }

    pub(super) fn object(&self, path: &str) -> Option<Value> {
        self.objects.get(path).map(|kept| kept.object.clone())
    }

    pub(super) fn remove(&mut self, path: &str) -> bool {
        self.objects.remove(path).is_some()
    }

    /// Answers a request, and records it.
    pub(super) fn answer(&mut self, parts: &Parts, body: &[u8]) -> Outcome {
        let path = percent_decode_str(parts.uri.path()).decode_utf8_lossy().into_owned();
        let (base, health) = match self.api {
            Api::Versioned => ("/api/v1/workspaces/", false),
            Api::Current => ("/api/workspaces/", path == "/api/health"),
        };
        let place = path.strip_prefix(base).unwrap_or(&path).to_owned();
        let is_known = place != path || health;
        let mut asked = Asked {
            method: parts.method.clone(),
            path: place,
            query: parts.uri.query().unwrap_or_default().to_owned(),
            body: serde_json::from_slice(body).unwrap_or_default(),
            status: None,
        };
        let has_token = parts.headers.get("authorization").is_some_and(|it| it.as_bytes().starts_with(b"Bearer "));
        let answer = if !has_token {
            Some((401, "no token".to_owned()))
        } else if !is_known {
            Some((404, "no such API".to_owned()))
        } else {
            self.hang_or_do(&asked)
        };
        asked.status = answer.as_ref().map(|(status, _)| *status);
        self.asked.push(asked);
        Outcome { answer }
    }

    fn hang_or_do(&mut self, asked: &Asked) -> Option<(u16, String)> {
        self.writes += usize::from(asked.is_write());
        let hang = self.faults.iter().find_map(|fault| match fault {
            Fault::HangAfter(writes) => Some(*writes),
            Fault::Answer { .. } | Fault::Agent { .. } => None,
        });
        let hang = hang.filter(|after| asked.is_write() && self.writes >= *after);
        if hang.is_some_and(|after| self.writes > after) {
            return None;
        }
        let answer = self.scripted(asked).unwrap_or_else(|| {
            let (status, body) = self.handle(asked);
            (status, if body.is_null() { String::new() } else { body.to_string() })
        });
        hang.is_none().then_some(answer)
    }

    /// The answer of the first fault that the request meets.
    fn scripted(&mut self, asked: &Asked) -> Option<(u16, String)> {
        self.faults.iter_mut().find_map(|fault| {
            let Fault::Answer { method, path, status, body, times } = fault else { return None };
            let is_met =
                asked.path.ends_with(path.as_str()) || asked.path.split('/').any(|segment| segment == path.as_str());
            if *method != asked.method.as_str() || !is_met || *times == Some(0) {
                return None;
            }
            *times = times.map(|left| left - 1);
            Some((*status, body.clone()))
        })
    }

    fn handle(&mut self, asked: &Asked) -> Answer {
        let segments: Vec<_> = asked.path.split('/').collect();
        match (asked.method.as_str(), segments.as_slice()) {
            ("GET", ["", "api", "health"] | [_, "health"]) => (200, json!({ "status": "ok" })),
            ("GET", [_, "providers"]) => (200, json!([provider()])),
            ("GET", [_, "providers", name]) if *name == PROVIDER => (200, provider()),
            (_, [_, "providers", ..]) => refused(404, "NotFound", "no such provider".to_owned()),
            (_, [_, collection, ..]) if !self.has(collection) => refused(404, "NotFound", "no such collection".into()),
            ("GET", [workspace, collection]) => (200, self.found(&format!("{workspace}/{collection}/"), &asked.query)),
            ("POST", [_, _]) => {
                let name = asked.body["metadata"]["name"].as_str().unwrap_or_default();
                let path = format!("{}/{name}", asked.path);
                if name.is_empty() {
                    return refused(422, "Invalid", "metadata.name is required".to_owned());
                }
                if self.objects.contains_key(&path) {
                    return refused(409, "AlreadyExists", format!("{path} already exists"));
                }
                self.put(&path, asked.body.clone());
                (201, self.shown(&path))
            }
            (_, [_, _, _]) if !self.objects.contains_key(&asked.path) => {
                refused(404, "NotFound", format!("{} not found", asked.path))
            }
            ("GET", [_, _, _]) => {
                let shown = self.shown(&asked.path);
                self.objects.entry(asked.path.clone()).and_modify(|kept| kept.reads += 1);
                (200, shown)
            }
            ("PUT", [_, _, _]) => {
                self.put(&asked.path, asked.body.clone());
                (200, self.shown(&asked.path))
            }
            ("DELETE", [_, _, _]) => {
                self.remove(&asked.path);
                (204, Value::Null)
            }
            _ => refused(405, "MethodNotAllowed", format!("{} of {}", asked.method, asked.path)),
        }
    }

    fn has(&self, collection: &str) -> bool {
        match self.api {
            Api::Versioned => {
                ["configmaps", "promptpacks", "toolregistries", "agentpolicies", "agentruntimes"].contains(&collection)
            }
            Api::Current => ["promptpacks", "toolregistries", "agentpolicies", "agents"].contains(&collection),
        }
    }

    /// Writes an object: the UID stays, the generation grows if anything but metadata changes.
    pub(super) fn put(&mut self, path: &str, mut object: Value) {
        self.versions += 1;
        let version = match self.api {
            Api::Versioned => "resource_version",
            Api::Current => "resourceVersion",
        };
        let before = self.objects.get(path).map(|kept| &kept.object);
        let is_changed = |old: &Value| ["spec", "data", "content"].iter().any(|key| old.get(key) != object.get(key));
        let (uid, generation) = match before {
            Some(old) => {
                let generation = old["metadata"]["generation"].as_u64().unwrap_or_default();
                (old["metadata"]["uid"].clone(), generation + u64::from(is_changed(old)))
            }
            None => (json!(format!("uid-{}", self.versions)), 1),
        };
        object["metadata"]["uid"] = uid;
        object["metadata"]["generation"] = json!(generation);
        object["metadata"][version] = json!(self.versions.to_string());
        self.objects.insert(path.to_owned(), Kept { object, reads: 0 });
    }

    fn found(&self, prefix: &str, query: &str) -> Value {
        let selector = query.strip_prefix("labelSelector=").unwrap_or_default();
        let selector = percent_decode_str(selector).decode_utf8_lossy().into_owned();
        let wanted: Vec<_> = selector.split(',').filter_map(|pair| pair.split_once('=')).collect();
        let is_found = |object: &Value| wanted.iter().all(|(key, value)| object["metadata"]["labels"][*key] == *value);
        let of_kind = self.objects.iter().filter(|(path, kept)| path.starts_with(prefix) && is_found(&kept.object));
        of_kind.map(|(path, _)| self.shown(path)).collect()
    }

    /// An object as it is now, with what its controller says of it.
    fn shown(&self, path: &str) -> Value {
        let Some(Kept { object, reads }) = self.objects.get(path) else { return Value::Null };
        let mut object = object.clone();
        let name = match path.split('/').collect::<Vec<_>>().as_slice() {
            [_, "agents" | "agentruntimes", name] => (*name).to_owned(),
            _ => return object,
        };
        let says = self.faults.iter().find_map(|fault| match fault {
            Fault::Agent { name: of, says } if of.is_empty() || *of == name => Some(*says),
            Fault::Agent { .. } | Fault::Answer { .. } | Fault::HangAfter(_) => None,
        });
        let generation = object["metadata"]["generation"].as_u64().unwrap_or_default();
        let (phase, observed) = match says {
            None => ("Running", generation),
            Some(Says::Never) => ("Pending", generation),
            Some(Says::Failed) => ("Failed", generation),
            Some(Says::Behind(behind)) => ("Running", generation.saturating_sub(u64::from(*reads < behind))),
        };
        let ready = if phase == "Running" { "True" } else { "False" };
        let condition = json!({ "type": "Ready", "status": ready, "reason": phase, "observedGeneration": observed });
        object["status"] = json!({ "phase": phase, "observedGeneration": observed, "conditions": [condition] });
        object
    }
}

fn provider() -> Value {
    json!({ "metadata": { "name": PROVIDER }, "status": { "phase": "Ready" } })
}
