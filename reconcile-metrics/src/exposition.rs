//! Passes the samples of one scrape to `prometheus-client`, which writes both text formats.

use prometheus_client::collector::Collector;
use prometheus_client::encoding::DescriptorEncoder;
use prometheus_client::metrics::MetricType;

use crate::samples::{Family, Kind, Value};

/// The families of one scrape, which a registry writes.
#[derive(Debug)]
pub struct Families(pub Vec<Family>);

impl Collector for Families {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), std::fmt::Error> {
        for family in &self.0 {
            let kind = match family.kind {
                Kind::Counter => MetricType::Counter,
                Kind::Gauge => MetricType::Gauge,
                // OpenMetrics has `gaugehistogram` for histograms that fall, but its series have other names than those of the
                // classic format, so rules would depend on the format.
                Kind::Histogram => MetricType::Histogram,
            };
            // The library appends `_total` to the names of counters.
            let name = family.name.strip_suffix("_total").filter(|_| family.kind == Kind::Counter);
            let mut metric = encoder.encode_descriptor(name.unwrap_or(family.name), family.help, None, kind)?;
            for sample in &family.samples {
                let labels: Vec<(&str, &str)> =
                    sample.labels.iter().map(|(name, value)| (*name, value.as_str())).collect();
                let mut metric = metric.encode_family(&labels)?;
                match &sample.value {
                    Value::Number(value) if family.kind == Kind::Counter => {
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
