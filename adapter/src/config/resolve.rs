//! Resolves the deployment file as written into [`AdapterConfig`]: checks rules, converts units, fills in
//! defaults.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::path::{Path as FilePath, PathBuf};
use std::time::Duration;

use ::http::header::{HeaderName, HeaderValue};
use lifecycle_api_client::AuthScheme;
use lifecycle_config::diagnostics::Severity;
use lifecycle_config::duration::{Units, parse_nanoseconds};
use lifecycle_config::settings::Resolver;
use lifecycle_core::api_call::{RetryBackoff, attempts};
use lifecycle_objects::keys;
use lifecycle_objects::labels::is_label_value;
use lifecycle_objects::proof::Signer;
use lifecycle_service::logging::Output;
use lifecycle_service::settings;
use serde_json::Value;
use url::Url;

use super::spec::{AdapterSpec, ApiSpec, AuthSpec, KubernetesSpec, PassesSpec};
use super::version::{Agreement, compare};
use super::{AdapterConfig, ApiConfig, AuthConfig, KubernetesConfig, PassesConfig};
use super::{dump, maestro, signing, stamp};

const SECOND: Duration = Duration::from_secs(1);
/// The most threads that handle events: more wake each other more than they help.
const MAX_WORKERS: NonZeroUsize = NonZeroUsize::MIN.saturating_add(63);

/// The most passes that a person pages through.
const MOST_PASSES: usize = 10_000;
const KIB: usize = 1024;
const MIB: usize = 1024 * KIB;

fn nanoseconds(text: &str) -> Option<i64> {
    parse_nanoseconds(text, Units::Go).ok()
}

fn positive(nanoseconds: i64) -> Option<Duration> {
    u64::try_from(nanoseconds).ok().filter(|nanoseconds| *nanoseconds > 0).map(Duration::from_nanos)
}

/// Checks the rules that types cannot express, and fills in the defaults.
pub(super) fn resolve(
    spec: &AdapterSpec,
    values: Value,
    mut resolver: Resolver<'_>,
    program_version: &str,
    key: &signing::Source<'_>,
) -> AdapterConfig {
    let r = &mut resolver;
    let version = spec.adapter.version.clone().unwrap_or_default();
    check_version(r, &version, program_version);
    check_name(r, &spec.adapter.name);
    let clients = spec.clients.clone().unwrap_or_default();
    let broker = clients.broker.unwrap_or_default();
    let http = spec.inputs.as_ref().and_then(|inputs| inputs.http.as_ref());
    AdapterConfig {
        name: spec.adapter.name.clone(),
        version,
        debug_config: spec.debug_config,
        log: settings::log(r, &spec.log.clone().unwrap_or_default(), Output::Stdout),
        api: api(r, &clients.hyperfleet_api.unwrap_or_default()),
        subscription_id: broker.subscription_id.filter(|text| !text.is_empty()),
        topic: broker.topic.filter(|text| !text.is_empty()),
        kubernetes: kubernetes(r, clients.kubernetes.unwrap_or_default()),
        maestro: clients.maestro.map(|spec| maestro::resolve(r, &spec)),
        stamp_resource_id: stamp::resolve(r, spec),
        signer: signer(r, spec, key),
        event_deadline: r.duration("event_deadline", spec.event_deadline.as_deref(), 60 * SECOND),
        shutdown_grace: r.duration("shutdown_grace", spec.shutdown_grace.as_deref(), 25 * SECOND),
        workers: r.within("workers", spec.workers, NonZeroUsize::MIN, &(NonZeroUsize::MIN..=MAX_WORKERS)),
        http_listen: http.and_then(|http| r.listen("inputs.http.listen", http.listen.as_deref())),
        passes: passes(r, &spec.passes.clone().unwrap_or_default()),
        health_listen: settings::health_listen(r, spec.health.as_ref().and_then(|health| health.listen.as_deref())),
        metrics_listen: settings::metrics_listen(
            r,
            spec.metrics.as_ref().and_then(|metrics| metrics.listen.as_deref()),
        ),
        redacted: dump::redacted(&values),
        values,
    }
}

