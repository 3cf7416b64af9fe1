//! Creates objects anew that the sweeper deleted, from the audit file.
//!
//! In: the lines of the file, and which objects to restore. Out: one line for each object, and whether all of them
//! exist now. Fails: if the file cannot be read, or the lines cannot be written.
//!
//! A restored object has another UID, and neither the status nor the owners of the deleted one. A volume, a Pod's
//! logs, and the unlabelled content of a namespace do not come back. Objects that exist are left alone, so a second
//! run creates what the first one could not: objects of a custom kind, whose definition takes a moment to be served.

mod manifest;

use std::collections::BTreeMap;
use std::io::{self, Write};

use lifecycle_objects::destination::Destination;
use lifecycle_objects::id::GroupVersionKind;
use lifecycle_objects::object_ref::ObjectRef;
use serde_json::Value;

use crate::audit::{Action, Line, Record, SECRET_DATA};
use crate::objects::Objects;

/// Which deleted objects to restore: those that satisfy every condition.
#[derive(Debug, Clone, Default, PartialEq, Eq, clap::Args)]
pub struct Selection {
    /// Only objects that were deleted with this plan.
    #[arg(long)]
    pub plan: Option<String>,
    /// Only objects of this API resource.
    #[arg(long, value_name = "ID")]
    pub resource_id: Option<String>,
    /// Only this object, such as `ConfigMap team-a/settings`.
    #[arg(long)]
    pub object: Option<String>,
}

impl Selection {
    fn covers(&self, record: &Record, object: &ObjectRef) -> bool {
        let is = |wanted: &Option<String>, found: &str| wanted.as_ref().is_none_or(|wanted| wanted == found);
        is(&self.plan, &record.plan)
            && is(&self.resource_id, &record.resource_id)
            && is(&self.object, &object.to_string())
    }
}

/// The deleted objects of an audit file.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Deleted {
    objects: Vec<Recorded>,
    /// The lines that are no whole record: their number, and what is wrong.
    pub unreadable: Vec<(usize, String)>,
}

/// The record of one deleted object.
#[derive(Debug, Clone, PartialEq)]
struct Recorded {
    destination: Destination,
    object: ObjectRef,
    manifest: Value,
    omitted: Vec<String>,
}

/// Kinds that others need, and which are restored before them in this order.
const FIRST: [(&str, &str); 3] =
    [("", "Namespace"), ("apiextensions.k8s.io", "CustomResourceDefinition"), ("", "ServiceAccount")];

impl Deleted {
    /// Reads the objects that were deleted, or may have been: a deletion without the record of its result was sent
    /// when the program died, or was about to be. Of several deletions of one name, the last counts.
    ///
    /// # Errors
    ///
    /// The file cannot be read.
    pub fn of(lines: impl Iterator<Item = io::Result<Line>>, selection: &Selection) -> io::Result<Self> {
        let mut unreadable = Vec::new();
        // By UID, as a namesake is another object: deletions without a result so far, and deletions.
        let (mut open, mut deleted) = (BTreeMap::new(), BTreeMap::new());
        for (position, line) in lines.enumerate() {
            let record = match line? {
                Line::Record(record) => record,
                Line::Unreadable { number, why } => {
                    unreadable.push((number, why));
                    continue;
                }
            };
            let object = ObjectRef {
                kind: GroupVersionKind::new(&record.object.api_version, &record.object.kind),
                namespace: record.object.namespace.clone(),
                name: record.object.name.clone(),
            };
            if !selection.covers(&record, &object) {
                continue;
            }
            let Record { object: identity, action, .. } = *record;
            match action {
                Action::Delete { manifest, omitted } => {
                    let destination = identity.destination();
                    open.insert(identity.uid, (position, Recorded { destination, object, manifest, omitted }));
                }
                Action::Result { may_be_deleted, .. } => {
                    if let Some(recorded) = open.remove(&identity.uid)
                        && may_be_deleted
                    {
                        deleted.insert(identity.uid, recorded);
                    }
                }
            }
        }
        deleted.extend(open);
        let mut found: Vec<_> = deleted.into_values().collect();
        found.sort_by_key(|(position, _)| *position);
        let mut last = BTreeMap::new();
        for (position, recorded) in found {
            let Recorded { destination, object, .. } = &recorded;
            let place = (destination.clone(), object.kind.group.clone(), object.to_string());
            last.insert(place, (position, recorded));
        }
        let mut found: Vec<_> = last.into_values().collect();
        found.sort_by_key(|(position, recorded)| (rank(&recorded.object.kind), *position));
        Ok(Self { objects: found.into_iter().map(|(_, recorded)| recorded).collect(), unreadable })
    }
}

