//! Parses and formats the W3C trace context: `traceparent` and `tracestate`.
//!
//! In: the text of the two headers, from any sender. Out: a valid context, or none. A malformed `traceparent`
//! counts as absent, and so does its `tracestate`, as the W3C recommendation demands.

use opentelemetry::trace::{SpanContext, SpanId, TraceFlags, TraceId, TraceState};

/// The largest `tracestate` in bytes that the adapter passes on. The W3C recommendation demands at least 512; a
/// higher limit would let an event's sender inflate the headers of every call.
const TRACESTATE_LIMIT: usize = 512;

/// A trace context: trace id, parent span, flags and state. The default is no trace.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TraceContext {
    parent: Option<Parent>,
    tracestate: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Parent {
    trace: TraceId,
    span: SpanId,
    flags: TraceFlags,
}

impl TraceContext {
    /// Parses the values of the headers `traceparent` and `tracestate`.
    #[must_use]
    pub fn parse(traceparent: Option<&str>, tracestate: Option<&str>) -> Self {
        let parent = traceparent.and_then(|text| Parent::parse(text.trim()));
        let tracestate = tracestate
            .map(str::trim)
            .filter(|state| parent.is_some() && !state.is_empty() && state.len() <= TRACESTATE_LIMIT)
            .filter(|state| state.bytes().all(|byte| (b' '..=b'~').contains(&byte)))
            .map(str::to_owned);
        Self { parent, tracestate }
    }

    pub(super) fn from_span(span: &SpanContext) -> Self {
        let parent = Parent { trace: span.trace_id(), span: span.span_id(), flags: span.trace_flags() };
        let tracestate = Some(span.trace_state().header()).filter(|state| !state.is_empty());
        Self { parent: Some(parent), tracestate }
    }

    pub(super) fn as_remote_parent(&self) -> Option<SpanContext> {
        let Parent { trace, span, flags } = self.parent?;
        let state = self.tracestate.as_deref().and_then(|state| state.parse::<TraceState>().ok());
        Some(SpanContext::new(trace, span, flags, true, state.unwrap_or_default()))
    }

    /// The trace id: 32 hexadecimal digits.
    #[must_use]
    pub fn trace_id(&self) -> Option<String> {
        self.parent.map(|parent| parent.trace.to_string())
    }

    /// The parent span's id: 16 hexadecimal digits.
    #[must_use]
    pub fn span_id(&self) -> Option<String> {
        self.parent.map(|parent| parent.span.to_string())
    }

    /// The value of the header `traceparent`.
    #[must_use]
    pub fn traceparent(&self) -> Option<String> {
        let Parent { trace, span, flags } = self.parent?;
        Some(format!("00-{trace}-{span}-{:02x}", flags.to_u8()))
    }

    /// The value of the header `tracestate`.
    #[must_use]
    pub fn tracestate(&self) -> Option<&str> {
        self.tracestate.as_deref()
    }
}

impl Parent {
    fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split('-');
        let (version, trace, span, flags) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
        // Version 00 has exactly four parts; later versions may have more; ff is no valid version.
        let known_shape = match version {
            "00" => parts.next().is_none(),
            _ => is_hex(version, 2) && version != "ff",
        };
        if !known_shape || !is_hex(trace, 32) || !is_hex(span, 16) || !is_hex(flags, 2) {
            return None;
        }
        let trace = TraceId::from_hex(trace).ok()?;
        let span = SpanId::from_hex(span).ok()?;
        let flags = TraceFlags::new(u8::from_str_radix(flags, 16).ok()?) & TraceFlags::SAMPLED;
        (trace != TraceId::INVALID && span != SpanId::INVALID).then_some(Self { trace, span, flags })
    }
}

/// The W3C recommendation allows only lower-case digits.
fn is_hex(text: &str, length: usize) -> bool {
    text.len() == length && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

#[cfg(test)]
mod tests {
    #![expect(clippy::expect_used, reason = "tests")]

    use super::*;

    const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
    const SPAN: &str = "00f067aa0ba902b7";

    #[test]
    fn only_a_well_formed_traceparent_is_read() {
        let good = format!("00-{TRACE}-{SPAN}-01");
        let cases = [
            ("a sampled parent", good.clone(), Some(good.clone())),
            ("white space around it", format!(" {good} "), Some(good.clone())),
            ("an unsampled parent", format!("00-{TRACE}-{SPAN}-00"), Some(format!("00-{TRACE}-{SPAN}-00"))),
            ("flags of the future are cleared", format!("00-{TRACE}-{SPAN}-ff"), Some(good.clone())),
            ("a later version with more parts", format!("01-{TRACE}-{SPAN}-01-more"), Some(good.clone())),
            ("version 00 with more parts", format!("{good}-more"), None),
            ("the version that is none", format!("ff-{TRACE}-{SPAN}-01"), None),
            ("upper case", format!("00-{}-{SPAN}-01", TRACE.to_uppercase()), None),
            ("a trace id of zeros", format!("00-{}-{SPAN}-01", "0".repeat(32)), None),
            ("a span id of zeros", format!("00-{TRACE}-{}-01", "0".repeat(16)), None),
            ("a short trace id", format!("00-{}-{SPAN}-01", &TRACE[1..]), None),
            ("a part missing", format!("00-{TRACE}-{SPAN}"), None),
            ("a sign instead of a digit", format!("00-{TRACE}-{SPAN}-+1"), None),
            ("nothing", String::new(), None),
        ];
        for (name, text, expected) in cases {
            assert_eq!(TraceContext::parse(Some(&text), None).traceparent(), expected, "{name}");
        }
    }

    #[test]
    fn tracestate_without_a_valid_traceparent_is_dropped() {
        let parent = format!("00-{TRACE}-{SPAN}-01");
        let long = "k=".to_owned() + &"v".repeat(TRACESTATE_LIMIT);
        let cases = [
            ("with a parent", Some(parent.as_str()), "a=1,b=2", Some("a=1,b=2")),
            ("without a parent", None, "a=1", None),
            ("with a malformed parent", Some("00-x"), "a=1", None),
            ("empty", Some(parent.as_str()), " ", None),
            ("over the limit", Some(parent.as_str()), long.as_str(), None),
            ("with a line feed", Some(parent.as_str()), "a=1\nx: y", None),
        ];
        for (name, parent, state, expected) in cases {
            assert_eq!(TraceContext::parse(parent, Some(state)).tracestate(), expected, "{name}");
        }
    }

    #[test]
    fn trace_context_converts_to_a_span_context_and_back() {
        let context = TraceContext::parse(Some(&format!("00-{TRACE}-{SPAN}-01")), Some("a=1"));
        let span = context.as_remote_parent().expect("a parent");
        assert_eq!(TraceContext::from_span(&span), context);
        assert_eq!((context.trace_id().as_deref(), context.span_id().as_deref()), (Some(TRACE), Some(SPAN)));
    }
}
