//! The manifests that a task writes: those of entries, those of bundles with the items of lists, and those inside of a
//! `ManifestWork`.
//!
//! In: a task. Out: a [`WrittenObject`] for each manifest whose structure no event decides, with its place in the task file. What is
//! true of a manifest is true wherever it stands, so each lint of manifests takes them from here. Nothing fails.

use std::borrow::Cow;

use lifecycle_config::document::{Document, Path};
use lifecycle_core::task::{Manifest, Resource, Task};
use lifecycle_language::template::{Part, Tree};
use lifecycle_objects::id::GroupVersionKind;
use lifecycle_objects::object_ref::ObjectRef;

/// The keys of a `ManifestWork` that lead to its manifests.
const CONTENT: [&str; 3] = ["spec", "workload", "manifests"];

/// A manifest that a task writes.
#[derive(Debug)]
pub struct WrittenObject<'t> {
    /// The entry that writes the manifest.
    pub resource: &'t Resource,
    /// Who writes the object to its cluster.
    pub role: Role,
    /// The manifest. That of a `ManifestWork` holds its content, too.
    pub tree: Cow<'t, Tree>,
    /// The kind; none if only an event tells.
    pub kind: Option<GroupVersionKind>,
    place: Path,
    is_inline: bool,
}

/// Who writes the object of a manifest to its cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// An entry writes its one object.
    Entry,
    /// A bundle writes its members.
    Member,
    /// The agent of another cluster writes what is inside of a `ManifestWork`.
    Nested,
}

/// The manifests that a task writes, in its order; each `ManifestWork` comes before what is inside of it.
#[must_use]
pub fn manifests(task: &Task) -> Vec<WrittenObject<'_>> {
    let resources = task.resources.iter().enumerate();
    resources.flat_map(|(index, resource)| of_resource(resource, &Path::root().key("resources").index(index))).collect()
}

fn of_resource<'t>(resource: &'t Resource, path: &Path) -> Vec<WrittenObject<'t>> {
    let object = |role, tree: Cow<'t, Tree>, manifest: &Manifest, place| {
        let kind = kind(&tree);
        WrittenObject { resource, role, tree, kind, place, is_inline: matches!(manifest, Manifest::Inline(_)) }
    };
    let written: Vec<_> = match &resource.bundle {
        None => {
            let manifest = &resource.manifest;
            manifest
                .structure()
                .map(|tree| object(Role::Entry, tree, manifest, path.key("manifest")))
                .into_iter()
                .collect()
        }
        Some(bundle) => {
            let place = path.key("bundle").key("manifests");
            let manifests = bundle.manifests.iter().enumerate();
            let members = manifests.flat_map(|(index, manifest)| {
                let place = place.index(index);
                let trees = manifest.structures().into_iter();
                trees.map(move |tree| object(Role::Member, tree, manifest, place.clone()))
            });
            members.flat_map(WrittenObject::unpacked).collect()
        }
    };
    written.into_iter().flat_map(WrittenObject::with_content).collect()
}

impl<'t> WrittenObject<'t> {
    /// The items of a list, or the object itself.
    fn unpacked(self) -> Vec<Self> {
        match self.kind {
            None => match self.elements(&["items"], Role::Member) {
                Some(items) => items.into_iter().flat_map(Self::unpacked).collect(),
                None => vec![self],
            },
            Some(_) => vec![self],
        }
    }

    /// The object, and what is inside of it.
    fn with_content(self) -> Vec<Self> {
        let content =
            self.kind.as_ref().filter(|kind| is_work(kind)).and_then(|_| self.elements(&CONTENT, Role::Nested));
        std::iter::once(self).chain(content.into_iter().flatten()).collect()
    }

    fn elements(&self, keys: &[&str], role: Role) -> Option<Vec<Self>> {
        let list = keys.iter().fold(self.place.clone(), |path, key| path.key(key));
        let elements = self.tree.elements(keys)?.into_iter().enumerate().map(|(index, tree)| Self {
            resource: self.resource,
            role,
            kind: kind(&tree),
            tree: Cow::Owned(tree),
            place: if self.is_inline { list.index(index) } else { self.place.clone() },
            is_inline: self.is_inline,
        });
        Some(elements.collect())
    }

    /// The place of a value of the object in the task file: that of the whole manifest if the file does not show the value.
    #[must_use]
    pub fn at(&self, document: &Document, path: &Path) -> Path {
        let path = self.place.join(path);
        if self.is_inline && document.node(&path).is_some() { path } else { self.place.clone() }
    }

    /// Whether the keys of the object are keys of the task file; otherwise they are in a text, or in another file.
    #[must_use]
    pub fn is_inline(&self) -> bool {
        self.is_inline
    }

    /// The object in words, such as `ConfigMap n/a`; its name and namespace may be templates.
    #[must_use]
    pub fn name(&self) -> ObjectRef {
        ObjectRef::of(
            &self
                .tree
                .keep(&[&["apiVersion"], &["kind"], &["metadata", "name"], &["metadata", "namespace"]])
                .specimen(),
        )
    }

    /// What a message says before its fault: the object, if the place does not tell which one of several it is.
    #[must_use]
    pub fn subject(&self) -> String {
        if self.role == Role::Entry || self.is_inline { String::new() } else { format!("{}: ", self.name()) }
    }

    /// The variables that the object reads, each with its place; without those that what is inside of it reads.
    #[must_use]
    pub fn variables(&self) -> Vec<(String, String)> {
        let content = format!("{}[", CONTENT.join("."));
        let is_work = self.kind.as_ref().is_some_and(is_work);
        let mut variables = self.tree.variables();
        variables.retain(|(_, place)| !is_work || !place.starts_with(&content));
        variables
    }
}

/// Whether objects of this kind hold manifests for another cluster.
#[must_use]
pub fn is_work(kind: &GroupVersionKind) -> bool {
    (kind.group.as_str(), kind.kind.as_str()) == ("work.open-cluster-management.io", "ManifestWork")
}

/// The kind of a manifest; none if only an event tells, and for a list of objects.
#[must_use]
pub fn kind(tree: &Tree) -> Option<GroupVersionKind> {
    let literal = |key: &str| match tree.part(&[key]) {
        Part::Literal(value) => value.as_str(),
        Part::Absent | Part::Template(_) | Part::Uncertain => None,
    };
    let kind = GroupVersionKind::new(literal("apiVersion")?, literal("kind")?);
    // What the items of a list are is known only once they are rendered.
    let is_list = kind.kind.ends_with("List") && !matches!(tree.part(&["items"]), Part::Absent);
    (kind.kind != "List" && !is_list).then_some(kind)
}
