//! The `tracing` layer that writes a line for each event.

use std::cell::RefCell;

use jiff::Timestamp;
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Subscriber};
use tracing_subscriber::layer::{Context, Layer};
use tracing_subscriber::registry::LookupSpan;

use super::fields::{EntryVisitor, SpanFields, SpanVisitor};
use super::line::LineWriter;
use super::{Format, Identity};

/// Receives each finished line, including its line feed.
pub type Sink = Box<dyn Fn(&[u8]) + Send + Sync>;

/// Writes each event as one line.
pub(super) struct LogLayer {
    lines: LineWriter,
    clock: fn() -> Timestamp,
    sink: Sink,
}

impl LogLayer {
    pub(super) fn new(format: Format, identity: &Identity, sink: Sink) -> Self {
        Self { lines: LineWriter::new(format, identity), clock: Timestamp::now, sink }
    }

    #[cfg(test)]
    pub(super) fn with_clock(self, clock: fn() -> Timestamp) -> Self {
        Self { clock, ..self }
    }
}

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for LogLayer {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let Some(span) = context.span(id) else { return };
        let mut fields =
            span.parent().and_then(|parent| parent.extensions().get::<SpanFields>().cloned()).unwrap_or_default();
        attributes.record(&mut SpanVisitor(&mut fields));
        span.extensions_mut().insert(fields);
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, context: Context<'_, S>) {
        let Some(span) = context.span(id) else { return };
        if let Some(fields) = span.extensions_mut().get_mut::<SpanFields>() {
            values.record(&mut SpanVisitor(fields));
        }
    }

    fn on_event(&self, event: &Event<'_>, context: Context<'_, S>) {
        thread_local! {
            static LINE: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
        }
        let mut entry = EntryVisitor::default();
        event.record(&mut entry);
        let span_fields = context
            .event_span(event)
            .and_then(|span| span.extensions().get::<SpanFields>().cloned())
            .unwrap_or_default();
        LINE.with_borrow_mut(|line| {
            line.clear();
            self.lines.write(line, (self.clock)(), *event.metadata().level(), &entry, span_fields.fields());
            (self.sink)(line);
        });
    }
}
