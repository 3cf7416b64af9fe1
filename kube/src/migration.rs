//! The migration of managed fields: what was written by a POST becomes part of the applied configuration.
//!
//! The server books the fields of a POST under operation Update. A later apply by the same manager owns its
//! fields *beside* that entry, so that a field which the manifest drops would stay for ever: the old entry still
//! claims the field. The migration merges such entries into the Apply entry, once; from then on the apply removes what the
//! manifest no longer names. Pure: `metadata.managedFields` goes in and comes out.
//!
//! Entries of subresources, of other managers and of other API versions are left as they are: field names of one
//! version mean nothing in another.

use serde_json::{Map, Value, json};

/// Merges the Update entries of `manager` and of its `former` names into the Apply entry of `manager`.
///
/// Returns none if there is nothing to migrate.
pub(crate) fn migrate(managed_fields: &Value, manager: &str, former: &[&str]) -> Option<Value> {
    let entries = managed_fields.as_array()?;
    let is_main = |entry: &Value| text(entry, "subresource").is_empty();
    let is_applied =
        |entry: &Value| is_main(entry) && text(entry, "operation") == "Apply" && text(entry, "manager") == manager;
    let is_updated = |entry: &Value| {
        let writer = text(entry, "manager");
        is_main(entry) && text(entry, "operation") == "Update" && (writer == manager || former.contains(&writer))
    };

    let applied = entries.iter().find(|entry| is_applied(entry));
    let version = text(applied.or_else(|| entries.iter().find(|entry| is_updated(entry)))?, "apiVersion");
    let (migrated, mut kept): (Vec<&Value>, Vec<&Value>) = entries
        .iter()
        .partition(|entry| text(entry, "apiVersion") == version && (is_updated(entry) || is_applied(entry)));
    if !migrated.iter().any(|entry| is_updated(entry)) {
        return None;
    }

    let mut fields = Map::new();
    for entry in &migrated {
        if let Some(owned) = entry.get("fieldsV1").and_then(Value::as_object) {
            unite(&mut fields, owned);
        }
    }
    let mut merged = json!({
        "manager": manager,
        "operation": "Apply",
        "apiVersion": version,
        "fieldsType": "FieldsV1",
        "fieldsV1": fields,
    });
    // RFC 3339 in UTC: the latest sorts last.
    if let Some(time) = migrated.iter().filter_map(|entry| entry.get("time")?.as_str()).max() {
        merged["time"] = time.into();
    }
    kept.insert(0, &merged);
    Some(kept.into_iter().cloned().collect())
}

/// Adds the set `other` to the set `fields`.
///
/// A set is a tree whose empty nodes are members. A node with children is itself a member only if it has the
/// child `.`, which therefore appears where one side names the node alone and the other what is below it.
fn unite(fields: &mut Map<String, Value>, other: &Map<String, Value>) {
    for (path, below) in other {
        let Some(below) = below.as_object() else { continue };
        match fields.get_mut(path).and_then(Value::as_object_mut) {
            None => {
                fields.insert(path.clone(), Value::Object(below.clone()));
            }
            Some(known) => {
                if known.is_empty() != below.is_empty() {
                    known.insert(".".to_owned(), json!({}));
                }
                unite(known, below);
            }
        }
    }
}

fn text<'a>(entry: &'a Value, key: &str) -> &'a str {
    entry.get(key).and_then(Value::as_str).unwrap_or_default()
}

#[cfg(test)]
mod tests;
