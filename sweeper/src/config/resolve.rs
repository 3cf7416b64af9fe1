//! Applies defaults, parses patterns, and checks rules that the JSON Schema cannot express.

use std::fs;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::time::Duration;

use lifecycle_api_client::{AuthScheme, without_password};
use lifecycle_config::diagnostics::Severity;
use lifecycle_config::settings::{Environment, Resolver};
use lifecycle_core::sweep::{KindPattern, Limits, Policy, Share};
use lifecycle_maestro::config::{self as maestro, Place};
use lifecycle_objects::contents::{METRICS, WRITTEN_BY_KUBERNETES};
use lifecycle_objects::proof::Signer;
use lifecycle_service::files;
use lifecycle_service::logging::Output;
use lifecycle_service::settings::{access, health_listen, log, metrics_listen};
use regex::Regex;

use super::spec::{LeaseSpec, SweeperSpec};
use super::{ApiConfig, Config};
use crate::inventory::KindFilter;
use crate::leader;
use crate::maestro_objects;

const SECOND: Duration = Duration::from_secs(1);
const MINUTE: Duration = Duration::from_secs(60);
const HOUR: Duration = Duration::from_secs(3600);

/// The default of `limits.deletions_at_once`, and its highest value.
const DELETIONS_AT_ONCE: NonZeroUsize = NonZeroUsize::MIN.saturating_add(7);
const MOST_AT_ONCE: NonZeroUsize = NonZeroUsize::MIN.saturating_add(99);

/// Where the block of Maestro stands.
const MAESTRO: Place = Place { key: "maestro", severity: Severity::Error, consequence: "" };

/// A UUID as the API writes it.
const UUID: &str = "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}";

/// The namespace of the pod, where Kubernetes mounts the service account.
const POD_NAMESPACE: &str = "/var/run/secrets/kubernetes.io/serviceaccount/namespace";

/// The kinds that are not looked at, where the file says nothing else.
fn excluded() -> Vec<String> {
    let group = |group: &'static str| if group.is_empty() { "core" } else { group };
    let written = WRITTEN_BY_KUBERNETES.iter().map(|(of, kind)| format!("{}/{kind}", group(of)));
    written.chain([format!("{METRICS}/*")]).collect()
}

