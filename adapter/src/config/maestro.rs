//! Resolves `clients.maestro`, and matches it with the task.
//!
//! In: the block of the deployment file, and the task's transports. Out: the client's settings. Warns of what
//! the Go adapter refuses when it builds its client; of a task that needs Maestro without the block; and of a block that no
//! resource needs.

use std::path::PathBuf;
use std::time::Duration;

use lifecycle_config::diagnostics::{Diagnostic, Diagnostics, Severity};
use lifecycle_config::duration::{Units, parse_nanoseconds};
use lifecycle_config::settings::Resolver;
use lifecycle_core::task::{Task, TransportKind};
use lifecycle_maestro::{Settings, tls};

use super::AdapterConfig;
use super::resolve::SECOND;
use super::spec::{MaestroAuthSpec, MaestroSpec, TlsSpec};

/// The client of Maestro.
#[derive(Debug)]
pub struct MaestroConfig {
    /// The client's settings, as far as the block has them.
    pub settings: Settings,
    /// Why `serve` cannot build the client. Only warnings: a dry run needs no Maestro, and variables of a deployment often
    /// complete the block.
    pub faults: Vec<String>,
}

/// Fills in the defaults.
pub(super) fn resolve(r: &mut Resolver<'_>, spec: &MaestroSpec) -> MaestroConfig {
    let mut block = Block { resolver: r, faults: Vec::new() };
    let MaestroAuthSpec { tls_config, token_file, .. } = spec.auth.clone().unwrap_or_default();
    let (grpc_files, http_files) = tls(&mut block, spec.insecure, tls_config.unwrap_or_default());
    let token = path(token_file);
    if token.is_some() && spec.insecure {
        let help = "set `tls_config.ca_file` instead of `insecure`, or remove `token_file`";
        block.fault("auth.token_file", "would be sent without TLS", help);
    }
    let http_address =
        block.required("http_server_address", spec.http_server_address.as_deref(), "https://maestro:8000");
    let help = "write an address such as `https://maestro:8000`; with `http://`, set `insecure: true`";
    match http_address.split_once("://") {
        Some(("https", _)) => {}
        Some(("http", _)) if spec.insecure => {}
        Some(("http", _)) => {
            block.fault("http_server_address", "must begin with `https://` unless `insecure` is true", help)
        }
        Some(_) | None if http_address.is_empty() => {}
        Some(_) | None => block.fault("http_server_address", "must begin with `http://` or `https://`", help),
    }
    let source = block.required("source_id", spec.source_id.as_deref(), "my-adapter");
    if !source.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c)) {
        let help = "write letters, digits, `-`, `_` and `.`: it is part of questions to Maestro";
        block.fault("source_id", &format!("\"{source}\" has other characters"), help);
    }
    let example = "maestro-grpc:8090";
    let grpc_address = block.required("grpc_server_address", spec.grpc_server_address.as_deref(), example);
    let text = spec.timeout.as_deref().filter(|text| !text.is_empty());
    let parsed = text.map(|text| parse_nanoseconds(text, Units::Go));
    if let Some(Err(error)) = &parsed {
        block.fault("timeout", &format!("invalid maestro timeout: {error}"), "write it as in `10s`");
    }
    let nanoseconds = parsed.and_then(Result::ok).and_then(|parsed| u64::try_from(parsed).ok());
    let timeout = nanoseconds.filter(|parsed| *parsed > 0).map_or(10 * SECOND, Duration::from_nanos);
    let faults = block.faults;
    let settings = Settings { grpc_address, http_address, source, timeout, grpc_files, http_files, token };
    MaestroConfig { settings, faults }
}

/// The block while it is read.
struct Block<'a, 'r> {
    resolver: &'a mut Resolver<'r>,
    faults: Vec<String>,
}

impl Block<'_, '_> {
    fn fault(&mut self, key: &str, message: &str, help: &str) {
        let key = format!("clients.maestro.{key}");
        self.faults.push(format!("{key} {message}"));
        self.resolver.warn(key.as_str(), format!("{message}: `serve` does not start"), Some(help));
    }

    fn required(&mut self, key: &str, text: Option<&str>, example: &str) -> String {
        let text = text.unwrap_or_default().trim().to_owned();
        if text.is_empty() {
            self.fault(key, "is required", &format!("write it as in `{example}`"));
        }
        text
    }
}

fn path(text: Option<String>) -> Option<PathBuf> {
    text.filter(|text| !text.is_empty()).map(PathBuf::from)
}

/// The files of both servers; none where the configuration wants no verification.
fn tls(block: &mut Block<'_, '_>, insecure: bool, spec: TlsSpec) -> (Option<tls::Files>, Option<tls::Files>) {
    if insecure {
        return (None, None);
    }
    let TlsSpec { ca_file, cert_file, key_file, http_ca_file } = spec;
    let Some(authorities) = path(ca_file) else {
        let help = "set `ca_file`, and for mutual TLS `cert_file` and `key_file`; or `insecure: true` for plain text";
        block.fault("auth.tls_config.ca_file", "is required: there is no TLS configuration", help);
        return (None, None);
    };
    let pair = match (path(cert_file), path(key_file)) {
        (Some(certificate), Some(key)) => Some((certificate, key)),
        (None, None) => None,
        (Some(_), None) | (None, Some(_)) => {
            block.fault("auth.tls_config", "has only one of `cert_file` and `key_file`", "set both, or none");
            None
        }
    };
    let http = path(http_ca_file).unwrap_or_else(|| authorities.clone());
    (Some(tls::Files { authorities, pair }), Some(tls::Files { authorities: http, pair: None }))
}

/// Compares what the deployment file has with what the task needs.
pub(super) fn match_with_task(adapter: &AdapterConfig, task: &Task, file: &str, diagnostics: &mut Diagnostics) {
    let mut remote = task.resources.iter().filter(|it| matches!(it.transport, TransportKind::Maestro { .. }));
    let (message, help) = match (&adapter.maestro, remote.next()) {
        (Some(_), Some(_)) | (None, None) => return,
        (None, Some(resource)) => (
            format!("is missing, and resource `{}` uses the maestro transport: `serve` does not start", resource.name),
            "add it with `grpc_server_address`, `http_server_address` and `source_id`",
        ),
        (Some(_), None) => (
            "is not used: no resource of the task has `transport.client: maestro`".to_owned(),
            "the Go adapter would send every resource to Maestro: set the transport of those that it means, or remove the block",
        ),
    };
    let found = Diagnostic::outside(file, "clients.maestro", message, Some(help.to_owned()));
    diagnostics.push(found.as_severity(Severity::Warning));
}
