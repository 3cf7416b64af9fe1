//! Compiles `bundle`: the manifests and policies of a set of objects, and the parent, which is the entry's own object.

use std::str::FromStr as _;
use std::sync::Arc;

use jiff::Timestamp;
use lifecycle_bundle::draft::Draft;
use lifecycle_bundle::marks::ownership_labels::OwnershipLabels;
use lifecycle_bundle::member::Rendered;
use lifecycle_bundle::order::webhooks::called_by;
use lifecycle_bundle::policy::{self, Policies, Policy, Settings};
use lifecycle_bundle::prepare::{Fault, Source, prepare_in_place};
use lifecycle_bundle::setting::{Barrier, Setting};
use lifecycle_language::template::{Part, Template, Tree};
use lifecycle_objects::destination::Destination;
use lifecycle_objects::id::{Generation, GroupVersionKind};
use lifecycle_objects::identity::GroupKindError;
use lifecycle_objects::labels::is_subdomain;
use lifecycle_objects::stamp::Stamp;
use lifecycle_objects::type_pattern::TypePattern;
use serde_json::{Value, json};

use super::check::{Checker, Key, Place};
use super::manifest::{Written, read, tree};
use crate::bundle::ready::{OBJECT, Rule, Rules};
use crate::bundle::render::{faults, fill_in, is_list, item_kind, objects_of};
use crate::manifest::{document_lines, parse_all};
use crate::task::spec::{
    BundleSpec, ClientSpec, ManifestSpec, MissingNamespacesSpec, PoliciesSpec, ReadySpec, ResourceSpec,
};
use crate::task::{Bundle, DiscoverBy, Discovery, KnownObject, Manifest, Origin};

/// The prefix of annotations if the author names none: that of the adapter's own.
const PREFIX: &str = "hyperfleet.io";
/// The namespace of the parent if the author names none.
const NAMESPACE: &str = "default";

/// Keys of an entry that cannot stand beside `bundle`, each with the reason and the cure.
const REFUSED: [(&str, &str, &str); 7] = [
    (
        "manifest",
        "describes one object, and the entry's own object is the bundle's parent, which the adapter describes",
        "move the manifest into `bundle.manifests`, or remove `bundle`",
    ),
    (
        "discovery",
        "finds one object, and a bundle finds its objects itself, by its parent",
        "remove `discovery`; `bundle.name` and `bundle.namespace` place the parent",
    ),
    (
        "nested_discoveries",
        "searches inside of a discovered object, and a bundle's parent holds no objects",
        "remove `nested_discoveries`",
    ),
    (
        "adopt",
        "takes over one object, and a bundle decides for each of its objects",
        "remove `adopt`; the policy `bundle.policies.adoption` says which objects a bundle takes over",
    ),
    (
        "recreate_on_change",
        "replaces the entry's object, and a recreation of a bundle would delete all of its objects at once",
        "remove `recreate_on_change`, and write `bundle: {policies: {update: recreate}}` to replace single objects",
    ),
    (
        "owner",
        "lets Kubernetes delete objects in any order, and not at all in another namespace; a bundle deletes its objects in order",
        "remove `owner`, and give the entry a delete gate",
    ),
    (
        "retention",
        "keeps former versions of an object, and a bundle replaces objects one by one and keeps no versions",
        "remove `retention`",
    ),
];

/// Keys below `lifecycle` that cannot stand beside `bundle`.
const REFUSED_GATES: [(&str, &str, &str); 2] = [
    (
        "recreate",
        "replaces the entry's object, and a recreation of a bundle would delete all of its objects at once",
        "remove `recreate`, and write `bundle: {policies: {update: recreate}}` to replace single objects",
    ),
    (
        "patch",
        "changes a part of one object, and the entry's own object is the bundle's parent, which the adapter describes",
        "remove `patch`, and change the manifest of the object, or give the object an entry of its own",
    ),
];

