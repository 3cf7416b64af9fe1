#![expect(clippy::unwrap_used, reason = "tests")]

use serde_json::{Value, json};

use super::*;

fn registry(entities: &Value) -> Result<Registry, Vec<Fault>> {
    let specs: Vec<EntitySpec> = serde_json::from_value(entities.clone()).unwrap();
    Registry::new(&specs)
}

#[test]
fn entity_without_options_restricts_and_has_no_adapters() {
    let registry = registry(&json!([{ "kind": "Channel", "plural": "channels" }])).unwrap();
    let channel = registry.of_kind("Channel").unwrap();
    assert_eq!((channel.on_parent_delete, &channel.name_length), (OnParentDelete::Restrict, &(1..=100)));
    assert!(channel.required_adapters.is_empty() && channel.parent.is_none());
    assert!(registry.of_plural("channels").is_some() && registry.of_kind("channel").is_none());
}

#[test]
fn fault_names_the_entity_and_the_key() {
    let base = || json!([{ "kind": "A", "plural": "as" }, { "kind": "B", "plural": "bs", "parent_kind": "A" }]);
    for (index, key, value, expected) in [
        (1, "kind", json!("A"), "kind"),
        (1, "kind", json!(""), "kind"),
        (1, "plural", json!("as"), "plural"),
        (1, "plural", json!("resources"), "plural"),
        (1, "plural", json!("Bs"), "plural"),
        (1, "parent_kind", json!("Nothing"), "parent_kind"),
        (0, "parent_kind", json!("B"), "parent_kind"),
        (1, "on_parent_delete", json!("forget"), "on_parent_delete"),
        (0, "name_max_len", json!(101), "name_max_len"),
        (0, "references", json!([{ "ref_type": "r", "target_kind": "Nothing" }]), "references"),
        (0, "references", json!([{ "ref_type": "", "target_kind": "B" }]), "references"),
        (0, "references", json!([{ "ref_type": "r", "target_kind": "B", "min": 3, "max": 2 }]), "references"),
        (0, "references", json!([{ "ref_type": "r", "target_kind": "A", "min": 1 }]), "references"),
    ] {
        let mut entities = base();
        entities[index][key] = value.clone();
        let faults = registry(&entities).unwrap_err();
        assert!(faults.iter().any(|fault| fault.key == expected), "{key} {value}: {faults:?}");
    }
    assert!(registry(&base()).is_ok());
}

#[test]
fn two_kinds_that_need_each_other_are_refused() {
    let needs = |target: &str| json!([{ "ref_type": "r", "target_kind": target, "min": 1 }]);
    let faults = registry(&json!([
        { "kind": "A", "plural": "as", "references": needs("B") },
        { "kind": "B", "plural": "bs", "references": needs("A") },
    ]))
    .unwrap_err();
    assert_eq!(faults.len(), 2, "{faults:?}");
}
