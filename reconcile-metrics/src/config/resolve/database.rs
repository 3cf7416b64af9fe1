//! Resolves the database's address, TLS and password source.

use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use lifecycle_config::document::Path;
use lifecycle_config::settings::{Resolver, Source};
use sqlx::postgres::{PgConnectOptions, PgSslMode};

use super::lower;
use crate::config::settings::PASSWORD_VARIABLE;
use crate::config::spec::DatabaseSpec;
use crate::config::{DatabaseConfig, Environment, PasswordSource};

pub(super) fn database(
    r: &mut Resolver<'_>,
    spec: &DatabaseSpec,
    statement_timeout: Duration,
    environment: &Environment,
) -> Option<DatabaseConfig> {
    let key = |name: &str| Path::of_keys("database").key(name);
    let modes = [
        ("disable", PgSslMode::Disable),
        ("prefer", PgSslMode::Prefer),
        ("require", PgSslMode::Require),
        ("verify-ca", PgSslMode::VerifyCa),
        ("verify-full", PgSslMode::VerifyFull),
    ];
    let mut options = match &spec.url {
        Some(url) => {
            let parts = [("host", spec.host.is_some()), ("port", spec.port.is_some()), ("name", spec.name.is_some())];
            for (name, _) in parts.into_iter().filter(|(_, given)| *given) {
                r.error(key(name), "contradicts database.url", "keep the address or its parts");
            }
            match PgConnectOptions::from_str(url) {
                Ok(options) if url.starts_with("postgres://") || url.starts_with("postgresql://") => options,
                Ok(_) | Err(_) => {
                    // The address may contain a password, so the diagnostic must not quote the parser's error.
                    let help = "write postgres://user@host:5432/name, with special characters percent-encoded";
                    r.error(key("url"), "is not an address of PostgreSQL", help);
                    return None;
                }
            }
        }
        None => PgConnectOptions::new_without_pgpass()
            .host(spec.host.as_deref().unwrap_or("localhost"))
            .port(spec.port.unwrap_or(5432))
            .database(spec.name.as_deref().unwrap_or("hyperfleet"))
            .username("hyperfleet")
            // sqlx would read PGSSLMODE: a forgotten variable must not turn TLS off.
            .ssl_mode(PgSslMode::Prefer),
    };
    if let Some(username) = &spec.username {
        options = options.username(username);
    }
    if spec.ssl_mode.is_some() {
        options = options.ssl_mode(r.choice(
            key("ssl_mode"),
            lower(&spec.ssl_mode).as_deref(),
            &modes,
            PgSslMode::VerifyFull,
        ));
    }
    if let Some(file) = &spec.ssl_root_cert_file {
        options = options.ssl_root_cert(file);
    }
    let password = password(r, spec, environment);
    Some(DatabaseConfig {
        options: options.application_name("reconcile-metrics"),
        password,
        schema: spec.schema.clone().filter(|schema| !schema.is_empty()),
        root_certificates: spec.ssl_root_cert_file.as_ref().map(PathBuf::from),
        statement_timeout,
    })
}

/// Chooses the password source by the precedence of all values: flag, variable, file. Between two of the same origin,
/// `password_file` wins over the variable, and the variable over the address.
fn password(r: &Resolver<'_>, spec: &DatabaseSpec, environment: &Environment) -> PasswordSource {
    let variable = environment.get(PASSWORD_VARIABLE).filter(|password| !password.is_empty());
    let file = spec.password_file.as_ref().filter(|file| !file.is_empty());
    let address = spec.url.as_ref().filter(|url| contains_password(url));
    let sources = [
        address.map(|_| (r.source("database.url"), PasswordSource::Address)),
        variable.map(|password| (Source::Environment, PasswordSource::Given(password.clone()))),
        file.map(|file| (r.source("database.password_file"), PasswordSource::File(PathBuf::from(file)))),
    ];
    // `max_by_key` returns the last of equal elements, so the array is in ascending precedence.
    let nearest = sources.into_iter().flatten().max_by_key(|(source, _)| *source);
    nearest.map_or(PasswordSource::Address, |(_, password)| password)
}

fn contains_password(url: &str) -> bool {
    let (address, query) = url.split_once('?').unwrap_or((url, ""));
    let host = address.split_once("://").map_or("", |(_, rest)| rest).split('/').next().unwrap_or_default();
    host.rsplit_once('@').is_some_and(|(user, _)| user.contains(':'))
        || query.split('&').any(|parameter| parameter.starts_with("password="))
}