/// Refuses the keys of an entry at `place` that cannot stand beside `bundle`.
pub(super) fn refuse_keys(checker: &mut Checker<'_>, spec: &ResourceSpec, place: &Place<'_>) {
    let is_set = |place: &Place<'_>| place.document.node(&place.path).is_some_and(|node| !node.is_null());
    let lifecycle = place.key("lifecycle");
    let keys = REFUSED.iter().map(|refused| (place, refused));
    for (parent, (key, reason, cure)) in keys.chain(REFUSED_GATES.iter().map(|refused| (&lifecycle, refused))) {
        let place = parent.key(key);
        if is_set(&place) {
            checker.error_with_help(&place, format!("cannot stand beside `bundle`: it {reason}"), *cure);
        }
    }
    let propagation = lifecycle.key("delete").key("propagationPolicy");
    if is_set(&propagation) {
        checker.error_with_help(
            &propagation,
            "cannot stand beside `bundle`: a bundle deletes its objects itself, in order, and Kubernetes their dependents after them",
            "remove `propagationPolicy`; the policy `bundle.policies.delete` keeps objects",
        );
    }
    if spec.transport.as_ref().is_some_and(|transport| transport.client == ClientSpec::Maestro) {
        checker.error_with_help(
            &place.key("transport").key("client"),
            "cannot be maestro beside `bundle`: a bundle reads its objects, which Maestro does not show",
            "remove `transport`, or write the objects into a ManifestWork in an entry without `bundle`",
        );
    }
}

/// The object of an entry with a bundle.
pub(super) struct Parent {
    pub(super) kind: GroupVersionKind,
    pub(super) manifest: Manifest,
    pub(super) discovery: Discovery,
}

/// Compiles the bundle at `place`, which is in the entry of the name `entry`.
pub(super) fn compile(
    checker: &mut Checker<'_>,
    spec: &BundleSpec,
    entry: &str,
    place: &Place<'_>,
) -> Option<(Parent, Bundle)> {
    let manifests = manifests(checker, &spec.manifests, &place.key("manifests"));
    let policies = policies(checker, &spec.policies, &place.key("policies"));
    let managed_types = managed_types(checker, &spec.managed_types, &place.key("managed_types"));
    let ready = ready(checker, &spec.ready, &place.key("ready"));
    let prefix = prefix(checker, spec.annotation_prefix.as_deref(), &place.key("annotation_prefix"));
    let known = checker.known;
    let written = |text: &Option<String>| text.as_deref().filter(|text| !text.is_empty()).map(str::to_owned);
    let name = written(&spec.name).unwrap_or_else(|| default_name(entry));
    let namespace = written(&spec.namespace).unwrap_or_else(|| NAMESPACE.to_owned());
    let name = checker.template_in(&place.key("name"), &name, known, Key::New);
    let namespace = checker.template_in(&place.key("namespace"), &namespace, known, Key::New);
    let (name, namespace) = (name?, namespace?);
    let parent = parent(&name, &namespace);
    let manifests = manifests?;
    let mut bundle = Bundle {
        drafts: Vec::new(),
        known: Vec::new(),
        has_others: false,
        manifests,
        namespace,
        policies: policies?,
        creates_namespaces: spec.policies.missing_namespaces == MissingNamespacesSpec::Create,
        managed_types: managed_types?,
        ready: ready?,
        prefix: prefix?,
    };
    draft_objects(checker, entry, &mut bundle, place);
    Some((parent, bundle))
}

/// The name of the parent if the author gives none: different for each adapter, entry and API resource.
fn default_name(entry: &str) -> String {
    let entry = entry.to_lowercase().replace('_', "-");
    format!("{{{{ .adapter.name }}}}-{entry}-{{{{ .event.id }}}}")
}

fn parent(name: &Template, namespace: &Template) -> Parent {
    let object = json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": { "name": name.source(), "namespace": namespace.source() },
    });
    Parent {
        kind: GroupVersionKind::new("v1", "ConfigMap"),
        manifest: Manifest::Inline(Tree::parse_lenient(&object)),
        discovery: Discovery { namespace: Some(namespace.clone()), by: DiscoverBy::Name(name.clone()) },
    }
}

fn manifests(checker: &mut Checker<'_>, specs: &[ManifestSpec], place: &Place<'_>) -> Option<Vec<Manifest>> {
    if specs.is_empty() {
        if !checker.is_reported(place) {
            let help = "write one manifest at least, such as `manifests: [{ref: objects.yaml}]`";
            checker.error_with_help(place, "is empty: the bundle would have no objects", help);
        }
        return None;
    }
    let compiled = specs.iter().enumerate().map(|(index, spec)| manifest(checker, spec, &place.index(index)));
    // Every manifest is compiled before the first that failed ends the list.
    compiled.collect::<Vec<_>>().into_iter().collect()
}

fn manifest(checker: &mut Checker<'_>, spec: &ManifestSpec, place: &Place<'_>) -> Option<Manifest> {
    if matches!(spec, ManifestSpec::Text(text) if text.trim().is_empty()) {
        if !checker.is_reported(place) {
            let help = "write an object, a text, or `{ref: …}`, or remove the item";
            checker.error_with_help(place, "is empty: it has no object", help);
        }
        return None;
    }
    match read(checker, spec, place)? {
        Written::Inline(object) => {
            let is_sound = inline(checker, &object, place);
            let tree = tree(checker, &object, place, Key::New);
            Some(Manifest::Inline(tree.filter(|_| is_sound)?))
        }
        Written::Text { text, place } => {
            let known = checker.known;
            let template = checker.template_in(&place, &text, known, Key::New);
            // Text with templates is no YAML before it is rendered, and is checked then.
            let is_sound = text.contains("{{") || literal(checker, &text, &place);
            Some(Manifest::Text(template.filter(|_| is_sound)?))
        }
    }
}

