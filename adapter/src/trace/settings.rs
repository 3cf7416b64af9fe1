//! Reads the tracing settings from the environment.
//!
//! In: a lookup of environment variables. Out: settings, and a warning for each invalid value, which falls back
//! to its default. Reading never fails. The OTLP exporter itself reads headers, timeouts and compression from
//! the variables of the OpenTelemetry specification.

use lifecycle_config::go::parse_boolean;
use opentelemetry_sdk::trace::Sampler;

/// Where spans are exported, and whether calls carry the trace context.
#[derive(Debug, Clone)]
pub struct TracingSettings {
    /// The export of spans; `None` exports none.
    pub export: Option<Export>,
    /// Whether outgoing calls carry the trace context.
    pub propagate: bool,
    /// A sentence for each invalid value.
    pub warnings: Vec<String>,
}

/// The settings of an OTLP export.
#[derive(Debug, Clone)]
pub struct Export {
    /// The full URL that spans are sent to.
    pub endpoint: String,
    /// The OTLP protocol by which spans are sent.
    pub protocol: Protocol,
    /// Decides which traces are recorded.
    pub sampler: Sampler,
    /// The value of the resource attribute `service.name`.
    pub service_name: String,
}

/// The OTLP protocols that the exporter supports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    /// OTLP over gRPC.
    Grpc,
    /// OTLP as Protobuf over HTTP.
    HttpProtobuf,
}

impl TracingSettings {
    /// Reads the settings; an empty variable counts as unset.
    #[must_use]
    pub fn from_environment(variable: impl Fn(&str) -> Option<String>, adapter: &str) -> Self {
        let variable = |name: &str| variable(name).map(|value| value.trim().to_owned()).filter(|it| !it.is_empty());
        let mut warnings = Vec::new();
        let enabled = match variable("HYPERFLEET_TRACING_ENABLED") {
            None => true,
            Some(text) => parse_boolean(&text).unwrap_or_else(|| {
                warnings.push(format!("HYPERFLEET_TRACING_ENABLED is `{text}`, which is no boolean: taken as true"));
                true
            }),
        };
        let propagate = variable("OTEL_PROPAGATORS")
            .is_none_or(|names| names.split(',').any(|name| name.trim().eq_ignore_ascii_case("tracecontext")));
        let export = enabled.then(|| Export::from_environment(&variable, adapter, &mut warnings)).flatten();
        Self { export, propagate, warnings }
    }
}

impl Export {
    fn from_environment(
        variable: &impl Fn(&str) -> Option<String>,
        adapter: &str,
        warnings: &mut Vec<String>,
    ) -> Option<Self> {
        let own = variable("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT");
        let general = variable("OTEL_EXPORTER_OTLP_ENDPOINT");
        if own.is_none() && general.is_none() {
            return None;
        }
        let protocol = protocol(variable, warnings);
        // Over HTTP the general endpoint is a base URL, to which each signal adds its path. Over gRPC the
        // method's name selects the signal.
        let general = general.map(|base| match protocol {
            Protocol::Grpc => base,
            Protocol::HttpProtobuf => format!("{}/v1/traces", base.trim_end_matches('/')),
        });
        Some(Self {
            endpoint: own.or(general)?,
            protocol,
            sampler: sampler(variable, warnings),
            service_name: variable("OTEL_SERVICE_NAME").unwrap_or_else(|| adapter.to_owned()),
        })
    }
}

fn protocol(variable: &impl Fn(&str) -> Option<String>, warnings: &mut Vec<String>) -> Protocol {
    let name = variable("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL").or_else(|| variable("OTEL_EXPORTER_OTLP_PROTOCOL"));
    match name.as_deref().map(str::to_ascii_lowercase).as_deref() {
        None | Some("grpc") => Protocol::Grpc,
        Some("http/protobuf" | "http") => Protocol::HttpProtobuf,
        Some(other) => {
            warnings.push(format!("OTLP protocol `{other}` is not `grpc` or `http/protobuf`: taken as `grpc`"));
            Protocol::Grpc
        }
    }
}

fn sampler(variable: &impl Fn(&str) -> Option<String>, warnings: &mut Vec<String>) -> Sampler {
    let name = variable("OTEL_TRACES_SAMPLER").map(|name| name.to_ascii_lowercase());
    let parent_based = |root| Sampler::ParentBased(Box::new(root));
    match name.as_deref() {
        Some("always_on") => Sampler::AlwaysOn,
        Some("always_off") => Sampler::AlwaysOff,
        Some("parentbased_always_on") => parent_based(Sampler::AlwaysOn),
        Some("parentbased_always_off") => parent_based(Sampler::AlwaysOff),
        Some("traceidratio") => Sampler::TraceIdRatioBased(ratio(variable, warnings)),
        None | Some("parentbased_traceidratio") => parent_based(Sampler::TraceIdRatioBased(ratio(variable, warnings))),
        Some(other) => {
            warnings.push(format!("OTEL_TRACES_SAMPLER is `{other}`: taken as `parentbased_traceidratio`"));
            parent_based(Sampler::TraceIdRatioBased(ratio(variable, warnings)))
        }
    }
}

