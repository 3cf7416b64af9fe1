//! Reads series of metrics.
//!
//! In: Prometheus' text format, and the name of a metric. Out: its series. Pure; other lines are skipped.

/// One series of a metric.
#[derive(Debug, Clone, PartialEq)]
pub struct Series {
    /// The labels in braces, as the program exports them; empty without labels.
    pub labels: String,
    /// The value; not a number if the text is none, so that no comparison holds.
    pub value: f64,
}

impl Series {
    /// All series of a metric.
    pub fn all(text: &str, metric: &str) -> impl Iterator<Item = Self> {
        text.lines().filter_map(move |line| Self::read(line, metric))
    }

    fn read(line: &str, metric: &str) -> Option<Self> {
        let (labels, value) = line.strip_prefix(metric)?.rsplit_once(' ')?;
        let is_this = labels.is_empty() || labels.starts_with('{');
        is_this.then_some(())?;
        Some(Self { labels: labels.to_owned(), value: value.parse().unwrap_or(f64::NAN) })
    }
}

/// The sum of a metric's series whose labels contain a text; 0 without such a series.
#[must_use]
pub fn total(text: &str, metric: &str, label: &str) -> f64 {
    Series::all(text, metric).filter(|series| series.labels.contains(label)).map(|series| series.value).sum()
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
