//! Quantities of resources, such as `2048Mi`, as an API server stores them.
//!
//! In: a quantity, or an object with quantities. Out: the canonical form, such as `2Gi`. Pure. Nothing fails: what is no quantity,
//! and what a server would round or cut, stays as it is.
//!
//! A server reads each quantity of its own kinds and stores the canonical form. So a gate that compares a live quantity with
//! another spelling never finds them equal, and its patch is sent on every event.

use crate::id::GroupVersionKind;
use crate::object_ref::ObjectRef;
use serde_json::Value;

use crate::pod;

/// The quantities in the specification of a Pod. `*` is each element of a list, or each key of a mapping.
const POD: [&str; 14] = [
    "containers/*/env/*/valueFrom/resourceFieldRef/divisor",
    "containers/*/resources/limits/*",
    "containers/*/resources/requests/*",
    "initContainers/*/env/*/valueFrom/resourceFieldRef/divisor",
    "initContainers/*/resources/limits/*",
    "initContainers/*/resources/requests/*",
    "overhead/*",
    "resources/limits/*",
    "resources/requests/*",
    "volumes/*/downwardAPI/items/*/resourceFieldRef/divisor",
    "volumes/*/emptyDir/sizeLimit",
    "volumes/*/ephemeral/volumeClaimTemplate/spec/resources/limits/*",
    "volumes/*/ephemeral/volumeClaimTemplate/spec/resources/requests/*",
    "volumes/*/projected/sources/*/downwardAPI/items/*/resourceFieldRef/divisor",
];

/// The quantities of other kinds.
fn own(kind: &GroupVersionKind) -> &'static [&'static str] {
    match (kind.group.as_str(), kind.kind.as_str()) {
        ("", "LimitRange") => &[
            "spec/limits/*/default/*",
            "spec/limits/*/defaultRequest/*",
            "spec/limits/*/max/*",
            "spec/limits/*/maxLimitRequestRatio/*",
            "spec/limits/*/min/*",
        ],
        ("", "PersistentVolume") => &["spec/capacity/*"],
        ("", "PersistentVolumeClaim") => &["spec/resources/limits/*", "spec/resources/requests/*"],
        ("", "ResourceQuota") => &["spec/hard/*"],
        ("apps", "StatefulSet") => &[
            "spec/volumeClaimTemplates/*/spec/resources/limits/*",
            "spec/volumeClaimTemplates/*/spec/resources/requests/*",
        ],
        ("autoscaling", "HorizontalPodAutoscaler") => {
            &["spec/metrics/*/*/target/averageValue", "spec/metrics/*/*/target/value"]
        }
        ("node.k8s.io", "RuntimeClass") => &["overhead/podFixed/*"],
        _ => &[],
    }
}

/// The paths of all quantities of a kind.
fn paths(kind: &GroupVersionKind) -> impl Iterator<Item = Vec<&'static str>> {
    let of_pod = pod::specification(kind)
        .into_iter()
        .flat_map(|pod| POD.iter().map(move |path| pod.split('/').chain(path.split('/')).collect()));
    of_pod.chain(own(kind).iter().map(|path| path.split('/').collect()))
}

/// Whether an object of this kind has a quantity at a path of keys; an index counts as any text.
#[must_use]
pub fn is_at(kind: &GroupVersionKind, path: &[&str]) -> bool {
    let is_same = |(step, key): (&&str, &&str)| *step == "*" || step == key;
    paths(kind).any(|steps| steps.len() == path.len() && steps.iter().zip(path).all(is_same))
}

/// Gives each quantity of an object of Kubernetes its canonical form.
pub fn canonicalize(object: &mut Value) {
    let kind = ObjectRef::of(object).kind;
    paths(&kind).for_each(|steps| canonicalize_at(object, &steps));
}

fn canonicalize_at(value: &mut Value, steps: &[&str]) {
    match (steps, value) {
        ([], value) => {
            let text = match &*value {
                Value::String(text) => canonical(text),
                Value::Number(number) => canonical(&number.to_string()),
                Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
            };
            if let Some(text) = text {
                *value = text.into();
            }
        }
        (["*", rest @ ..], Value::Array(elements)) => elements.iter_mut().for_each(|it| canonicalize_at(it, rest)),
        (["*", rest @ ..], Value::Object(members)) => members.values_mut().for_each(|it| canonicalize_at(it, rest)),
        ([step, rest @ ..], Value::Object(members)) => {
            members.get_mut(*step).into_iter().for_each(|it| canonicalize_at(it, rest));
        }
        _ => {}
    }
}