fn ratio(variable: &impl Fn(&str) -> Option<String>, warnings: &mut Vec<String>) -> f64 {
    let Some(text) = variable("OTEL_TRACES_SAMPLER_ARG") else { return 1.0 };
    match text.parse::<f64>() {
        Ok(ratio) if (0.0..=1.0).contains(&ratio) => ratio,
        _ => {
            warnings.push(format!("OTEL_TRACES_SAMPLER_ARG is `{text}`, which is no number from 0 to 1: taken as 1"));
            1.0
        }
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::expect_used, reason = "tests")]

    use super::*;

    type Variables<'a> = &'a [(&'a str, &'a str)];

    fn read(variables: Variables<'_>) -> TracingSettings {
        let find =
            |name: &str| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned());
        TracingSettings::from_environment(find, "adapter-dns")
    }

    const ENDPOINT: (&str, &str) = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://collector:4317");

    #[test]
    fn spans_are_exported_only_with_an_endpoint_and_tracing_on() {
        let cases: [(&str, Variables<'_>, bool, usize); 7] = [
            ("nothing set", &[], false, 0),
            ("the general endpoint", &[ENDPOINT], true, 0),
            ("the endpoint of traces", &[("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://c:4317")], true, 0),
            ("an empty endpoint", &[("OTEL_EXPORTER_OTLP_ENDPOINT", "")], false, 0),
            ("switched off", &[ENDPOINT, ("HYPERFLEET_TRACING_ENABLED", "F")], false, 0),
            ("switched on without an endpoint", &[("HYPERFLEET_TRACING_ENABLED", "true")], false, 0),
            ("an unreadable switch is on, with a warning", &[ENDPOINT, ("HYPERFLEET_TRACING_ENABLED", "yes")], true, 1),
        ];
        for (name, variables, exported, warnings) in cases {
            let settings = read(variables);
            assert_eq!((settings.export.is_some(), settings.warnings.len()), (exported, warnings), "{name}");
        }
    }

    #[test]
    fn protocol_and_sampler_are_read_from_the_environment() {
        let ratio = ("OTEL_TRACES_SAMPLER_ARG", "0.25");
        let cases: [(&str, Variables<'_>, Protocol, &str, usize); 9] = [
            ("defaults", &[], Protocol::Grpc, "ParentBased(TraceIdRatioBased(1.0))", 0),
            (
                "http",
                &[("OTEL_EXPORTER_OTLP_PROTOCOL", "http")],
                Protocol::HttpProtobuf,
                "ParentBased(TraceIdRatioBased(1.0))",
                0,
            ),
            (
                "the traces' own protocol wins",
                &[("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"), ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "http/protobuf")],
                Protocol::HttpProtobuf,
                "ParentBased(TraceIdRatioBased(1.0))",
                0,
            ),
            (
                "an unknown protocol",
                &[("OTEL_EXPORTER_OTLP_PROTOCOL", "udp")],
                Protocol::Grpc,
                "ParentBased(TraceIdRatioBased(1.0))",
                1,
            ),
            ("always", &[("OTEL_TRACES_SAMPLER", "always_on")], Protocol::Grpc, "AlwaysOn", 0),
            (
                "never",
                &[("OTEL_TRACES_SAMPLER", "parentbased_always_off")],
                Protocol::Grpc,
                "ParentBased(AlwaysOff)",
                0,
            ),
            (
                "a ratio",
                &[("OTEL_TRACES_SAMPLER", "traceidratio"), ratio],
                Protocol::Grpc,
                "TraceIdRatioBased(0.25)",
                0,
            ),
            (
                "a ratio over one",
                &[("OTEL_TRACES_SAMPLER_ARG", "1.5")],
                Protocol::Grpc,
                "ParentBased(TraceIdRatioBased(1.0))",
                1,
            ),
            (
                "an unknown sampler",
                &[("OTEL_TRACES_SAMPLER", "sometimes"), ratio],
                Protocol::Grpc,
                "ParentBased(TraceIdRatioBased(0.25))",
                1,
            ),
        ];
        for (name, variables, protocol, sampler, warnings) in cases {
            let settings = read(&[&[ENDPOINT], variables].concat());
            let export = settings.export.expect("an endpoint is set");
            assert_eq!((export.protocol, format!("{:?}", export.sampler).as_str()), (protocol, sampler), "{name}");
            assert_eq!(settings.warnings.len(), warnings, "{name}");
            assert_eq!(export.service_name, "adapter-dns", "{name}");
        }
    }

    #[test]
    fn export_endpoint_has_the_path_of_the_protocol() {
        let http = ("OTEL_EXPORTER_OTLP_PROTOCOL", "http/protobuf");
        let own = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://c/own");
        let cases: [(&str, Variables<'_>, &str); 4] = [
            ("gRPC", &[ENDPOINT], "http://collector:4317"),
            ("HTTP", &[ENDPOINT, http], "http://collector:4317/v1/traces"),
            ("HTTP, the traces' own", &[ENDPOINT, own, http], "http://c/own"),
            ("gRPC, the traces' own", &[ENDPOINT, own], "http://c/own"),
        ];
        for (name, variables, expected) in cases {
            assert_eq!(read(variables).export.expect("an endpoint is set").endpoint, expected, "{name}");
        }
    }

    #[test]
    fn trace_context_propagates_by_default() {
        let cases: [(&str, Variables<'_>, bool); 4] = [
            ("unset", &[], true),
            ("among others", &[("OTEL_PROPAGATORS", "baggage, tracecontext")], true),
            ("none", &[("OTEL_PROPAGATORS", "none")], false),
            ("only another", &[("OTEL_PROPAGATORS", "b3")], false),
        ];
        for (name, variables, expected) in cases {
            assert_eq!(read(variables).propagate, expected, "{name}");
        }
    }
}
