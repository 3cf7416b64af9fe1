//! Brings an open page up to date, as a stream of server-sent events (the WHATWG's HTML standard, section 9.2).
//!
//! In: a view, and the reader's request. Out: first the event `patience`, with the milliseconds after which a reader who hears nothing
//! knows that the page is not live; then, again and again, `content` with the page's content if that changed, else `same`. The stream ends
//! when the reader goes, when he may not read any more, when the program stops, or after five minutes; a browser then connects again,
//! and a proxy before the console looks at his session again.
//!
//! Readers of one page share its content, which is rendered once a second at most.

use std::convert::Infallible;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::http::HeaderMap;
use axum::response::sse::{Event, Sse};
use axum::response::{IntoResponse as _, Response};
use futures::{StreamExt as _, stream};
use moka::future::Cache;
use tokio::time::{Instant, sleep};

use super::Shared;
use super::view::View;
use crate::config::Config;
use crate::source::Sources;
use crate::viewer::open::{self, OpenPage};

/// How long a stream lasts: a proxy that authenticates readers does so only when it begins.
const LONGEST: Duration = Duration::from_secs(300);
/// How long a content counts.
const FRESH: Duration = Duration::from_secs(1);

/// The contents of the last second, by page.
#[derive(Debug, Clone)]
pub(super) struct Contents(Cache<View, Arc<str>>);

impl Contents {
    pub(super) fn new() -> Self {
        let most = u64::try_from(open::MOST).unwrap_or(u64::MAX);
        Self(Cache::builder().max_capacity(most).time_to_live(FRESH).build())
    }

    /// Returns the content of a page. Readers who ask at once wait for the same one.
    async fn of(&self, view: &View, config: &Config, sources: &Sources) -> Arc<str> {
        // On the heap: the future holds all questions of a page, and the cache moves it.
        let rendered = Box::pin(async { view.page(config, sources).await.fragment().into() });
        self.0.get_with_by_ref(view, rendered).await
    }
}

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
    let events = stream::unfold((Arc::from(""), shared, reader, true), move |(before, shared, reader, is_first)| {
        let view = view.clone();
        async move {
            if begun.elapsed() > LONGEST {
                return None;
            }
            if !is_first {
                shared.stop.run_until_cancelled(sleep(shared.config.refresh)).await?;
                shared.door.check(reader.peer, &reader.headers).await.ok()?;
            }
            let content = shared.contents.of(&view, &shared.config, &shared.sources);
            let content = shared.stop.run_until_cancelled(content).await?;
            let event = match content == before {
                true => Event::default().event("same").data(""),
                false => Event::default().event("content").data(&content),
            };
            Some((Ok(event), (content, shared, reader, false)))
        }
    });
    Sse::new(stream::iter([first]).chain(events)).into_response()
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use futures::future::join3;
    use lifecycle_config::settings::{Environment, Flags};

    use super::*;
    use crate::config::CONFIGURATION;
    use crate::source::Filter;

    #[tokio::test]
    async fn readers_of_one_page_share_its_content() {
        // The program chooses TLS when it starts; another test may have done so before.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let text = "listen: '127.0.0.1:0'\napi: {base_url: 'http://127.0.0.1:1', kinds: [Cluster]}\n";
        let (config, _) = CONFIGURATION.parse("console.yaml", text, &Environment::new(), &Flags::new()).unwrap();
        let (contents, sources) = (Contents::new(), Sources::new(&config).unwrap());
        let (first, second) = (View::Fleet(Filter::default(), 1), View::Fleet(Filter::default(), 2));
        let of = |view| contents.of(view, &config, &sources);
        let (one, other, of_another_page) = join3(of(&first), of(&first), of(&second)).await;
        assert!(Arc::ptr_eq(&one, &other), "each reader has a content of his own");
        assert!(!Arc::ptr_eq(&one, &of_another_page), "the content is that of another page");
    }
}
