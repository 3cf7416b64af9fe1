//! Passes the samples of one scrape to `prometheus-client`, which writes both text formats.

use prometheus_client::collector::Collector;
use prometheus_client::encoding::DescriptorEncoder;
use prometheus_client::metrics::MetricType;

use crate::samples::{FAMILIES, Kind, Page, Value};

impl Collector for Page {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), std::fmt::Error> {
        for &(name, kind, help) in FAMILIES {
            let Some(samples) = self.samples.get(name) else { continue };
            // The library appends `_total` to the names of counters.
            let (name, metric_type) = match kind {
                Kind::Counter => (name.trim_end_matches("_total"), MetricType::Counter),
                Kind::Gauge => (name, MetricType::Gauge),
                // OpenMetrics has `gaugehistogram` for histograms that fall, but its series have other names than those of the
                // classic format, so rules would depend on the format.
                Kind::Histogram => (name, MetricType::Histogram),
            };
            let mut metric = encoder.encode_descriptor(name, help, None, metric_type)?;
            for sample in samples {
                let labels: Vec<(&str, &str)> =
                    sample.labels.iter().map(|(name, value)| (*name, value.as_str())).collect();
                let mut metric = metric.encode_family(&labels)?;
                match &sample.value {
                    Value::Number(value) if kind == Kind::Counter => {
                        metric.encode_counter::<[(&str, &str); 0], f64, f64>(value, None)?;
                    }
                    Value::Number(value) => metric.encode_gauge(value)?,
                    Value::Histogram { buckets, sum, count } => {
                        metric.encode_histogram::<[(&str, &str); 0]>(*sum, *count, buckets, None)?;
                    }
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
