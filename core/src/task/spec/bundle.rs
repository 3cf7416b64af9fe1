//! The key `bundle` of an entry: many objects that the adapter keeps as one set.

use lifecycle_config::decode::DURATION;
use schemars::JsonSchema;
use serde::Deserialize;

use super::ManifestSpec;

/// Many objects that the adapter keeps as one set.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BundleSpec {
    /// The manifests of the bundle's objects. Each is a mapping with one object, a block of text, or `{ ref: file }`; text may
    /// hold many YAML documents, separated by `---`. All strings are templates, but for `kind` and `apiVersion` of a mapping. A
    /// `List` stands for its `items`, and a document that renders to nothing is left out.
    pub manifests: Vec<ManifestSpec>,
    /// The policies of objects whose annotations say nothing else.
    #[serde(default)]
    pub policies: PoliciesSpec,
    /// Types that the bundle's objects introduce, as `GROUP/KIND`, beside those of its own custom resource definitions and
    /// API services: `*.monitoring.coreos.com/*`. Objects of these types are applied after, and deleted before, the others.
    #[serde(default)]
    pub managed_types: Vec<String>,
    /// When objects are ready, in place of the rules for their kinds. The first rule about an object decides.
    #[serde(default)]
    pub ready: Vec<ReadySpec>,
    /// The prefix of the annotations with which a manifest sets the policies and the order of its own object, such as
    /// `hyperfleet.io/apply-order`; `hyperfleet.io` by default. Write the prefix of another tool for manifests that were written for
    /// that tool.
    pub annotation_prefix: Option<String>,
    /// The namespace of the bundle's parent, and of namespaced objects that name none; a template. `default` by default.
    pub namespace: Option<String>,
    /// The name of the bundle's parent; a template. By default `{{ .adapter.name }}-ENTRY-{{ .event.id }}`, where `ENTRY` is
    /// the entry's name in lower case, with `-` in place of `_`.
    pub name: Option<String>,
}

/// When objects of one kind are ready.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReadySpec {
    /// The kind of the objects with its API group, such as `Prometheus.monitoring.coreos.com`, or `ConfigMap`.
    pub kind: String,
    /// The name of the only object that the rule is about; all objects of the kind by default.
    pub name: Option<String>,
    /// A CEL expression over the live object, `object`, that holds once the object is ready. An object without the fields that
    /// it reads is not ready yet.
    pub expression: String,
}

/// The policies of a bundle's objects. An object's own annotations, such as `hyperfleet.io/update-policy`, take precedence.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PoliciesSpec {
    /// What the adapter may do with an object that exists before the bundle wrote it: `if-unowned`, the default, adopts an
    /// object that nobody owns; `always` adopts any object, `never` none.
    pub adoption: Option<String>,
    /// What counts as a change, after which the object is applied again: `on-object-change`, the default,
    /// `on-object-or-component-change`, which includes a new generation of the API resource, or `once`, by which an object that was
    /// written stays as it is.
    pub reconcile: Option<String>,
    /// How an object is changed: `apply`, the default, by a forced server-side apply; `apply-override` takes the fields of
    /// kubectl over before that; `replace` by a PUT of the live object with the fields of the manifest; `recreate` deletes the object and creates it again.
    pub update: Option<String>,
    /// What happens to an object that left the manifests, and to all objects when the bundle is deleted: `delete`, the
    /// default, or `orphan`, which disowns the object. `orphan-on-apply` disowns only objects that left the manifests, and
    /// `orphan-on-delete` only those of a deleted bundle.
    pub delete: Option<String>,
    /// The time after which an unchanged object is applied again, such as `24h`; `60m` by default. Zero applies it at every
    /// event.
    #[schemars(extend("format" = DURATION))]
    pub reapply: Option<String>,
    /// What the adapter does about a namespace that an object names and that neither exists nor is in the bundle: `create`,
    /// the default, or `ignore`, with which the object fails.
    #[serde(default)]
    pub missing_namespaces: MissingNamespacesSpec,
}

/// What the adapter does about a namespace that an object of a bundle names and that does not exist.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MissingNamespacesSpec {
    /// The adapter creates the namespace.
    #[default]
    Create,
    /// The adapter leaves the namespace missing.
    Ignore,
}
