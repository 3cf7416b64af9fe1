//! Applies defaults, parses units, and checks rules that the JSON Schema cannot express.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use axum::http::HeaderName;
use ipnet::IpNet;
use lifecycle_api_client::AuthScheme;
use lifecycle_config::diagnostics::Severity;
use lifecycle_config::document::Path as Place;
use lifecycle_config::settings::{Environment, Resolver};
use lifecycle_service::logging::Output;
use lifecycle_service::settings;
use reqwest::Url;

use super::spec::{AccessSpec, ApiSpec, ConsoleSpec};
use super::{AccessConfig, ApiConfig, Config, Links, PeerConfig};

const SECOND: Duration = Duration::from_secs(1);
/// The port of the pages if none is configured.
const PORT: u16 = 8000;
/// What stands in a link in the place of the trace's id.
pub const TRACE_ID: &str = "{trace_id}";

/// Checks the values and applies the defaults; `None` if a URL cannot be used.
pub(super) fn resolve(spec: ConsoleSpec, mut resolver: Resolver<'_>, _: &Environment) -> Option<Config> {
    let r = &mut resolver;
    let log = settings::log(r, &spec.log, Output::Stderr);
    let listen = r.listen("listen", spec.listen.as_deref());
    let listen = listen.unwrap_or(SocketAddr::from((Ipv4Addr::LOCALHOST, PORT)));
    let access = access(r, &spec.access, listen.ip());
    let refresh = r.duration("refresh", spec.refresh.as_deref(), 2 * SECOND);
    if refresh < SECOND {
        r.error("refresh", "is too short", "write at least 1s");
    }
    let links = Links {
        trace: link(r, "trace", spec.links.trace.as_deref()),
        logs: link(r, "logs", spec.links.logs.as_deref()),
    };
    let health_listen = settings::health_listen(r, spec.health.listen.as_deref());
    let metrics_listen = settings::metrics_listen(r, spec.metrics.listen.as_deref());
    let api = api(r, &spec.api);
    let of_exporter = spec.exporter.as_ref().map(|it| peer(r, &Place::of_keys("exporter"), &it.url, &it.token_file));
    let of_sweeper = spec.sweeper.as_ref().map(|it| peer(r, &Place::of_keys("sweeper"), &it.url, &it.token_file));
    let mut adapters = Vec::new();
    let mut is_sound = true;
    for (index, adapter) in spec.adapters.iter().enumerate() {
        let place = Place::of_keys("adapters").index(index);
        if adapters.iter().any(|(name, _)| *name == adapter.name) {
            r.error(
                place.key("name"),
                "is there twice",
                "keep one entry: the name of a Service stands for all replicas",
            );
        }
        match peer(r, &place, &adapter.url, &adapter.token_file) {
            Some(peer) => adapters.push((adapter.name.clone(), peer)),
            None => is_sound = false,
        }
    }
    // Last, because `?` returns here, and the other diagnostics must be collected before.
    let exporter = of_exporter.map_or(Some(None), |peer| peer.map(Some))?;
    let sweeper = of_sweeper.map_or(Some(None), |peer| peer.map(Some))?;
    let api = api.filter(|_| is_sound)?;
    Some(Config {
        log,
        listen,
        access,
        refresh,
        api,
        exporter,
        adapters,
        sweeper,
        links,
        health_listen,
        metrics_listen,
    })
}

fn path(text: &Option<String>) -> Option<PathBuf> {
    text.as_deref().filter(|text| !text.is_empty()).map(PathBuf::from)
}

