//! Reads series of metrics.
//!
//! In: Prometheus' text format, and the name of a metric. Out: its series. Pure; lines of another form are skipped.

/// One series of a metric.
pub(crate) struct Series {
    /// The labels, as the part exports them.
    pub(crate) labels: String,
    pub(crate) value: f64,
}

impl Series {
    /// All series of a metric.
    pub(crate) fn all(text: &str, metric: &str) -> impl Iterator<Item = Self> {
        text.lines().filter_map(move |line| Self::read(line, metric))
    }

    fn read(line: &str, metric: &str) -> Option<Self> {
        let (labels, value) = line.strip_prefix(metric)?.rsplit_once(' ')?;
        let is_this = labels.is_empty() || labels.starts_with('{');
        is_this.then_some(())?;
        Some(Self { labels: labels.to_owned(), value: value.parse().ok()? })
    }
}

#[cfg(test)]
mod tests {
    use super::Series;

    #[test]
    fn series_are_those_of_the_metric_itself() {
        let text = "# TYPE passes counter\npasses_total{status=\"failed\"} 2\npasses_total{status=\"done\"} 3\npasses_totals 9\n";
        let found: Vec<_> = Series::all(text, "passes_total").map(|series| (series.labels, series.value)).collect();
        let expected = [("{status=\"failed\"}", 2.0), ("{status=\"done\"}", 3.0)];
        assert_eq!(found, expected.map(|(labels, value)| (labels.to_owned(), value)));
    }
}
