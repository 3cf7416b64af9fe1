//! The fields that somebody changed in a live object.
//!
//! In: two states of a live object. Out: the fields that differ, as paths. What a server or the adapter's stamp changes from write to write
//! does not count. Nothing here fails.

use std::fmt::Write as _;

use lifecycle_objects::keys;
use lifecycle_objects::server_set;
use serde_json::Value;

/// The annotations that the adapter itself changes from write to write.
const STAMPED: [&str; 3] = [keys::GENERATION, keys::OWNERSHIP_PROOF, keys::DIGEST];

/// The fields that differ between two states of a live object, as paths. What the server or the adapter's stamp changes does
/// not count.
#[must_use]
pub fn changed_fields(before: &Value, after: &Value) -> Vec<String> {
    let mut fields = Vec::new();
    compare(before, after, &mut String::new(), &mut fields);
    fields
}

fn compare(before: &Value, after: &Value, path: &mut String, fields: &mut Vec<String>) {
    let (Value::Object(old), Value::Object(new)) = (before, after) else {
        if before != after {
            fields.push(path.clone());
        }
        return;
    };
    let added = new.keys().filter(|key| !old.contains_key(*key));
    for key in old.keys().chain(added) {
        let is_servers = path == "metadata" && server_set::METADATA.contains(&key.as_str());
        let is_stamped = path == "metadata.annotations" && STAMPED.contains(&key.as_str());
        if is_servers || is_stamped {
            continue;
        }
        let length = path.len();
        let dot = if path.is_empty() { "" } else { "." };
        let _ = write!(path, "{dot}{key}");
        if path != "status" {
            compare(old.get(key).unwrap_or(&Value::Null), new.get(key).unwrap_or(&Value::Null), path, fields);
        }
        path.truncate(length);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn changed_fields_are_named_by_their_paths() {
        let before = json!({
            "metadata": { "resourceVersion": "1", "labels": { "a": "1" }, "annotations": { keys::GENERATION: "1" } }, "spec": { "replicas": 2, "list": [1] },
            "status": { "ready": 1 },
        });
        let after = json!({
            "metadata": { "resourceVersion": "2", "labels": { "a": "1" }, "annotations": { keys::GENERATION: "2" } }, "spec": { "replicas": 3, "list": [2], "new": {} },
            "status": { "ready": 2 },
        });
        assert_eq!(changed_fields(&before, &after), ["spec.list", "spec.replicas", "spec.new"]);
        assert!(changed_fields(&before, &before).is_empty());
    }
}