fn access(r: &mut Resolver<'_>, spec: &AccessSpec, address: IpAddr) -> AccessConfig {
    let token_file = path(&spec.token_file);
    let written = spec.user_header.as_deref().filter(|name| !name.is_empty());
    let user_header = written.and_then(|name| {
        let header = HeaderName::try_from(name).ok();
        if header.is_none() {
            r.error("access.user_header", "is no name of a header", "write a name such as X-Forwarded-Email");
        }
        header
    });
    if written.is_none() && !spec.proxies.is_empty() {
        r.error("access.proxies", "has no header to read", "write `access.user_header`, too");
    }
    let mut proxies = Vec::new();
    for (index, text) in spec.proxies.iter().enumerate() {
        match text.parse::<IpNet>().ok().or_else(|| text.parse::<IpAddr>().ok().map(IpNet::from)) {
            Some(network) => proxies.push(network),
            None => {
                let place = Place::of_keys("access.proxies").index(index);
                r.error(
                    place,
                    format!("\"{text}\" is no network"),
                    "write an address or a network, such as 10.0.3.0/24",
                );
            }
        }
    }
    if spec.proxies.is_empty() {
        let loopback = [(IpAddr::from(Ipv4Addr::LOCALHOST), 8), (IpAddr::from(Ipv6Addr::LOCALHOST), 128)];
        proxies.extend(loopback.into_iter().filter_map(|(address, bits)| IpNet::new(address, bits).ok()));
    }
    let anonymous = token_file.is_none() && written.is_none();
    if anonymous && !address.is_loopback() {
        r.error(
            "access",
            "is required: the pages would be open to everybody who can reach the address",
            "write `access.token_file`, or `access.user_header` behind a proxy; or listen on 127.0.0.1",
        );
    }
    AccessConfig { anonymous, token_file, user_header, proxies }
}

fn api(r: &mut Resolver<'_>, spec: &ApiSpec) -> Option<ApiConfig> {
    let help = "write the API's URL, such as `http://hyperfleet-api:8000`";
    let base_url = spec.base_url.clone().unwrap_or_default();
    if base_url.is_empty() {
        r.error("api.base_url", "is required", help);
    } else if lifecycle_api_client::base_url(&base_url).is_err() {
        r.report_of_secret(Severity::Error, "api.base_url", "is no URL of http or https with a host", help);
    }
    let timeout = r.duration("api.timeout", spec.timeout.as_deref(), 5 * SECOND);
    let kinds = match spec.kinds.as_slice() {
        [] => ["Cluster", "NodePool"].map(str::to_owned).to_vec(),
        kinds => kinds.to_vec(),
    };
    for (index, kind) in kinds.iter().enumerate().filter(|(_, kind)| !is_kind(kind)) {
        let place = Place::of_keys("api.kinds").index(index);
        r.error(place, format!("\"{kind}\" is no kind"), "write the kind as the API does, such as Cluster");
    }
    let version = spec.version.clone().unwrap_or_default();
    let auth_scheme =
        r.choice("api.auth_scheme", spec.auth_scheme.as_deref(), &AuthScheme::CHOICES, AuthScheme::Bearer);
    (!base_url.is_empty()).then_some(ApiConfig {
        base_url,
        version,
        timeout,
        token_file: path(&spec.token_file),
        auth_scheme,
        kinds,
    })
}

/// Whether a text can be a kind; one with a quote would end the quotes of a search.
fn is_kind(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric())
}

/// Reads the URL of a program's health port.
fn peer(r: &mut Resolver<'_>, place: &Place, text: &str, token_file: &Option<String>) -> Option<PeerConfig> {
    let url = Url::parse(text).ok().filter(|url| {
        let is_plain = url.scheme() == "http" && url.username().is_empty() && url.password().is_none();
        is_plain && url.path() == "/" && url.query().is_none()
    });
    let parts = url.as_ref().and_then(|url| Some((url.host_str()?, url.port_or_known_default()?)));
    let Some((host, port)) = parts else {
        let help = "write the scheme, the host and the port, such as `http://reconcile-metrics:8080`; the health ports have no TLS";
        r.error(place.key("url"), "is no URL of a health port", help);
        return None;
    };
    let host = host.trim_start_matches('[').trim_end_matches(']').to_owned();
    Some(PeerConfig { host, port, token_file: path(token_file) })
}

fn link(r: &mut Resolver<'_>, key: &str, text: Option<&str>) -> Option<String> {
    let text = text.filter(|text| !text.is_empty())?;
    let place = Place::of_keys("links").key(key);
    let is_web = Url::parse(text).is_ok_and(|url| matches!(url.scheme(), "http" | "https"));
    if !is_web {
        r.error(
            place,
            "is no URL of http or https",
            "write a URL such as `https://jaeger.example.com/trace/{trace_id}`",
        );
    } else if !text.contains(TRACE_ID) {
        r.error(place, "has no place for the trace's id", "write {trace_id} where the id belongs");
    } else {
        return Some(text.to_owned());
    }
    None
}
