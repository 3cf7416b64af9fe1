use std::collections::BTreeSet;
use std::time::Duration;

use proptest::prelude::*;

use super::*;
use crate::config::Kind as ResourceKind;
use crate::figures::Group;
use crate::scrape::Attempt;
use crate::store::{Snapshot, Stalled};

fn kinds() -> Kinds {
    let kind = |name: &str, minutes: u64| ResourceKind {
        name: name.to_owned(),
        required_adapters: vec!["dns".to_owned()],
        stuck_after: Duration::from_secs(minutes * 60),
        stuck_after_deleting: Duration::from_secs(minutes * 120),
    };
    Kinds::new(vec![kind("Cluster", 10), kind("NodePool", 7)], Duration::from_secs(600))
}

fn scrape(groups: Vec<Group>) -> Scrape {
    let types = Types::new(&kinds(), groups.iter().map(|group| group.kind.as_str()));
    let snapshot = Snapshot { standby_age: Some(0.0), groups };
    Scrape { snapshot: Some(snapshot), types, ..Scrape::default() }
}

fn number(page: &Page, name: &str, labels: &[(&'static str, String)]) -> Option<f64> {
    page.samples.get(name)?.iter().find(|sample| sample.labels == labels).and_then(|sample| match sample.value {
        Value::Number(value) => Some(value),
        Value::Histogram { .. } => None,
    })
}

#[test]
fn failed_reading_has_health_metrics_and_no_figures() {
    let failed = Attempt { success: Some(false), seconds: 0.5, ..Attempt::default() };
    let scrape = Scrape { attempts: BTreeMap::from([("snapshot", failed)]), ..Scrape::default() };
    let page = page(&scrape, &kinds(), "none");
    assert!(!page.samples.keys().any(|name| name.starts_with("hyperfleet_api_")), "{page:#?}");
    let labels = [("collector", "snapshot".to_owned())];
    assert_eq!(number(&page, "hyperfleet_reconcile_metrics_scrape_success", &labels), Some(0.0));
    let never = [("collector", "details".to_owned())];
    assert_eq!(
        number(&page, "hyperfleet_reconcile_metrics_scrape_success", &never),
        None,
        "a collector that never read has no success"
    );
}

#[test]
fn every_configured_type_has_a_sample_of_stalled_deletions() {
    let stalled = vec![Stalled { kind: "NodePool".to_owned(), count: 3 }, Stalled { kind: "Odd".to_owned(), count: 2 }];
    let details = Details { stalled, ..Details::default() };
    let scrape = Scrape { details: Some(details), ..scrape(Vec::new()) };
    let page = page(&scrape, &kinds(), "none");
    for (resource_type, count) in [("cluster", 0.0), ("nodepool", 3.0), ("other", 2.0)] {
        let labels = [("resource_type", resource_type.to_owned())];
        let given = number(&page, "hyperfleet_api_resource_deletion_stalled", &labels);
        assert_eq!(given, Some(count), "{resource_type}");
    }
}

#[test]
fn every_type_with_figures_has_a_threshold() {
    let widget = Group { kind: "Widget".to_owned(), count: 1, ..Group::default() };
    let page = page(&scrape(vec![widget]), &kinds(), "none");
    let cases =
        [("cluster", 600.0, 1200.0), ("nodepool", 420.0, 840.0), ("widget", 600.0, 600.0), ("other", 600.0, 600.0)];
    for (resource_type, live, deletion) in cases {
        for (is_delete, threshold) in [(false, live), (true, deletion)] {
            let labels = [("resource_type", resource_type.to_owned()), ("is_delete", is_delete.to_string())];
            let given = number(&page, "hyperfleet_reconcile_metrics_stuck_threshold_seconds", &labels);
            assert_eq!(given, Some(threshold), "{resource_type} {is_delete}");
        }
    }
    // Thresholds come from the configuration, so they stay when a reading fails.
    let failed = Scrape { types: Types::new(&kinds(), []), ..Scrape::default() };
    let page = super::page(&failed, &kinds(), "none");
    let series = page.samples.get("hyperfleet_reconcile_metrics_stuck_threshold_seconds").map(Vec::len);
    assert_eq!(series, Some(6), "two configured types and `other`, each with two flows");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// For any groups: no series occurs twice, every family is in `FAMILIES`, and gauges and histogram agree.
    #[test]
    fn gauges_agree_with_the_histogram(
        groups in prop::collection::vec(("(Cluster|NODEPOOL|NodePool|Odd|)", any::<bool>(), 0usize..14, 1u64..1_000, 0.0..1e9f64), 0..40),
    ) {
        let groups = groups
            .into_iter()
            .map(|(kind, deleting, bucket, count, oldest)| {
                Group { kind, deleting, bucket, count, oldest, age_sum: oldest * count as f64, ..Group::default() }
            })
            .collect::<Vec<_>>();
        let total: u64 = groups.iter().map(|group| group.count).sum();
        prop_assert_eq!(Bounds::new(&AGE_BUCKETS, &kinds()).as_slice().len(), 13);
        let page = page(&scrape(groups), &kinds(), "none");
        for (name, samples) in &page.samples {
            prop_assert!(FAMILIES.iter().any(|(known, _, _)| known == name), "{}", name);
            let series: BTreeSet<_> = samples.iter().map(|sample| &sample.labels).collect();
            prop_assert_eq!(series.len(), samples.len(), "a series of {} is there twice", name);
        }
        let name = "hyperfleet_api_resource_pending_reconciliation";
        let mut seen = 0.0;
        for sample in page.samples.get("hyperfleet_api_resource_pending_reconciliation_age_seconds").into_iter().flatten() {
            let Value::Histogram { buckets, count, .. } = &sample.value else { panic!("{sample:?}") };
            let pending = number(&page, name, &sample.labels);
            prop_assert_eq!(pending, Some(*count as f64));
            prop_assert_eq!(buckets.iter().map(|(_, count)| count).sum::<u64>(), *count);
            let stuck = number(&page, &format!("{name}_stuck"), &sample.labels);
            prop_assert!(stuck <= pending);
            let longest = number(&page, &format!("{name}_stuck_duration_seconds"), &sample.labels);
            prop_assert!(stuck > Some(0.0) || longest == Some(0.0), "{stuck:?} {longest:?}");
            seen += pending.unwrap_or_default();
        }
        prop_assert_eq!(seen, total as f64, "every pending resource is in one series");
    }
}
