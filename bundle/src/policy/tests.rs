#![expect(clippy::unwrap_used, reason = "tests")]

use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::*;

const PREFIX: &str = "hyperfleet.io";

fn annotated(annotations: &[(&str, &str)], prefix: &str) -> Value {
    let annotations: Map<String, Value> =
        annotations.iter().map(|(name, value)| (format!("{prefix}/{name}"), Value::from(*value))).collect();
    json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "a", "annotations": annotations } })
}

fn read(annotations: &[(&str, &str)]) -> Result<Settings, Vec<Fault>> {
    Settings::read(&annotated(annotations, PREFIX), PREFIX, &Policies::default())
}

#[test]
fn words_may_be_written_in_any_spelling() {
    for text in ["if-unowned", "IfUnowned", "ifUnowned", "IF_UNOWNED", " if  unowned ", "If.Unowned"] {
        assert_eq!(Adoption::parse(text), Ok(Some(Adoption::IfUnowned)), "{text}");
    }
    assert_eq!(
        (Update::parse("SSAMerge"), Update::parse("SsaMerge")),
        (Ok(Some(Update::Apply)), Ok(Some(Update::Apply)))
    );
    assert!(Adoption::parse("ifunowned").is_err() && Adoption::parse("--").is_err());
}

#[test]
fn object_without_annotations_has_the_defaults() {
    let expected = Settings {
        policies: Policies {
            adoption: Adoption::IfUnowned,
            reconcile: Reconcile::OnObjectChange,
            update: Update::Apply,
            delete: Delete::Delete,
            reapply: SignedDuration::from_secs(3_600),
        },
        apply_order: 0,
        delete_order: 0,
        purge_order: None,
        status_hint: None,
    };
    let objects = [json!({}), json!({ "metadata": { "annotations": null } }), annotated(&[], PREFIX)];
    for object in objects {
        assert_eq!(Settings::read(&object, PREFIX, &Policies::default()), Ok(expected.clone()), "{object}");
    }
}

#[test]
fn annotation_overrides_the_default_of_the_bundle() {
    let defaults = Policies {
        adoption: Adoption::Never,
        reconcile: Reconcile::Once,
        update: Update::Recreate,
        delete: Delete::Orphan,
        reapply: SignedDuration::from_secs(5),
    };
    let all = [
        ("adoption-policy", "always"),
        ("reconcile-policy", "on-object-or-component-change"),
        ("update-policy", "replace"),
        ("delete-policy", "orphan-on-delete"),
        ("reapply-interval", "3m33s"),
        ("apply-order", "-32768"),
        ("delete-order", "32767"),
        ("purge-order", "5"),
        ("status-hint", "has-ready-condition"),
    ];
    let expected = Settings {
        policies: Policies {
            adoption: Adoption::Always,
            reconcile: Reconcile::OnObjectOrComponentChange,
            update: Update::Replace,
            delete: Delete::OrphanOnDelete,
            reapply: SignedDuration::from_secs(213),
        },
        apply_order: i16::MIN,
        delete_order: i16::MAX,
        purge_order: Some(5),
        status_hint: Some("has-ready-condition".to_owned()),
    };
    let other = "component-operator.example.com";
    assert_eq!(Settings::read(&annotated(&all, other), other, &defaults), Ok(expected));
    let unread = Settings::read(&annotated(&all, other), PREFIX, &defaults).unwrap();
    assert_eq!((unread.policies, unread.apply_order, unread.status_hint), (defaults, 0, None));
}

#[test]
fn word_of_a_policy_has_many_spellings() {
    fn is<P: Policy + PartialEq + std::fmt::Debug>(text: &str, expected: P) {
        assert_eq!(P::parse(text), Ok(Some(expected)), "{text}");
    }
    is("never", Adoption::Never);
    is("IfUnowned", Adoption::IfUnowned);
    is("if_unowned", Adoption::IfUnowned);
    is("Always", Adoption::Always);
    is("OnObjectChange", Reconcile::OnObjectChange);
    is("on-object-or-component-change", Reconcile::OnObjectOrComponentChange);
    is("Once", Reconcile::Once);
    is("ssa-merge", Update::Apply);
    is("SsaMerge", Update::Apply);
    is("apply", Update::Apply);
    is("SsaOverride", Update::ApplyOverride);
    is("ApplyOverride", Update::ApplyOverride);
    is("replace", Update::Replace);
    is("Recreate", Update::Recreate);
    is("Delete", Delete::Delete);
    is("orphan", Delete::Orphan);
    is("OrphanOnApply", Delete::OrphanOnApply);
    is("orphan-on-delete", Delete::OrphanOnDelete);
}

#[test]
fn page_explains_every_word_of_every_policy() {
    let page = include_str!("../../../docs/bundles.md");
    fn words<P: Policy>() -> impl Iterator<Item = &'static str> {
        P::WORDS.iter().map(|(word, _)| *word).chain(P::ALIASES.iter().map(|(word, _)| *word))
    }
    let all = words::<Adoption>().chain(words::<Reconcile>()).chain(words::<Update>()).chain(words::<Delete>());
    let missing: Vec<_> = all.filter(|word| !page.contains(&format!("`{word}`"))).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

