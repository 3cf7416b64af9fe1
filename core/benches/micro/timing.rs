//! Times a piece of code and prints what share of a target it takes.
//!
//! The machine may be busy with other things, which can only make a run longer: of many batches the shortest counts.
#![expect(clippy::disallowed_methods, reason = "a benchmark reads the clock, and its arguments are its filter")]

use std::hint::black_box;
use std::time::{Duration, Instant};

/// How long one benchmark runs.
const BUDGET: Duration = Duration::from_millis(600);
/// How long one batch runs: far above the clock's resolution, far below a scheduler's slice.
const BATCH: Duration = Duration::from_millis(2);

/// The shortest time of one run of `work`.
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

/// Prints the table's head.
pub(crate) fn print_head() {
    print_line("", "per run", "of target");
}

/// Times `work` and prints a line; `target` is what everything of its kind may take together.
pub(crate) fn time<R>(name: &str, target: Duration, work: impl FnMut() -> R) {
    // `cargo bench -- NAME` runs what has the name in it; cargo itself adds a flag.
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
