//! Distributed tracing: the span of a pass, and the trace context of its calls.
//!
//! In: the W3C trace context of a `CloudEvent`, and the OpenTelemetry environment variables. Out: the span of a
//! pass, the context for outgoing calls and, if an OTLP endpoint is configured, exported spans. The start fails
//! if the exporter cannot be built. Later, an unreachable collector loses spans, but delays no pass.
//!
//! Without an exporter no span is recorded. An incoming trace context is still logged, and passed on unchanged.
//! Spans have the names of the HyperFleet tracing standard: `adapter.process` for a pass, and the HTTP method
//! for a call.

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

/// Creates the span of a pass, and the trace context for the calls of the pass.
///
/// Every log line inside the span carries the event's identifiers.
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
        // Setting the parent fails if no exporter is installed; then the span is not recorded anyway.
        drop(span.set_parent(opentelemetry::Context::new().with_remote_span_context(parent)));
    }
    let trace = outgoing(&span, &incoming);

    let mut fields = vec![(Cow::Borrowed("event_id"), event.event_id.clone())];
    fields.extend(trace.trace_id().map(|id| (Cow::Borrowed("trace_id"), id)));
    // Without an exporter the context is the sender's, whose span id must not be logged as the adapter's.
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

/// The context for a call inside `span`: the context of the span if the span is recorded, else the inherited
/// one.
#[must_use]
pub fn outgoing(span: &Span, inherited: &TraceContext) -> TraceContext {
    let context = span.context();
    let span = context.span();
    let own = span.span_context();
    if own.is_valid() { TraceContext::from_span(own) } else { inherited.clone() }
}

/// Marks a span as failed. The caller logs the failure.
pub fn mark_failed(span: &Span, why: impl Into<Cow<'static, str>>) {
    span.set_status(Status::Error { description: why.into() });
}

/// The lower-case plural that the HyperFleet logging standard uses, such as `clusters` for `Cluster`.
fn resource_type(kind: &str) -> String {
    if kind.is_empty() { String::new() } else { format!("{}s", kind.to_lowercase()) }
}

#[cfg(test)]
mod tests;