/// The notation of a quantity, which its canonical form keeps where that loses nothing.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Notation {
    /// Powers of 1024: `Mi`.
    Binary,
    /// Powers of 1000: `m`, `k`, `M`.
    Decimal,
    /// Powers of ten: `e3`.
    Exponent,
}

const BINARY: [&str; 7] = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];
/// The first is a billionth.
const DECIMAL: [&str; 10] = ["n", "u", "m", "", "k", "M", "G", "T", "P", "E"];
/// The power of ten of the first decimal suffix, below which a server rounds.
const SMALLEST: i32 = -9;
/// No written quantity has more digits: the arithmetic here is exact up to them.
const MAX_DIGITS: usize = 20;

/// The canonical form of a quantity; none for a text that is none, and for one that a server rounds or cuts.
#[must_use]
pub fn canonical(text: &str) -> Option<String> {
    let (is_negative, unsigned) = text.strip_prefix('-').map_or((false, text), |rest| (true, rest));
    let end = unsigned.find(|it: char| !it.is_ascii_digit() && it != '.').unwrap_or(unsigned.len());
    let (number, suffix) = unsigned.split_at(end);
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let digits = format!("{whole}{fraction}");
    // A server keeps `1.` and `+1` as they are.
    if digits.len() > MAX_DIGITS || fraction.contains('.') || number.ends_with('.') {
        return None;
    }
    let (notation, power) = read_suffix(suffix)?;
    let mantissa: i128 = digits.parse().ok()?;
    let places = i32::try_from(fraction.len()).ok()?;
    // The value is `mantissa` times a power of ten.
    let (mantissa, power) = match notation {
        Notation::Binary => (mantissa << power, -places),
        Notation::Decimal | Notation::Exponent => (mantissa, power - places),
    };
    if mantissa == 0 {
        return Some("0".to_owned());
    }
    let (mut mantissa, mut power) = (mantissa, power);
    while mantissa % 10 == 0 {
        (mantissa, power) = (mantissa / 10, power + 1);
    }
    let scale = |power: u32| 10_i128.checked_pow(power);
    let integer = u32::try_from(power).ok().map(|power| scale(power).and_then(|factor| mantissa.checked_mul(factor)));
    let is_too_large = match integer {
        Some(integer) => integer.is_none_or(|integer| integer > i128::from(i64::MAX)),
        None => scale(power.unsigned_abs()).is_some_and(|divisor| mantissa / divisor >= i128::from(i64::MAX)),
    };
    if power < SMALLEST || is_too_large {
        return None;
    }
    let sign = if is_negative { "-" } else { "" };
    if let (Notation::Binary, Some(mut integer)) = (notation, integer.flatten().filter(|integer| *integer >= 1024)) {
        let mut exponent = 0;
        while integer % 1024 == 0 {
            (integer, exponent) = (integer / 1024, exponent + 1);
        }
        return Some(format!("{sign}{integer}{}", BINARY.get(exponent)?));
    }
    let rest = power.rem_euclid(3);
    let (mantissa, power) = (mantissa * scale(rest.unsigned_abs())?, power - rest);
    if mantissa.to_string().len() > MAX_DIGITS {
        return None;
    }
    let suffix = match (notation, power) {
        (Notation::Exponent, 0) => String::new(),
        (Notation::Exponent, power) => format!("e{power}"),
        (Notation::Binary | Notation::Decimal, power) => {
            DECIMAL.get(usize::try_from((power - SMALLEST) / 3).ok()?)?.to_string()
        }
    };
    Some(format!("{sign}{mantissa}{suffix}"))
}

