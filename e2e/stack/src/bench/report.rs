//! Tells what was measured, and what a larger fleet needs.
//!
//! In: [`Measured`]. Out: lines on the terminal. Fails: never.

use std::time::Duration;

use super::Measured;
use super::extrapolation::{Costs, Fleet, Load, Needs, Of, needs};
use super::processes::{SELF, SUPERVISORS};
use super::sample::{Counts, Span};
use crate::layout;
use crate::terminal::{say, step};

/// The fleet that needs are calculated for.
const CLUSTERS: f64 = 100_000.0;
/// The parts of it that are not reconciled.
const UNRECONCILED: [f64; 4] = [0.0, 0.01, 0.1, 1.0];
/// From this share of the cores, the machine is the limit.
const SATURATED: f64 = 0.9;

/// Tells everything.
pub(super) fn tell(measured: &Measured) {
    let Measured { clusters, rise, .. } = measured;
    let wall = rise.wall.as_secs_f64();
    step(&format!("{clusters} clusters, {} adapters: from the first POST to the last Reconciled", measured.adapters));
    say(&format!("wall time {wall:.1} s, {:.1} clusters a second", clusters / wall));
    let [median, late, last] = [0.5, 0.95, 1.0].map(|part| quantile(&measured.latencies, part).as_secs_f64());
    say(&format!("a cluster from POST to Reconciled: median {median:.1} s, p95 {late:.1} s, max {last:.1} s"));
    tell_parts(measured);
    let spans = [
        ("without clusters", &measured.empty),
        ("POST to Reconciled", rise),
        ("reconciled", &measured.idle),
        ("reconciled, with events", &measured.steady),
    ];
    for (when, span) in spans {
        tell_counts(when, *clusters, span);
    }
    say(&bottleneck(rise, cores()));
    tell_needs(measured);
}

fn tell_parts(measured: &Measured) {
    let Measured { rise, idle, steady, .. } = measured;
    let columns =
        "part                     | CPU s | share | ms a cluster | MiB | idle, % of a core | steady, ms a pass";
    say(columns);
    let all = rise.cpu(is_measured).max(f64::MIN_POSITIVE);
    for (name, usage) in &rise.usage {
        let cpu = usage.cpu.as_secs_f64();
        let (share, each) = (100.0 * cpu / all, 1000.0 * cpu / measured.clusters);
        let mebibytes = usage.resident / 1024;
        let is_this = |other: &str| other == name;
        let idle = 100.0 * idle.cpu(is_this) / idle.wall.as_secs_f64();
        let pass = 1000.0 * more(steady, &measured.idle, |span| span.cpu(is_this)) / steady.counts.passes.max(1.0);
        say(&format!(
            "{name:<24} | {cpu:>5.1} | {share:>3.0} % | {each:>12.1} | {mebibytes:>3} | {idle:>17.1} | {pass:>17.2}"
        ));
    }
}

fn tell_counts(when: &str, clusters: f64, span: &Span) {
    let Counts { events, passes, coalesced, failed, polls, poll_seconds, .. } = span.counts;
    let counts = &span.counts;
    say(&format!(
        "{when}, {:.1} s: {events} events of the Sentinel, {passes} passes ({failed} failed), {coalesced} coalesced; \
         {polls} polls of {:.0} ms",
        span.wall.as_secs_f64(),
        1000.0 * poll_seconds / polls.max(1.0),
    ));
    let each = |count: f64| count / clusters;
    say(&format!(
        "    for each cluster: {:.1} requests to the API, {:.1} of them by adapters; {:.1} to Kubernetes, {:.1} of them by \
         adapters; {:.1} transactions, {:.1} rows written, {:.0} rows read, {:.0} bytes of database",
        each(counts.api),
        each(counts.adapter_api),
        each(counts.kubernetes),
        each(counts.adapter_kubernetes),
        each(counts.transactions),
        each(counts.rows_written),
        each(counts.rows_read),
        each(counts.database_bytes),
    ));
}

