//! How the files are found and read, and what `check` says of them beyond `load`.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use lifecycle_core::api_call::RetryBackoff;
use lifecycle_service::logging::{Format, Output};
use tracing::level_filters::LevelFilter;

use super::super::{Flags, Paths, broker, check};
use super::{ADAPTER, Folder, JOB, SIGNING_KEY, STATUS, complete_folder, environment};
use crate::field_types;

#[test]
fn load_reads_a_complete_pair_of_files() {
    let loaded = complete_folder().load(&[("REGION", "eu")]).unwrap_or_else(|diagnostics| panic!("{diagnostics}"));
    let config = &loaded.adapter;
    assert_eq!(
        (config.name.as_str(), config.version.as_str(), config.debug_config),
        ("cluster-installer", "1.2.0", true)
    );
    assert_eq!(
        (config.log.level, config.log.format, config.log.output),
        (LevelFilter::WARN, Format::Text, Output::Stderr)
    );
    assert_eq!(config.api.timeout, Duration::from_secs(111));
    assert_eq!((config.api.retry_attempts, config.api.retry_backoff), (5, RetryBackoff::Linear));
    assert_eq!(config.api.auth.as_ref().unwrap().token_cache_ttl, Duration::from_secs(30));
    assert_eq!((config.kubernetes.qps, config.kubernetes.burst), (Some(50.0), Some(80)));
    assert_eq!((config.event_deadline, config.shutdown_grace), (Duration::from_secs(90), Duration::from_secs(20)));
    assert_eq!(config.http_listen.unwrap().to_string(), "[::]:8081");
    assert_eq!(config.health_listen.to_string(), "127.0.0.1:8082");
    assert_eq!(config.metrics_listen.to_string(), "[::1]:9091");
    assert_eq!(loaded.task.resources.len(), 1);
    assert_eq!(loaded.task.environment.iter().collect::<Vec<_>>(), ["REGION"]);
    let warnings: Vec<_> = loaded.warnings.all().iter().map(|diagnostic| diagnostic.path.as_str()).collect();
    assert_eq!(warnings, ["clients.maestro"]);
}

#[test]
fn task_reads_its_version_from_the_deployment_file() {
    let variables = [("REGION", "eu")];
    let loaded = complete_folder().load(&variables).unwrap_or_else(|diagnostics| panic!("{diagnostics}"));
    let host = crate::serve::host(&loaded, &environment(&variables));
    assert_eq!(host.version, "1.2.0", "the program is 1.2.3");
}

#[test]
fn load_reports_the_errors_of_all_files_at_once() {
    let folder = Folder::new(&[
        ("config.yaml", "adapter: {nam: x}\nlog: {format: xml}\n"),
        (
            "task/task.yaml",
            "parms: []\npost: {payloads: [{name: p, build_ref: ../config.yaml}, {name: q, build_ref: manifests}]}\nresources:\n  - name: a\n    manifest: {ref: job.yaml}\n    discovery: {by_name: x}\n",
        ),
        ("task/manifests/job.yaml", JOB),
    ]);
    let diagnostics = folder.load(&[]).unwrap_err().to_string();
    let root = folder.0.path().display().to_string();
    insta::assert_snapshot!(diagnostics.replace(&root, "/folder"));
}

#[test]
fn missing_files_are_diagnostics() {
    let folder = Folder::new(&[]);
    let diagnostics = folder.load(&[]).unwrap_err().to_string();
    assert_eq!(diagnostics.matches("failed to read the file: it does not exist").count(), 2, "{diagnostics}");
}

#[test]
fn reading_a_file_stops_at_its_size_limit() {
    let endless = PathBuf::from("/dev/zero");
    let checked = |adapter: PathBuf, task: PathBuf| {
        let listed = check(
            &Paths { adapter, task },
            &environment(&[("REGION", "eu")]),
            &Flags::default(),
            "1.2.3",
            field_types::lint,
        );
        listed.diagnostics.to_string()
    };
    let folder = complete_folder();
    let (config, task) = (folder.path("config.yaml"), folder.path("task/task.yaml"));
    let refers = |name: &str| {
        fs::remove_file(folder.path(name)).unwrap();
        std::os::unix::fs::symlink(&endless, folder.path(name)).unwrap();
        checked(config.clone(), task.clone())
    };
    let cases = [
        ("the deployment file", checked(endless.clone(), task.clone())),
        ("the task file", checked(config.clone(), endless.clone())),
        ("the broker's file", broker::load(Some(&endless), &environment(&[])).unwrap_err().to_string()),
        ("a manifest", refers("task/manifests/job.yaml")),
        ("a payload", refers("task/status.yaml")),
    ];
    for (name, text) in cases {
        assert!(text.contains("it has more than 2097152 bytes"), "{name}: {text}");
    }
}

