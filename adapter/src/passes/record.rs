//! One pass as the page of passes shows it.
//!
//! In: a pass that ended. Out: a JSON object, of a given length at most. What it leaves out for that, it names in `cut`.

use jiff::Timestamp;
use lifecycle_bundle::member::Effect;
use lifecycle_core::precondition::Verdict;
use serde::Serialize;

use super::Ended;
use crate::pass::Status;
use crate::pass::account::Account;

/// What a usual record takes, so that its buffer does not grow in many steps.
const USUAL_BYTES: usize = 2048;
/// The characters of a text in a record that is nothing but texts. Eleven such texts fit into 4 KiB, whatever
/// characters JSON has to escape in them.
const SHORT_TEXT: usize = 60;

/// One pass.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Record {
    /// The clock of the pass.
    time: Timestamp,
    #[serde(rename = "duration_seconds")]
    duration_seconds: f64,
    #[serde(rename = "trace_id", skip_serializing_if = "Option::is_none")]
    trace_id: Option<String>,
    event: EventTrace,
    status: Status,
    /// The API's text, if the API resource does not exist.
    #[serde(skip_serializing_if = "Option::is_none")]
    gone: Option<String>,
    /// Why the preconditions are not met.
    #[serde(skip_serializing_if = "Option::is_none")]
    not_met: Option<String>,
    #[serde(flatten)]
    account: Account,
    /// What the record leaves out, because the pass is too long.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    cut: Vec<String>,
}

/// The event of the pass.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct EventTrace {
    id: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    kind: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    resource_id: String,
    generation: i64,
}

impl Record {
    pub(super) fn of(ended: &Ended<'_>) -> Self {
        let Ended { event, now, took, trace_id, task, report } = ended;
        Self {
            time: *now,
            duration_seconds: took.as_secs_f64(),
            trace_id: trace_id.clone(),
            event: EventTrace {
                id: event.event_id.clone(),
                kind: event.kind.clone(),
                resource_id: event.resource_id.clone(),
                generation: event.generation.0,
            },
            status: report.status(),
            gone: report.gone().map(str::to_owned),
            not_met: match &report.verdict {
                Some(Verdict::NotMet(reason)) => Some(reason.clone()),
                Some(Verdict::Met | Verdict::Failed(_) | Verdict::ResourceNotFound(_)) | None => None,
            },
            account: Account::of(report, task).with_flags(report),
            cut: Vec::new(),
        }
    }

    /// The record as JSON of at most `most` bytes. It leaves out one thing after the other until the rest fits, and ends with
    /// short texts alone.
    pub(super) fn text(mut self, most: usize) -> Box<[u8]> {
        let mut text = self.json();
        let cuts = [Self::leave_out_readings, Self::leave_out_objects, Self::leave_out_lists, Self::shorten];
        for cut in cuts {
            if text.len() <= most {
                break;
            }
            cut(&mut self);
            text = self.json();
        }
        text.into_boxed_slice()
    }

    fn json(&self) -> Vec<u8> {
        let mut text = Vec::with_capacity(USUAL_BYTES);
        // Serializing cannot fail: every member is plain data with text keys.
        drop(serde_json::to_writer(&mut text, self));
        text
    }

    fn leave_out_readings(&mut self) {
        for gate in self.account.decisions.iter_mut().flat_map(|decision| &mut decision.gates) {
            gate.expression = None;
            gate.readings.clear();
        }
        self.cut.push("expressions of gates, and what they read".to_owned());
    }

    fn leave_out_objects(&mut self) {
        let mut left_out = 0;
        for decision in &mut self.account.decisions {
            let all = decision.objects.len();
            decision.objects.retain(|object| matches!(object.effect, Effect::Failed(_)));
            left_out += all - decision.objects.len();
        }
        if left_out > 0 {
            self.cut.push(format!("{left_out} objects of bundles that did not fail"));
        }
    }

    fn leave_out_lists(&mut self) {
        let Account { preconditions, resources, decisions, post_actions, warnings, .. } = &mut self.account;
        let counts = [preconditions.len(), resources.len(), post_actions.len(), warnings.len()];
        preconditions.clear();
        resources.clear();
        decisions.clear();
        post_actions.clear();
        warnings.clear();
        let [preconditions, resources, actions, warnings] = counts;
        self.cut = vec![format!(
            "{preconditions} preconditions, {resources} resources with their decisions, {actions} post actions and {warnings} warnings"
        )];
    }

