//! Prints the result as a Markdown table: the median and the extremes of each figure, the ratio of two programs'
//! medians, and the target.

use std::fmt;
use std::time::Duration;

use super::adapter::{Calls, Program};
use super::options::{Options, Shape};

/// The figures that one run of the benchmark measured.
pub(crate) struct Measured {
    pub(crate) create: Phase,
    pub(crate) steady: Phase,
    pub(crate) memory: Memory,
    /// The share of one core that the adapter takes with nothing to do.
    pub(crate) idle_cpu: f64,
}

/// The figures of a phase, from its first published event to its last report.
pub(crate) struct Phase {
    pub(crate) events: usize,
    pub(crate) took: Duration,
    /// The 99th percentile of a pass, from the read of the cluster to the report.
    pub(crate) p99: Duration,
    /// The CPU time that the adapter used during the phase.
    pub(crate) cpu: Duration,
    /// The adapter's share of the CPU time that the whole machine used during the phase.
    pub(crate) share_of_busy: f64,
    pub(crate) calls: Calls,
    /// Requests to the HyperFleet API.
    pub(crate) api_calls: u64,
}

/// The idle adapter's resident memory in KiB, and its use of one core.
pub(crate) struct Idle {
    pub(crate) resident: u64,
    pub(crate) cpu: f64,
}

/// The resident memory of the adapter in KiB.
pub(crate) struct Memory {
    pub(crate) idle: u64,
    /// Pairs of the number of events and the memory then: once during the first phase, then after each phase.
    pub(crate) loaded: Vec<(usize, u64)>,
}

/// A program with the figures of its runs.
pub(crate) struct Column {
    pub(crate) program: Program,
    pub(crate) runs: Vec<Measured>,
}

/// One figure of one run.
struct Figure {
    name: String,
    value: f64,
    target: &'static str,
}

/// The targets for the CPU time of an event in the create and in the steady phase, in ms.
fn targets(shape: Shape) -> (&'static str, &'static str) {
    match shape {
        Shape::Captures => ("≤ 0.5", "≤ 0.35"),
        Shape::Expressions => ("≤ 0.6", "≤ 0.5"),
        Shape::Remote => ("", ""),
    }
}

/// Prints the table of all figures, in Markdown.
pub(crate) fn print(options: &Options, columns: &[Column]) {
    print_line(&format!(
        "{:?}, {} resources, parallelism {}, log level {}, {} runs: median (least to most)\n",
        options.shape,
        options.events(),
        options.parallelism,
        options.log_level,
        options.runs
    ));
    let names: Vec<_> = columns.iter().map(|column| column.program.name.to_owned()).collect();
    print_row("", &names, "ratio", "target");
    print_row("---", &vec!["---".to_owned(); names.len()], "---", "---");
    let programs: Vec<Vec<Vec<Figure>>> =
        columns.iter().map(|column| column.runs.iter().map(|run| run.figures(options.shape)).collect()).collect();
    let Some(first) = programs.first().and_then(|runs| runs.first()) else { return };
    for (index, figure) in first.iter().enumerate() {
        let spreads: Vec<Spread> = programs
            .iter()
            .map(|runs| Spread::of(runs.iter().filter_map(|figures| figures.get(index)).map(|figure| figure.value)))
            .collect();
        let ratio = match spreads.as_slice() {
            [ours, beside] => format!("{:.2}", ours.median / beside.median),
            _ => "–".to_owned(),
        };
        let cells: Vec<String> = spreads.iter().map(Spread::to_string).collect();
        print_row(&figure.name, &cells, &ratio, figure.target);
    }
}

/// The values of one figure in all runs.
struct Spread {
    least: f64,
    median: f64,
    most: f64,
}

impl Spread {
    fn of(values: impl Iterator<Item = f64>) -> Self {
        let mut values: Vec<f64> = values.collect();
        values.sort_by(f64::total_cmp);
        let at = |index: usize| values.get(index).copied().unwrap_or(f64::NAN);
        Self { least: at(0), median: at(values.len() / 2), most: at(values.len().saturating_sub(1)) }
    }
}

impl fmt::Display for Spread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.2} ({:.2} to {:.2})", self.median, self.least, self.most)
    }
}

impl Measured {
    /// All figures, in the order in which they are printed.
    fn figures(&self, shape: Shape) -> Vec<Figure> {
        let (create_target, steady_target) = targets(shape);
        let mut figures = self.create.figures("create", create_target, "2");
        figures.extend(self.steady.figures("steady", steady_target, "1"));
        let mut add = |name: String, value, target| figures.push(Figure { name, value, target });
        let mebibytes = |kibibytes: u64| kibibytes as f64 / 1024.0;
        add("memory, idle, MiB".to_owned(), mebibytes(self.memory.idle), "≤ 16");
        for (events, resident) in &self.memory.loaded {
            add(format!("memory, {events} events, MiB"), mebibytes(*resident), "≤ 20");
        }
        add("idle, % of a core".to_owned(), self.idle_cpu * 100.0, "≈ 0");
        figures
    }
}

impl Phase {
    fn figures(&self, name: &str, target_cpu: &'static str, target_calls: &'static str) -> Vec<Figure> {
        let events = self.events as f64;
        let calls = self.calls.0.values().sum::<u64>() as f64;
        let figure = |what: &str, value, target| Figure { name: format!("{name}: {what}"), value, target };
        vec![
            figure("events/s", events / self.took.as_secs_f64(), ""),
            figure("CPU, ms an event", self.cpu.as_secs_f64() * 1000.0 / events, target_cpu),
            figure("p99 of a pass, ms", self.p99.as_secs_f64() * 1000.0, ""),
            figure("calls of the transport an event", calls / events, target_calls),
            figure("API calls an event", self.api_calls as f64 / events, "2"),
            figure("share of busy CPU, %", self.share_of_busy * 100.0, ""),
        ]
    }
}

fn print_row(name: &str, cells: &[String], ratio: &str, target: &str) {
    print_line(&format!("| {name} | {} | {ratio} | {target} |", cells.join(" | ")));
}

#[expect(clippy::print_stdout, reason = "the result of a benchmark")]
fn print_line(line: &str) {
    println!("{line}");
}
