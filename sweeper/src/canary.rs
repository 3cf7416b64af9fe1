//! Asks the API two questions whose answers are known, before its other answers are believed.
//!
//! In: the API. Out: why the pass holds; none if both answers are right. Fails: never.

use lifecycle_api_client::Lookup;
use lifecycle_core::sweep::Hold;

use crate::api::Api;

/// Tests the API's answers to two questions whose answers are known: it must have a resource that it lists, and must not
/// have one with an id that was just made up.
///
/// Returns what is wrong: the base URL leads to something else than the API, or the API has lost its data.
pub async fn check_canaries(api: &impl Api) -> Option<Hold> {
    let wrong = |why: String| Some(Hold::NoCanary { why });
    let listed = match api.any().await {
        Ok(Some(listed)) => listed,
        Ok(None) => return Some(Hold::NoResources),
        Err(error) => return wrong(format!("the list of its resources failed: {error}")),
    };
    match api.look_up(&listed).await {
        Lookup::Found(_) => {}
        Lookup::NotFound => return wrong(format!("it lists the resource {listed}, and then says that there is none")),
        Lookup::Unknown(unknown) => {
            return wrong(format!("its answer about the existing resource {listed}: {unknown}"));
        }
    }
    let made_up = random_id();
    match api.look_up(&made_up).await {
        Lookup::NotFound => None,
        Lookup::Found(_) => wrong(format!("it says that the made-up resource {made_up} exists")),
        Lookup::Unknown(unknown) => wrong(format!("its answer about the made-up resource {made_up}: {unknown}")),
    }
}

/// A random UUID (RFC 9562, version 4), which no resource has.
fn random_id() -> String {
    let hex = format!("{:032x}", fastrand::u128(..));
    let variant = ["8", "9", "a", "b"][fastrand::usize(..4)];
    format!("{}-{}-4{}-{variant}{}-{}", &hex[..8], &hex[8..12], &hex[13..16], &hex[17..20], &hex[20..])
}
