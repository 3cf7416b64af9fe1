//! Readiness as the author of a bundle says it: an expression in place of the rules of [`readiness`](lifecycle_objects::readiness).
//!
//! In: the rules of a bundle, and a live object. Out: its [`Judgement`]; none if no rule is about the object. Fails never: an
//! expression without a value leaves the object in progress, and the sentence says why.

use jiff::Timestamp;
use lifecycle_bundle::ready::ReadyRules;
use lifecycle_language::cel::{Answer, Expression};
use lifecycle_language::scope::Scope;
use serde_json::Value;

use lifecycle_objects::identity::{GroupKind, Identity};
use lifecycle_objects::readiness::{Judgement, Readiness, is_observed};

/// The variable by which expressions read the live object.
pub const OBJECT: &str = "object";

/// When objects of one kind are ready.
#[derive(Debug)]
pub struct Rule {
    /// The kind of the objects.
    pub kind: GroupKind,
    /// The name of the only object that the rule is about; none for all of the kind.
    pub name: Option<String>,
    /// The expression over [`OBJECT`] that holds once the object is ready.
    pub expression: Expression,
}

/// The rules of a bundle.
#[derive(Debug)]
pub struct Rules(pub Vec<Rule>);

/// The first rule about an object judges it. The rules of kinds judge a terminating object, and one whose controller has not seen
/// its newest state.
impl ReadyRules for Rules {
    fn judge(&self, identity: &Identity, object: &Value, now: Timestamp) -> Option<Judgement> {
        let is_about =
            |rule: &&Rule| rule.kind == identity.kind && rule.name.as_ref().is_none_or(|name| *name == identity.name);
        let is_current = |_: &&Rule| object.pointer("/metadata/deletionTimestamp").is_none() && is_observed(object);
        let rule = self.0.iter().find(is_about).filter(is_current)?;
        let mut scope = Scope::new(now);
        scope.set(OBJECT, object.clone());
        let (readiness, why) = match rule.expression.evaluate(&scope) {
            Ok(Answer::Value(Value::Bool(true))) => (Readiness::Ready, "its ready expression holds".to_owned()),
            Ok(Answer::Value(Value::Bool(false)) | Answer::Absent) => {
                (Readiness::InProgress, "its ready expression does not hold yet".to_owned())
            }
            // A text such as `Failed` must not count as ready.
            Ok(Answer::Value(_)) => (
                Readiness::InProgress,
                "its ready expression gives neither `true` nor `false`: compare the value".to_owned(),
            ),
            // The error may quote the object, which may be a Secret.
            Err(_) => (Readiness::InProgress, "its ready expression has no value yet".to_owned()),
        };
        Some(Judgement { readiness, why })
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use serde_json::json;

    use super::*;
    use lifecycle_objects::object_ref::ObjectRef;

    #[test]
    fn first_rule_about_the_object_decides() {
        let rule = |name: Option<&str>, expression: &str| Rule {
            kind: GroupKind::new("example.io", "Foo"),
            name: name.map(str::to_owned),
            expression: Expression::parse(expression).unwrap(),
        };
        let rules = Rules(vec![
            rule(Some("special"), "true"),
            rule(Some("text"), "object.status.phase"),
            rule(Some("optional"), "object.?missing"),
            rule(None, "object.status.phase == 'Running'"),
        ]);
        let cases = [
            ("special", json!({}), Some((Readiness::Ready, "holds"))),
            ("other", json!({ "phase": "Running" }), Some((Readiness::Ready, "holds"))),
            ("other", json!({ "phase": "Pending" }), Some((Readiness::InProgress, "does not hold yet"))),
            ("other", json!({}), Some((Readiness::InProgress, "has no value yet"))),
            ("text", json!({ "phase": "Failed" }), Some((Readiness::InProgress, "neither `true` nor `false`"))),
            ("optional", json!({}), Some((Readiness::InProgress, "does not hold yet"))),
        ];
        for (name, status, expected) in cases {
            let object = json!({
                "apiVersion": "example.io/v1", "kind": "Foo", "metadata": { "name": name }, "status": status,
            });
            let found = rules.judge(&ObjectRef::of(&object).into(), &object, Timestamp::UNIX_EPOCH);
            let (readiness, why) = expected.unwrap();
            let found = found.unwrap();
            assert!(found.readiness == readiness && found.why.contains(why), "{name}: {found:?}");
        }
        let map = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "special" } });
        assert_eq!(rules.judge(&ObjectRef::of(&map).into(), &map, Timestamp::UNIX_EPOCH), None);
    }
}