    fn shorten(&mut self) {
        let EventTrace { id, kind, resource_id, .. } = &mut self.event;
        let texts = [id, kind, resource_id].into_iter().chain(&mut self.trace_id).chain(&mut self.gone);
        let Account { failed_param, errors, .. } = &mut self.account;
        let texts = texts.chain(failed_param).chain(&mut self.not_met).chain(errors.values_mut());
        for text in texts {
            if let Some((end, _)) = text.char_indices().nth(SHORT_TEXT) {
                text.truncate(end);
                text.push('…');
            }
        }
        self.cut.push(format!("the end of texts of more than {SHORT_TEXT} characters"));
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use lifecycle_core::decision::DecisionKind;
    use lifecycle_core::outcome::GateAnswer;
    use lifecycle_objects::failure::{FailReason, Failure};
    use lifecycle_objects::identity::GroupKind;
    use lifecycle_objects::identity::Identity;
    use serde_json::{Value, json};

    use super::*;
    use crate::pass::account::{DecisionTrace, GateTrace, MemberTrace, ReadingTrace};

    /// The least length that the configuration allows for the text of a pass: an eighth of 64 KiB, less the longest id.
    const LEAST: usize = 6 * 1024;

    fn member(effect: Effect) -> MemberTrace {
        let kind = GroupKind { group: "apps".to_owned(), kind: "Deployment".to_owned() };
        MemberTrace {
            identity: Identity { kind, namespace: Some("team".to_owned()), name: "web".to_owned() },
            object: "Deployment.apps team/web".to_owned(),
            step: "wave 0".to_owned(),
            decision: String::new(),
            row: "1",
            effect,
            drift: Vec::new(),
            ready: Some(true),
            readiness: "Current",
            why: String::new(),
        }
    }

    fn refused() -> Effect {
        Effect::Failed(Failure::new(FailReason::Denied, "no"))
    }

    fn decision(readings: usize, unchanged: usize, failed: usize) -> DecisionTrace {
        let reading = || ReadingTrace { path: "resources.space.status".into(), value: "\"Active\"".to_owned() };
        DecisionTrace {
            resource: "space".to_owned(),
            decision: DecisionKind::Skip,
            reason: "SameGeneration",
            because: "it has the generation of the event".to_owned(),
            row: "9",
            condition: "it is up to date".into(),
            otherwise: None,
            finalized: false,
            settled: Some(true),
            unwritten: Some(false),
            awaits: [].into(),
            gates: vec![GateTrace {
                resource: None,
                gate: "apply".to_owned(),
                answer: GateAnswer::Holds,
                awaits: [].into(),
                expression: Some("resources.space.status == 'Active'".into()),
                readings: (0..readings).map(|_| reading()).collect(),
            }],
            versions: 1,
            pruned: Vec::new(),
            objects: (0..unchanged)
                .map(|_| member(Effect::None))
                .chain((0..failed).map(|_| member(refused())))
                .collect(),
            warnings: Vec::new(),
        }
    }

    fn record(decision: DecisionTrace, text: &str) -> Record {
        let phases = ["param_extraction", "preconditions", "resources", "post_actions"];
        Record {
            time: Timestamp::UNIX_EPOCH,
            duration_seconds: 0.012,
            trace_id: Some(text.to_owned()),
            event: EventTrace {
                id: text.to_owned(),
                kind: text.to_owned(),
                resource_id: text.to_owned(),
                generation: i64::MIN,
            },
            status: Status::Failed,
            gone: Some(text.to_owned()),
            not_met: Some(text.to_owned()),
            account: Account {
                failed_param: Some(text.to_owned()),
                preconditions: Vec::new(),
                resources: Vec::new(),
                decisions: vec![decision],
                post_actions: Vec::new(),
                errors: phases.into_iter().map(|phase| (phase, text.to_owned())).collect(),
                warnings: Vec::new(),
            },
            cut: Vec::new(),
        }
    }

    #[test]
    fn long_pass_is_cut_and_says_what_is_missing() {
        let readings = "expressions of gates, and what they read";
        let lists = "0 preconditions, 0 resources with their decisions, 0 post actions and 0 warnings";
        let texts = "the end of texts of more than 60 characters";
        let objects = "500 objects of bundles that did not fail";
        // What is left of readings, objects and errors.
        let cases = [
            ("a usual pass", decision(3, 9, 1), "a".to_owned(), vec![], json!([3, 10, 1])),
            ("many readings", decision(500, 9, 1), "a".to_owned(), vec![readings], json!([0, 10, 1])),
            ("many objects", decision(3, 500, 2), "a".to_owned(), vec![readings, objects], json!([0, 2, 1])),
            ("many failures", decision(3, 500, 300), "a".to_owned(), vec![lists], json!([0, 0, 1])),
            ("a long text", decision(3, 0, 0), "é".repeat(9000), vec![lists, texts], json!([0, 0, 61])),
            ("controls", decision(3, 0, 0), "\u{1}".repeat(9000), vec![lists, texts], json!([0, 0, 61])),
        ];
        for (name, decision, text, cut, left) in cases {
            let text = record(decision, &text).text(LEAST);
            assert!(text.len() <= LEAST, "{name}: {}", text.len());
            let value: Value = serde_json::from_slice(&text).unwrap();
            assert_eq!(value["cut"].as_array().cloned().unwrap_or_default(), cut, "{name}");
            let count = |pointer: &str| value.pointer(pointer).and_then(Value::as_array).map_or(0, Vec::len);
            let error = value["errors"]["resources"].as_str().unwrap().chars().count();
            let seen = json!([count("/decisions/0/gates/0/readings"), count("/decisions/0/objects"), error]);
            assert_eq!(seen, left, "{name}");
            assert_eq!(value["status"], "failed", "{name}");
        }
    }
}