fn rank(kind: &GroupVersionKind) -> usize {
    let is_kind = |(group, name): &(&str, &str)| kind.group == *group && kind.kind == *name;
    FIRST.iter().position(is_kind).unwrap_or(FIRST.len())
}

/// Creates the objects, one after the other, and writes a line about each. Returns whether each of them exists now.
/// With `keep_stamps`, they keep the labels and annotations of their adapter.
///
/// # Errors
///
/// A line cannot be written.
pub async fn restore(
    objects: &impl Objects,
    deleted: &Deleted,
    keep_stamps: bool,
    lines: &mut impl Write,
) -> io::Result<bool> {
    let mut is_complete = begin(deleted, keep_stamps, lines)?;
    for recorded in &deleted.objects {
        let created = create(objects, recorded, keep_stamps).await;
        is_complete &= created.is_ok();
        report(recorded, created, lines)?;
    }
    Ok(is_complete)
}

/// Writes the manifests to `out`, as one JSON document each, and creates nothing. Returns whether each object can be
/// created from its record.
///
/// # Errors
///
/// A manifest or a line cannot be written.
pub fn print(deleted: &Deleted, keep_stamps: bool, out: &mut impl Write, lines: &mut impl Write) -> io::Result<bool> {
    let mut is_complete = begin(deleted, keep_stamps, lines)?;
    for recorded in &deleted.objects {
        if let Err(why) = check_data(recorded) {
            is_complete = false;
            report(recorded, Err(why), lines)?;
            continue;
        }
        serde_json::to_writer_pretty(&mut *out, &manifest::creatable(&recorded.manifest, keep_stamps))?;
        writeln!(out)?;
    }
    Ok(is_complete)
}

fn begin(deleted: &Deleted, keep_stamps: bool, lines: &mut impl Write) -> io::Result<bool> {
    for (number, why) in &deleted.unreadable {
        writeln!(lines, "warning: line {number} is no whole record: {why}")?;
    }
    if deleted.objects.is_empty() {
        writeln!(lines, "no record of a deleted object matches")?;
        return Ok(false);
    }
    if keep_stamps {
        writeln!(
            lines,
            "warning: the objects keep the labels of their adapter, so the sweeper deletes them again once `grace` \
             has passed, unless their API resource exists by then"
        )?;
    }
    Ok(true)
}

/// Creates one object if its name is free; says what became of it. The answer to a creation does not tell: the API
/// server refuses a Service that exists because its address is taken.
async fn create(objects: &impl Objects, recorded: &Recorded, keep_stamps: bool) -> Result<String, String> {
    check_data(recorded)?;
    let object = &recorded.object;
    if let Some(live) = objects.read(&recorded.destination, object).await.map_err(|error| error.message)? {
        return match live.pointer("/metadata/deletionTimestamp") {
            None | Some(Value::Null) => Ok(format!("exists {object}: left alone")),
            Some(_) => Err("it is still being deleted; restore it once it is gone".to_owned()),
        };
    }
    let mut manifest = manifest::creatable(&recorded.manifest, keep_stamps);
    if recorded.destination != Destination::ThisCluster {
        // It says which source of Maestro wrote the work.
        manifest["metadata"]["uid"] = recorded.manifest["metadata"]["uid"].clone();
    }
    let created = objects.create(&recorded.destination, &manifest).await;
    created.map(|_| format!("created {object}{}", note(&object.kind))).map_err(|error| error.message)
}

fn report(recorded: &Recorded, result: Result<String, String>, lines: &mut impl Write) -> io::Result<()> {
    let line = result.unwrap_or_else(|why| format!("failed {}: {why}", recorded.object));
    writeln!(lines, "{line}")
}

/// Refuses a Secret, or a work with one in it, whose data the record lacks. An empty Secret would look restored, and break its readers later.
fn check_data(recorded: &Recorded) -> Result<(), String> {
    let is_data = |field: &String| SECRET_DATA.contains(&field.rsplit('.').next().unwrap_or_default());
    if recorded.omitted.iter().any(is_data) {
        return Err("its data were not recorded, as `audit.secrets` was not set when it was deleted".to_owned());
    }
    Ok(())
}

/// What else there is to know about a restored object of this kind.
fn note(kind: &GroupVersionKind) -> &'static str {
    match (kind.group.as_str(), kind.kind.as_str()) {
        ("batch", "Job") => "; it runs again, from its beginning",
        ("", "PersistentVolumeClaim") => {
            "; if it names a volume, it waits until that volume's `claimRef` no longer names the deleted claim"
        }
        _ => "",
    }
}

#[cfg(test)]
mod tests;
