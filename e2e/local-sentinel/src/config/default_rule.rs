//! Recognizes the default rule and the usual content of events in a file of the real Sentinel.
//!
//! In: the sections `message_decision` and `message_data`. Out: the ages in the rule, and whether the content is what this
//! Sentinel sends anyway. Never fails. This Sentinel evaluates no expressions: it compares them as text, apart from
//! blanks, the kind of quotes, and the order of operands. So another wording of the same rule is not recognized, but no
//! other rule is mistaken for it.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::spec::DecisionSpec;

/// The parameters of the default rule that compare no age.
const PARAMS: [(&str, &str); 5] = [
    ("ref_time", "condition('Reconciled').last_updated_time"),
    ("is_reconciled", "condition('Reconciled').status == 'True'"),
    ("has_ref_time", "ref_time != ''"),
    ("is_new_resource", "resource.generation == 1 && !has_ref_time"),
    ("generation_mismatch", "resource.generation > condition('Reconciled').observed_generation"),
];

/// The parameters that compare an age, up to the age.
const AGED: [(&str, &str); 2] = [
    ("reconciled_and_stale", "is_reconciled && has_ref_time && now - timestamp(ref_time) > "),
    ("not_reconciled_and_debounced", "!is_reconciled && has_ref_time && now - timestamp(ref_time) > "),
];

/// The result of the default rule.
const RESULT: &str = "is_new_resource || generation_mismatch || reconciled_and_stale || not_reconciled_and_debounced";

/// The members that every event has, with their expressions.
const MEMBERS: [(&str, &str); 4] = [
    ("id", "resource.id"),
    ("kind", "resource.kind"),
    ("href", "resource.href"),
    ("generation", "resource.generation"),
];

/// The member that events about resources with a parent have.
const OWNER: &str = "owner_references";
const OWNER_MEMBERS: [(&str, &str); 3] = [
    ("id", "resource.owner_references.id"),
    ("href", "resource.owner_references.href"),
    ("kind", "resource.owner_references.kind"),
];

/// The ages in a default rule, as written.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct WrittenAges {
    pub(super) reconciled: String,
    pub(super) unreconciled: String,
}

/// Reads the ages of a section that is the default rule; `None` for another rule.
pub(super) fn written_ages(spec: &DecisionSpec) -> Option<WrittenAges> {
    let written: BTreeMap<_, _> =
        spec.params.iter().map(|param| (param.name.as_str(), operands(&param.expr))).collect();
    let [reconciled, unreconciled] = AGED.map(|(name, _)| {
        let expression = spec.params.iter().find(|param| param.name == name).map_or("", |param| &param.expr);
        age(expression).unwrap_or_default()
    });
    let mut default: BTreeMap<_, _> = PARAMS.iter().map(|(name, expression)| (*name, operands(expression))).collect();
    for ((name, expression), age) in AGED.into_iter().zip([&reconciled, &unreconciled]) {
        default.insert(name, operands(&format!("{expression}duration('{age}')")));
    }
    let is_default =
        spec.params.len() == default.len() && written == default && operands(&spec.result) == operands(RESULT);
    is_default.then_some(WrittenAges { reconciled, unreconciled })
}

/// The first duration of an expression.
fn age(expression: &str) -> Option<String> {
    let plain = expression.replace('"', "'");
    let (_, rest) = plain.split_once("duration('")?;
    Some(rest.split_once('\'')?.0.to_owned())
}

/// Whether a section is the usual content. The owner may be left out: it is sent for resources that have one.
pub(super) fn is_usual_content(data: &Value) -> bool {
    let Some(members) = data.as_object() else { return false };
    let says = |value: Option<&Value>, expected: &str| value.and_then(Value::as_str).map(str::trim) == Some(expected);
    let is_owner = |value: &Value| {
        value.as_object().is_some_and(|owner| {
            owner.len() == OWNER_MEMBERS.len()
                && OWNER_MEMBERS.iter().all(|(name, expression)| says(owner.get(*name), expression))
        })
    };
    let owner = members.get(OWNER);
    MEMBERS.iter().all(|(name, expression)| says(members.get(*name), expression))
        && owner.is_none_or(is_owner)
        && members.len() == MEMBERS.len() + usize::from(owner.is_some())
}

