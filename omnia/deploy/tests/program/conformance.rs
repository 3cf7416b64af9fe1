//! The protocol's scenarios on the program, on each of the two APIs.

use lifecycle_e2e::workspaces::{Api, Workspaces};
use promptarena_deploy_conformance::profile::{FaultName, Profile};
use promptarena_deploy_conformance::report::{Report, Verdict};
use promptarena_deploy_conformance::rows::ROWS;
use serde_json::{Value, json};

use super::{PROGRAM, config, pack};

/// A profile as an author writes it: `curl` drives the server. `agents` is the collection of agents, `second` that of what is written second.
fn profile(server: &Workspaces, agents: &str, second: &str, mut inputs: Value) -> Profile {
    let url = server.url();
    let curl = |method: &str, path: &str| json!(["curl", "-sSf", "-X", method, format!("{url}/control/{path}")]);
    let fault = |fault: &str| json!({"make": ["curl", "-sSf", "--data", fault, format!("{url}/control/faults")]});
    let answer = |method: &str, path: &str, status: u16| {
        fault(&json!({"answer": {"method": method, "path": path, "status": status}}).to_string())
    };
    let mut write_fails = answer("POST", second, 403);
    write_fails["category"] = "permission".into();
    let mut dry = inputs["config"].clone();
    dry["dry_run"] = true.into();
    inputs["dry_run_config"] = dry;
    let mut other = inputs["config"].clone();
    other["workspace"] = "elsewhere".into();
    inputs["other_scope_config"] = other;
    let profile = json!({
        "adapter": {"command": [PROGRAM]},
        "inputs": inputs,
        "backend": {
            "reset": curl("DELETE", "objects"), "clear": curl("DELETE", "faults"),
            "list": curl("GET", "objects"), "writes": curl("GET", "writes"),
        },
        "faults": {
            "write-fails": write_fails,
            "delete-fails": answer("DELETE", &format!("{agents}/z"), 500),
            "delete-refused": answer("DELETE", &format!("{agents}/x"), 403),
            "gone": {"make": curl("DELETE", &format!("objects/team/{agents}/y"))},
            "check-fails": answer("GET", agents, 500),
            "unhealthy": fault(r#"{"agent":{"name":"x","says":"failed"}}"#),
            "never-ready": fault(r#"{"agent":{"name":"","says":"never"}}"#),
            "hang-after": fault(r#"{"hang-after":{n}}"#),
        },
    });
    Profile::parse(&profile.to_string()).unwrap()
}

/// Plays all rows; returns those that did not pass, as `name: result`.
fn not_passed(profile: &Profile) -> (Vec<&'static str>, String) {
    let report = Report::play(profile, &ROWS.iter().collect::<Vec<_>>());
    let open = ROWS.iter().zip(&report.rows).filter(|(_, line)| line.result != Verdict::Passed);
    (open.map(|(row, _)| row.name).collect(), report.table())
}

#[test]
fn every_row_passes_on_the_api_of_today_that_can_be_played() {
    let server = Workspaces::start(Api::Current).unwrap();
    let mut config = config(server.url(), "team");
    // A registry that the deployment makes outlives it; a list of what is left would have to leave it out.
    config["tool_registry_ref"] = "shared".into();
    let inputs = json!({
        "config": config, "pack": pack(&["x", "y", "z"], &["a"], &["a"]), "smaller_pack": pack(&["x", "y"], &["a"], &["a"]),
    });
    // Without its policy no agent is written, so that another object is the one that fails.
    let (open, table) = not_passed(&profile(&server, "agents", "promptpacks", inputs));
    assert_eq!(open, ["P12"], "\n{table}");
}

#[test]
fn every_row_passes_on_the_designed_api_that_can_be_played() {
    let server = Workspaces::start(Api::Versioned).unwrap();
    let inputs = json!({
        "config": config(server.url(), "team"),
        "pack": pack(&["x", "y", "z"], &["a"], &["a"]), "smaller_pack": pack(&["x", "y"], &["a"], &["a"]),
    });
    let mut profile = profile(&server, "agentruntimes", "promptpacks", inputs);
    // Agents are not waited for on this API, so that nothing is there to interrupt.
    profile.faults.remove(&FaultName::NeverReady);
    let (open, table) = not_passed(&profile);
    assert_eq!(open, ["P12", "P28"], "\n{table}");
}