/// Checks an object that is written as a mapping, or each item of a list.
fn inline(checker: &mut Checker<'_>, object: &Value, place: &Place<'_>) -> bool {
    let found = faults(object);
    for fault in &found {
        let at = fault.path.iter().fold(place.clone(), |place, key| place.key(key));
        checker.error_with_help(&at, fault.message, fault.help);
    }
    let mut is_sound = found.is_empty();
    for key in ["apiVersion", "kind"] {
        if let Some(template) = object.get(key).and_then(Value::as_str).filter(|text| text.contains("{{")) {
            checker.error_with_help(
                &place.key(key),
                format!("`{key}` must be fixed, but is the template `{template}`"),
                "write the manifest as text, behind `|`, where `kind` and `apiVersion` may be templates",
            );
            is_sound = false;
        }
    }
    let items = object.get("items").filter(|_| is_list(object)).and_then(Value::as_array);
    let items = items.into_iter().flatten().enumerate().filter(|(_, item)| !item.is_null());
    let place = place.key("items");
    let of_items = item_kind(object);
    items.fold(is_sound, |is_sound, (index, item)| {
        let mut item = item.clone();
        fill_in(&mut item, of_items.as_ref());
        inline(checker, &item, &place.index(index)) && is_sound
    })
}

/// Checks a text without templates, whose objects are the same for every event.
fn literal(checker: &mut Checker<'_>, text: &str, place: &Place<'_>) -> bool {
    let documents = match parse_all(text) {
        Ok(documents) => documents,
        Err(messages) => {
            checker.error_with_help(place, format!("does not parse: {messages}"), "mend the text of the manifest");
            return false;
        }
    };
    let (mut is_sound, lines, count) = (true, document_lines(text), documents.len());
    for (index, document) in documents.into_iter().enumerate() {
        for (within, object) in objects_of(vec![document], "") {
            let number = if count > 1 { format!("document {}{within}", index + 1) } else { within };
            let number = number.trim_start_matches(", ");
            let subject = match (number, name(&object)) {
                ("", _) => String::new(),
                (number, None) => format!("{number}: "),
                (number, Some(name)) => format!("{number}, {name}: "),
            };
            for fault in faults(&object) {
                let (message, help) = (format!("{subject}{}", fault.message), Some(fault.help.to_owned()));
                checker.error_in_document(place, text, lines.get(index).copied().unwrap_or(1), message, help);
                is_sound = false;
            }
        }
    }
    is_sound
}

/// The object in words, as far as it says what it is.
fn name(object: &Value) -> Option<String> {
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str);
    match (text("/kind"), text("/metadata/name")) {
        (Some(kind), Some(name)) => Some(format!("{kind} {name}")),
        (Some(name), None) | (None, Some(name)) => Some(name.to_owned()),
        (None, None) => None,
    }
}

fn policies(checker: &mut Checker<'_>, spec: &PoliciesSpec, place: &Place<'_>) -> Option<Policies> {
    let default = Policies::default();
    let adoption = word(checker, "adoption", spec.adoption.as_deref(), default.adoption, place);
    let reconcile = word(checker, "reconcile", spec.reconcile.as_deref(), default.reconcile, place);
    let update = word(checker, "update", spec.update.as_deref(), default.update, place);
    let delete = word(checker, "delete", spec.delete.as_deref(), default.delete, place);
    let reapply = match spec.reapply.as_deref().map(policy::interval) {
        None => Some(default.reapply),
        Some(Ok(reapply)) => Some(reapply),
        Some(Err(cure)) => {
            let place = place.key("reapply");
            // The decoder has reported text that is no duration at all, by the schema's format.
            if !checker.is_reported(&place) {
                let written = spec.reapply.as_deref().unwrap_or_default();
                checker.error_with_help(&place, format!("cannot be {written}"), cure);
            }
            None
        }
    };
    Some(Policies { adoption: adoption?, reconcile: reconcile?, update: update?, delete: delete?, reapply: reapply? })
}

