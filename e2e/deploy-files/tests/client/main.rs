//! What a user sees who runs `promptarena deploy` with an adapter that this workspace's server serves.

#![expect(clippy::unwrap_used, reason = "tests")]

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;

use promptarena_deploy_client::Command::{Apply, Deploy, Destroy, Plan, Status};
use promptarena_deploy_client::{Command, Invocation, Ran};
use serde_json::{Value, json};

const ALL: [&str; 3] = ["agent.x", "tool.a", "tool.b"];

/// A project whose adapter is found in the project itself.
struct Project(tempfile::TempDir);

impl Project {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let project = Self(folder);
        let adapters = project.path(".promptarena/adapters");
        fs::create_dir_all(&adapters).unwrap();
        fs::create_dir_all(project.path("deployed/faults")).unwrap();
        symlink(env!("CARGO_BIN_EXE_promptarena-deploy-files"), adapters.join("promptarena-deploy-files")).unwrap();
        let config = json!({"directory": project.path("deployed"), "workspace": "w"});
        let environments = json!({"other": {"config": {"workspace": "other"}}});
        let arena = json!({"spec": {"deploy": {"provider": "files", "config": config, "environments": environments}}});
        fs::write(project.path("arena.yaml"), arena.to_string()).unwrap();
        project.pack(&["a", "b"]);
        project
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn pack(&self, tools: &[&str]) {
        let tools: serde_json::Map<_, _> = tools.iter().map(|name| ((*name).to_owned(), json!({}))).collect();
        let pack = json!({"id": "p", "version": "1.0.0", "tools": tools, "agents": {"members": {"x": {}}}});
        fs::write(self.path("pack.json"), pack.to_string()).unwrap();
    }

    fn fault(&self, name: &str, text: &str) {
        fs::write(self.path("deployed/faults").join(name), text).unwrap();
    }

    fn clear(&self, name: &str) {
        fs::remove_file(self.path("deployed/faults").join(name)).unwrap();
    }

    fn run_in(&self, environment: &str, command: Command) -> Ran {
        let invocation = Invocation {
            project: self.0.path().to_owned(),
            home: self.path("home"),
            path: String::new(),
            environment: environment.to_owned(),
            pack: self.path("pack.json"),
            variables: Default::default(),
            now: "2026-01-02T03:04:05Z".parse().unwrap(),
        };
        invocation.run(command)
    }

    fn run(&self, command: Command) -> Ran {
        self.run_in("default", command)
    }

    /// Runs a command that must succeed, and returns what it prints.
    fn ok(&self, command: Command) -> String {
        let ran = self.run(command);
        assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{command:?}: {ran:?}");
        ran.stdout
    }

    /// What exists in a workspace.
    fn deployed(&self, workspace: &str) -> Vec<String> {
        let files = fs::read_dir(self.path("deployed").join(workspace)).into_iter().flatten().flatten();
        let mut names: Vec<_> = files.map(|file| file.file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    fn state(&self) -> Option<Value> {
        let text = fs::read_to_string(self.path(".promptarena/deploy.state")).ok()?;
        Some(serde_json::from_str(&text).unwrap())
    }
}

#[test]
fn pack_is_planned_deployed_looked_at_and_destroyed() {
    let project = Project::new();
    assert_eq!(project.ok(Status), "No deployment found.\n");
    assert_eq!(project.ok(Plan), "Plan: 3 to create, 0 to delete\n  + tool.a\n  + tool.b\n  + agent.x\n");
    let applied = "  + tool.a (created): tool-a\n  + tool.b (created): tool-b\n  + agent.x (created): agent-x\n";
    assert_eq!(project.ok(Apply), applied);
    assert_eq!(project.deployed("w"), ALL);
    let state = project.state().unwrap();
    assert_eq!((&state["provider"], &state["adapter_version"]), (&json!("files"), &json!("0.1.0")));
    assert_eq!(project.ok(Plan), "Plan: 0 to create, 0 to delete\n    tool.a\n    tool.b\n    agent.x\n");
    assert_eq!(project.ok(Status), "Status: deployed\n  tool.a: healthy\n  tool.b: healthy\n  agent.x: healthy\n");
    project.pack(&["a"]);
    let deployed = project.ok(Deploy);
    assert!(
        deployed.starts_with("Plan: 0 to create, 1 to delete\n    tool.a\n    agent.x\n  - tool.b\n"),
        "{deployed}"
    );
    assert_eq!(project.ok(Destroy), "  - agent.x (deleted)\n  - tool.a (deleted)\n");
    assert_eq!(project.deployed("w"), [""; 0]);
    assert_eq!(project.state(), None);
}

#[test]
fn first_deployment_that_fails_is_found_again_without_a_state() {
    let project = Project::new();
    project.fault("write.b", "403");
    let failed = project.run(Apply);
    let expected = "Error: Deployment completed with 1 error(s):\n1. create tool \"b\" failed: 403 [hint: remove the file in faults]\n";
    assert_eq!((failed.code, failed.stderr.as_str()), (1, expected));
    assert_eq!(project.state(), None, "the client reads nothing but the text");
    project.clear("write.b");
    project.pack(&["b"]);
    project.ok(Apply);
    assert_eq!(project.deployed("w"), ["agent.x", "tool.b"], "the tool of the failed deployment went by its mark");
    project.ok(Destroy);
    assert_eq!(project.deployed("w"), [""; 0]);
}

#[test]
fn destroy_in_another_environment_deletes_and_forgets_nothing() {
    let project = Project::new();
    project.ok(Apply);
    let before = project.state();
    let refused = project.run_in("other", Destroy);
    assert_eq!(refused.code, 1);
    assert!(
        refused.stderr.contains("environment \"default\", and this is \"other\"; it is kept"),
        "{}",
        refused.stderr
    );
    assert_eq!((project.deployed("w"), project.state()), (ALL.map(str::to_owned).to_vec(), before));
    project.ok(Destroy);
    assert_eq!(project.deployed("w"), [""; 0]);
}

#[test]
fn destroy_that_fails_is_repeated_until_nothing_is_left() {
    let project = Project::new();
    project.ok(Apply);
    project.fault("delete.a", "403");
    let failed = project.run(Destroy);
    let expected = "Error: 1 of 3 resources could not be deleted: delete tool \"a\" failed: 403 [hint: remove the file in faults]\n";
    assert_eq!((failed.code, failed.stderr.as_str()), (1, expected));
    assert!(project.state().is_some());
    project.clear("delete.a");
    project.ok(Destroy);
    assert_eq!((project.deployed("w"), project.state()), (vec![], None));
}

#[test]
fn saved_plan_that_grew_old_is_applied_to_what_is_there() {
    let project = Project::new();
    project.ok(Plan);
    let saved = fs::read(project.path(".promptarena/deploy.plan")).unwrap();
    project.ok(Apply);
    fs::write(project.path(".promptarena/deploy.plan"), saved).unwrap();
    let again = "  ~ tool.a (updated): tool-a\n  ~ tool.b (updated): tool-b\n  ~ agent.x (updated): agent-x\n";
    assert_eq!(project.ok(Apply), again, "the saved request has no state");
    assert_eq!(project.deployed("w"), ALL);
}
