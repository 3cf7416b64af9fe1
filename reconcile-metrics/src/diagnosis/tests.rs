use std::time::Duration;

use jiff::Timestamp;

use super::*;

fn kind(name: &str, adapters: &[&str]) -> Kind {
    Kind {
        name: name.to_owned(),
        required_adapters: adapters.iter().map(|&adapter| adapter.to_owned()).collect(),
        stuck_after: Duration::from_secs(600),
        stuck_after_deleting: Duration::from_secs(600),
    }
}

fn kinds() -> Kinds {
    let kinds = vec![kind("Cluster", &["dns", "hypershift"]), kind("NodePool", &["hypershift"])];
    Kinds::new(kinds, Duration::from_secs(600))
}

fn resource(id: &str, kind: &str, deleting: bool, reports: Vec<Report>) -> Resource {
    Resource {
        id: id.to_owned(),
        kind: kind.to_owned(),
        name: id.to_owned(),
        deleting,
        age_seconds: 700,
        generation: 3,
        reports,
        ..Resource::default()
    }
}

fn report(adapter: &str, observed_generation: i64, available: bool, finalized: bool) -> Report {
    let (reason, message) = (Some("Why".to_owned()), None);
    Report {
        adapter: adapter.to_owned(),
        observed_generation,
        at: Timestamp::UNIX_EPOCH,
        available,
        finalized,
        reason,
        message,
    }
}

#[test]
fn resource_waits_on_each_required_adapter_that_is_not_done() {
    let good = || report("hypershift", 3, true, true);
    let cases = [
        ("never reported", false, vec![good()], vec![Cause::NeverReported]),
        ("an older generation", false, vec![good(), report("dns", 2, true, true)], vec![Cause::OlderGeneration]),
        ("not available", false, vec![good(), report("dns", 3, false, true)], vec![Cause::NotAvailable]),
        ("available", false, vec![good(), report("dns", 3, true, false)], vec![]),
        ("not finalized", true, vec![good(), report("dns", 3, true, false)], vec![Cause::NotFinalized]),
        ("finalized", true, vec![good(), report("dns", 3, false, true)], vec![]),
        ("an older deletion", true, vec![good(), report("dns", 2, false, true)], vec![Cause::OlderGeneration]),
        ("a newer generation", false, vec![good(), report("dns", 4, true, false)], vec![Cause::NewerGeneration]),
        ("a newer deletion", true, vec![good(), report("dns", 4, false, true)], vec![Cause::NewerGeneration]),
        (
            "an adapter that is not required does not count",
            false,
            vec![good(), report("dns", 3, true, false), report("x", 1, false, false)],
            vec![],
        ),
    ];
    for (name, deleting, reports, causes) in cases {
        let resource = resource("c1", "Cluster", deleting, reports);
        let found: Vec<_> = waits_on(&resource, kinds().get("Cluster")).iter().map(|wait| wait.cause).collect();
        assert_eq!(found, causes, "{name}");
    }
}

#[test]
fn resource_of_an_unknown_kind_waits_on_adapters_that_reported() {
    let reports = vec![report("dns", 3, true, false), report("odd", 3, false, false)];
    let stuck = diagnose(vec![resource("x", "Channel", false, reports)], &kinds());
    let [stuck] = stuck.as_slice() else { panic!("{stuck:?}") };
    assert!(!stuck.required_adapters_known);
    assert_eq!(stuck.waits_on.iter().map(|wait| wait.adapter.as_str()).collect::<Vec<_>>(), ["odd"]);
}

#[test]
fn count_contains_configured_adapters_only() {
    let kinds = kinds();
    let types = Types::new(&kinds, ["Channel"]);
    let resources = [resource("x", "Channel", false, vec![report("a-name-from-the-database", 3, false, false)])];
    let waits = count(&resources, &kinds, &types);
    // Cluster requires two adapters and NodePool one; each has four possible causes in each of the two flows.
    assert_eq!(waits.len(), 3 * 4 * 2);
    assert!(waits.values().all(|count| *count == 0), "{waits:?}");
}
