//! Samples as text, in the two formats of Prometheus.
//!
//! In: samples, and what a scraper's `Accept` header asks for. Out: `OpenMetrics`, which the library writes, or the
//! classic text format, converted from it. The classic one is the default, because it is what scrapers that say
//! nothing understand; Prometheus asks for `OpenMetrics` by name. Nothing can fail.

use std::borrow::Cow;
use std::sync::Arc;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::DescriptorEncoder;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::Registry;

use crate::samples::{Family, Kind, Value};

/// A text format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exposition {
    /// The classic text format, version 0.0.4.
    Classic,
    /// `OpenMetrics` 1.0.0.
    OpenMetrics,
}

impl Exposition {
    /// The format that an `Accept` header prefers.
    #[must_use]
    pub fn negotiate(accept: Option<&str>) -> Self {
        let quality = |wanted: &str| {
            let offers = accept.unwrap_or_default().split(',').filter_map(|offer| {
                let mut parts = offer.split(';').map(str::trim);
                let matches = parts.next().is_some_and(|kind| kind.eq_ignore_ascii_case(wanted));
                matches.then(|| {
                    parts.find_map(|part| part.strip_prefix("q=")).map_or(1.0, |q| q.parse::<f32>().unwrap_or(0.0))
                })
            });
            offers.fold(0.0_f32, f32::max)
        };
        let open = quality("application/openmetrics-text");
        if open > 0.0 && open >= quality("text/plain") { Self::OpenMetrics } else { Self::Classic }
    }

    /// The value of the header `Content-Type`.
    #[must_use]
    pub fn content_type(self) -> &'static str {
        match self {
            Self::Classic => "text/plain; version=0.0.4; charset=utf-8",
            Self::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
        }
    }
}

/// Writes families, each sample with the constant labels.
#[must_use]
pub fn write(families: Vec<Family>, constant: &[(&'static str, String)], format: Exposition) -> String {
    let labels = constant.iter().map(|(name, value)| (Cow::Borrowed(*name), Cow::Owned(value.clone())));
    let mut registry = Registry::with_labels(labels);
    registry.register_collector(Box::new(Families(Arc::new(families))));
    let mut text = String::new();
    let written = encode(&mut text, &registry);
    debug_assert!(written.is_ok(), "writing into a string fails only where a collector does, and ours does not");
    match format {
        Exposition::OpenMetrics => text,
        Exposition::Classic => to_classic(&text),
    }
}

#[derive(Debug)]
struct Families(Arc<Vec<Family>>);

impl Collector for Families {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), std::fmt::Error> {
        for family in self.0.iter() {
            let kind = match family.kind {
                Kind::Counter => MetricType::Counter,
                Kind::Gauge => MetricType::Gauge,
                Kind::Histogram => MetricType::Histogram,
            };
            // The library appends `_total` by itself.
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

/// Rewrites `OpenMetrics` as the classic format.
///
/// Samples are the same but for the bounds of buckets (`1.0` there, `1` here: a series must keep its labels). A
/// counter's family is named as its samples are, with `_total`; units and the end mark have no counterpart.
fn to_classic(open: &str) -> String {
    let mut classic = String::with_capacity(open.len());
    let mut help = None;
    for line in open.lines() {
        if let Some(described) = line.strip_prefix("# HELP ") {
            help = described.split_once(' ');
        } else if let Some((name, kind)) = line.strip_prefix("# TYPE ").and_then(|rest| rest.split_once(' ')) {
            let suffix = if kind == "counter" { "_total" } else { "" };
            if let Some((_, help)) = help.take().filter(|(described, _)| *described == name) {
                classic.push_str(&format!("# HELP {name}{suffix} {help}\n"));
            }
            classic.push_str(&format!("# TYPE {name}{suffix} {kind}\n"));
        } else if !line.starts_with('#') {
            classic.push_str(&with_short_bound(line));
            classic.push('\n');
        }
    }
    classic
}

fn with_short_bound(sample: &str) -> Cow<'_, str> {
    // Quotes inside of label values are escaped, so that this can only be the label.
    let bound = ["{le=\"", ",le=\""].iter().find_map(|label| sample.find(label).map(|at| at + label.len()));
    let Some((before, rest)) = bound.and_then(|start| sample.split_at_checked(start)) else {
        return Cow::Borrowed(sample);
    };
    let Some((bound, after)) = rest.split_once('"') else { return Cow::Borrowed(sample) };
    match bound.strip_suffix(".0") {
        Some(short) => Cow::Owned(format!("{before}{short}\"{after}")),
        None => Cow::Borrowed(sample),
    }
}

#[cfg(test)]
mod tests;
