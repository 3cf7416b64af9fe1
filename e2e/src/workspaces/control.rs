//! What drives the server from outside.
//!
//! In: a request below `/control`. Out: its answer, a line for each object in a list.

use http::Method;

use super::store::Store;
use super::{Fault, Outcome};

pub(super) fn answer(store: &mut Store, method: &Method, path: &str, body: &[u8]) -> Outcome {
    let place = path.strip_prefix("objects/").filter(|_| method == Method::DELETE);
    let answer = match (method.as_str(), path) {
        ("POST", "faults") => match serde_json::from_slice::<Fault>(body) {
            Ok(fault) => {
                store.faults.push(fault);
                Ok(String::new())
            }
            Err(error) => Err((400, error.to_string())),
        },
        ("DELETE", "faults") => {
            store.faults.clear();
            Ok(String::new())
        }
        ("DELETE", "objects") => {
            store.reset();
            Ok(String::new())
        }
        ("GET", "objects") => Ok(store.list().iter().map(|line| format!("{line}\n")).collect()),
        ("GET", "writes") => Ok(store.writes.to_string()),
        _ if place.is_some_and(|place| store.remove(place)) => Ok(String::new()),
        _ => Err((404, format!("there is no {method} of {path}"))),
    };
    Outcome { answer: Some(answer.map_or_else(|refused| refused, |body| (200, body))) }
}
