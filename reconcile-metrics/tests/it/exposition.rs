//! The text that a scrape returns: its format, and every documented metric.

use std::collections::{BTreeMap, BTreeSet};

use crate::figures::fleet;
use crate::world::{KINDS, World};

#[tokio::test]
async fn accept_header_selects_the_format() {
    let mut world = World::migrated().await;
    fleet(&mut world).await;
    let exporter = world.exporter(KINDS).await;
    let (kind, classic) = exporter.metrics_as("text/plain").await;
    assert!(kind.starts_with("text/plain; version=0.0.4"), "{kind}");
    assert!(classic.contains("# TYPE hyperfleet_reconcile_metrics_scrape_errors_total counter\n"), "{classic}");
    assert!(!classic.contains("# EOF"));
    let (kind, open) = exporter.metrics_as("application/openmetrics-text; version=1.0.0").await;
    assert!(kind.starts_with("application/openmetrics-text; version=1.0.0"), "{kind}");
    assert!(open.contains("# TYPE hyperfleet_reconcile_metrics_scrape_errors counter\n") && open.ends_with("# EOF\n"));
    let values = |text: &str| -> Vec<String> {
        let ours = text.lines().filter(|line| line.starts_with("hyperfleet_api_") && !line.contains("seconds"));
        ours.map(str::to_owned).collect()
    };
    assert_eq!(values(&classic), values(&open));
}

/// Compares the table of metrics in `docs/reconcile-metrics.md` with a scrape, labels included.
#[tokio::test]
async fn scrape_has_exactly_the_documented_metrics_and_labels() {
    let page = include_str!("../../../docs/reconcile-metrics.md");
    let documented: BTreeMap<String, BTreeSet<String>> = page
        .lines()
        .filter(|line| line.starts_with("| `hyperfleet_"))
        .map(|line| {
            let columns: Vec<_> = line.split('|').map(|column| column.trim().replace('`', "")).collect();
            let labels = columns[3].split(", ").filter(|label| !label.is_empty()).map(str::to_owned).collect();
            (columns[1].clone(), labels)
        })
        .collect();
    let mut world = World::migrated().await;
    fleet(&mut world).await;
    let exporter = world.exporter(KINDS).await;
    exporter.scraper.renew_details().await;
    let mut exposed: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for series in exporter.scrape().await.0.keys().filter(|series| series.starts_with("hyperfleet_")) {
        let (name, labels) = series.split_once('{').unwrap();
        let name = ["_bucket", "_sum", "_count"].iter().find_map(|suffix| name.strip_suffix(suffix)).unwrap_or(name);
        let labels = labels.trim_end_matches('}').split(',').filter_map(|label| label.split('=').next());
        let labels = labels.filter(|label| !label.is_empty() && *label != "le").map(str::to_owned);
        exposed.entry(name.to_owned()).or_default().extend(labels);
    }
    assert_eq!(exposed, documented);
}
