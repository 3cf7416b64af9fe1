//! Names of the configuration by which nothing is swept, or spared.

use super::*;

/// Name, `kinds.include`, `kinds.exclude`, `adapters`, and the beginning of the hold.
type Selection<'a> = (&'a str, &'a [&'a str], &'a [&'a str], &'a [&'a str], Option<&'a str>);

#[test]
fn name_that_selects_nothing_holds_the_pass() {
    let patterns = |texts: &[&str]| texts.iter().map(|text| text.parse().unwrap()).collect::<Vec<KindPattern>>();
    let adapters = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<BTreeSet<_>>();
    let own: &[&str] = &["network"];
    let cases: [Selection<'_>; 16] = [
        ("everything is there", &["core/ConfigMap"], &[], own, None),
        ("no pattern", &[], &[], own, None),
        (
            "a misspelt kind",
            &["core/ConfigMap", "batch/Jobs"],
            &[],
            own,
            Some("`batch/Jobs` in `kinds.include` selects no kind"),
        ),
        (
            "a misspelt exclusion",
            &[],
            &["core/ConfigMaps"],
            own,
            Some("`core/ConfigMaps` in `kinds.exclude` selects no kind"),
        ),
        ("the same in any group", &[], &["ConfigMap2"], own, Some("`ConfigMap2` in `kinds.exclude` selects no kind")),
        ("an exclusion of what another cluster has", &[], &["cert-manager.io/Issuer", "metrics.k8s.io/*"], own, None),
        (
            "nothing of a kind is left",
            &["core/ConfigMap", "core/Event"],
            &["core/Event"],
            own,
            Some("`core/Event` in `kinds.include` selects only kinds that `kinds.exclude`, which has a default"),
        ),
        ("something of a group is left", &["core/*"], &["core/Event"], own, None),
        (
            "a group that cannot be listed",
            &["core/ConfigMap", "authorization.k8s.io/*"],
            &[],
            own,
            Some("`authorization.k8s.io/*` in `kinds.include` selects only kinds that cannot be listed and deleted"),
        ),
        (
            "nothing is left",
            &[],
            &["core/*", "authorization.k8s.io/*"],
            own,
            Some("`kinds` selects no kind that can be"),
        ),
        (
            "a misspelt adapter",
            &[],
            &[],
            &["netwrok"],
            Some("no object has the adapter `netwrok` of `adapters`; did you mean"),
        ),
        ("a numbered adapter without objects yet", &[], &[], &["network", "network2"], None),
        ("an adapter without objects yet", &[], &[], &["network", "storage"], None),
        ("an adapter whose abbreviation is near another one", &[], &[], &["network", "eks-provisioner"], None),
        (
            "a misspelt word beside an abbreviation",
            &[],
            &[],
            &["aks-provisoner"],
            Some("no object has the adapter `aks-provisoner`"),
        ),
        ("only adapters of others", &[], &[], &["storage"], None),
    ];
    for (name, include, exclude, own, expected) in cases {
        let mut setup = Setup::new(&[1], &[]);
        for adapter in ["network", "aks-provisioner"] {
            let labels = json!({ "hyperfleet.io/adapter": adapter, "hyperfleet.io/resource-id": id(1) });
            let metadata = json!({ "name": adapter, "namespace": "team", "labels": labels });
            setup.world.add(json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata }));
        }
        for (api_version, kind) in [("v1", "Event"), ("authorization.k8s.io/v1", "LocalSubjectAccessReview")] {
            let metadata = json!({ "name": "a", "namespace": "team" });
            setup.world.add(json!({ "apiVersion": api_version, "kind": kind, "metadata": metadata }));
        }
        setup.config.filter = KindFilter { include: patterns(include), exclude: patterns(exclude) };
        setup.config.policy.adapters = adapters(own);
        let survey = setup.at(0, None);
        let holds: Vec<String> = survey.plan.holds().iter().map(ToString::to_string).collect();
        assert_eq!(holds.len(), usize::from(expected.is_some()), "{name}: {holds:?}");
        assert!(expected.is_none_or(|expected| holds[0].starts_with(expected)), "{name}: {holds:?}");
        assert_eq!(survey.release, if expected.is_some() { Release::Held } else { Release::Go }, "{name}");
    }
}

#[test]
fn cluster_scoped_name_that_selects_nothing_holds_the_pass() {
    let cases: [(&str, &str, &[&str], Option<&str>); 5] = [
        ("the kind is there", "core/Namespace", &[], None),
        ("the kind is included", "core/Namespace", &["core/*"], None),
        ("a misspelt kind", "core/Namespaces", &[], Some("selects no cluster-scoped kind that the cluster serves")),
        ("a namespaced kind", "core/ConfigMap", &[], Some("selects no cluster-scoped kind that the cluster serves")),
        (
            "the kind is left out",
            "core/Namespace",
            &["core/ConfigMap"],
            Some("selects only kinds that `kinds.exclude`"),
        ),
    ];
    for (name, pattern, include, expected) in cases {
        let mut setup = Setup::new(&[1], &[1]);
        setup.world.add(json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": "team" } }));
        setup.config.filter.include = include.iter().map(|pattern| pattern.parse().unwrap()).collect();
        setup.config.policy.cluster_scoped = vec![pattern.parse().unwrap()];
        let holds: Vec<String> = setup.at(0, None).plan.holds().iter().map(ToString::to_string).collect();
        let expected: Vec<_> =
            expected.map(|expected| format!("`{pattern}` in `kinds.cluster_scoped` {expected}")).into_iter().collect();
        assert_eq!(holds.len(), expected.len(), "{name}: {holds:?}");
        assert!(holds.iter().zip(&expected).all(|(hold, expected)| hold.starts_with(expected)), "{name}: {holds:?}");
    }
}
