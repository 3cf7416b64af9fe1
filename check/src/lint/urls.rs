//! Warns of a report for a URL that the API does not have: `/status` instead of `/statuses`.

use super::reports::sends_body;
use super::{ACTIONS, Linter, entry};

/// The end of a URL that receives no report.
const WRONG: &str = "/status";

pub(super) fn lint(linter: &mut Linter<'_>) {
    for (index, action) in linter.task.actions.iter().enumerate() {
        let Some(call) = action.api_call.as_ref().filter(|call| sends_body(call)) else { continue };
        let url = call.url.source().split('?').next().unwrap_or_default().trim_end_matches('/');
        if url.ends_with(WRONG) {
            let message = "ends in `/status`: the API takes reports at `/statuses`, and answers this one with 404";
            let place = entry(&ACTIONS, index).key("api_call").key("url");
            linter.warn(&place, message.to_owned(), format!("write `{url}es`"));
        }
    }
}