/// Parses a duration; one that is zero, negative or unreadable becomes the default, as in the Go adapter.
fn duration(text: Option<&str>, default: Duration) -> Duration {
    text.and_then(nanoseconds).and_then(positive).unwrap_or(default)
}

fn check_version(r: &mut Resolver<'_>, configured: &str, program: &str) {
    let key = "adapter.version";
    match compare(configured, program) {
        Agreement::Agrees => {}
        Agreement::Unreadable => {
            r.warn(key, format!("\"{configured}\" and \"{program}\" cannot be compared: the check is skipped"), None);
        }
        Agreement::Differs => {
            let message = format!("adapter version mismatch: the file is for {configured}, this is {program}");
            r.error(key, message, Some("major and minor must agree; leave the key out to skip the check"));
        }
    }
}

fn api(r: &mut Resolver<'_>, spec: &ApiSpec) -> ApiConfig {
    let backoffs = [
        ("exponential", RetryBackoff::Exponential),
        ("linear", RetryBackoff::Linear),
        ("constant", RetryBackoff::Constant),
    ];
    let key = "clients.hyperfleet_api.retry_backoff";
    let retry_backoff = r.choice(key, spec.retry_backoff.as_deref(), &backoffs, RetryBackoff::Exponential);
    let default_headers: BTreeMap<_, _> = spec.default_headers.clone().unwrap_or_default();
    check_url_and_headers(r, spec.base_url.as_deref().unwrap_or_default(), &default_headers);
    ApiConfig {
        base_url: spec.base_url.clone().filter(|text| !text.is_empty()),
        version: spec.version.clone().filter(|text| !text.is_empty()).unwrap_or_else(|| "v1".to_owned()),
        timeout: duration(spec.timeout.as_deref(), 10 * SECOND),
        retry_attempts: spec.retry_attempts.and_then(attempts).unwrap_or(3),
        retry_backoff,
        base_delay: duration(spec.base_delay.as_deref(), SECOND),
        max_delay: duration(spec.max_delay.as_deref(), 30 * SECOND),
        default_headers: default_headers.into_iter().map(|(name, value)| (name.to_lowercase(), value)).collect(),
        auth: spec.auth.as_ref().and_then(|auth| self::auth(r, auth)),
    }
}

/// Warns of an API URL or headers with which calls cannot succeed. These are warnings, not errors, because the
/// Go adapter loads such a file too.
fn check_url_and_headers(r: &mut Resolver<'_>, base_url: &str, default_headers: &BTreeMap<String, String>) {
    let key = "clients.hyperfleet_api.base_url";
    let is_usable = |url: &Url| matches!(url.scheme(), "http" | "https") && url.has_host() && url.query().is_none();
    if !base_url.trim().is_empty() && !Url::parse(base_url.trim()).is_ok_and(|url| is_usable(&url)) {
        let message = "is not the address of an API: every call fails, and `serve` does not start";
        r.report_of_secret(
            Severity::Warning,
            key,
            message,
            "write `http://HOST:PORT` or `https://HOST`, without a query",
        );
    }
    for (name, value) in default_headers {
        let key = "clients.hyperfleet_api.default_headers";
        if HeaderName::from_bytes(name.trim().as_bytes()).is_err() {
            let message = format!("\"{name}\" is not the name of a header: `serve` does not start");
            r.report_of_secret(
                Severity::Warning,
                key,
                message,
                "write letters, digits and `-` only, such as `X-Request-Source`",
            );
        } else if HeaderValue::from_str(value.trim()).is_err() {
            let message = format!("the value of \"{name}\" cannot be sent: `serve` does not start");
            r.report_of_secret(Severity::Warning, key, message, "write ASCII text on one line");
        }
    }
}

