//! What a user sees who runs `promptarena deploy` on each of the two APIs.

use std::fs;
use std::os::unix::fs::symlink;

use lifecycle_e2e::workspaces::{Api, Workspaces};
use promptarena_deploy_client::Command::{Apply, Deploy, Destroy, Plan, Status};
use promptarena_deploy_client::{Command, Invocation, Ran};
use serde_json::{Value, json};

use super::{PROGRAM, arena, config, pack, writes};

const AGENTS: [&str; 3] = ["router", "seller", "support"];
const TOOLS: [&str; 2] = ["lookup", "refund"];

/// A project whose adapter is found in the project itself.
struct Project {
    folder: tempfile::TempDir,
    server: Workspaces,
}

impl Project {
    fn new(api: Api) -> Self {
        let project = Self { folder: tempfile::tempdir().unwrap(), server: Workspaces::start(api).unwrap() };
        let adapters = project.folder.path().join(".promptarena/adapters");
        fs::create_dir_all(&adapters).unwrap();
        symlink(PROGRAM, adapters.join("promptarena-deploy-omnia")).unwrap();
        let mut spec = arena(&TOOLS);
        spec["deploy"] = json!({
            "provider": "omnia", "config": config(project.server.url(), "team"),
            "environments": { "other": { "config": { "workspace": "other" } } },
        });
        fs::write(project.folder.path().join("arena.yaml"), json!({ "spec": spec }).to_string()).unwrap();
        project.pack(&pack(&AGENTS, &TOOLS, &["refund"]));
        project
    }

    fn pack(&self, pack: &Value) {
        fs::write(self.folder.path().join("pack.json"), pack.to_string()).unwrap();
    }

    fn run_in(&self, environment: &str, command: Command) -> Ran {
        let invocation = Invocation {
            project: self.folder.path().to_owned(),
            home: self.folder.path().join("home"),
            path: String::new(),
            environment: environment.to_owned(),
            pack: self.folder.path().join("pack.json"),
            variables: Default::default(),
            now: "2026-01-02T03:04:05Z".parse().unwrap(),
        };
        invocation.run(command)
    }

    /// Runs a command that must succeed, and returns what it prints.
    fn ok(&self, command: Command) -> String {
        let ran = self.run_in("default", command);
        assert_eq!(ran.code, 0, "{command:?}: {ran:?}");
        ran.stdout
    }
}

fn deployed(api: Api) -> Vec<&'static str> {
    match api {
        Api::Versioned => vec![
            "team/agentpolicies/my-pack-policy",
            "team/agentruntimes/router",
            "team/agentruntimes/seller",
            "team/agentruntimes/support",
            "team/configmaps/my-pack-packdata",
            "team/promptpacks/my-pack",
            "team/toolregistries/my-pack-tools",
        ],
        Api::Current => vec![
            "team/agentpolicies/my-pack-policy",
            "team/agents/router",
            "team/agents/seller",
            "team/agents/support",
            "team/promptpacks/my-pack",
            "team/toolregistries/my-pack-tools",
        ],
    }
}

#[test]
fn pack_is_planned_deployed_looked_at_changed_and_destroyed() {
    for api in [Api::Versioned, Api::Current] {
        let project = Project::new(api);
        let all = deployed(api);
        let plan = project.ok(Plan);
        let summary = format!("Plan: {} to create, 0 to update, 0 to delete", all.len());
        assert!(plan.starts_with(&summary) && plan.matches("\n  + ").count() == all.len(), "{plan}");
        assert_eq!(writes(&project.server), [""; 0], "{api:?}");
        let applied = project.ok(Apply);
        assert_eq!(applied.matches("(created)").count(), all.len(), "{applied}");
        assert_eq!(project.server.objects(), all, "{api:?}");
        let before = writes(&project.server).len();
        let again = project.ok(Plan);
        assert!(again.starts_with("Plan: 0 to create, 0 to update, 0 to delete"), "{again}");
        assert!(!["  + ", "  - ", "  ~ ", "  ! "].iter().any(|mark| again.contains(mark)), "{again}");
        project.ok(Apply);
        assert_eq!(writes(&project.server).len(), before, "{api:?}: nothing differs, nothing is written");
        let status = project.ok(Status);
        assert!(status.starts_with("Status: deployed\n"), "{status}");

        project.pack(&pack(&AGENTS[..2], &TOOLS, &["refund"]));
        let smaller = project.ok(Deploy);
        assert!(smaller.contains("  - agent_runtime.support (deleted)"), "{smaller}");
        assert!(!project.server.objects().iter().any(|it| it.ends_with("/support")), "{api:?}");

        project.ok(Destroy);
        let left: &[&str] = match api {
            Api::Versioned => &[],
            // A registry of tools is the operator's once it is there.
            Api::Current => &["team/toolregistries/my-pack-tools"],
        };
        assert_eq!(project.server.objects(), left, "{api:?}");
        assert_eq!(project.ok(Status), "No deployment found.\n");
    }
}

#[test]
fn state_of_another_workspace_is_not_used() {
    for api in [Api::Versioned, Api::Current] {
        let project = Project::new(api);
        project.ok(Apply);
        let (objects, before) = (project.server.objects(), writes(&project.server).len());
        let plan = project.run_in("other", Plan);
        let all = objects.len();
        assert!(plan.stdout.starts_with(&format!("Plan: {all} to create, 0 to update, 0 to delete")), "{plan:?}");
        assert!(!plan.stderr.is_empty(), "the state that is not used is told");
        let destroyed = project.run_in("other", Destroy);
        assert_eq!((destroyed.code, project.server.objects()), (1, objects), "{destroyed:?}");
        assert_eq!(writes(&project.server).len(), before, "{api:?}");
        project.ok(Destroy);
    }
}
