use lifecycle_objects::id::Generation;

use super::*;

#[test]
fn recheck_keeps_an_object_that_differs_from_the_judged_one() {
    let cases: [(&str, Change, Keep); 15] = [
        ("UID", |it| it.uid = "u2".to_owned(), Keep::Replaced),
        ("group", |it| it.object.kind.group = "apps".to_owned(), Keep::Replaced),
        ("kind", |it| it.object.kind.kind = "Secret".to_owned(), Keep::Replaced),
        ("namespace", |it| it.object.namespace = Some("other".to_owned()), Keep::Replaced),
        ("name", |it| it.object.name = "other".to_owned(), Keep::Replaced),
        ("destination", |it| it.destination = Destination::Consumer("east".to_owned()), Keep::Replaced),
        ("a foreign adapter", |it| it.adapter = "other".to_owned(), Keep::ForeignAdapter),
        ("no label any more", |it| it.adapter.clear(), Keep::ForeignAdapter),
        ("disowned", |it| it.is_disowned = true, Keep::Disowned),
        ("no resource id", |it| it.resource_id.clear(), Keep::NoResourceId),
        ("an odd resource id", |it| it.resource_id = "my-cluster".to_owned(), Keep::OddResourceId),
        ("another adapter of this installation", |it| it.adapter = "dns".to_owned(), Keep::Changed),
        ("another API resource", |it| it.resource_id = OTHER_ID.to_owned(), Keep::Changed),
        ("a newer generation", |it| it.generation = Generation(4), Keep::Changed),
        ("an older generation", |it| it.generation = Generation(2), Keep::Changed),
    ];
    assert_eq!(recheck(&candidate(), &candidate(), &policy()), Ok(()));
    for (name, change, expected) in cases {
        let mut live = candidate();
        change(&mut live);
        assert_eq!(recheck(&candidate(), &live, &policy()), Err(expected), "{name}");
    }
}

#[test]
fn recheck_keeps_an_object_that_something_claims_by_now() {
    let cases: [(&str, Change, Keep); 2] = [
        ("terminating", |it| it.is_terminating = true, Keep::Terminating),
        ("owned", |it| it.owners = vec!["owner".to_owned()], Keep::HasOwner),
    ];
    for (name, change, expected) in cases {
        let mut live = candidate();
        change(&mut live);
        assert_eq!(recheck(&candidate(), &live, &policy()), Err(expected), "{name}");
    }
    let signer = Signer::new(&[7; 32]).unwrap();
    let policy = Policy { signers: vec![signer.clone()], ..policy() };
    let signed = Candidate { proof: Some(signer.sign(&candidate().claim())), ..candidate() };
    assert_eq!(recheck(&signed, &signed, &policy), Ok(()));
    assert_eq!(recheck(&signed, &candidate(), &policy), Err(Keep::Forged));
    let unscoped = Candidate {
        object: lifecycle_objects::object_ref::ObjectRef { namespace: None, ..signed.object },
        ..candidate()
    };
    assert_eq!(recheck(&unscoped, &unscoped, &super::policy()), Err(Keep::ClusterScoped));
}

#[test]
fn cluster_scoped_object_is_kept_without_a_key_that_could_prove_its_labels() {
    let mut policy = Policy { cluster_scoped: patterns(&["ConfigMap"]), ..policy() };
    let mut scoped = candidate();
    scoped.object.namespace = None;
    assert_eq!(recheck(&scoped, &scoped, &policy), Err(Keep::Forged));
    let signer = Signer::new(&[7; 32]).unwrap();
    scoped.proof = Some(signer.sign(&scoped.claim()));
    policy.signers = vec![signer];
    assert_eq!(recheck(&scoped, &scoped, &policy), Ok(()));
}
