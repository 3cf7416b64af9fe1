//! Distributed tracing: where a pass belongs, and how that is passed on.
//!
//! In: the W3C trace context of a `CloudEvent`, and the OpenTelemetry environment. Out: the span of a pass, the
//! context for outgoing calls, and, only where an OTLP endpoint is configured, exported spans. Start-up can
//! fail on an endpoint that cannot be used; afterwards a collector that is away costs spans, never work.
//!
//! Without an exporter no span is sampled or stored, yet ids flow: an incoming context is logged and passed on as it
//! came. Spans are named as the tracing standard says: `adapter.process` for a pass, the bare method for an
//! HTTP call.

use std::borrow::Cow;

use lifecycle_core::event::LifecycleEvent;
use lifecycle_service::logging;
use opentelemetry::trace::{Status, TraceContextExt as _};
use tracing::{Span, info_span};
use tracing_opentelemetry::OpenTelemetrySpanExt as _;

mod context;
mod export;
mod settings;

pub use context::TraceContext;
pub use export::{Tracing, TracingError};
pub use settings::{Export, Protocol, TracingSettings};

/// The span of one pass over one event, and the context that calls made in it belong to.
///
/// Every log line inside carries the event's identifiers.
#[must_use]
pub fn event_span(event: &LifecycleEvent, adapter: &str, subscription: &str) -> (Span, TraceContext) {
    let resource_type = resource_type(&event.kind);
    let span = info_span!(
        "adapter.process",
        otel.kind = "consumer",
        messaging.operation.type = "process",
        messaging.destination.name = subscription,
        messaging.message.id = event.event_id,
        hyperfleet.adapter = adapter,
        hyperfleet.resource_type = resource_type,
        hyperfleet.resource_id = event.resource_id,
    );
    let incoming = TraceContext::parse(event.traceparent.as_deref(), event.tracestate.as_deref());
    if let Some(parent) = incoming.as_remote_parent() {
        // Without an exporter there is nothing to set it on, and nothing is lost.
        drop(span.set_parent(opentelemetry::Context::new().with_remote_span_context(parent)));
    }
    let trace = outgoing(&span, &incoming);

    let mut fields = vec![(Cow::Borrowed("event_id"), event.event_id.clone())];
    fields.extend(trace.trace_id().map(|id| (Cow::Borrowed("trace_id"), id)));
    // The parent's span is not ours: without an exporter we have none.
    if trace != incoming {
        fields.extend(trace.span_id().map(|id| (Cow::Borrowed("span_id"), id)));
    }
    fields.push((Cow::Borrowed("adapter"), adapter.to_owned()));
    fields.push((Cow::Borrowed("subscription"), subscription.to_owned()));
    fields.push((Cow::Borrowed("resource_type"), resource_type));
    fields.push((Cow::Borrowed("resource_id"), event.resource_id.clone()));
    let owner = event.owner.as_ref().map(|owner| (owner.kind.as_str(), owner.id.as_str()));
    for (kind, id) in [Some((event.kind.as_str(), event.resource_id.as_str())), owner].into_iter().flatten() {
        if !kind.is_empty() {
            let name = format!("{}_id", kind.to_lowercase());
            span.set_attribute(format!("hyperfleet.{name}"), id.to_owned());
            fields.push((Cow::Owned(name), id.to_owned()));
        }
    }
    fields.push((Cow::Borrowed("observed_generation"), event.generation.to_string()));
    logging::attach(&span, fields.into_iter().filter(|(_, value)| !value.is_empty()));
    (span, trace)
}

/// The context that a call made inside `span` passes on: the span's own if it is recorded, else the inherited one.
#[must_use]
pub fn outgoing(span: &Span, inherited: &TraceContext) -> TraceContext {
    let context = span.context();
    let span = context.span();
    let own = span.span_context();
    if own.is_valid() { TraceContext::from_span(own) } else { inherited.clone() }
}

/// Marks a span as failed; the log line is written by whoever handles the failure.
pub fn mark_failed(span: &Span, why: impl Into<Cow<'static, str>>) {
    span.set_status(Status::Error { description: why.into() });
}

/// The plural, lower-case spelling that the logging standard uses: `Cluster` is `clusters`.
fn resource_type(kind: &str) -> String {
    if kind.is_empty() { String::new() } else { format!("{}s", kind.to_lowercase()) }
}

#[cfg(test)]
mod tests;
