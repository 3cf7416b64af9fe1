//! Exports spans over OTLP.
//!
//! In: the tracing settings. Out: a layer that records the adapter's own spans, and a thread that sends them in
//! batches. Fails if the exporter cannot be built. If the collector does not answer, the exporter logs that and
//! drops spans.

use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use lifecycle_api_client::tls;
use lifecycle_service::logging::{self, Identity};
use opentelemetry::KeyValue;
use opentelemetry::trace::TracerProvider as _;
use opentelemetry_http::{Bytes, HttpClient, HttpError, Request, Response};
use opentelemetry_otlp::tonic_types::transport::ClientTlsConfig;
use opentelemetry_otlp::{
    ExporterBuildError, SpanExporter, WithExportConfig as _, WithHttpConfig as _, WithTonicConfig as _,
};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::SdkTracerProvider;
use tokio::runtime::Handle;
use tracing::Subscriber;
use tracing_subscriber::filter::FilterFn;
use tracing_subscriber::layer::Layer;
use tracing_subscriber::registry::LookupSpan;

use super::settings::{Export, Protocol};

/// Why tracing could not start.
#[derive(Debug, thiserror::Error)]
pub enum TracingError {
    /// The endpoint or another setting of the exporter is invalid.
    #[error("failed to build the OTLP exporter")]
    Exporter(#[source] ExporterBuildError),
    /// TLS could not be set up.
    #[error("failed to set up TLS for the OTLP exporter")]
    Tls(#[source] rustls::Error),
    /// The HTTP client could not be built.
    #[error("failed to build the HTTP client of the OTLP exporter")]
    Client(#[source] reqwest::Error),
}

/// A running exporter. Dropping it loses spans that were not sent yet: call [`shutdown`](Self::shutdown).
#[derive(Debug)]
pub struct Tracing {
    provider: SdkTracerProvider,
    adapter: String,
}

impl Tracing {
    /// Starts the exporter. The caller must be inside a Tokio runtime, on which the exporter sends.
    ///
    /// # Errors
    /// The exporter cannot be built from the environment.
    pub fn start(export: &Export, identity: &Identity) -> Result<Self, TracingError> {
        let exporter = match export.protocol {
            Protocol::Grpc => {
                let builder = SpanExporter::builder().with_tonic().with_endpoint(&export.endpoint);
                // By default the exporter trusts no certificate authority, so enable the system's. Without TLS,
                // a TLS configuration is an error.
                let roots = ClientTlsConfig::new().with_enabled_roots();
                if is_https(&export.endpoint) { builder.with_tls_config(roots).build() } else { builder.build() }
            }
            Protocol::HttpProtobuf => {
                let tls = tls::client_config().map_err(TracingError::Tls)?;
                let client = reqwest::Client::builder().tls_backend_preconfigured(tls).build();
                let client = OnRuntime { client: client.map_err(TracingError::Client)?, runtime: Handle::current() };
                SpanExporter::builder().with_http().with_endpoint(&export.endpoint).with_http_client(client).build()
            }
        };
        let resource = Resource::builder()
            .with_service_name(export.service_name.clone())
            .with_attribute(KeyValue::new("service.version", identity.version.clone()))
            .with_attribute(KeyValue::new("host.name", identity.hostname.clone()))
            .build();
        let provider = SdkTracerProvider::builder()
            .with_batch_exporter(exporter.map_err(TracingError::Exporter)?)
            .with_sampler(export.sampler.clone())
            .with_resource(resource)
            .build();
        Ok(Self { provider, adapter: identity.component.clone() })
    }

    /// The layer that records spans. It does not copy log lines into spans.
    pub fn layer<S>(&self) -> impl Layer<S> + Send + Sync + use<S>
    where
        S: Subscriber + for<'a> LookupSpan<'a> + Send + Sync,
    {
        tracing_opentelemetry::layer()
            .with_tracer(self.provider.tracer(self.adapter.clone()))
            .with_location(false)
            .with_threads(false)
            .with_target(false)
            .with_tracked_inactivity(false)
            .with_filter(FilterFn::new(|metadata| metadata.is_span() && logging::is_ours(metadata)))
    }

    /// Sends the remaining spans, and gives up after the time `cap`.
    pub async fn shutdown(self, cap: Duration) {
        let provider = self.provider;
        let flushed = tokio::task::spawn_blocking(move || provider.shutdown_with_timeout(cap)).await;
        match flushed {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::warn!(error = &error as &dyn std::error::Error, "Spans were lost at shutdown"),
            Err(error) => tracing::warn!(error = &error as &dyn std::error::Error, "Flushing spans was interrupted"),
        }
    }
}

fn is_https(endpoint: &str) -> bool {
    endpoint.get(..8).is_some_and(|scheme| scheme.eq_ignore_ascii_case("https://"))
}

/// An HTTP client that sends on the Tokio runtime, because the exporter's batch thread has no runtime.
#[derive(Debug)]
struct OnRuntime {
    client: reqwest::Client,
    runtime: Handle,
}

impl HttpClient for OnRuntime {
    fn send_bytes<'life0, 'async_trait>(
        &'life0 self,
        request: Request<Bytes>,
    ) -> Pin<Box<dyn Future<Output = Result<Response<Bytes>, HttpError>> + Send + 'async_trait>>
    where
        'life0: 'async_trait,
        Self: 'async_trait,
    {
        let client = self.client.clone();
        let sending = self.runtime.spawn(async move { client.send_bytes(request).await });
        Box::pin(async move { sending.await? })
    }
}
