//! Writes lines up to a limit.
//!
//! In: answers and events. Out: one line each. An answer over the limit of the client's reader would be lost after the work
//! was done: so events are left out first, and the state never. What cannot be shortened becomes an error.

use std::io::{self, Write};
use std::sync::{Arc, Mutex, PoisonError};

use serde::Serialize;
use serde_json::value::RawValue;

use crate::protocol::{Event, EventKind};

/// The longest line that is written. The client's reader fails at 10 MiB; the difference leaves room for its buffer.
pub(crate) const LONGEST: usize = (10 << 20) - (64 << 10);

/// The longest text of an event: the client shows it on one line.
const LONGEST_TEXT: usize = 16 << 10;

/// Result, or error, of a call.
pub(crate) type Answer = Result<Box<RawValue>, RpcError>;

/// An error as it is on the wire.
#[derive(Debug, Serialize)]
pub(crate) struct RpcError {
    pub(crate) code: i32,
    pub(crate) message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) data: Option<Box<RawValue>>,
}

impl RpcError {
    pub(crate) fn parse(reason: &str) -> Self {
        Self { code: -32700, message: format!("parse error: {reason}"), data: None }
    }

    /// The code is that of a parse error: today's adapters answer so.
    pub(crate) fn params(reason: &str) -> Self {
        Self { code: -32700, message: format!("invalid params: {reason}"), data: None }
    }

    pub(crate) fn method(name: &str) -> Self {
        Self { code: -32601, message: format!("method not found: {name}"), data: None }
    }

    pub(crate) fn provider(message: String, data: Option<Box<RawValue>>) -> Self {
        Self { code: -32603, message, data }
    }
}

#[derive(Serialize)]
struct Response<'a> {
    jsonrpc: &'static str,
    id: Option<&'a RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<&'a RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'a RpcError>,
}

/// Turns a value into the text of a member.
pub(crate) fn raw(value: &impl Serialize) -> Answer {
    serde_json::value::to_raw_value(value).map_err(|error| RpcError::provider(error.to_string(), None))
}

/// Where lines go. Copies write to the same place; a line is never mixed with another.
#[derive(Clone)]
pub(crate) struct Output(Arc<Mutex<dyn Write + Send>>);

impl Output {
    pub(crate) fn new(to: impl Write + Send + 'static) -> Self {
        Self(Arc::new(Mutex::new(to)))
    }

    pub(crate) fn line(&self, value: &impl Serialize) -> io::Result<()> {
        self.write(serde_json::to_vec(value)?)
    }

    /// Writes an answer; one that the client could not read becomes an error that says so.
    pub(crate) fn answer(&self, id: Option<&RawValue>, answer: &Answer) -> io::Result<()> {
        let line = |answer: &Answer| {
            let (result, error) = (answer.as_ref().ok().map(AsRef::as_ref), answer.as_ref().err());
            serde_json::to_vec(&Response { jsonrpc: "2.0", id, result, error })
        };
        let text = line(answer)?;
        if text.len() < LONGEST {
            return self.write(text);
        }
        let message = format!(
            "the answer has {} bytes, and the client reads {LONGEST} at most; deploy fewer resources",
            text.len()
        );
        self.write(line(&Err(RpcError::provider(message, None)))?)
    }

    fn write(&self, mut line: Vec<u8>) -> io::Result<()> {
        line.push(b'\n');
        // A writer that panicked has written a part of a line at most, and the client fails on it in any case.
        let mut to = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        to.write_all(&line)?;
        to.flush()
    }
}

/// Cuts a text of a person or a server to a length that one event may have.
pub(crate) fn clip(text: &mut String) {
    if text.len() > LONGEST_TEXT {
        text.truncate(text.floor_char_boundary(LONGEST_TEXT));
        text.push('…');
    }
}

fn size(value: &impl Serialize) -> usize {
    serde_json::to_vec(value).map_or(0, |text| text.len() + 1)
}

/// Leaves out events until the rest has room: progress first, errors last. The order stays.
pub(crate) fn shorten(events: Vec<Event>, mut room: usize) -> Vec<Event> {
    let sizes: Vec<_> = events.iter().map(size).collect();
    if sizes.iter().sum::<usize>() <= room {
        return events;
    }
    let rank = |event: &Event| match event.kind {
        EventKind::Error => 0,
        EventKind::Resource | EventKind::Complete => 1,
        EventKind::Progress => 2,
    };
    let mut order: Vec<_> = (0..events.len()).zip(&sizes).zip(&events).collect();
    order.sort_by_key(|(_, event)| rank(event));
    let mut is_kept = vec![false; events.len()];
    // The sentence about the missing events has a few hundred bytes.
    room = room.saturating_sub(512);
    for ((index, size), _) in order {
        if *size <= room {
            room -= size;
            is_kept[index] = true;
        }
    }
    let left_out = is_kept.iter().filter(|kept| !**kept).count();
    let message = format!("{left_out} events are left out: the answer would be longer than the client reads");
    let kept = events.into_iter().zip(is_kept).filter_map(|(event, is_kept)| is_kept.then_some(event));
    kept.chain([Event { kind: EventKind::Progress, message, resource: None }]).collect()
}

/// Leaves out what has no room at the end of a list.
pub(crate) fn head<T: Serialize>(mut list: Vec<T>, room: usize) -> Vec<T> {
    let mut used = 0;
    let has_room = |item: &&T| {
        used += size(item);
        used <= room
    };
    let count = list.iter().take_while(has_room).count();
    list.truncate(count);
    list
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(kind: EventKind, message: &str) -> Event {
        Event { kind, message: message.to_owned(), resource: None }
    }

    #[test]
    fn errors_are_kept_longest() {
        let events = || {
            let long = "x".repeat(1000);
            vec![event(EventKind::Progress, &long), event(EventKind::Resource, &long), event(EventKind::Error, &long)]
        };
        let cases = [
            (10_000, "progress resource error"),
            (2_700, "resource error progress"),
            (1_600, "error progress"),
            (0, "progress"),
        ];
        for (room, expected) in cases {
            let kept = shorten(events(), room);
            let kinds: Vec<_> = kept.iter().map(|event| format!("{:?}", event.kind).to_lowercase()).collect();
            assert_eq!(kinds.join(" "), expected, "{room}");
        }
    }

    #[test]
    fn long_text_is_cut_between_characters() {
        let mut text = "é".repeat(LONGEST_TEXT);
        clip(&mut text);
        assert!(text.ends_with("é…") && text.len() <= LONGEST_TEXT + 3);
    }

    #[test]
    fn head_keeps_what_has_room() {
        assert_eq!(head(vec!["a", "b", "c"], 8), ["a", "b"]);
        assert!(head(vec!["a"], 0).is_empty());
    }
}