fn auth(r: &mut Resolver<'_>, spec: &AuthSpec) -> Option<AuthConfig> {
    let key = "clients.hyperfleet_api.auth.token_path";
    if spec.token_path.is_none() && spec.token_cache_ttl.is_none() {
        // The Go adapter's configuration library drops empty mappings, so that an empty `auth` means no `auth`.
        r.warn(
            "clients.hyperfleet_api.auth",
            "is empty: calls carry no token",
            Some("set `token_path`, or leave `auth` out"),
        );
        return None;
    }
    let text = spec.token_path.as_deref().unwrap_or_default();
    let path = FilePath::new(text);
    if text.is_empty() {
        r.error(key, "is required", None);
    }
    if !text.is_empty() && !path.is_absolute() {
        r.error(key, format!("\"{text}\" must be an absolute path"), None);
    }
    let ttl = spec.token_cache_ttl.as_deref().and_then(nanoseconds).unwrap_or_default();
    if ttl < 0 {
        r.error("clients.hyperfleet_api.auth.token_cache_ttl", "must not be negative", None);
    }
    let scheme = r.choice(
        "clients.hyperfleet_api.auth.scheme",
        spec.scheme.as_deref(),
        &AuthScheme::CHOICES,
        AuthScheme::Bearer,
    );
    Some(AuthConfig { token_path: path.to_owned(), token_cache_ttl: positive(ttl).unwrap_or_default(), scheme })
}

fn kubernetes(r: &mut Resolver<'_>, spec: KubernetesSpec) -> KubernetesConfig {
    let qps = spec.qps.unwrap_or_default();
    let burst = spec.burst.unwrap_or_default();
    if qps < 0.0 {
        r.error("clients.kubernetes.qps", "must not be negative", Some("leave it out for no limit"));
    }
    if burst < 0 {
        r.error("clients.kubernetes.burst", "must not be negative", Some("leave it out for no limit"));
    }
    if spec.api_version.is_some_and(|text| !text.is_empty()) {
        let help = "the Go adapter does not use it either: remove it";
        r.report(Severity::Note, "clients.kubernetes.api_version", "has no effect", help);
    }
    KubernetesConfig {
        kube_config_path: spec.kube_config_path.filter(|text| !text.is_empty()).map(PathBuf::from),
        qps: Some(qps).filter(|qps| *qps > 0.0),
        burst: (burst > 0).then(|| u32::try_from(burst).unwrap_or(u32::MAX)),
    }
}

fn passes(r: &mut Resolver<'_>, spec: &PassesSpec) -> PassesConfig {
    PassesConfig {
        access: settings::access(r, "passes", spec.token_file.as_deref(), spec.anonymous),
        keep: r.within("passes.keep", spec.keep, 1000, &(1..=MOST_PASSES)),
        // With less than 64 KiB, an eighth would not have room for the texts of one pass.
        max_bytes: r.within("passes.max_bytes", spec.max_bytes, 8 * MIB, &(64 * KIB..=64 * MIB)),
    }
}

/// Refuses a name that Kubernetes would refuse as a label's value, because every object gets the name as a
/// label.
fn check_name(r: &mut Resolver<'_>, name: &str) {
    if !is_label_value(name) {
        let help = "write a name such as `my-adapter`";
        r.error("adapter.name", stamp::not_a_label_value(name, keys::ADAPTER), Some(help));
    }
}

fn signer(r: &mut Resolver<'_>, spec: &AdapterSpec, source: &signing::Source<'_>) -> Option<Signer> {
    let key = "signing.key_file";
    let path = spec.signing.as_ref()?.key_file.as_deref().unwrap_or_default();
    if path.is_empty() {
        if !r.is_reported(&key.into()) {
            r.error(key, "is required", None);
        }
        return None;
    }
    match source(FilePath::new(path)) {
        Ok(signing::Key { signer, open_to_all }) => {
            if open_to_all {
                let message = format!("\"{path}\" can be read by every user");
                r.warn(key, message, Some("`chmod 0440`, or `defaultMode: 0440` of the Secret's volume"));
            }
            Some(signer)
        }
        Err(why) => {
            let help = "mount a Secret with a key of `openssl rand -base64 48`, or leave `signing` out";
            r.error(key, format!("\"{path}\" has no usable key: {why}"), Some(help));
            None
        }
    }
}
