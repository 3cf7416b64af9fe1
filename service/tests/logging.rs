//! The log of a whole process.

#![expect(clippy::unwrap_used, reason = "tests")]

use std::sync::{Arc, Mutex};

use lifecycle_service::logging::{Identity, LogSettings, subscriber_into};
use tracing_subscriber::util::SubscriberInitExt as _;

#[test]
fn question_of_a_library_drops_no_entry_of_ours() {
    let written = Arc::new(Mutex::new(0));
    let sink = Arc::clone(&written);
    let count = move |_: &[u8]| *sink.lock().unwrap() += 1;
    subscriber_into(LogSettings::default(), &Identity::of("test"), Box::new(count)).init();
    for round in 1..=3 {
        // As sqlx does for a notice of the server. It writes the entry by `tracing`, where nobody wants it.
        let _ = log::log_enabled!(target: "sqlx::postgres::notice", log::Level::Info);
        tracing::info!(target: "lifecycle_service", "Kept");
        assert_eq!(*written.lock().unwrap(), round, "each entry is written");
    }
}
