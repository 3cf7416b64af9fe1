#![expect(clippy::unwrap_used, reason = "tests")]

use std::time::Duration;

use proptest::prelude::*;

use super::*;
use crate::config::Kind;

fn kind(name: &str, minutes: u64, deleting_minutes: u64) -> Kind {
    Kind {
        name: name.to_owned(),
        required_adapters: vec!["dns".to_owned()],
        stuck_after: Duration::from_secs(minutes * 60),
        stuck_after_deleting: Duration::from_secs(deleting_minutes * 60),
    }
}

fn kinds() -> Kinds {
    Kinds::new(vec![kind("Cluster", 10, 30), kind("NodePool", 5, 5)], Duration::from_secs(600))
}

/// Builds the groups that PostgreSQL would return for rows of (kind, deleting, age).
fn groups(rows: &[(String, bool, f64)], bounds: &Bounds) -> Vec<Group> {
    let mut groups: BTreeMap<(String, bool, usize), Group> = BTreeMap::new();
    for (kind, deleting, age) in rows {
        let bucket = bounds.bucket(*age);
        let group = groups.entry((kind.clone(), *deleting, bucket)).or_insert_with(|| Group {
            kind: kind.clone(),
            deleting: *deleting,
            bucket,
            ..Group::default()
        });
        group.count += 1;
        group.oldest = group.oldest.max(*age);
        group.age_sum += age;
    }
    groups.into_values().collect()
}

fn count(rows: &[(String, bool, f64)], buckets: &[f64], kinds: &Kinds) -> Population {
    let bounds = Bounds::new(buckets, kinds);
    let groups = groups(rows, &bounds);
    let types = Types::new(kinds, groups.iter().map(|group| group.kind.as_str()));
    population(&groups, &bounds, buckets, kinds, &types)
}

fn flow(resource_type: &str, is_delete: bool) -> Flow {
    Flow { resource_type: resource_type.to_owned(), is_delete }
}

#[test]
fn configured_type_without_pending_resources_reads_zero() {
    let population = count(&[], &[60.0], &kinds());
    let flows: Vec<_> = population.flows.keys().cloned().collect();
    assert_eq!(flows, [flow("cluster", false), flow("cluster", true), flow("nodepool", false), flow("nodepool", true)]);
    let zero = Figures { at_most: vec![0], ..Figures::default() };
    assert!(population.flows.values().all(|figures| *figures == zero), "{population:?}");
}

#[test]
fn resource_is_stuck_if_older_than_the_threshold_of_its_flow() {
    let cases = [
        ("at the threshold", "Cluster", false, 600.0, 0),
        ("just above the threshold", "Cluster", false, 600.001, 1),
        ("a deletion below its own threshold", "Cluster", true, 1_799.0, 0),
        ("a deletion above its own threshold", "Cluster", true, 1_801.0, 1),
        ("a kind with a lower threshold", "NodePool", false, 301.0, 1),
        ("an unknown kind below the default", "Channel", false, 599.0, 0),
        ("an unknown kind above the default", "Channel", false, 601.0, 1),
    ];
    for (name, kind, deleting, age, stuck) in cases {
        let population = count(&[(kind.to_owned(), deleting, age)], &[60.0], &kinds());
        let figures = &population.flows[&flow(&kind.to_lowercase(), deleting)];
        assert_eq!((figures.pending, figures.stuck), (1, stuck), "{name}");
        assert_eq!(figures.longest_stuck, if stuck == 1 { age } else { 0.0 }, "{name}");
    }
}

#[test]
fn unknown_kinds_beyond_the_limit_share_the_type_other() {
    let rows: Vec<_> = (0..50).map(|n| (format!("Kind{n:02}"), false, 1.0)).collect();
    let population = count(&rows, &[60.0], &kinds());
    let labels: BTreeSet<_> = population.flows.keys().map(|flow| flow.resource_type.clone()).collect();
    assert_eq!(labels.len(), 2 + DISCOVERED_KINDS + 1);
    assert_eq!(population.flows[&flow(OTHER, false)].pending, 30);
    assert_eq!(population.unknown_kind, 50);
}

