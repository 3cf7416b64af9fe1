//! Warns of discoveries and manifests that read an object which is absent when the adapter renders them.

use std::collections::{BTreeMap, BTreeSet};

use lifecycle_config::document::Path;

use super::{Linter, is_created, is_in_circle, resources};
use lifecycle_core::task::{DiscoverBy, Discovery, Manifest, NestedDiscovery, Resource, Task};
use lifecycle_language::template::Template;

const FROM_PARAMS: &str = "discover by what params say, such as the id of the event's resource";

pub(super) fn lint(linter: &mut Linter<'_>) {
    let task = linter.task;
    let entries = Entries::of(task);
    for (index, (path, resource)) in resources(task).enumerate() {
        let place = path.key("discovery");
        if is_in_circle(&entries.needs, index) {
            let (name, read) = (&resource.name, entries.read_by(index));
            let message = format!(
                "reads {read}, which is found only after `{name}` is: every event fails with `DiscoveryFailed`, and `{name}` is \
                 never created"
            );
            linter.warn(&place, message, FROM_PARAMS.to_owned());
        } else {
            entries.others(linter, index, &place);
        }
        own_object(linter, &path, resource);
    }
    for (entry, (owner, index, nested)) in nested(task).enumerate().map(|(at, it)| (task.resources.len() + at, it)) {
        // The loop above has warned of a circle that contains the resource itself.
        if is_in_circle(&entries.needs, entry) && !is_in_circle(&entries.needs, owner) {
            let (name, read) = (&nested.name, entries.read_by(entry));
            let message = format!(
                "reads {read}, which is found only after `{name}` is: it is never found, and gates that read `resources.{name}` fail"
            );
            let place = super::entry(&["resources"], owner).key("nested_discoveries").index(index).key("discovery");
            linter.warn(&place, message, FROM_PARAMS.to_owned());
        }
    }
}

/// The nested discoveries, each with the index of its resource and its index within that resource.
fn nested(task: &Task) -> impl Iterator<Item = (usize, usize, &NestedDiscovery)> {
    let resources = task.resources.iter().enumerate();
    resources.flat_map(|(owner, it)| it.nested.iter().enumerate().map(move |(index, nested)| (owner, index, nested)))
}

/// The names that `resources` can have: those of the task's resources, in order, then those of nested discoveries.
struct Entries<'t> {
    task: &'t Task,
    names: Vec<&'t str>,
    /// The index of the resource that an entry is, or that an entry is nested in.
    resource: Vec<usize>,
    /// For each entry, the entries without which its discovery does not render.
    reads: Vec<BTreeSet<usize>>,
    /// For each entry, the entries that have to be found first: `reads`, and for a nested entry the resource
    /// around it.
    needs: Vec<BTreeSet<usize>>,
}

impl<'t> Entries<'t> {
    fn of(task: &'t Task) -> Self {
        let of_resources = task.resources.iter().enumerate().map(|(at, it)| (it.name.as_str(), at, &it.discovery));
        let of_nested = nested(task).map(|(owner, _, it)| (it.name.as_str(), owner, &it.discovery));
        let all: Vec<(&str, usize, &Discovery)> = of_resources.chain(of_nested).collect();
        // A name that two entries have is left out: which of them a template reads is not known.
        let mut by_name: BTreeMap<&str, Option<usize>> = BTreeMap::new();
        for (entry, (name, ..)) in all.iter().enumerate() {
            by_name.entry(name).and_modify(|known| *known = None).or_insert(Some(entry));
        }
        let entries_of = |(_, _, discovery): &(&str, usize, &'t Discovery)| {
            let templates = discovery.templates().into_iter();
            templates.flat_map(certain_reads).filter_map(|name| *by_name.get(name)?).collect()
        };
        let reads: Vec<BTreeSet<usize>> = all.iter().map(entries_of).collect();
        let mut needs = reads.clone();
        for (entry, (_, owner, _)) in all.iter().enumerate().skip(task.resources.len()) {
            needs[entry].insert(*owner);
        }
        let names = all.iter().map(|(name, ..)| *name).collect();
        Self { task, names, resource: all.iter().map(|(_, resource, _)| *resource).collect(), reads, needs }
    }

    fn read_by(&self, entry: usize) -> String {
        let names: Vec<_> = self.reads[entry].iter().map(|&read| format!("`resources.{}`", self.names[read])).collect();
        names.join(" and ")
    }

    /// Warns of reads that fail until the other object is created, or once it is deleted.
    fn others(&self, linter: &mut Linter<'_>, index: usize, place: &Path) {
        let resource = &self.task.resources[index];
        let name = &resource.name;
        for &read in &self.reads[index] {
            let other = &self.task.resources[self.resource[read]];
            let (read, other_name) = (self.names[read], &other.name);
            if self.is_later(other, index) && is_created(self.task, other) {
                let message = format!(
                    "reads `resources.{read}`, and `{other_name}` comes later: until there is one, `{name}` fails with \
                     `DiscoveryFailed`, and what comes after `{name}` is not created"
                );
                linter.warn(place, message, format!("list `{other_name}` before `{name}`"));
            } else if other.gates.delete.is_some() {
                // The planner deletes no other object while it cannot read an object that it may have to disown.
                let others = match resource.gates.orphan {
                    Some(_) => ", and no other object of the task is deleted (`DisownPending`)",
                    None => "",
                };
                let message = format!(
                    "reads `resources.{read}`, which is absent once `{other_name}` is deleted: from the next event on, `{name}` is unread \
                     (`DiscoveryFailed`), so that `Finalized` is not True{others}"
                );
                linter.warn(place, message, FROM_PARAMS.to_owned());
            }
        }
    }

    fn is_later(&self, other: &Resource, index: usize) -> bool {
        self.task.resources.iter().skip(index + 1).any(|later| later.name == other.name)
    }
}

/// Warns of a manifest that reads its own object: it does not render while the object is absent.
fn own_object(linter: &mut Linter<'_>, path: &Path, resource: &Resource) {
    let name = resource.name.as_str();
    let is_found_by_name = matches!(resource.discovery.by, DiscoverBy::Name(_));
    if !is_found_by_name || linter.task.is_shared(name) || !is_created(linter.task, resource) {
        return;
    }
    let templates = match &resource.manifest {
        Manifest::Inline(tree) => tree.templates(),
        Manifest::Text(template) => vec![template],
    };
    if templates.into_iter().any(|template| certain_reads(template).contains(name)) {
        let message = format!(
            "reads `resources.{name}`, its own object: it cannot be rendered while `{name}` is absent, so `{name}` is never created"
        );
        let help = format!(
            "guard it: `{{{{ with index .resources \"{name}\" }}}}…{{{{ end }}}}`, or take the value from a param"
        );
        linter.warn(&path.key("manifest"), message, help);
    }
}

/// The names of the entries of `resources` that a template reads at every rendering. Rendering fails while one of them
/// is absent, so the lint warns of reads that come too early. Empty if a branch such as `if` may skip a read.
fn certain_reads(template: &Template) -> BTreeSet<&str> {
    if template.resource_reads().is_any() || template.has_branch() {
        return BTreeSet::new();
    }
    // `index .resources "job"` is the path `resources`, and no failure without a job.
    let below = template.variables().iter().filter_map(|path| path.strip_prefix("resources."));
    below.filter_map(|below| below.split('.').next()).collect()
}