/// Checks the values and applies the defaults; `None` if the pattern of ids is no regular expression.
pub(super) fn resolve(spec: SweeperSpec, mut resolver: Resolver<'_>, _: &Environment) -> Option<Config> {
    let r = &mut resolver;
    if spec.adapters.is_empty() {
        r.error(
            "adapters",
            "is required",
            "list the names of this installation's adapters, such as `[cluster-provisioner]`",
        );
    }
    if spec.adapters.iter().any(String::is_empty) {
        r.error("adapters", "has an empty name", "write each adapter's `adapter.name`");
    }
    let help = "write the API's URL, such as `http://hyperfleet-api:8000`";
    let base_url = spec.api.base_url.as_deref().unwrap_or_default();
    if base_url.trim().is_empty() {
        r.error("api.base_url", "is required", help);
    } else if lifecycle_api_client::base_url(base_url).is_err() {
        let why = "is no URL with `http://` or `https://`, a host and no query";
        r.report_of_secret(Severity::Error, "api.base_url", why, help);
    }
    if let Some(folder) = missing_folder(spec.audit.file.as_deref()) {
        r.warn(
            "audit.file",
            format!("the folder `{folder}` does not exist here, and without it the sweeper does not start"),
            "create it, or mount a volume at it",
        );
    }
    let pattern = spec.resource_id_pattern.as_deref().unwrap_or(UUID);
    let resource_id = Regex::new(&format!("^(?:{pattern})$"));
    if let Err(error) = &resource_id {
        r.error("resource_id_pattern", format!("is no regular expression: {error}"), None);
    }
    let grace = r.duration("grace", spec.grace.as_deref(), 30 * MINUTE);
    let min_age = r.duration("min_age", spec.min_age.as_deref(), HOUR);
    let cluster_scoped = patterns(r, "kinds.cluster_scoped", &spec.kinds.cluster_scoped);
    let goes_along = patterns(r, "kinds.goes_along", &spec.kinds.goes_along);
    if spec.signing_key_files.is_empty() && !spec.kinds.cluster_scoped.is_empty() {
        r.error(
            "kinds.cluster_scoped",
            "needs `signing_key_files`: whoever may label a cluster-scoped object, such as a namespace, could otherwise have the sweeper delete it with all that is in it",
            "sign the objects (`signing.key_file` of each adapter) and name the key's file in `signing_key_files`, or remove `kinds.cluster_scoped`",
        );
    } else if spec.signing_key_files.is_empty() {
        r.warn(
            "signing_key_files",
            "is not set, so two installations on one cluster are told apart by the names of their adapters alone",
            "give the adapters of installations that share a cluster different names, or a signing key each",
        );
    }
    let signers = spec.signing_key_files.iter().filter_map(|file| signer(r, file)).collect();
    let limits = Limits {
        objects: spec.limits.objects.unwrap_or(50),
        share: match spec.limits.percent {
            None => Share::Usual,
            percent => Share::Percent(r.within("limits.percent", percent, Share::PERCENT, &(0..=100))),
        },
    };
    let adapters = spec.adapters.iter().cloned().collect();
    let filter = KindFilter {
        include: patterns(r, "kinds.include", &spec.kinds.include),
        exclude: patterns(r, "kinds.exclude", &spec.kinds.exclude.clone().unwrap_or_else(excluded)),
    };
    let api = ApiConfig {
        base_url: spec.api.base_url.clone().unwrap_or_default(),
        version: spec.api.version.clone().unwrap_or_default(),
        timeout: r.duration("api.timeout", spec.api.timeout.as_deref(), 10 * SECOND),
        token_file: path(spec.api.token_file.as_deref()),
        auth_scheme: r.choice(
            "api.auth_scheme",
            spec.api.auth_scheme.as_deref(),
            &AuthScheme::CHOICES,
            AuthScheme::Bearer,
        ),
        requests_per_second: rate(r, "api.requests_per_second", spec.api.requests_per_second),
    };
    let kubernetes_rate = rate(r, "kubernetes.requests_per_second", spec.kubernetes.requests_per_second);
    let deletions_at_once = r.within(
        "limits.deletions_at_once",
        spec.limits.deletions_at_once,
        DELETIONS_AT_ONCE,
        &(NonZeroUsize::MIN..=MOST_AT_ONCE),
    );
    let interval = r.duration("interval", spec.interval.as_deref(), 10 * MINUTE);
    let maestro = spec.maestro.as_ref().map(|spec| maestro::resolve(r, MAESTRO, spec).0);
    if maestro.is_some() && !filter.selects(&maestro_objects::kind()) {
        r.warn(
            "maestro",
            "is set, and `kinds` leaves its works out, so none is swept",
            "write `ManifestWork` into `kinds.include`, or remove it from `kinds.exclude`",
        );
    }
    let lease = lease(r, &spec.lease);
    let log = log(r, &spec.log, Output::Stderr);
    let plan_access = access(r, "plan", spec.plan.token_file.as_deref(), spec.plan.anonymous);
    let health_listen = health_listen(r, spec.health.listen.as_deref());
    let metrics_listen = metrics_listen(r, spec.metrics.listen.as_deref());
    let places = [
        overridden(r, "kubernetes.kubeconfig", "--kubeconfig", spec.kubernetes.kubeconfig.as_deref()),
        overridden(r, "api.base_url", "--hyperfleet-api-base-url", spec.api.base_url.as_deref()),
        overridden(r, "lease.namespace", "--lease-namespace", spec.lease.namespace.as_deref()),
        overridden(r, "lease.name", "--lease-name", spec.lease.name.as_deref()),
    ];
    let overridden = places.into_iter().flatten().collect();
    // Last, because `?` returns here, and the other diagnostics must be collected before.
    let resource_id = resource_id.ok()?;
    Some(Config {
        policy: Policy { adapters, resource_id, grace, min_age, cluster_scoped, goes_along, signers, limits },
        filter,
        dry_run: spec.dry_run.unwrap_or(true),
        interval,
        deletions_at_once,
        api,
        kubeconfig: path(spec.kubernetes.kubeconfig.as_deref()),
        overridden,
        kubernetes_rate,
        maestro,
        lease,
        audit_file: path(spec.audit.file.as_deref()),
        audit_secrets: spec.audit.secrets.unwrap_or_default(),
        log,
        plan_access,
        health_listen,
        metrics_listen,
    })
}