/// The operands of `||` between the operands of `&&`, without their order.
fn operands(expression: &str) -> BTreeSet<BTreeSet<String>> {
    let plain: String = expression.chars().filter(|c| !c.is_whitespace()).collect();
    let plain = plain.replace('"', "'");
    plain.split("||").map(|all| all.split("&&").map(str::to_owned).collect()).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::spec::ParamSpec;
    use super::*;

    fn default_rule() -> DecisionSpec {
        let param = |(name, expr): (&str, &str)| ParamSpec { name: name.to_owned(), expr: expr.to_owned() };
        let mut params: Vec<_> = PARAMS.into_iter().map(param).collect();
        for ((name, expr), age) in AGED.into_iter().zip(["30m", "10s"]) {
            params.push(param((name, &format!("{expr}duration('{age}')"))));
        }
        DecisionSpec { params, result: RESULT.to_owned() }
    }

    #[test]
    fn default_rule_is_recognized_in_other_layouts() {
        type Change = fn(&mut DecisionSpec);
        type Ages = Option<(&'static str, &'static str)>;
        let (default, shorter) = (Some(("30m", "10s")), Some(("30m", "5s")));
        let changes: [(&str, Change, Ages); 10] = [
            ("as it is", |_| {}, default),
            (
                "double quotes",
                |rule| rule.params[1].expr = r#"condition("Reconciled").status == "True""#.to_owned(),
                default,
            ),
            ("other blanks", |rule| rule.params[2].expr = " ref_time!=''\n".to_owned(), default),
            (
                "another order of operands",
                |rule| rule.params[3].expr = "!has_ref_time && resource.generation == 1".to_owned(),
                default,
            ),
            ("another age", |rule| rule.params[6].expr = rule.params[6].expr.replace("10s", "5s"), shorter),
            ("a condition beside an age", |rule| rule.params[6].expr.push_str(" || is_reconciled"), None),
            (
                "another definition of new",
                |rule| rule.params[3].expr = "!is_reconciled && resource.generation == 1".to_owned(),
                None,
            ),
            ("a parameter less", |rule| drop(rule.params.pop()), None),
            ("a parameter twice", |rule| rule.params.push(rule.params[0].clone()), None),
            ("another result", |rule| rule.result = "is_new_resource && generation_mismatch".to_owned(), None),
        ];
        for (name, change, expected) in changes {
            let mut rule = default_rule();
            change(&mut rule);
            let ages = written_ages(&rule);
            let ages = ages.as_ref().map(|ages| (ages.reconciled.as_str(), ages.unreconciled.as_str()));
            assert_eq!(ages, expected, "{name}");
        }
    }

    #[test]
    fn usual_content_is_recognized_with_and_without_owner() {
        let usual = json!({"id": "resource.id", "kind": "resource.kind", "href": "resource.href", "generation": "resource.generation"});
        let with = |key: &str, value: Value| {
            let mut data = usual.clone();
            data[key] = value;
            data
        };
        let owner = json!({"id": "resource.owner_references.id", "href": "resource.owner_references.href", "kind": "resource.owner_references.kind"});
        let cases = [
            ("the usual content", usual.clone(), true),
            ("with the owner", with(OWNER, owner), true),
            ("with another owner", with(OWNER, json!({"id": "resource.id"})), false),
            ("a member more", with("name", json!("resource.name")), false),
            ("another expression", with("id", json!("resource.name")), false),
            ("a number", with("generation", json!(1)), false),
            ("a member less", json!({"id": "resource.id"}), false),
            ("no mapping", json!("resource"), false),
        ];
        for (name, data, expected) in cases {
            assert_eq!(is_usual_content(&data), expected, "{name}");
        }
    }
}
