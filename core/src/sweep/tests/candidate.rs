use lifecycle_objects::id::Generation;

use super::*;

#[test]
fn candidate_is_read_from_metadata() {
    let mut object = config_map();
    object["metadata"]["annotations"][keys::OWNERSHIP_PROOF] = json!("2f0c");
    let destination = Destination::Consumer("east".to_owned());
    let candidate = Candidate::of(&object, destination.clone());
    let expected = Candidate {
        destination,
        object: lifecycle_objects::object_ref::ObjectRef {
            kind: kind("v1", "ConfigMap"),
            namespace: Some("team".to_owned()),
            name: "settings".to_owned(),
        },
        uid: "u1".to_owned(),
        adapter: "infra".to_owned(),
        resource_id: ID.to_owned(),
        generation: Generation(3),
        created: Some(at(0)),
        is_terminating: false,
        owners: Vec::new(),
        is_disowned: false,
        member_kinds: None,
        proof: Some("2f0c".to_owned()),
    };
    assert_eq!(candidate, expected);
}

#[test]
fn odd_metadata_keeps_the_object() {
    let labels = |disowned: Value| json!({ keys::ADAPTER: "infra", keys::RESOURCE_ID: ID, keys::DISOWNED: disowned });
    let cases = [
        ("labels", json!(null), Keep::ForeignAdapter),
        ("labels", json!("infra"), Keep::ForeignAdapter),
        ("labels", json!({ keys::RESOURCE_ID: ID }), Keep::ForeignAdapter),
        ("labels", json!({ keys::ADAPTER: ["infra"], keys::RESOURCE_ID: ID }), Keep::ForeignAdapter),
        ("labels", labels(json!(ID)), Keep::Disowned),
        ("labels", labels(json!("")), Keep::Disowned),
        ("labels", labels(json!(null)), Keep::Disowned),
        ("labels", labels(json!(false)), Keep::Disowned),
        ("uid", json!(null), Keep::NoIdentity),
        ("uid", json!(7), Keep::NoIdentity),
        ("uid", json!(""), Keep::NoIdentity),
        ("name", json!(null), Keep::NoIdentity),
        ("name", json!(["settings"]), Keep::NoIdentity),
        ("labels", json!({ keys::ADAPTER: "infra" }), Keep::NoResourceId),
        ("labels", json!({ keys::ADAPTER: "infra", keys::RESOURCE_ID: 7 }), Keep::NoResourceId),
        ("deletionTimestamp", json!("2026-03-01T12:00:00Z"), Keep::Terminating),
        ("deletionTimestamp", json!("soon"), Keep::Terminating),
        ("deletionTimestamp", json!(false), Keep::Terminating),
        ("ownerReferences", json!([{ "uid": "u2" }]), Keep::HasOwner),
        ("ownerReferences", json!([null]), Keep::HasOwner),
        ("ownerReferences", json!({}), Keep::HasOwner),
        ("ownerReferences", json!("u2"), Keep::HasOwner),
        ("namespace", json!(null), Keep::ClusterScoped),
        ("namespace", json!(""), Keep::ClusterScoped),
        ("namespace", json!(7), Keep::ClusterScoped),
        ("creationTimestamp", json!(null), Keep::TooYoung),
        ("creationTimestamp", json!("yesterday"), Keep::TooYoung),
        ("creationTimestamp", json!(0), Keep::TooYoung),
    ];
    for (field, value, expected) in cases {
        let mut object = config_map();
        object["metadata"][field] = value.clone();
        assert_eq!(verdict_of(&object), Verdict::Keep(expected), "{field}: {value}");
    }
    for whole in [json!(null), json!([]), json!("object"), json!({}), json!({ "metadata": "odd" })] {
        assert_eq!(verdict_of(&whole), Verdict::Keep(Keep::ForeignAdapter), "{whole}");
    }
    let mut object = config_map();
    object["kind"] = json!(null);
    assert_eq!(verdict_of(&object), Verdict::Keep(Keep::NoIdentity), "without a kind");
}

#[test]
fn absent_claims_do_not_keep_the_object() {
    for field in ["deletionTimestamp", "ownerReferences", "annotations"] {
        let mut object = config_map();
        object["metadata"][field] = json!(null);
        assert_eq!(verdict_of(&object), Verdict::Delete, "{field}");
    }
    let mut object = config_map();
    object["metadata"]["ownerReferences"] = json!([]);
    assert_eq!(verdict_of(&object), Verdict::Delete, "an empty list of owners");
}

/// The verdict with a strike whose grace is over.
fn verdict_of(object: &Value) -> Verdict {
    let candidate = Candidate::of(object, Destination::ThisCluster);
    let mut strikes = Strikes::default();
    strikes.restore(candidate.uid.clone(), candidate.resource_id.clone(), at(0));
    judge(&candidate, OwnerAnswer::Gone, false, &mut strikes, &policy(), asked(GRACE))
}

#[test]
fn generation_is_zero_unless_it_is_a_whole_number() {
    let cases = [
        (json!("7"), 7),
        (json!(" 7 "), 7),
        (json!("-1"), -1),
        (json!("7.5"), 0),
        (json!("seven"), 0),
        (json!("99999999999999999999"), 0),
        (json!(7), 0),
        (json!(null), 0),
    ];
    for (value, expected) in cases {
        let mut object = config_map();
        object["metadata"]["annotations"][keys::GENERATION] = value.clone();
        let candidate = Candidate::of(&object, Destination::ThisCluster);
        assert_eq!(candidate.generation, Generation(expected), "{value}");
    }
}

#[test]
fn claim_has_the_fields_that_the_adapter_signs() {
    let claim = lifecycle_objects::proof::Claim {
        adapter: "infra",
        resource_id: ID,
        group: "batch",
        kind: "Job",
        namespace: "team",
        name: "settings",
    };
    let mut candidate = candidate();
    candidate.object.kind = kind("batch/v1", "Job");
    assert_eq!(candidate.claim(), claim);
    candidate.object.namespace = None;
    assert_eq!(candidate.claim().namespace, "");
}
