//! Brings an open page up to date, as a stream of server-sent events (the WHATWG's HTML standard, section 9.2).
//!
//! In: a view. Out: an event with the page's content whenever that changed, and a comment otherwise, so that proxies keep the connection.
//! The stream ends when the reader goes, when the program stops, or after an hour; a browser then connects again.

use std::convert::Infallible;
use std::time::Duration;

use axum::response::sse::{Event, Sse};
use axum::response::{IntoResponse as _, Response};
use futures::stream;
use tokio::time::{Instant, sleep};

use super::Shared;
use super::view::View;
use crate::viewer::open::OpenPage;

/// How long a stream lasts: a reader whose rights have ended reads no longer than that.
const LONGEST: Duration = Duration::from_secs(3600);

/// Streams a page, which is `open` until the stream ends.
pub(super) fn stream(view: View, shared: Shared, open: OpenPage) -> Response {
    let begun = Instant::now();
    let first = (String::new(), shared, open, true);
    let events = stream::unfold(first, move |(before, shared, open, is_first)| {
        let view = view.clone();
        async move {
            if begun.elapsed() > LONGEST {
                return None;
            }
            if !is_first {
                shared.stop.run_until_cancelled(sleep(shared.config.refresh)).await?;
            }
            let page = shared.stop.run_until_cancelled(view.page(&shared.config, &shared.sources)).await?;
            let content = page.fragment();
            let event = match content == before {
                true => Event::default().comment("as before"),
                false => Event::default().event("content").data(&content),
            };
            Some((Ok::<_, Infallible>(event), (content, shared, open, false)))
        }
    });
    Sse::new(events).into_response()
}