/// Says that a variable names another place to act than the file.
fn overridden(r: &Resolver<'_>, key: &str, flag: &str, used: Option<&str>) -> Option<String> {
    let (variable, written) = r.overridden(key)?;
    let used = used.unwrap_or_default();
    let is_same_file =
        || fs::canonicalize(written).is_ok_and(|file| fs::canonicalize(used).is_ok_and(|used| file == used));
    let is_same = written.is_empty() || written.trim_end_matches('/') == used.trim_end_matches('/') || is_same_file();
    (!is_same).then(|| {
        let (written, used) = (without_password(written), without_password(used));
        format!(
            "the variable {variable} overrides `{key}: {written}` of the configuration file by {used}, which may be \
             another one: unset {variable}, or choose by the flag {flag}"
        )
    })
}

fn missing_folder(file: Option<&str>) -> Option<String> {
    let folder = Path::new(file?).parent().filter(|folder| !folder.as_os_str().is_empty())?;
    (!folder.is_dir()).then(|| folder.display().to_string())
}

fn rate(r: &mut Resolver<'_>, key: &str, given: Option<u32>) -> u32 {
    r.within(key, given, 50, &(1..=10_000))
}

fn path(text: Option<&str>) -> Option<PathBuf> {
    text.filter(|text| !text.is_empty()).map(PathBuf::from)
}

fn patterns(r: &mut Resolver<'_>, key: &str, texts: &[String]) -> Vec<KindPattern> {
    let mut parsed = Vec::new();
    for text in texts {
        match text.parse() {
            Ok(pattern) => parsed.push(pattern),
            Err(error) => r.error(key, format!("{text:?} {error}"), None),
        }
    }
    parsed
}

/// Reads the key now: a sweeper that cannot check proofs must not start.
fn signer(r: &mut Resolver<'_>, file: &str) -> Option<Signer> {
    let key = files::read(Path::new(file), files::SECRET).map_err(|error| error.to_string());
    match key.and_then(|key| Signer::new(&key).map_err(|error| error.to_string())) {
        Ok(signer) => Some(signer),
        Err(error) => {
            r.error(
                "signing_key_files",
                format!("`{file}` has no usable key: {error}"),
                "mount the adapters' signing key",
            );
            None
        }
    }
}

fn lease(r: &mut Resolver<'_>, spec: &LeaseSpec) -> leader::Settings {
    let default = leader::Settings::default();
    let written = spec.namespace.clone().filter(|namespace| !namespace.is_empty());
    let of_pod = || files::read_text(Path::new(POD_NAMESPACE), files::CONFIGURATION).ok();
    let lease = leader::Settings {
        namespace: written.or_else(of_pod).map(|namespace| namespace.trim().to_owned()),
        name: spec.name.clone().filter(|name| !name.is_empty()).unwrap_or(default.name),
        duration: r.duration("lease.duration", spec.duration.as_deref(), default.duration),
        renew_deadline: r.duration("lease.renew_deadline", spec.renew_deadline.as_deref(), default.renew_deadline),
        retry: r.duration("lease.retry", spec.retry.as_deref(), default.retry),
    };
    for (key, why, help) in lease.faults() {
        r.error(key, why, help);
    }
    lease
}