#[test]
fn kinds_that_differ_in_case_share_a_type() {
    let rows = [("Cluster".to_owned(), false, 1.0), ("CLUSTER".to_owned(), false, 2.0)];
    assert_eq!(count(&rows, &[60.0], &kinds()).flows[&flow("cluster", false)].pending, 2);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// The figures from groups equal those from counting the rows one by one.
    #[test]
    fn figures_equal_counting_rows_one_by_one(
        rows in prop::collection::vec(("(Cluster|NodePool|Channel|Version|)", any::<bool>(), 0.0..100_000.0f64), 0..80),
        buckets in prop::collection::btree_set(1u32..50_000, 1..15),
    ) {
        let buckets: Vec<f64> = buckets.into_iter().map(f64::from).collect();
        let kinds = kinds();
        let population = count(&rows, &buckets, &kinds);
        let total: u64 = population.flows.values().map(|figures| figures.pending).sum();
        prop_assert_eq!(total, rows.len() as u64, "every row is counted once");
        for (flow, figures) in &population.flows {
            let own: Vec<_> = rows
                .iter()
                .filter(|(kind, deleting, _)| kind.to_lowercase() == flow.resource_type && *deleting == flow.is_delete)
                .collect();
            let stuck: Vec<f64> = own
                .iter()
                .filter(|(kind, deleting, age)| *age > kinds.stuck_after(kind, *deleting).as_secs_f64())
                .map(|(_, _, age)| *age)
                .collect();
            prop_assert_eq!(figures.pending, own.len() as u64);
            prop_assert_eq!(figures.stuck, stuck.len() as u64);
            prop_assert_eq!(figures.longest_stuck, stuck.iter().copied().fold(0.0, f64::max));
            let sum: f64 = own.iter().map(|(_, _, age)| age).sum();
            prop_assert!((figures.age_sum - sum).abs() <= sum * 1e-9);
            for (bound, at_most) in buckets.iter().zip(&figures.at_most) {
                let expected = own.iter().filter(|(_, _, age)| age <= bound).count();
                prop_assert_eq!(*at_most, expected as u64, "at most {}", bound);
            }
        }
    }

    #[test]
    fn number_of_types_stays_within_the_limit_for_any_kinds(found in prop::collection::vec("\\PC{0,6}", 0..60)) {
        let kinds = kinds();
        let types = Types::new(&kinds, found.iter().map(String::as_str));
        prop_assert!(types.all().count() <= kinds.all().len() + DISCOVERED_KINDS);
        let allowed: BTreeSet<_> = types.all().chain([OTHER]).collect();
        prop_assert!(found.iter().all(|kind| allowed.contains(types.label(kind).as_str())));
    }
}

#[test]
fn discovered_kind_keeps_its_label_when_more_kinds_are_discovered() {
    let kinds = kinds();
    let names: Vec<_> = (0..DISCOVERED_KINDS).map(|number| format!("K{number}")).collect();
    let mut types = Types::new(&kinds, names.iter().map(String::as_str));
    let before = types.clone();
    types.name(["Aardvark", "K3", "cluster"]);
    assert_eq!(types, before, "the limit is reached, so nothing is added");
    assert_eq!((types.label("Aardvark").as_str(), types.label("K3").as_str()), (OTHER, "k3"));
}

#[test]
fn bucket_is_the_number_of_bounds_below_the_age() {
    let bounds = Bounds::new(&[60.0, 3600.0], &kinds());
    assert_eq!(bounds.as_slice(), [60.0, 300.0, 600.0, 1800.0, 3600.0]);
    let cases = [(-5.0, 0), (60.0, 0), (60.1, 1), (600.0, 2), (1e9, 5)];
    for (age, bucket) in cases {
        assert_eq!(bounds.bucket(age), bucket, "{age}");
    }
    assert!(bounds.is_beyond(bounds.bucket(600.5), 600.0) && !bounds.is_beyond(bounds.bucket(600.0), 600.0));
    assert!(f64::from(u32::try_from(bounds.bucket(f64::NAN)).unwrap()) == 0.0, "NaN is in the first interval");
}
