//! Prints the result: each figure, the Go adapter's, their ratio, and the target.

use std::time::Duration;

use super::adapter::Calls;
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

/// The Go adapter's figures for the same shape: two cores shared with the servers, no client rate limit,
/// parallelism 10.
struct Go {
    create: GoPhase,
    steady: GoPhase,
}

struct GoPhase {
    per_second: f64,
    cpu: f64,
    p99: f64,
    calls: f64,
}

/// The Go adapter's memory in MiB: idle, and after 2,000 events.
const GO_MEMORY: (f64, f64) = (46.5, 60.0);

fn go(shape: Shape) -> Go {
    match shape {
        Shape::Captures => Go {
            create: GoPhase { per_second: 187.0, cpu: 5.31, p99: 90.0, calls: 3.0 },
            steady: GoPhase { per_second: 227.0, cpu: 5.04, p99: 68.0, calls: 2.0 },
        },
        Shape::Expressions => Go {
            create: GoPhase { per_second: 122.0, cpu: 7.95, p99: 136.0, calls: 4.0 },
            steady: GoPhase { per_second: 141.0, cpu: 7.49, p99: 110.0, calls: 3.0 },
        },
    }
}

/// The targets for the CPU time of an event in the create and in the steady phase, in ms.
fn targets(shape: Shape) -> (&'static str, &'static str) {
    match shape {
        Shape::Captures => ("≤ 0.5", "≤ 0.35"),
        Shape::Expressions => ("≤ 0.6", "≤ 0.5"),
    }
}

/// Prints the table of all figures.
pub(crate) fn print(options: &Options, measured: &Measured) {
    let Measured { create, steady, memory, idle_cpu } = measured;
    let go = go(options.shape);
    print_line(&format!(
        "{:?}, {} resources, parallelism {}, log level {}",
        options.shape, create.events, options.parallelism, options.log_level
    ));
    print_row("", ["adapter", "Go", "ratio", "target"].map(str::to_owned));
    let (create_target, steady_target) = targets(options.shape);
    print_phase("create", create, &go.create, (create_target, 2.0));
    print_phase("steady", steady, &go.steady, (steady_target, 1.0));
    let mebibytes = |kibibytes: u64| kibibytes as f64 / 1024.0;
    print_figure("memory, idle, MiB", mebibytes(memory.idle), Some(GO_MEMORY.0), "≤ 16");
    for (events, resident) in &memory.loaded {
        print_figure(&format!("memory, {events} events, MiB"), mebibytes(*resident), Some(GO_MEMORY.1), "≤ 20");
    }
    print_figure("idle, % of a core", idle_cpu * 100.0, None, "≈ 0");
}

fn print_phase(name: &str, phase: &Phase, go: &GoPhase, (target_cpu, target_calls): (&str, f64)) {
    let events = phase.events as f64;
    let per_second = events / phase.took.as_secs_f64();
    let cpu = phase.cpu.as_secs_f64() * 1000.0 / events;
    let calls = phase.calls.0.values().sum::<u64>() as f64 / events;
    print_figure(&format!("{name}: events/s"), per_second, Some(go.per_second), "");
    print_figure(&format!("{name}: CPU, ms an event"), cpu, Some(go.cpu), target_cpu);
    print_figure(&format!("{name}: p99 of a pass, ms"), phase.p99.as_secs_f64() * 1000.0, Some(go.p99), "");
    print_figure(&format!("{name}: Kubernetes calls an event"), calls, Some(go.calls), &format!("{target_calls}"));
    print_figure(&format!("{name}: API calls an event"), phase.api_calls as f64 / events, Some(2.0), "2");
    print_figure(&format!("{name}: share of busy CPU, %"), phase.share_of_busy * 100.0, None, "");
    let verbs: Vec<String> = phase.calls.0.iter().map(|(verb, count)| format!("{count} {verb}")).collect();
    print_line(&format!("    {}", verbs.join(", ")));
}

fn print_figure(name: &str, ours: f64, go: Option<f64>, target: &str) {
    let (go, ratio) = match go {
        Some(go) => (format!("{go:.1}"), format!("{:.2}", ours / go)),
        None => ("–".to_owned(), "–".to_owned()),
    };
    print_row(name, [format!("{ours:.2}"), go, ratio, target.to_owned()]);
}

fn print_row(name: &str, columns: [String; 4]) {
    let [ours, go, ratio, target] = columns;
    print_line(&format!("{name:<36} {ours:>10} {go:>8} {ratio:>8} {target:>8}"));
}

#[expect(clippy::print_stdout, reason = "the result of a benchmark")]
fn print_line(line: &str) {
    println!("{line}");
}
