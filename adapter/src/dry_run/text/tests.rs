use jiff::Timestamp;
use lifecycle_core::decision::DecisionKind;
use lifecycle_objects::identity::{GroupKind, Identity};
use serde_json::{Map, json};

use super::*;
use crate::dry_run::diff;
use crate::dry_run::trace::EventTrace;
use crate::redact::Redactor;

fn namespace(name: &str) -> Identity {
    Identity {
        kind: GroupKind { group: String::new(), kind: "Namespace".to_owned() },
        namespace: None,
        name: name.to_owned(),
    }
}

fn member(identity: Identity) -> MemberTrace {
    MemberTrace {
        object: identity.to_string(),
        identity,
        step: "wave 0".to_owned(),
        decision: "create".to_owned(),
        row: "A6",
        effect: Effect::Created,
        drift: Vec::new(),
        readiness: "Ready",
        ready: None,
        why: String::new(),
    }
}

fn trace(objects: Vec<MemberTrace>, diffs: Vec<ObjectDiff>) -> Trace {
    let decision = DecisionTrace {
        resource: "website".to_owned(),
        decision: DecisionKind::Create,
        reason: "Absent",
        because: String::new(),
        row: "12",
        condition: "absent".into(),
        otherwise: None,
        finalized: false,
        settled: None,
        unwritten: None,
        awaits: BTreeSet::new(),
        gates: Vec::new(),
        versions: 0,
        pruned: Vec::new(),
        objects,
        warnings: Vec::new(),
    };
    Trace {
        event: EventTrace {
            id: String::new(),
            event_type: String::new(),
            now: Timestamp::UNIX_EPOCH.to_string(),
            kind: String::new(),
            resource_id: String::new(),
            generation: 1,
        },
        status: Status::Success,
        lacks_resource: false,
        phases: Phase::ALL.map(|phase| PhaseTrace { phase, status: PhaseStatus::Success, detail: None }).into(),
        params: Map::new(),
        param_sources: Vec::new(),
        failed_param: None,
        preconditions: Vec::new(),
        resources: Vec::new(),
        decisions: vec![decision],
        diffs,
        discovered_resources: Map::new(),
        post_actions: Vec::new(),
        reports: Vec::new(),
        logs: Vec::new(),
        errors: [].into(),
        warnings: Vec::new(),
        api_requests: Vec::new(),
        transport_operations: Vec::new(),
    }
}

#[test]
fn object_with_the_end_of_a_members_name_is_of_no_bundle() {
    let object = |name: &str| json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": name } });
    let diffs = diff::compare(&[], &[object("team-a"), object("a")], &Redactor::default());
    let trace = trace(vec![member(namespace("team-a"))], diffs);
    let text = without_colours(&Text { trace: &trace, verbose: false }.to_string());
    assert!(text.contains("Of a bundle: Namespace team-a created"), "{text}");
    assert!(text.contains("Beside these: Namespace a created"), "{text}");
}
