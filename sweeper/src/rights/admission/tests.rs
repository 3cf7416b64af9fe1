//! The printed policy as a snapshot; `tests/rights` shows what the API server makes of it.

#![expect(clippy::unwrap_used, reason = "tests")]

use super::*;

#[test]
fn printed_policy_names_the_accounts_and_each_label() {
    let accounts = ["fleet/adapter", "fleet/sweeper"].map(|text| Account::parse(text).unwrap());
    insta::assert_snapshot!(manifests(&accounts));
}
