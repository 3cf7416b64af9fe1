//! Carries out what the pass of a set asks of a cluster.
//!
//! In: a [`Request`] and a deadline. Out: the [`Response`], with one part for each part of the request, in its order. Fails:
//! never; a part that failed, or did not end by the deadline, says so.
//!
//! The rest of a pass is its owner's: where the set's memory is kept, what other sets render, and what is hidden of a refusal
//! before anybody reads it. So there is no loop over a pass here: the adapter's planner steps its sets between other
//! resources, and answers two of the three needs without a request.

use lifecycle_bundle::need::{Request, Response};
use tokio::time::Instant;

use crate::Transport;
use crate::executor::{execute_all, inspect_all};
use crate::observe::find_members;

/// Reads, writes, or looks for objects of others, and returns by `deadline` at the latest.
pub async fn carry_out<T: Transport>(transport: &T, request: Request, deadline: Instant) -> Response {
    match request {
        Request::Read(queries) => Response::Read(find_members(transport, queries, deadline).await),
        Request::Write(commands) => Response::Written(execute_all(transport, commands, deadline).await),
        Request::Inspect(inspections, members) => {
            Response::Inspected(inspect_all(transport, &inspections, &members, deadline).await)
        }
    }
}
