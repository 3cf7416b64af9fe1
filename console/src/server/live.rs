//! Brings an open page up to date, as a stream of server-sent events (the WHATWG's HTML standard, section 9.2).
//!
//! In: a view, and the reader's request. Out: first the event `patience`, with the milliseconds after which a reader who hears nothing
//! knows that the page is not live; then, again and again, `content` with the page's content if that changed, else `same`. The stream ends
//! when the reader goes, when he may not read any more, when the program stops, or after an hour; a browser then connects again.

use std::convert::Infallible;
use std::net::IpAddr;
use std::time::Duration;

use axum::http::HeaderMap;
use axum::response::sse::{Event, Sse};
use axum::response::{IntoResponse as _, Response};
use futures::{StreamExt as _, stream};
use tokio::time::{Instant, sleep};

use super::Shared;
use super::view::View;
use crate::viewer::open::OpenPage;

/// How long a stream lasts.
const LONGEST: Duration = Duration::from_secs(3600);

/// A reader, as he asked: he is let in again before each event.
pub(super) struct Reader {
    /// The address of his connection.
    pub(super) peer: IpAddr,
    /// The headers of his request.
    pub(super) headers: HeaderMap,
    /// His page, which counts as open until this is dropped.
    pub(super) _open: OpenPage,
}

/// Streams a page.
pub(super) fn stream(view: View, shared: Shared, reader: Reader) -> Response {
    let begun = Instant::now();
    let Shared { config, .. } = &shared;
    // Twice the time between two events, and the time that sources may take for their answers.
    let patience = config.refresh * 2 + config.api.timeout * 2;
    let first = Ok::<_, Infallible>(Event::default().event("patience").data(patience.as_millis().to_string()));
    let events = stream::unfold((String::new(), shared, reader, true), move |(before, shared, reader, is_first)| {
        let view = view.clone();
        async move {
            if begun.elapsed() > LONGEST {
                return None;
            }
            if !is_first {
                shared.stop.run_until_cancelled(sleep(shared.config.refresh)).await?;
                shared.door.check(reader.peer, &reader.headers).await.ok()?;
            }
            let page = shared.stop.run_until_cancelled(view.page(&shared.config, &shared.sources)).await?;
            let content = page.fragment();
            let event = match content == before {
                true => Event::default().event("same").data(""),
                false => Event::default().event("content").data(&content),
            };
            Some((Ok(event), (content, shared, reader, false)))
        }
    });
    Sse::new(stream::iter([first]).chain(events)).into_response()
}