#[test]
fn file_paths_resolve_by_flag_then_variable_then_default() {
    let variables = [("HYPERFLEET_ADAPTER_CONFIG", "env.yaml"), ("HYPERFLEET_TASK_CONFIG", "envtask.yaml")];
    let usual = |path: &Path| path == Path::new("./configs/config.yaml");
    let resolve = |adapter: Option<&str>, task: Option<&str>, variables: &[_], exists: &dyn Fn(&Path) -> bool| {
        let given = [("config", adapter), ("task-config", task)];
        let flags = given.into_iter().filter_map(|(flag, path)| Some((flag, path?.to_owned()))).collect();
        Paths::resolve(&flags, &environment(variables), exists)
            .map(|paths| format!("{} {}", paths.adapter.display(), paths.task.display()))
            .map_err(|diagnostics| diagnostics.all().len())
    };
    let cases = [
        ("flags", resolve(Some("a"), Some("t"), &variables, &usual), Ok("a t".to_owned())),
        ("variables", resolve(None, Some(""), &variables, &usual), Ok("env.yaml envtask.yaml".to_owned())),
        ("a usual place", resolve(None, Some("t"), &[], &usual), Ok("./configs/config.yaml t".to_owned())),
        ("no task", resolve(None, None, &[], &usual), Err(1)),
        ("nothing", resolve(None, None, &[], &|_| false), Err(2)),
    ];
    for (name, found, expected) in cases {
        assert_eq!(found, expected, "{name}");
    }
}

#[test]
fn check_runs_lints_that_load_skips() {
    let files = [
        ("config.yaml", ADAPTER),
        ("secret/key", SIGNING_KEY),
        (
            "task/task.yaml",
            "resources: [{name: ns, manifest: {apiVersion: v1, kind: Namespace}, discovery: {by_name: x}}]\n",
        ),
    ];
    let folder = Folder::new(&files);
    let paths = Paths { adapter: folder.path("config.yaml"), task: folder.path("task/task.yaml") };
    let listed = check(&paths, &environment(&[]), &Flags::default(), "1.2.3", field_types::lint);
    let listed: Vec<_> = listed.diagnostics.all().iter().map(|diagnostic| diagnostic.path.as_str()).collect();
    assert_eq!(listed, ["clients.maestro", "post"]);
    let loaded = folder.load(&[]).unwrap_or_else(|diagnostics| panic!("{diagnostics}"));
    assert_eq!(loaded.warnings.all().len(), 1, "lints are for `check` alone");
}

#[test]
fn report_that_the_api_rejects_fails_check_but_not_load() {
    let status = STATUS.replace("conditions: []", "conditions: [{type: Available}]");
    let task = "post:\n  payloads: [{name: status, build_ref: status.yaml}]\n  post_actions: [{name: report, api_call: {method: PUT, url: /x, body: \"{{ .status }}\"}}]\n";
    let files = [("config.yaml", "adapter: {name: a}\n"), ("task/task.yaml", task), ("task/status.yaml", &status)];
    let folder = Folder::new(&files);
    let paths = Paths { adapter: folder.path("config.yaml"), task: folder.path("task/task.yaml") };
    let listed =
        check(&paths, &environment(&[]), &Flags::default(), "1.2.3", field_types::lint).diagnostics.to_string();
    assert!(
        listed.contains("error: post.payloads[0].build_ref: the condition `Available` has no `status`"),
        "{listed}"
    );
    let loaded = folder.load(&[]).unwrap_or_else(|diagnostics| panic!("{diagnostics}"));
    assert!(loaded.warnings.is_empty(), "as the Go adapter, `serve` starts");
}

#[test]
fn stamp_that_api_resources_share_is_a_warning() {
    let cases = [
        ("{{ .event.kind }}", Some("takes `event.kind`, which several API resources can share")),
        ("{{ now }}", Some("takes no variable")),
        ("{{ .clusterId }}", None),
        ("{{ .event.id }}-x", None),
    ];
    for (stamp, expected) in cases {
        let config = ADAPTER
            .replace("stamp: {resource_id: \"{{ .event.id }}\"}", &format!("stamp: {{resource_id: \"{stamp}\"}}"));
        assert!(config.contains(stamp), "{config}");
        let folder = complete_folder();
        fs::write(folder.path("config.yaml"), config).unwrap();
        let loaded = folder.load(&[("REGION", "eu")]).unwrap_or_else(|diagnostics| panic!("{diagnostics}"));
        let found = loaded.warnings.all().iter().find(|found| found.path == "stamp.resource_id");
        assert_eq!(found.is_some(), expected.is_some(), "{stamp}: {found:?}");
        assert!(found.is_none_or(|found| found.message.contains(expected.unwrap())), "{stamp}: {found:?}");
    }
}
