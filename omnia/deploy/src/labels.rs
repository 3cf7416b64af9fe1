//! The labels of deployed objects, by which a pack knows its objects again.
//!
//! In: a pack, and the user's labels. Out: labels that Kubernetes accepts, a selector, and whose an object is. Fails never.
//!
//! Ids and versions of packs may be what no label can hold: 100 characters, or a `+`. Two packs never get the same label for
//! their ids, because what is labelled with a pack's id is deleted with the pack.

use std::collections::BTreeMap;

use lifecycle_objects::labels::is_label_value;
use lifecycle_objects::proof::hexadecimal;
use serde_json::Value;
use sha2::{Digest as _, Sha256};

/// Label: the program that made the object.
pub const MANAGED_BY: &str = "app.kubernetes.io/managed-by";
/// The value of [`MANAGED_BY`] on our objects.
pub const MANAGER: &str = "promptarena";
/// Label: the pack's id.
pub const PACK_ID: &str = "promptkit.altairalabs.ai/pack-id";
/// Label: the pack's version.
pub const PACK_VERSION: &str = "promptkit.altairalabs.ai/pack-version";
/// Label: the kind of the object in deployments.
pub const RESOURCE_TYPE: &str = "promptkit.altairalabs.ai/resource-type";

/// The most characters of a label's value.
const LIMIT: usize = 63;
/// The characters of a digest in a value that had to be changed. Four bytes: among a workspace's packs, two with an equal one
/// and an equal beginning are not to be expected.
const DIGEST: usize = 8;

/// The labels of a pack's objects.
pub type Labels = BTreeMap<String, String>;

/// The labels of an object of this type. Those of the deployment win over the user's.
#[must_use]
pub fn of(pack_id: &str, version: &str, resource_type: &str, user: &Labels) -> Labels {
    let own = [
        (MANAGED_BY, MANAGER.to_owned()),
        (PACK_ID, distinct(pack_id)),
        (PACK_VERSION, readable(version)),
        (RESOURCE_TYPE, readable(resource_type)),
    ];
    let user = user.iter().map(|(key, value)| (key.clone(), readable(value)));
    user.chain(own.map(|(key, value)| (key.to_owned(), value))).collect()
}

/// The value of the label [`PACK_ID`] on a pack's objects, by which they are selected.
#[must_use]
pub fn of_pack(pack_id: &str) -> String {
    distinct(pack_id)
}

/// The labels of an object as its server has it.
#[must_use]
pub fn read(object: &Value) -> Labels {
    let labels = object.get("metadata").and_then(|metadata| metadata.get("labels")).and_then(Value::as_object);
    let text = |(key, value): (&String, &Value)| Some((key.clone(), value.as_str()?.to_owned()));
    labels.into_iter().flatten().filter_map(text).collect()
}

/// Whose an object is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Claim {
    /// This pack's: it may be changed and deleted.
    Ours,
    /// Somebody else's, named as messages name them.
    Foreign(String),
}

/// Says whose the object with these labels is.
#[must_use]
pub fn claim(labels: &Labels, pack_id: &str) -> Claim {
    let label = |key: &str| labels.get(key).map(String::as_str);
    match (label(MANAGED_BY), label(PACK_ID)) {
        (Some(MANAGER), Some(id)) if id == distinct(pack_id) => Claim::Ours,
        (Some(MANAGER), Some(id)) => Claim::Foreign(format!("pack `{id}`")),
        (Some(manager), _) => Claim::Foreign(format!("`{manager}`")),
        (None, _) => Claim::Foreign(format!("somebody else: it has no label {MANAGED_BY}")),
    }
}

/// The text as a label, for people: two texts may have the same.
fn readable(text: &str) -> String {
    trimmed(&replaced(text), LIMIT).to_owned()
}