/// The notation of a suffix, and its power: of two for the binary notation, else of ten.
fn read_suffix(suffix: &str) -> Option<(Notation, i32)> {
    let place = |suffixes: &[&str]| suffixes.iter().position(|it| *it == suffix).and_then(|it| i32::try_from(it).ok());
    if let Some(place) = place(&DECIMAL) {
        return Some((Notation::Decimal, SMALLEST + 3 * place));
    }
    if let Some(place) = place(&BINARY) {
        return Some((Notation::Binary, 10 * place));
    }
    let power: i32 = suffix.strip_prefix(['e', 'E'])?.parse().ok()?;
    (power.abs() <= 18).then_some((Notation::Exponent, power))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn canonical_form_is_the_servers() {
        let cases = [
            ("2048Mi", Some("2Gi")),
            ("1024Mi", Some("1Gi")),
            ("1000Mi", Some("1000Mi")),
            ("1.5Gi", Some("1536Mi")),
            ("0.5Mi", Some("512Ki")),
            ("0.5Ki", Some("512")),
            ("1.3Gi", Some("1395864371200m")),
            ("1Ki", Some("1Ki")),
            ("1023", Some("1023")),
            ("1024", Some("1024")),
            ("1000", Some("1k")),
            ("1000m", Some("1")),
            ("100m", Some("100m")),
            ("1500m", Some("1500m")),
            ("0.5", Some("500m")),
            (".5", Some("500m")),
            ("1.", None),
            ("2.0", Some("2")),
            ("+2", None),
            ("-1500m", Some("-1500m")),
            ("1000k", Some("1M")),
            ("12e3", Some("12e3")),
            ("1000e3", Some("1e6")),
            ("1e2", Some("100")),
            ("1E", Some("1E")),
            ("0Mi", Some("0")),
            ("1n", Some("1n")),
            ("0.1n", None),
            ("9E", Some("9E")),
            ("10E", None),
            ("8Ei", None),
            ("", None),
            ("Mi", None),
            ("1.2.3", None),
            ("2 Gi", None),
            ("2GB", None),
            ("large", None),
        ];
        for (written, stored) in cases {
            assert_eq!(canonical(written).as_deref(), stored, "{written}");
        }
    }

    proptest! {
        #[test]
        fn canonical_form_is_its_own(text in "[-+]?[0-9]{0,19}(\\.[0-9]{0,10})?([numkMGTPE]|[KMGTPE]i|[eE][-+]?[0-9]{1,2})?") {
            if let Some(stored) = canonical(&text) {
                prop_assert_eq!(canonical(&stored), Some(stored.clone()), "{}", text);
            }
        }
    }

    #[test]
    fn quantities_are_those_of_kubernetes_own_kinds() {
        let pod = json!({
            "containers": [{ "name": "a", "args": ["1000m"], "resources": { "limits": { "memory": "2048Mi" }, "requests": { "cpu": 0.5 } } }],
            "volumes": [{ "name": "v", "emptyDir": { "sizeLimit": "1024Ki" } }], "nodeSelector": { "size": "1000m" }
        });
        let mut deployment =
            json!({ "apiVersion": "apps/v1", "kind": "Deployment", "spec": { "template": { "spec": pod } } });
        canonicalize(&mut deployment);
        let stored = &deployment["spec"]["template"]["spec"];
        assert_eq!(
            stored["containers"][0]["resources"],
            json!({ "limits": { "memory": "2Gi" }, "requests": { "cpu": "500m" } })
        );
        assert_eq!(stored["volumes"][0]["emptyDir"]["sizeLimit"], "1Mi");
        assert_eq!(
            (&stored["containers"][0]["args"][0], &stored["nodeSelector"]["size"]),
            (&json!("1000m"), &json!("1000m"))
        );

        let mut quota = json!({ "apiVersion": "v1", "kind": "ResourceQuota", "spec": { "hard": { "requests.cpu": "1000m", "pods": 10 } } });
        canonicalize(&mut quota);
        assert_eq!(quota["spec"]["hard"], json!({ "requests.cpu": "1", "pods": "10" }));

        let custom =
            json!({ "apiVersion": "example.com/v1", "kind": "Deployment", "spec": { "template": { "spec": pod } } });
        let mut kept = custom.clone();
        canonicalize(&mut kept);
        assert_eq!(kept, custom, "a custom resource keeps what was written");

        let claim = GroupVersionKind::new("v1", "PersistentVolumeClaim");
        assert!(is_at(&claim, &["spec", "resources", "requests", "storage"]));
        assert!(!is_at(&claim, &["spec", "resources", "requests"]) && !is_at(&claim, &["spec", "storageClassName"]));
        let deployment = GroupVersionKind::new("apps/v1", "Deployment");
        assert!(is_at(&deployment, &["spec", "template", "spec", "containers", "0", "resources", "limits", "cpu"]));
    }
}
