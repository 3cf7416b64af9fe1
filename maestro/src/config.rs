//! The block of a configuration file that names a Maestro.
//!
//! In: the block, and where it stands in the file. Out: the client's settings, and what keeps a client from being built with
//! them. Fails: never; each fault is reported at its key, in the severity that the program chooses.

use std::path::PathBuf;
use std::time::Duration;

use lifecycle_config::diagnostics::Severity;
use lifecycle_config::duration::{Units, parse_nanoseconds};
use lifecycle_config::settings::Resolver;

use crate::client::Settings;
use crate::tls;

pub mod spec;

use spec::{MaestroAuthSpec, MaestroSpec, TlsSpec};

/// The time limit of a request, unless the block has one.
const TIMEOUT: Duration = Duration::from_secs(10);

/// Where a block stands, and how much a fault matters there.
#[derive(Debug, Clone, Copy)]
pub struct Place {
    /// The block's key, such as `clients.maestro`.
    pub key: &'static str,
    /// How a fault is reported.
    pub severity: Severity,
    /// What follows from a fault, as the end of its message; empty if that is plain.
    pub consequence: &'static str,
}

/// Fills in the defaults. Returns the faults, too, each with its key.
pub fn resolve(resolver: &mut Resolver<'_>, place: Place, spec: &MaestroSpec) -> (Settings, Vec<String>) {
    let mut block = Block { resolver, place, faults: Vec::new() };
    let MaestroAuthSpec { tls_config, token_file, .. } = spec.auth.clone().unwrap_or_default();
    let (grpc_files, http_files) = tls(&mut block, spec.insecure, tls_config.unwrap_or_default());
    let token = path(token_file);
    if token.is_some() && spec.insecure {
        let help = "set `tls_config.ca_file` instead of `insecure`, or remove `token_file`";
        block.fault("auth.token_file", "would be sent without TLS", help);
    }
    let http_address = http_address(&mut block, spec);
    let source = block.required("source_id", spec.source_id.as_deref(), "my-adapter");
    if !source.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c)) {
        let help = "write letters, digits, `-`, `_` and `.`: it is part of questions to Maestro";
        block.fault("source_id", &format!("\"{source}\" has other characters"), help);
    }
    let example = "maestro-grpc:8090";
    let grpc_address = block.required("grpc_server_address", spec.grpc_server_address.as_deref(), example);
    let timeout = timeout(&mut block, spec.timeout.as_deref());
    let settings = Settings { grpc_address, http_address, source, timeout, grpc_files, http_files, token };
    (settings, block.faults)
}

/// The block while it is read.
struct Block<'a, 'r> {
    resolver: &'a mut Resolver<'r>,
    place: Place,
    faults: Vec<String>,
}

impl Block<'_, '_> {
    fn fault(&mut self, key: &str, message: &str, help: &str) {
        let Place { key: block, severity, consequence } = self.place;
        let key = format!("{block}.{key}");
        self.faults.push(format!("{key} {message}"));
        self.resolver.report(severity, key.as_str(), format!("{message}{consequence}"), Some(help));
    }

    fn required(&mut self, key: &str, text: Option<&str>, example: &str) -> String {
        let text = text.unwrap_or_default().trim().to_owned();
        if text.is_empty() {
            self.fault(key, "is required", &format!("write it as in `{example}`"));
        }
        text
    }
}

fn http_address(block: &mut Block<'_, '_>, spec: &MaestroSpec) -> String {
    let key = "http_server_address";
    let address = block.required(key, spec.http_server_address.as_deref(), "https://maestro:8000");
    let fault = match address.split_once("://") {
        Some(("https", _)) => None,
        Some(("http", _)) => (!spec.insecure).then_some("must begin with `https://` unless `insecure` is true"),
        Some(_) | None => (!address.is_empty()).then_some("must begin with `http://` or `https://`"),
    };
    if let Some(fault) = fault {
        let help = "write an address such as `https://maestro:8000`; with `http://`, set `insecure: true`";
        block.fault(key, fault, help);
    }
    address
}

fn timeout(block: &mut Block<'_, '_>, text: Option<&str>) -> Duration {
    let parsed = text.filter(|text| !text.is_empty()).map(|text| parse_nanoseconds(text, Units::Go));
    if let Some(Err(error)) = &parsed {
        block.fault("timeout", &format!("invalid maestro timeout: {error}"), "write it as in `10s`");
    }
    let nanoseconds = parsed.and_then(Result::ok).and_then(|parsed| u64::try_from(parsed).ok());
    nanoseconds.filter(|parsed| *parsed > 0).map_or(TIMEOUT, Duration::from_nanos)
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
