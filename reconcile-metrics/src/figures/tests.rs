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

/// Groups as the database makes them, from rows of (kind, deleting, age).
fn groups(rows: &[(String, bool, f64)], edges: &Edges) -> Vec<Group> {
    let mut groups: BTreeMap<(String, bool, usize), Group> = BTreeMap::new();
    for (kind, deleting, age) in rows {
        let band = edges.band(*age);
        let group = groups.entry((kind.clone(), *deleting, band)).or_insert_with(|| Group {
            kind: kind.clone(),
            deleting: *deleting,
            band,
            ..Group::default()
        });
        group.count += 1;
        group.oldest = group.oldest.max(*age);
        group.age_sum += age;
    }
    groups.into_values().collect()
}

fn count(rows: &[(String, bool, f64)], buckets: &[f64], kinds: &Kinds) -> Population {
    let edges = Edges::new(buckets, kinds);
    let groups = groups(rows, &edges);
    let types = Types::new(kinds, groups.iter().map(|group| group.kind.as_str()));
    population(&groups, &edges, buckets, kinds, &types)
}

fn flow(resource_type: &str, is_delete: bool) -> Flow {
    Flow { resource_type: resource_type.to_owned(), is_delete }
}

#[test]
fn every_configured_type_reads_zero_when_nothing_is_pending() {
    let population = count(&[], &[60.0], &kinds());
    let flows: Vec<_> = population.flows.keys().cloned().collect();
    assert_eq!(flows, [flow("cluster", false), flow("cluster", true), flow("nodepool", false), flow("nodepool", true)]);
    let zero = Figures { at_most: vec![0], ..Figures::default() };
    assert!(population.flows.values().all(|figures| *figures == zero), "{population:?}");
}

#[test]
fn a_resource_is_stuck_once_it_is_older_than_its_own_threshold() {
    let cases = [
        ("at the threshold", "Cluster", false, 600.0, 0),
        ("beyond it", "Cluster", false, 600.001, 1),
        ("a deletion has its own", "Cluster", true, 1_799.0, 0),
        ("a deletion beyond its own", "Cluster", true, 1_801.0, 1),
        ("another kind has another", "NodePool", false, 301.0, 1),
        ("an unknown kind has the default", "Channel", false, 599.0, 0),
        ("an unknown kind beyond the default", "Channel", false, 601.0, 1),
    ];
    for (name, kind, deleting, age, stuck) in cases {
        let population = count(&[(kind.to_owned(), deleting, age)], &[60.0], &kinds());
        let figures = &population.flows[&flow(&kind.to_lowercase(), deleting)];
        assert_eq!((figures.pending, figures.stuck), (1, stuck), "{name}");
        assert_eq!(figures.longest_stuck, if stuck == 1 { age } else { 0.0 }, "{name}");
    }
}

#[test]
fn kinds_that_nobody_configured_are_named_up_to_a_limit() {
    let rows: Vec<_> = (0..50).map(|n| (format!("Kind{n:02}"), false, 1.0)).collect();
    let population = count(&rows, &[60.0], &kinds());
    let labels: BTreeSet<_> = population.flows.keys().map(|flow| flow.resource_type.clone()).collect();
    assert_eq!(labels.len(), 2 + DISCOVERED_KINDS + 1);
    assert_eq!(population.flows[&flow(OTHER, false)].pending, 30);
    assert_eq!(population.unknown_kind, 50);
}

#[test]
fn spellings_of_a_kind_are_one_type() {
    let rows = [("Cluster".to_owned(), false, 1.0), ("CLUSTER".to_owned(), false, 2.0)];
    assert_eq!(count(&rows, &[60.0], &kinds()).flows[&flow("cluster", false)].pending, 2);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Figures from groups are the figures that counting the rows one by one gives.
    #[test]
    fn rows_and_figures_agree(
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
    fn no_kind_makes_a_label_that_is_not_allowed_for(found in prop::collection::vec("\\PC{0,6}", 0..60)) {
        let kinds = kinds();
        let types = Types::new(&kinds, found.iter().map(String::as_str));
        prop_assert!(types.all().count() <= kinds.all().len() + DISCOVERED_KINDS);
        let allowed: BTreeSet<_> = types.all().chain([OTHER]).collect();
        prop_assert!(found.iter().all(|kind| allowed.contains(types.label(kind).as_str())));
    }
}

#[test]
fn a_name_once_given_stays() {
    let kinds = kinds();
    let names: Vec<_> = (0..DISCOVERED_KINDS).map(|number| format!("K{number}")).collect();
    let mut types = Types::new(&kinds, names.iter().map(String::as_str));
    let before = types.clone();
    types.name(["Aardvark", "K3", "cluster"]);
    assert_eq!(types, before, "there is no room, and what came first keeps its name");
    assert_eq!((types.label("Aardvark").as_str(), types.label("K3").as_str()), (OTHER, "k3"));
}

#[test]
fn bands_count_the_edges_below() {
    let edges = Edges::new(&[60.0, 3600.0], &kinds());
    assert_eq!(edges.as_slice(), [60.0, 300.0, 600.0, 1800.0, 3600.0]);
    let cases = [(-5.0, 0), (60.0, 0), (60.1, 1), (600.0, 2), (1e9, 5)];
    for (age, band) in cases {
        assert_eq!(edges.band(age), band, "{age}");
    }
    assert!(edges.is_beyond(edges.band(600.5), 600.0) && !edges.is_beyond(edges.band(600.0), 600.0));
    assert!(f64::from(u32::try_from(edges.band(f64::NAN)).unwrap()) == 0.0, "no age is no age");
}
