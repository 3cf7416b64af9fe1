//! Writes metrics in one of Prometheus' two text formats.
//!
//! In: the registry, and the scraper's `Accept` header. Out: `OpenMetrics`, as the library writes it, or the
//! classic text format, converted from `OpenMetrics`. Classic is the default, because scrapers without an
//! `Accept` header understand it; Prometheus itself requests `OpenMetrics`.

use std::borrow::Cow;
use std::convert::Infallible;

use axum::extract::FromRequestParts;
use axum::http::header::ACCEPT;
use axum::http::request::Parts;
use prometheus_client::encoding::text::encode;
use prometheus_client::registry::Registry;

/// A text format. As an axum extractor, it is the format that the request's `Accept` header prefers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exposition {
    /// The classic text format, version 0.0.4.
    Classic,
    /// The format `OpenMetrics`, version 1.0.0.
    OpenMetrics,
}

impl Exposition {
    /// Chooses the format that an `Accept` header prefers.
    fn negotiate(accept: Option<&str>) -> Self {
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

impl<S: Sync> FromRequestParts<S> for Exposition {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        Ok(Self::negotiate(parts.headers.get(ACCEPT).and_then(|accept| accept.to_str().ok())))
    }
}

/// Writes all metrics of a registry.
#[must_use]
pub fn write(registry: &Registry, format: Exposition) -> String {
    let mut text = String::new();
    let written = encode(&mut text, registry);
    debug_assert!(written.is_ok(), "writing into a string fails only where a collector does, and ours does not");
    match format {
        Exposition::OpenMetrics => text,
        Exposition::Classic => to_classic(&text),
    }
}

/// Converts `OpenMetrics` text to the classic format.
///
/// A counter's metadata get the name of its samples, with `_total`. `UNIT` and `EOF` lines are dropped,
/// because the classic format has none. Bucket bounds lose their `.0`: `1.0` becomes `1`, which other client
/// libraries write, so that a series keeps its labels.
fn to_classic(open: &str) -> String {
    let mut classic = String::with_capacity(open.len());
    let mut help = None;
    for line in open.lines() {
        if let Some(described) = line.strip_prefix("# HELP ") {
            help = described.split_once(' ');
        } else if let Some((name, kind)) = line.strip_prefix("# TYPE ").and_then(|rest| rest.split_once(' ')) {
            let (suffix, kind) = match kind {
                "counter" => ("_total", kind),
                "info" => ("_info", "gauge"),
                "unknown" => ("", "untyped"),
                _ => ("", kind),
            };
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
    // Quotes in label values are escaped, so this text cannot be part of a value: it is the label `le`.
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
mod tests {
    use super::*;

    #[test]
    fn exposition_follows_the_accept_header() {
        let prometheus_2 = "application/openmetrics-text;version=1.0.0;q=0.5,application/openmetrics-text;version=0.0.1;q=0.4,\
                            text/plain;version=0.0.4;q=0.3,*/*;q=0.2";
        let cases = [
            ("no header", None, Exposition::Classic),
            ("anything", Some("*/*"), Exposition::Classic),
            ("a browser", Some("text/html,application/xhtml+xml,*/*;q=0.8"), Exposition::Classic),
            ("Prometheus 2", Some(prometheus_2), Exposition::OpenMetrics),
            ("by name", Some("application/openmetrics-text; version=1.0.0"), Exposition::OpenMetrics),
            ("refused by name", Some("application/openmetrics-text;q=0, text/plain"), Exposition::Classic),
            ("text preferred", Some("text/plain;q=0.9, application/openmetrics-text;q=0.1"), Exposition::Classic),
        ];
        for (name, accept, expected) in cases {
            assert_eq!(Exposition::negotiate(accept), expected, "{name}");
        }
    }

    #[test]
    fn classic_format_differs_in_names_types_and_bounds() {
        let open = "# HELP jobs Jobs done.\n# TYPE jobs counter\njobs_total{a=\"x,le=\\\"1.0\\\"\"} 1\n\
                    # HELP wait_seconds Wait.\n# TYPE wait_seconds histogram\n# UNIT wait_seconds seconds\n\
                    wait_seconds_bucket{le=\"0.5\"} 1\nwait_seconds_bucket{a=\"b\",le=\"10.0\"} 2\n\
                    wait_seconds_bucket{le=\"+Inf\"} 2\n# TYPE odd unknown\nodd{role=\"1.0\"} 1\n# EOF\n";
        let classic = "# HELP jobs_total Jobs done.\n# TYPE jobs_total counter\njobs_total{a=\"x,le=\\\"1.0\\\"\"} 1\n\
                       # HELP wait_seconds Wait.\n# TYPE wait_seconds histogram\n\
                       wait_seconds_bucket{le=\"0.5\"} 1\nwait_seconds_bucket{a=\"b\",le=\"10\"} 2\n\
                       wait_seconds_bucket{le=\"+Inf\"} 2\n# TYPE odd untyped\nodd{role=\"1.0\"} 1\n";
        assert_eq!(to_classic(open), classic);
    }
}
