//! What service accounts did, by the API server's audit log, and what their roles allow.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};
use serde_json::Value;

/// A verb on a resource: `create batch/jobs`.
pub(crate) type Use = String;

/// The requests of a service account: those that were allowed, and those that were refused.
#[derive(Debug, Default)]
pub(crate) struct Requests {
    pub(crate) allowed: BTreeSet<Use>,
    pub(crate) refused: BTreeSet<Use>,
}

/// Reads the requests of a service account.
pub(crate) fn requests(log: &Path, namespace: &str, account: &str) -> Result<Requests> {
    let user = format!("system:serviceaccount:{namespace}:{account}");
    let mut requests = Requests::default();
    for line in fs::read_to_string(log).context("there is no audit log")?.lines() {
        let entry: Value = serde_json::from_str(line)?;
        // Discovery of kinds and versions is everybody's right.
        if entry["user"]["username"] != *user || entry["objectRef"]["resource"].is_null() {
            continue;
        }
        let text = |key: &str| entry["objectRef"][key].as_str().unwrap_or_default();
        let used = name(entry["verb"].as_str().unwrap_or_default(), text("apiGroup"), text("resource"));
        let is_refused = entry["annotations"]["authorization.k8s.io/decision"] != "allow";
        if is_refused { &mut requests.refused } else { &mut requests.allowed }.insert(used);
    }
    Ok(requests)
}

/// What rules allow.
pub(crate) fn granted(rules: &[Value]) -> BTreeSet<Use> {
    let texts = |value: &Value| -> Vec<String> {
        let texts = value.as_array().into_iter().flatten().filter_map(|text| text.as_str().map(str::to_owned));
        texts.collect()
    };
    let mut granted = BTreeSet::new();
    for rule in rules {
        for group in texts(&rule["apiGroups"]) {
            for resource in texts(&rule["resources"]) {
                granted.extend(texts(&rule["verbs"]).iter().map(|verb| name(verb, &group, &resource)));
            }
        }
    }
    granted
}

fn name(verb: &str, group: &str, resource: &str) -> Use {
    format!("{verb} {group}/{resource}")
}
