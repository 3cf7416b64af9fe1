use lifecycle_service::metrics::{Exposition, write};
use prometheus_client::registry::Registry;
use proptest::prelude::*;

use super::*;
use crate::samples::Sample;

const UP: &str = "hyperfleet_reconcile_metrics_up";

fn sample(label: &str, value: Value) -> Vec<Sample> {
    vec![Sample { labels: vec![("type", label.to_owned())], value }]
}

#[test]
fn metric_families_are_written_as_text_and_as_openmetrics() {
    let histogram = Value::Histogram { buckets: vec![(60.0, 1), (f64::INFINITY, 2)], sum: 90.5, count: 3 };
    let samples = [
        ("hyperfleet_reconcile_metrics_scrape_errors_total", sample("a", Value::Number(3.0))),
        ("hyperfleet_api_resource_pending_reconciliation_age_seconds", sample("a", histogram)),
        (UP, vec![Sample { labels: Vec::new(), value: Value::Number(0.0) }]),
    ];
    let mut registry = Registry::with_labels([("component".into(), "x".into())].into_iter());
    registry.register_collector(Box::new(Page { samples: samples.into() }));
    insta::assert_snapshot!("classic", write(&registry, Exposition::Classic));
    insta::assert_snapshot!("open_metrics", write(&registry, Exposition::OpenMetrics));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// A label value with any characters is escaped, so that it never begins a second line of the exposition.
    #[test]
    fn label_value_cannot_begin_another_line(value in "\\PC{0,40}|[\\n\\r\"\\\\{},= ]{0,10}", number in 0u32..1_000_000) {
        let mut registry = Registry::default();
        let samples = sample(&value, Value::Number(f64::from(number)));
        registry.register_collector(Box::new(Page { samples: [(UP, samples)].into() }));
        let text = write(&registry, Exposition::Classic);
        let lines: Vec<_> = text.split('\n').filter(|line| !line.is_empty() && !line.starts_with('#')).collect();
        prop_assert_eq!(lines.len(), 1, "{}", text);
        let escaped = value.replace('\\', "\\\\").replace('\n', "\\n").replace('"', "\\\"");
        let begins = format!("{UP}{{type=\"{escaped}\"}} {number}");
        prop_assert!(lines.iter().all(|line| line.starts_with(&begins)), "{}", text);
    }
}
