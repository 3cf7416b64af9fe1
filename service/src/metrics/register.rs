//! Registers metrics, and returns their handles.

use std::hash::Hash;

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Metric, Registry};

/// A histogram for each set of labels.
pub type Histograms<L> = Family<L, Histogram, fn() -> Histogram>;

/// Registers each metric with its name and help text, and returns the handle that changes it.
#[derive(Debug)]
pub struct Register<'r>(pub &'r mut Registry);

impl Register<'_> {
    fn add<M: Metric + Clone>(&mut self, name: &str, help: &str, metric: M) -> M {
        self.0.register(name, help, metric.clone());
        metric
    }

    /// Registers a metric with labels.
    pub fn family<L, M>(&mut self, name: &str, help: &str) -> Family<L, M>
    where
        Family<L, M>: Metric + Clone + Default,
    {
        self.add(name, help, Family::default())
    }

    /// Registers a counter.
    pub fn counter(&mut self, name: &str, help: &str) -> Counter {
        self.add(name, help, Counter::default())
    }

    /// Registers a gauge.
    pub fn gauge<N, A>(&mut self, name: &str, help: &str) -> Gauge<N, A>
    where
        Gauge<N, A>: Metric + Clone + Default,
    {
        self.add(name, help, Gauge::default())
    }

    /// Registers a histogram with these upper bounds.
    pub fn histogram(&mut self, name: &str, help: &str, buckets: &[f64]) -> Histogram {
        self.add(name, help, Histogram::new(buckets.iter().copied()))
    }

    /// Registers a histogram with labels; `make` has the upper bounds.
    pub fn histograms<L>(&mut self, name: &str, help: &str, make: fn() -> Histogram) -> Histograms<L>
    where
        Histograms<L>: Metric + Clone,
        L: Clone + Hash + Eq,
    {
        self.add(name, help, Histograms::new_with_constructor(make))
    }

    /// Registers the metric that says by its label which commit the program was built from.
    pub fn build_info(&mut self, name: &str, commit: &str) {
        let build_info: Family<[(&'static str, String); 1], Gauge> = self.family(name, "The build that is running");
        build_info.get_or_create(&[("commit", commit.to_owned())]).set(1);
    }
}