#[test]
fn unset_policy_takes_the_default_of_the_bundle() {
    let defaults = Policies { update: Update::Recreate, delete: Delete::Orphan, ..Policies::default() };
    for (name, value) in [
        ("adoption-policy", ""),
        ("reconcile-policy", ""),
        ("update-policy", ""),
        ("delete-policy", ""),
        ("update-policy", "default"),
        ("delete-policy", "Default"),
    ] {
        let settings = Settings::read(&annotated(&[(name, value)], PREFIX), PREFIX, &defaults);
        assert_eq!(settings.map(|settings| settings.policies), Ok(defaults), "{name}: {value}");
    }
}

#[test]
fn bad_value_is_refused_with_the_valid_ones() {
    let orders = "write a whole number from -32768 to 32767";
    let durations = "write a duration of zero or more, such as 3m33s or 24h";
    let adoptions = "write one of: never, if-unowned, always";
    let updates = "write one of: apply, apply-override, replace, recreate";
    let deletes = "write one of: delete, orphan, orphan-on-apply, orphan-on-delete";
    let cases = [
        ("adoption-policy", "sometimes", adoptions),
        ("adoption-policy", "ifunowned", adoptions),
        ("adoption-policy", "default", adoptions),
        ("adoption-policy", " ", adoptions),
        ("reconcile-policy", "twice", "write one of: on-object-change, on-object-or-component-change, once"),
        ("update-policy", "patch", updates),
        ("update-policy", "delete", updates),
        ("delete-policy", "keep", deletes),
        ("apply-order", "32768", orders),
        ("apply-order", "", orders),
        ("delete-order", "-32769", orders),
        ("delete-order", "first", orders),
        ("purge-order", "1.5", orders),
        ("purge-order", " 1", orders),
        ("reapply-interval", "", durations),
        ("reapply-interval", "60", durations),
        ("reapply-interval", "-1s", durations),
        ("reapply-interval", "1d", durations),
    ];
    for (name, value, valid) in cases {
        let key = format!("{PREFIX}/{name}");
        let fault = Fault { key, value: Value::from(value), valid: valid.to_owned() };
        assert_eq!(read(&[(name, value)]), Err(vec![fault]), "{name}: {value}");
    }
}

#[test]
fn order_without_quotes_is_refused_with_the_cure() {
    let object = json!({ "metadata": { "annotations": { "hyperfleet.io/apply-order": 5 } } });
    let faults = Settings::read(&object, PREFIX, &Policies::default()).unwrap_err();
    let messages: Vec<String> = faults.iter().map(Fault::to_string).collect();
    assert_eq!(
        messages,
        ["the annotation `hyperfleet.io/apply-order` cannot have the value 5: write it as text, in quotes"]
    );
}

#[test]
fn all_bad_values_of_an_object_are_refused_at_once() {
    let bad = [
        ("adoption-policy", "x"),
        ("reconcile-policy", "x"),
        ("update-policy", "x"),
        ("delete-policy", "x"),
        ("reapply-interval", "x"),
        ("apply-order", "x"),
        ("delete-order", "x"),
        ("purge-order", "x"),
    ];
    let faults = read(&bad).unwrap_err();
    let keys: Vec<&str> = faults.iter().map(|fault| fault.key.as_str()).collect();
    let expected: Vec<String> = bad.iter().map(|(name, _)| format!("{PREFIX}/{name}")).collect();
    assert_eq!(keys, expected);
}

#[test]
fn some_objects_take_others_along() {
    let cases = [
        ("", "Namespace", true),
        ("apiextensions.k8s.io", "CustomResourceDefinition", true),
        ("apiregistration.k8s.io", "APIService", true),
        ("batch", "Job", false),
        ("example.io", "Namespace", false),
        ("", "APIService", false),
    ];
    for (group, kind, expected) in cases {
        assert_eq!(takes_others_along(&GroupKind::new(group, kind)), expected, "{group} {kind}");
    }
}

/// The task's compiler looks for these annotations alone.
#[test]
fn names_are_those_that_are_read() {
    for name in Settings::NAMES {
        let bad = json!({ "metadata": { "annotations": { format!("{PREFIX}/{name}"): 7 } } });
        let faults = Settings::read(&bad, PREFIX, &Policies::default()).unwrap_err();
        assert_eq!(faults.len(), 1, "{name}");
    }
}

proptest! {
    #[test]
    fn every_order_in_range_is_read_and_every_other_refused(order in -70_000_i32..70_000) {
        let settings = read(&[("apply-order", &order.to_string())]);
        prop_assert_eq!(settings.ok().map(|settings| settings.apply_order), i16::try_from(order).ok());
    }

    #[test]
    fn any_values_give_settings_or_faults_that_name_them(
        values in prop::collection::vec(prop_oneof![Just("never".to_owned()), Just("1".to_owned()), any::<String>()], 9),
    ) {
        let names = [
            "adoption-policy", "reconcile-policy", "update-policy", "delete-policy", "reapply-interval",
            "apply-order", "delete-order", "purge-order", "status-hint",
        ];
        let annotations: Vec<(&str, &str)> = names.into_iter().zip(values.iter().map(String::as_str)).collect();
        for fault in read(&annotations).err().into_iter().flatten() {
            let (_, value) = annotations.iter().find(|(name, _)| fault.key == format!("{PREFIX}/{name}")).unwrap();
            prop_assert_eq!(fault.value, *value);
        }
    }
}
