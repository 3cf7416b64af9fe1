use lifecycle_service::metrics::{Exposition, write};
use prometheus_client::registry::Registry;
use proptest::prelude::*;

use super::*;
use crate::samples::Sample;

fn families() -> Vec<Family> {
    let labels = |value: &str| vec![("type", value.to_owned())];
    let histogram = Value::Histogram { buckets: vec![(60.0, 1), (f64::INFINITY, 2)], sum: 90.5, count: 3 };
    vec![
        Family {
            name: "jobs_total",
            help: "Jobs done.",
            kind: Kind::Counter,
            samples: vec![Sample { labels: labels("a"), value: Value::Number(3.0) }],
        },
        Family {
            name: "age_seconds",
            help: "Ages.",
            kind: Kind::Histogram,
            samples: vec![Sample { labels: labels("a"), value: histogram }],
        },
        Family {
            name: "left",
            help: "Left.",
            kind: Kind::Gauge,
            samples: vec![Sample { labels: Vec::new(), value: Value::Number(0.0) }],
        },
    ]
}

#[test]
fn metric_families_are_written_as_text_and_as_openmetrics() {
    let mut registry = Registry::with_labels([("component".into(), "x".into())].into_iter());
    registry.register_collector(Box::new(Families(families())));
    insta::assert_snapshot!("classic", write(&registry, Exposition::Classic));
    insta::assert_snapshot!("open_metrics", write(&registry, Exposition::OpenMetrics));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// A label value with any characters is escaped, so that it never begins a second line of the exposition.
    #[test]
    fn label_value_cannot_begin_another_line(value in "\\PC{0,40}|[\\n\\r\"\\\\{},= ]{0,10}", number in 0u32..1_000_000) {
        let sample = Sample { labels: vec![("type", value.clone())], value: Value::Number(f64::from(number)) };
        let family = Family { name: "left", help: "Left.", kind: Kind::Gauge, samples: vec![sample] };
        let mut registry = Registry::default();
        registry.register_collector(Box::new(Families(vec![family])));
        let text = write(&registry, Exposition::Classic);
        let lines: Vec<_> = text.split('\n').filter(|line| !line.is_empty() && !line.starts_with('#')).collect();
        prop_assert_eq!(lines.len(), 1, "{}", text);
        let escaped = value.replace('\\', "\\\\").replace('\n', "\\n").replace('"', "\\\"");
        let begins = format!("left{{type=\"{escaped}\"}} {number}");
        prop_assert!(lines.iter().all(|line| line.starts_with(&begins)), "{}", text);
    }
}
