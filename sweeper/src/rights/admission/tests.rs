//! The printed policy as a snapshot; `tests/rights` shows what the API server makes of it.

#![expect(clippy::unwrap_used, reason = "tests")]

use super::*;

#[test]
fn printed_policy_names_the_accounts_and_each_label() {
    let accounts = ["fleet/adapter", "fleet/sweeper"].map(|text| Account::parse(text).unwrap());
    insta::assert_snapshot!(manifests(&accounts));
}

#[test]
fn policy_of_the_chart_is_the_printed_one() {
    let account = Account { namespace: "placeholder".to_owned(), name: "placeholder".to_owned() };
    let file = include_str!("../../../../deploy/charts/hyperfleet-sweeper/files/ownership-policy.yaml");
    assert_eq!(manifests(&[account]), file, "sweeper admission-policy --service-account placeholder/placeholder");
}
