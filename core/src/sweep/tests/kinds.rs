use super::*;

#[test]
fn pattern_names_kinds_by_group_and_kind() {
    let job = kind("batch/v1", "Job");
    let secret = kind("v1", "Secret");
    let cases = [
        ("Job", (true, false)),
        ("batch/Job", (true, false)),
        ("batch/*", (true, false)),
        ("batch/CronJob", (false, false)),
        ("apps/Job", (false, false)),
        ("apps/*", (false, false)),
        ("core/Secret", (false, true)),
        ("core/*", (false, true)),
        ("Secret", (false, true)),
        ("batch/Secret", (false, false)),
    ];
    for (text, expected) in cases {
        let pattern: KindPattern = text.parse().unwrap();
        assert_eq!((pattern.matches(&job), pattern.matches(&secret)), expected, "{text}");
        assert!(pattern.matches(&kind("batch/v2", "Job")) == expected.0, "{text} in another version");
        assert_eq!(pattern.to_string(), text);
    }
}

#[test]
fn pattern_covers_and_touches_groups() {
    // Whether the pattern names every kind, and some kind, of the groups `batch` and core.
    let cases = [
        ("Job", (false, true), (false, true)),
        ("batch/Job", (false, true), (false, false)),
        ("batch/*", (true, true), (false, false)),
        ("core/Secret", (false, false), (false, true)),
        ("core/*", (false, false), (true, true)),
    ];
    for (text, batch, core) in cases {
        let pattern: KindPattern = text.parse().unwrap();
        let of = |group: &str| (pattern.covers_group(group), pattern.touches_group(group));
        assert_eq!((of("batch"), of("")), (batch, core), "{text}");
    }
}

#[test]
fn malformed_pattern_is_refused() {
    let malformed =
        ["", "*", "/", "/Job", "batch/", "*/Job", "Batch/Job", "job", "batch/job", "Job*", "Job s", "batch/J-b"];
    for text in malformed.into_iter().chain(["batch/v1/Job", "ba_tch/Job", "1Job", " Job", "batch /Job", "batch/**"]) {
        let refused = text.parse::<KindPattern>().unwrap_err();
        assert!(refused.to_string().starts_with("is no pattern for kinds: write `Job`"), "{text}");
    }
    for text in ["cert-manager.io/Certificate", "k8s.cni.cncf.io/*", "a1/A1"] {
        assert_eq!(text.parse::<KindPattern>().unwrap().to_string(), text);
    }
}
