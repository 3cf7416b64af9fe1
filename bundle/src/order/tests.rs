#![expect(clippy::unwrap_used, reason = "tests")]

use proptest::prelude::*;

use super::*;

fn kind(text: &str) -> GroupKind {
    text.parse().unwrap()
}

fn managed() -> ManagedTypes {
    ["example.io/*".parse().unwrap()].into_iter().collect()
}

/// A wave as its order and the kinds of its objects with their stages.
type Seen<'a, S> = (i16, Vec<(S, &'a str)>);

fn seen<'a, S: Copy>(waves: Vec<Wave<(&'a str, i16), S>>) -> Vec<Seen<'a, S>> {
    waves
        .into_iter()
        .map(|wave| (wave.order, wave.objects.into_iter().map(|(stage, _, (kind, _))| (stage, kind)).collect()))
        .collect()
}

#[test]
fn waves_are_applied_by_order_then_stage_then_priority() {
    use ApplyStage::{Instance, Late, Regular};
    let objects = [
        ("Widget.example.io", 0),
        ("APIService.apiregistration.k8s.io", 0),
        ("Deployment.apps", 0),
        ("Service", 0),
        ("ConfigMap", 0),
        ("CustomResourceDefinition.apiextensions.k8s.io", 0),
        ("Namespace", 0),
        ("Job.batch", i16::MAX),
        ("Deployment.apps", -1),
    ];
    let waves = waves(objects, |(text, order)| Place::to_apply(&kind(text), *order, &managed()));
    let expected = vec![
        (-1, vec![(Regular, "Deployment.apps")]),
        (
            0,
            vec![
                (Regular, "Namespace"),
                (Regular, "CustomResourceDefinition.apiextensions.k8s.io"),
                (Regular, "ConfigMap"),
                (Regular, "Deployment.apps"),
                (Regular, "Service"),
                (Late, "APIService.apiregistration.k8s.io"),
                (Instance, "Widget.example.io"),
            ],
        ),
        (i16::MAX, vec![(Regular, "Job.batch")]),
    ];
    assert_eq!(seen(waves), expected);
}

#[test]
fn waves_are_deleted_by_order_then_stage_then_priority() {
    use DeleteStage::{Instance, Rest, Types};
    let objects = [
        ("IngressClass.networking.k8s.io", 0),
        ("Namespace", 0),
        ("Service", 0),
        ("ValidatingWebhookConfiguration.admissionregistration.k8s.io", 0),
        ("Deployment.apps", 0),
        ("APIService.apiregistration.k8s.io", 0),
        ("Widget.example.io", 0),
        ("Widget.example.io", -5),
    ];
    let waves = waves(objects, |(text, order)| Place::to_delete(&kind(text), *order, &managed()));
    let expected = vec![
        (-5, vec![(Instance, "Widget.example.io")]),
        (
            0,
            vec![
                (Instance, "Widget.example.io"),
                (Types, "APIService.apiregistration.k8s.io"),
                (Rest, "Deployment.apps"),
                (Rest, "ValidatingWebhookConfiguration.admissionregistration.k8s.io"),
                (Rest, "Service"),
                (Rest, "Namespace"),
                (Rest, "IngressClass.networking.k8s.io"),
            ],
        ),
    ];
    assert_eq!(seen(waves), expected);
}

fn objects() -> impl Strategy<Value = Vec<(&'static str, i16)>> {
    let kinds = prop::sample::select(vec!["Namespace", "ConfigMap", "Service", "Widget.example.io", "Deployment.apps"]);
    prop::collection::vec((kinds, -1_i16..2), 0..20)
}

proptest! {
    #[test]
    fn waves_keep_every_object_and_the_written_order_of_equals(objects in objects()) {
        let place = |(text, order): &(&str, i16)| Place::to_apply(&kind(text), *order, &managed());
        let numbered = objects.iter().copied().enumerate();
        let waves = waves(numbered, |(_, object)| place(object));
        prop_assert!(waves.is_sorted_by(|a, b| a.order < b.order));
        prop_assert!(waves.iter().all(|wave| !wave.objects.is_empty()));
        let flat: Vec<usize> = waves.iter().flat_map(|wave| wave.objects.iter().map(|(_, _, (index, _))| *index)).collect();
        // Place and position together are a total order, so that it alone is the expected result.
        let mut expected: Vec<usize> = (0..objects.len()).collect();
        expected.sort_by_key(|index| (place(&objects[*index]), *index));
        prop_assert_eq!(flat, expected);
    }
}