fn tell_needs(measured: &Measured) {
    let costs = costs(measured);
    step(&format!("What {CLUSTERS} clusters need in steady state, at the Sentinel's cadence in production"));
    for unreconciled in UNRECONCILED {
        let fleet = Fleet {
            clusters: CLUSTERS,
            adapters: measured.adapters,
            unreconciled,
            poll_interval: 5.0,
            age_unreconciled: 10.0,
            age_reconciled: 1800.0,
        };
        let Needs { events, passes, load, replicas, growth, drain_seconds, poll_seconds, database_bytes } =
            needs(&costs, &fleet);
        say(&format!("{:.0} % unreconciled: {events:.0} events/s, {passes:.0} passes/s", 100.0 * unreconciled));
        say(&format!(
            "    busy cores: adapters {:.2}, Sentinel {:.2}, API {:.2}, database {:.2}, broker {:.2}, Kubernetes {:.2}",
            load[Of::Adapters],
            load[Of::Sentinel],
            load[Of::Api],
            load[Of::Database],
            load[Of::Broker],
            load[Of::Kubernetes],
        ));
        say(&format!(
            "    {replicas} replicas of each adapter; with one, its queue grows by {growth:.0} events/s; one event about \
             each cluster takes them {drain_seconds:.0} s"
        ));
        say(&format!(
            "    requests/s: API {:.0}, Kubernetes {:.0}; database: {:.0} transactions/s, {:.0} rows written/s, {:.0} rows \
             read/s, {:.0} MB; a poll lasts {poll_seconds:.1} s",
            load[Of::ApiRequests],
            load[Of::KubernetesRequests],
            load[Of::Transactions],
            load[Of::RowsWritten],
            load[Of::RowsRead],
            database_bytes / 1e6,
        ));
    }
}

/// Which part limits the rise next.
fn bottleneck(span: &Span, cores: f64) -> String {
    let capacity = span.wall.as_secs_f64() * cores;
    let (all, busy) = (span.cpu(is_measured), span.busy.as_secs_f64());
    let percent = |seconds: f64| (100.0 * seconds / capacity).round();
    let parts = span.usage.iter().filter(|(name, _)| is_measured(name));
    let largest = parts.max_by_key(|(_, usage)| usage.cpu).map_or("nothing", |(name, _)| name);
    let share = (100.0 * span.cpu(|name| name == largest) / all.max(f64::MIN_POSITIVE)).round();
    let load = format!("{} % of the cores were busy, {} % with this system", percent(busy), percent(all));
    let limit = if busy < SATURATED * capacity { "the cadence limits, not the CPU" } else { "the CPU limits" };
    format!("The next bottleneck is {largest} with {share} % of this system's CPU time; {load}: {limit}.")
}

/// Whether the figures are about this part, and not only about measuring it.
fn is_measured(part: &str) -> bool {
    ![SELF, SUPERVISORS].contains(&part)
}

/// What a pass and a listed cluster cost.
fn costs(measured: &Measured) -> Costs {
    let Measured { clusters, empty, rise, idle, steady, .. } = measured;
    let listed = (idle.counts.polls * clusters).max(1.0);
    let passes = steady.counts.passes.max(1.0);
    let (mut pass, mut list) = (Load::default(), Load::default());
    for of in Of::ALL {
        pass[of] = more(steady, idle, |span| amount(span, of)) / passes;
        // Only lists cost more for a larger fleet that has no events.
        if !matches!(of, Of::Adapters | Of::Broker | Of::Kubernetes | Of::KubernetesRequests | Of::RowsWritten) {
            list[of] = more(idle, empty, |span| amount(span, of)) / listed;
        }
    }
    Costs {
        pass,
        listed: list,
        poll_seconds: more(idle, empty, |span| span.counts.poll_seconds) / listed,
        database_bytes: rise.counts.database_bytes / clusters,
    }
}

fn amount(span: &Span, of: Of) -> f64 {
    let of_parts = |names: &[&str]| span.cpu(|name| names.contains(&name));
    match of {
        Of::Adapters => span.cpu(|name| layout::FLEET.iter().any(|(adapter, _)| *adapter == name)),
        // This process publishes the events of the steady state, in the place of the Sentinel.
        Of::Sentinel => of_parts(&["sentinel", SELF]),
        Of::Api => of_parts(&["api"]),
        Of::Database => of_parts(&["postgres"]),
        Of::Broker => of_parts(&["rabbitmq"]),
        Of::Kubernetes => of_parts(&["kube-apiserver", "kube-controller-manager", "etcd"]),
        Of::ApiRequests => span.counts.api,
        Of::KubernetesRequests => span.counts.adapter_kubernetes,
        Of::Transactions => span.counts.transactions,
        Of::RowsWritten => span.counts.rows_written,
        Of::RowsRead => span.counts.rows_read,
    }
}

