//! Times a function, and prints its share of a target.
//!
//! Other load on the machine can only make a run longer, so the shortest of many batches counts.
#![expect(clippy::disallowed_methods, reason = "a benchmark reads the clock, and its arguments are its filter")]

use std::hint::black_box;
use std::time::{Duration, Instant};

/// The time for which one benchmark runs.
const BUDGET: Duration = Duration::from_millis(600);
/// The time of one batch: far above the resolution of the clock, far below a slice of the scheduler.
const BATCH: Duration = Duration::from_millis(2);

/// Returns the time of one run of `work`, in the fastest batch.
fn shortest<R>(mut work: impl FnMut() -> R) -> Duration {
    let mut runs = 1_u32;
    let mut timed = |runs: u32| {
        let start = Instant::now();
        for _ in 0..runs {
            black_box(work());
        }
        start.elapsed()
    };
    while timed(runs) < BATCH {
        runs *= 2;
    }
    let end = Instant::now() + BUDGET;
    let mut best = timed(runs);
    while Instant::now() < end {
        best = best.min(timed(runs));
    }
    best / runs
}

/// Prints the head of the table.
pub(crate) fn print_head() {
    print_line("", "per run", "of target");
}

/// Times `work` and prints a line. `target` is the time for all work of this kind together.
pub(crate) fn time<R>(name: &str, target: Duration, work: impl FnMut() -> R) {
    // `cargo bench -- NAME` selects benchmarks by a part of their names; cargo adds flags such as `--bench`.
    let mut filters = std::env::args().skip(1).filter(|argument| !argument.starts_with("--")).peekable();
    if filters.peek().is_some() && !filters.any(|filter| name.contains(&filter)) {
        return;
    }
    let took = shortest(work);
    let share = took.as_secs_f64() / target.as_secs_f64();
    print_line(name, &format!("{:.2} µs", took.as_secs_f64() * 1e6), &format!("{:.1} %", share * 100.0));
}

#[expect(clippy::print_stdout, reason = "the result of a benchmark")]
fn print_line(name: &str, took: &str, share: &str) {
    println!("{name:<44} {took:>12} {share:>10}");
}