/// Parses the word of the policy `key` below `place`; the default if the author wrote none, or the word for it.
fn word<P: Policy>(
    checker: &mut Checker<'_>,
    key: &str,
    text: Option<&str>,
    default: P,
    place: &Place<'_>,
) -> Option<P> {
    let Some(text) = text else { return Some(default) };
    let place = &place.key(key);
    let valid = || P::WORDS.iter().map(|(word, _)| *word).collect::<Vec<_>>().join(", ");
    match P::parse(text) {
        Ok(_) if text.is_empty() => checker.error_with_help(
            place,
            "is empty",
            format!("write one of: {}; or remove the key, for the default", valid()),
        ),
        Ok(value) => return Some(value.unwrap_or(default)),
        Err(unknown) => checker.error_with_help(place, format!("\"{text}\" is no {key} policy"), unknown.to_string()),
    }
    None
}

fn ready(checker: &mut Checker<'_>, specs: &[ReadySpec], place: &Place<'_>) -> Option<Rules> {
    let rule = |(index, spec): (usize, &ReadySpec)| {
        let place = place.index(index);
        let kind =
            spec.kind.parse().map_err(|error: GroupKindError| checker.error(&place.key("kind"), error.to_string()));
        let expression = checker.expression_over(&place.key("expression"), &spec.expression, OBJECT);
        Some(Rule { kind: kind.ok()?, name: spec.name.clone(), expression: expression? })
    };
    specs.iter().enumerate().map(rule).collect::<Vec<_>>().into_iter().collect::<Option<_>>().map(Rules)
}

/// Drafts the objects that are the same for every event, and reports what keeps them from being written, and the others whose
/// identity no event decides.
fn draft_objects(checker: &mut Checker<'_>, entry: &str, bundle: &mut Bundle, place: &Place<'_>) {
    let (mut sources, mut origins, mut faults) = (Vec::new(), Vec::new(), Vec::new());
    for (number, manifest) in bundle.manifests.iter().enumerate() {
        let lines = match manifest {
            Manifest::Text(template) => document_lines(template.source()),
            Manifest::Inline(_) => Vec::new(),
        };
        let origin = |document: usize| Origin { manifest: number, line: lines.get(document).copied() };
        let drafts = literal_documents(manifest).map(|documents| {
            let mut drafts = Vec::new();
            for (index, document) in documents.into_iter().enumerate() {
                for (_, object) in objects_of(vec![document], "") {
                    match Draft::new(object, &bundle.prefix, &bundle.policies).map(Arc::new) {
                        Ok(draft) => {
                            drafts.push(Arc::clone(&draft));
                            sources.push(Source::Drafted(draft));
                            origins.push(origin(index));
                        }
                        Err(found) => faults.extend(found.into_iter().map(|text| (Some(origin(index)), text))),
                    }
                }
            }
            drafts
        });
        if drafts.is_none() {
            let trees = manifest.structures();
            bundle.has_others |= trees.is_empty();
            let is_blank = |tree: &Tree| matches!(tree.part(&[]), Part::Literal(value) if is_blank(value));
            for (index, tree) in trees.iter().enumerate().filter(|(_, tree)| !is_blank(tree)) {
                let object = skeleton(tree, &bundle.prefix);
                bundle.has_others |= object.is_none();
                origins.extend(object.as_ref().map(|_| origin(index)));
                sources.extend(object.map(Source::Rendered));
            }
        }
        bundle.drafts.push(drafts);
    }
    let stamp = Stamp {
        adapter: "adapter".to_owned(),
        resource_id: "id".to_owned(),
        resource_id_fault: None,
        generation: Generation(0),
        signer: None,
    };
    // No object is in a namespace of this name.
    let namespace = bundle.namespace.as_literal().unwrap_or("{{ }}");
    let setting = Setting {
        generation: stamp.generation,
        marks: Box::new(OwnershipLabels::new(entry, stamp, namespace, "{{ }}")),
        destination: Destination::ThisCluster,
        namespace: namespace.to_owned(),
        barrier: Barrier::Ready,
        prefix: &bundle.prefix,
        defaults: bundle.policies,
        creates_namespaces: bundle.creates_namespaces,
        managed_types: &bundle.managed_types,
        ready: &bundle.ready,
        now: Timestamp::UNIX_EPOCH,
    };
    let of_source = |fault: Fault| (fault.source.and_then(|source| origins.get(source).copied()), fault.text);
    let known = prepare_in_place(sources, &setting)
        .map_err(|found| faults.extend(found.into_iter().map(of_source)))
        .unwrap_or_default();
    for (origin, fault) in faults {
        report(checker, bundle, &place.key("manifests"), origin, fault);
    }
    let known = known.into_iter().zip(origins).map(|(Rendered { identity, draft, .. }, origin)| {
        let introduces = TypePattern::introduced_by(&identity.kind, &draft.object);
        let calls = called_by(&identity.kind, &draft.object);
        let written = draft.object.pointer("/metadata/namespace").and_then(Value::as_str).filter(|it| !it.is_empty());
        let dropped_namespace = written.filter(|_| identity.namespace.is_none()).map(str::to_owned);
        KnownObject { identity, settings: draft.settings.clone(), introduces, calls, dropped_namespace, origin }
    });
    bundle.known = known.collect();
}

