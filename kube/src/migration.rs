//! Migrates `metadata.managedFields`, so that an apply can remove fields that the same program created by a POST, or
//! that kubectl set.
//!
//! The API server records the fields of a POST in an entry with the operation `Update`. A later apply by the
//! same field manager adds an entry with the operation `Apply`, and the `Update` entry stays. So the apply
//! would never remove a field that the manifest no longer contains: the `Update` entry still owns it. The
//! migration merges the `Update` entries into the `Apply` entry; from then on an apply removes such fields.
//!
//! The same list says nothing of the data that an apply with `stringData` set in a Secret ([`texts_to_data`]); and it says that the
//! values which `kubectl apply` copied to an annotation of a Secret are kubectl's ([`last_applied_to`]).
//!
//! In: the list `metadata.managedFields`. Out: the migrated list. Pure. Entries of subresources, of other
//! managers and of other API versions stay unchanged; a field name of one API version may mean another field
//! in the next.

use lifecycle_objects::id::GroupVersionKind;
use lifecycle_objects::keys::LAST_APPLIED;
use lifecycle_objects::secret::is_kind_of_secrets;
use serde_json::{Map, Value, json};

use crate::field_set::{remove, unite};
use crate::overlay::Owners;

/// Whose fields become those of the next apply, which removes the ones that its manifest lacks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Takeover {
    /// Those that the field manager, or one of its former names, wrote with the operation `Update`.
    Own,
    /// Those, and all of field managers whose name begins with `kubectl`: of people, and of their scripts.
    OwnAndKubectl,
}

/// Merges the `Update` entries of `manager` and of its `former` names, and what else `takeover` names, into the `Apply` entry of
/// `manager`.
///
/// Returns `None` if there is no entry to merge.
pub(crate) fn migrate(managed_fields: &Value, manager: &str, former: &[&str], takeover: Takeover) -> Option<Value> {
    let entries = managed_fields.as_array()?;
    let whose = Whose { manager, former, takeover };
    let is_applied = |entry: &Value| whose.is_applied(entry);
    let is_updated = |entry: &Value| whose.is_updated(entry);

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
    // Times are RFC 3339 in UTC, so the latest is the greatest string.
    if let Some(time) = migrated.iter().filter_map(|entry| entry.get("time")?.as_str()).max() {
        merged["time"] = time.into();
    }
    kept.insert(0, &merged);
    Some(kept.into_iter().cloned().collect())
}

/// Says who set which fields: the field manager, as `takeover` counts, in any version; and all others.
pub(crate) fn owners(managed_fields: &Value, manager: &str, former: &[&str], takeover: Takeover) -> Owners {
    let whose = Whose { manager, former, takeover };
    let (mut own, mut others) = (Map::new(), Map::new());
    for entry in managed_fields.as_array().into_iter().flatten() {
        let Some(fields) = entry.get("fieldsV1").and_then(Value::as_object) else { continue };
        let is_own = whose.is_applied(entry) || whose.is_updated(entry);
        unite(if is_own { &mut own } else { &mut others }, fields);
    }
    Owners { own: own.into(), others: others.into() }
}

/// Whose fields count as those of the field manager.
#[derive(Clone, Copy)]
struct Whose<'a> {
    manager: &'a str,
    former: &'a [&'a str],
    takeover: Takeover,
}

impl Whose<'_> {
    fn is_applied(self, entry: &Value) -> bool {
        is_main(entry) && text(entry, "operation") == "Apply" && text(entry, "manager") == self.manager
    }

    fn is_updated(self, entry: &Value) -> bool {
        let writer = text(entry, "manager");
        let is_writer = writer == self.manager || self.former.contains(&writer);
        let is_own = text(entry, "operation") == "Update" && is_writer;
        let is_kubectls = self.takeover == Takeover::OwnAndKubectl && writer.starts_with("kubectl");
        is_main(entry) && (is_own || is_kubectls)
    }
}

fn is_main(entry: &Value) -> bool {
    text(entry, "subresource").is_empty()
}

/// Turns what `manager` applied as `stringData` of a Secret into `data`, so that a write can remove a key that the manifest no
/// longer contains, and keep a key of another manager.
///
/// The API server moves `stringData` to `data`, and leaves `managedFields` as if it had not: nobody owns the data that an
/// apply with `stringData` set. Without a manager, it turns what each of them applied. Returns `None` if there is none, and for other
/// kinds.
pub(crate) fn texts_to_data(kind: &GroupVersionKind, managed_fields: &Value, manager: Option<&str>) -> Option<Value> {
    if !is_kind_of_secrets(kind) {
        return None;
    }
    let is_one = |entry: &Value| manager.is_none_or(|manager| text(entry, "manager") == manager);
    let is_applied = |entry: &Value| text(entry, "operation") == "Apply" && is_one(entry);
    let mut entries = managed_fields.as_array()?.clone();
    let owned = entries.iter_mut().filter(|entry| is_applied(entry)).filter_map(|entry| entry.get_mut("fieldsV1"));
    let mut found = false;
    for fields in owned.filter_map(Value::as_object_mut) {
        if let Some(texts) = fields.remove("f:stringData") {
            found = true;
            unite(fields, &Map::from_iter([("f:data".to_owned(), texts)]));
        }
    }
    found.then_some(Value::Array(entries))
}

/// Makes the annotation in which `kubectl apply` keeps the values of a Secret the manager's own, so that a write without the
/// annotation removes it: an adopted Secret would show its former values for ever.
///
/// Returns `None` if nobody else owns such an annotation, and for other kinds.
pub(crate) fn last_applied_to(kind: &GroupVersionKind, managed_fields: &Value, manager: &str) -> Option<Value> {
    if !is_kind_of_secrets(kind) {
        return None;
    }
    let is_own = |entry: &Value| Whose { manager, former: &[], takeover: Takeover::Own }.is_applied(entry);
    let last_applied = format!("f:{LAST_APPLIED}");
    let mut entries = managed_fields.as_array()?.clone();
    let mut taken = None;
    for entry in entries.iter_mut().filter(|entry| !is_own(entry)) {
        let (api_version, time) = (entry.get("apiVersion").cloned(), entry.get("time").cloned());
        let Some(fields) = entry.get_mut("fieldsV1").and_then(Value::as_object_mut) else { continue };
        if remove(fields, &["f:metadata", "f:annotations", &last_applied]) {
            taken = api_version.zip(time).or(taken);
        }
    }
    let (api_version, time) = taken?;
    entries.retain(|entry| entry["fieldsV1"].as_object().is_none_or(|fields| !fields.is_empty()));
    let fields = json!({ "f:metadata": { "f:annotations": { last_applied: {} } } });
    let own = entries.iter_mut().find(|entry| is_own(entry)).and_then(|entry| entry["fieldsV1"].as_object_mut());
    match (own, fields.as_object()) {
        (Some(own), Some(fields)) => unite(own, fields),
        _ => entries.insert(0, json!({
            "manager": manager, "operation": "Apply", "apiVersion": api_version, "time": time, "fieldsType": "FieldsV1",
            "fieldsV1": fields,
        })),
    }
    Some(Value::Array(entries))
}

fn text<'a>(entry: &'a Value, key: &str) -> &'a str {
    entry.get(key).and_then(Value::as_str).unwrap_or_default()
}

#[cfg(test)]
mod tests;