/// By how much an amount exceeds that of the same time in a quieter span.
fn more(span: &Span, quieter: &Span, amount: impl Fn(&Span) -> f64) -> f64 {
    let ratio = span.wall.as_secs_f64() / quieter.wall.as_secs_f64().max(f64::MIN_POSITIVE);
    (amount(span) - ratio * amount(quieter)).max(0.0)
}

/// The smallest duration that this part of all does not exceed.
fn quantile(sorted: &[Duration], part: f64) -> Duration {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_precision_loss,
        clippy::cast_sign_loss,
        reason = "a part of a number of clusters"
    )]
    let place = (sorted.len() as f64 * part).ceil() as usize;
    sorted.get(place.saturating_sub(1)).copied().unwrap_or_default()
}

fn cores() -> f64 {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    f64::from(u32::try_from(cores).unwrap_or(u32::MAX))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::super::processes::Usage;
    use super::*;

    fn span(seconds: u64, busy: u64, cpu: &[(&str, u64)], counts: Counts) -> Span {
        let usage = |&(name, seconds): &(&str, u64)| {
            (name.to_owned(), Usage { cpu: Duration::from_secs(seconds), resident: 1024 })
        };
        Span {
            wall: Duration::from_secs(seconds),
            busy: Duration::from_secs(busy),
            usage: cpu.iter().map(usage).collect::<BTreeMap<_, _>>(),
            counts,
        }
    }

    #[test]
    fn quantile_is_a_measured_duration() {
        let sorted: Vec<_> = (1..=20).map(Duration::from_secs).collect();
        for (part, expected) in [(0.5, 10), (0.95, 19), (1.0, 20), (0.0, 1)] {
            assert_eq!(quantile(&sorted, part), Duration::from_secs(expected), "{part}");
        }
        assert_eq!(quantile(&[], 0.5), Duration::ZERO);
    }

    #[test]
    fn bottleneck_is_the_largest_part_and_what_limits() {
        let cpu = [("api", 3), ("postgres", 6), ("first", 1), (SELF, 9)];
        let saturated = bottleneck(&span(10, 19, &cpu, Counts::default()), 2.0);
        assert!(saturated.contains("postgres with 60 %") && saturated.ends_with("the CPU limits."), "{saturated}");
        let idle = bottleneck(&span(100, 19, &cpu, Counts::default()), 2.0);
        assert!(idle.contains("10 % of the cores were busy, 5 %") && idle.contains("cadence limits"), "{idle}");
    }

    #[test]
    fn costs_of_a_pass_are_those_beyond_the_polls() {
        let polls = Counts { polls: 2.0, poll_seconds: 1.0, api: 20.0, ..Counts::default() };
        let events = Counts { passes: 10.0, api: 70.0, ..Counts::default() };
        let measured = Measured {
            clusters: 100.0,
            adapters: 2.0,
            empty: span(20, 10, &[("api", 2)], Counts::default()),
            rise: span(10, 10, &[], Counts { database_bytes: 5000.0, ..Counts::default() }),
            latencies: Vec::new(),
            idle: span(10, 10, &[("api", 2), ("sentinel", 1), ("etcd", 1)], polls),
            steady: span(20, 20, &[("api", 9), ("first", 3), ("second", 2), ("sentinel", 2)], events),
        };
        let costs = costs(&measured);
        let found = [
            costs.pass[Of::Adapters],
            costs.pass[Of::Api],
            costs.pass[Of::Sentinel],
            costs.pass[Of::Kubernetes],
            costs.pass[Of::ApiRequests],
            costs.listed[Of::Api],
            costs.listed[Of::Kubernetes],
            costs.poll_seconds,
            costs.database_bytes,
        ];
        let expected = [0.5, 0.5, 0.0, 0.0, 3.0, 0.005, 0.0, 0.005, 50.0];
        for (found, expected) in found.into_iter().zip(expected) {
            assert!((found - expected).abs() < 1e-9, "{found} instead of {expected}");
        }
    }
}