/// The text as a label that no other text has.
fn distinct(text: &str) -> String {
    if is_label_value(text) {
        return text.to_owned();
    }
    let digest = hexadecimal(&Sha256::digest(text));
    let replaced = replaced(text);
    let kept = trimmed(&replaced, LIMIT - DIGEST - 1);
    format!("{kept}{}{}", if kept.is_empty() { "" } else { "-" }, &digest[..DIGEST])
}

fn replaced(text: &str) -> String {
    text.chars().map(|c| if c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.') { c } else { '_' }).collect()
}

/// At most `limit` characters of a text of ASCII, with a letter or digit at either end.
fn trimmed(text: &str, limit: usize) -> &str {
    let is_edge = |c: char| !c.is_ascii_alphanumeric();
    let text = text.trim_start_matches(is_edge);
    text[..text.len().min(limit)].trim_end_matches(is_edge)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn label_is_valid_and_readable() {
        let long = "a".repeat(100);
        let cases = [
            ("a version", "1.0.0", "1.0.0".to_owned()),
            ("a build", "1.0.0+b1", "1.0.0_b1".to_owned()),
            ("a long one", &long, "a".repeat(63)),
            ("a hyphen at the end", "my-", "my".to_owned()),
            ("nothing", "", String::new()),
            ("nothing valid", "é", String::new()),
        ];
        for (name, text, expected) in cases {
            assert_eq!(readable(text), expected, "{name}");
        }
    }

    #[test]
    fn user_labels_never_win() {
        let user = [(PACK_ID, "other"), (MANAGED_BY, "me"), ("team", "a b")]
            .map(|(key, value)| (key.to_owned(), value.to_owned()));
        let labels = of("p", "1.0.0+b", "prompt_pack", &user.into());
        let expected = [
            (MANAGED_BY, MANAGER),
            (PACK_ID, "p"),
            (PACK_VERSION, "1.0.0_b"),
            (RESOURCE_TYPE, "prompt_pack"),
            ("team", "a_b"),
        ];
        assert_eq!(labels, expected.map(|(key, value)| (key.to_owned(), value.to_owned())).into());
    }

    #[test]
    fn only_an_object_with_both_labels_is_ours() {
        let cases = [
            ("both", vec![(MANAGED_BY, MANAGER), (PACK_ID, "p")], Claim::Ours),
            ("another pack's", vec![(MANAGED_BY, MANAGER), (PACK_ID, "q")], Claim::Foreign("pack `q`".to_owned())),
            ("another program's", vec![(MANAGED_BY, "helm"), (PACK_ID, "p")], Claim::Foreign("`helm`".to_owned())),
            ("a pack of nobody", vec![(MANAGED_BY, MANAGER)], Claim::Foreign("`promptarena`".to_owned())),
            (
                "no labels",
                vec![(PACK_ID, "p")],
                Claim::Foreign("somebody else: it has no label app.kubernetes.io/managed-by".to_owned()),
            ),
        ];
        for (name, labels, expected) in cases {
            let labels = labels.into_iter().map(|(key, value)| (key.to_owned(), value.to_owned())).collect();
            assert_eq!(claim(&labels, "p"), expected, "{name}");
        }
    }

    proptest! {
        #[test]
        fn labels_are_valid_and_found_again(id in "\\PC{0,120}|[a-z-]{0,120}", version in "\\PC{0,80}") {
            let labels = of(&id, &version, "agent_runtime", &Labels::new());
            prop_assert!(labels.values().all(|value| is_label_value(value)), "{:?}", labels);
            prop_assert_eq!(claim(&labels, &id), Claim::Ours);
            prop_assert_eq!(of_pack(&id), labels[PACK_ID].clone());
        }

        #[test]
        fn another_packs_objects_are_never_ours(a in "[a-c+-]{0,3}|x{60,70}", b in "[a-c+-]{0,3}|x{60,70}") {
            let labels = of(&a, "1.0.0", "agent_runtime", &Labels::new());
            prop_assert_eq!(claim(&labels, &b) == Claim::Ours, a == b);
        }
    }
}
