//! How the program waits for an agent on today's API. The interval of two seconds is the program's own.

use lifecycle_e2e::workspaces::{Api, Fault, Says, Workspaces};
use serde_json::json;

use super::{call, count, pack};

const AGENT: &str = "team/agents/my-pack";

fn agent(says: Says) -> Fault {
    Fault::Agent { name: String::new(), says }
}

#[test]
fn status_of_an_older_generation_is_not_ready() {
    let server = Workspaces::start(Api::Current).unwrap();
    let deployed = call("apply", server.url(), &pack(&[], &[], &[]), "");
    let deployed = deployed["result"]["adapter_state"].as_str().unwrap();
    let mut changed = server.object(AGENT).unwrap();
    changed["spec"]["facades"] = json!([]);
    server.put(AGENT, changed);
    server.fault(agent(Says::Behind(1)));
    let applied = call("apply", server.url(), &pack(&[], &[], &[]), deployed);
    assert!(applied["result"].is_object(), "{applied}");
    assert_eq!(count(&server, "PUT", AGENT), 1, "{applied}");
    let asked = server.asked();
    let since = asked.iter().skip_while(|asked| !(asked.method == "PUT" && asked.path == AGENT));
    assert_eq!(since.filter(|asked| asked.method == "GET" && asked.path == AGENT).count(), 2, "{asked:?}");
}

#[test]
fn failed_phase_ends_the_wait_at_once() {
    let server = Workspaces::start(Api::Current).unwrap();
    server.fault(agent(Says::Failed));
    let applied = call("apply", server.url(), &pack(&[], &[], &[]), "");
    let message = applied["error"]["message"].as_str().unwrap();
    assert!(message.contains("resource reconciled into a failed state"), "{message}");
    let asked = server.asked();
    let since = asked.iter().skip_while(|asked| !(asked.method == "POST" && asked.path == "team/agents"));
    assert_eq!(since.filter(|asked| asked.path == AGENT).count(), 1, "{asked:?}");
}

#[test]
fn passing_error_is_looked_past_and_a_missing_agent_is_not() {
    for (status, reads) in [(500, 2), (404, 1)] {
        let server = Workspaces::start(Api::Current).unwrap();
        let (method, path) = ("GET".to_owned(), "agents/my-pack".to_owned());
        server.fault(Fault::Answer { method, path, status, body: String::new(), times: Some(1) });
        let applied = call("apply", server.url(), &pack(&[], &[], &[]), "");
        assert_eq!(applied["result"].is_object(), status == 500, "{status}: {applied}");
        assert_eq!(count(&server, "GET", AGENT), reads, "{status}: {applied}");
    }
}