/// Reports a fault of an object where its author wrote the object; `place` is that of the manifests.
fn report(checker: &mut Checker<'_>, bundle: &Bundle, place: &Place<'_>, origin: Option<Origin>, fault: String) {
    let Some(Origin { manifest, line }) = origin else { return checker.error(place, fault) };
    let item = place.index(manifest);
    let of_file = item.key("ref");
    match (&bundle.manifests[manifest], line) {
        (Manifest::Text(template), Some(line)) => {
            let place = if place.document.node(&of_file.path).is_some() { of_file } else { item };
            checker.error_in_document(&place, template.source(), line, fault, None);
        }
        (Manifest::Text(_) | Manifest::Inline(_), _) => checker.error(&item, fault),
    }
}

/// The documents of a manifest without templates; none for another.
fn literal_documents(manifest: &Manifest) -> Option<Vec<Value>> {
    match manifest {
        Manifest::Text(template) => parse_all(template.as_literal()?).ok(),
        Manifest::Inline(tree) => match tree.part(&[]) {
            Part::Literal(value) => Some(vec![value.clone()]),
            Part::Absent | Part::Template(_) | Part::Uncertain => None,
        },
    }
}

fn is_blank(value: &Value) -> bool {
    value.is_null() || value.as_object().is_some_and(serde_json::Map::is_empty)
}

/// The parts of an object that decide how a bundle handles it, if no event decides them. Templates of its name and namespace stay
/// as they are: two objects with the same ones have the same name at every event.
fn skeleton(tree: &Tree, prefix: &str) -> Option<Value> {
    let literal = |path: &[&str]| match tree.part(path) {
        Part::Absent => Some(None),
        Part::Literal(value) => Some(Some(value.clone())),
        Part::Template(_) | Part::Uncertain => None,
    };
    let written = |path: &[&str]| match tree.part(path) {
        Part::Template(template) => Some(Some(Value::from(template.source()))),
        Part::Absent | Part::Literal(_) | Part::Uncertain => literal(path),
    };
    let mut object = json!({
        "apiVersion": literal(&["apiVersion"])??, "kind": literal(&["kind"])??, "metadata": { "name": written(&["metadata", "name"])? },
    });
    if is_list(&object)
        || item_kind(&object).is_some() && matches!(tree.part(&["items"]), Part::Literal(_) | Part::Uncertain)
    {
        return None;
    }
    if let Some(namespace) = written(&["metadata", "namespace"])? {
        object["metadata"]["namespace"] = namespace;
    }
    if let Part::Literal(annotations) = tree.part(&["metadata", "annotations"]) {
        object["metadata"]["annotations"] = annotations.clone();
    }
    for name in Settings::NAMES {
        let key = format!("{prefix}/{name}");
        if let Some(value) = literal(&["metadata", "annotations", &key])? {
            object["metadata"]["annotations"][key] = value;
        }
    }
    for path in [&["spec", "group"][..], &["spec", "scope"], &["spec", "names", "kind"]] {
        if let Some(Some(value)) = literal(path) {
            path.iter().fold(&mut object, |object, key| &mut object[*key]).clone_from(&value);
        }
    }
    Some(object)
}

fn managed_types(checker: &mut Checker<'_>, texts: &[String], place: &Place<'_>) -> Option<Vec<TypePattern>> {
    let parsed = texts.iter().enumerate().map(|(index, text)| {
        TypePattern::from_str(text).map_err(|error| checker.error(&place.index(index), error.to_string())).ok()
    });
    parsed.collect::<Vec<_>>().into_iter().collect()
}

fn prefix(checker: &mut Checker<'_>, text: Option<&str>, place: &Place<'_>) -> Option<String> {
    let prefix = text.unwrap_or(PREFIX);
    if is_subdomain(prefix) {
        return Some(prefix.to_owned());
    }
    checker.error_with_help(
        place,
        format!("\"{prefix}\" is not a DNS subdomain, as the prefix of an annotation has to be"),
        "write letters in lower case, digits, `-` and `.`, such as `hyperfleet.io`, without a `/`",
    );
    None
}
