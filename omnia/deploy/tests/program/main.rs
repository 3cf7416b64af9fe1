//! The built program on a server in memory: what it sends, what a user of PromptArena's command line sees, and the protocol's scenarios.

#![expect(clippy::unwrap_used, reason = "tests")]

mod calls;
mod cluster;
mod conformance;
mod project;
mod readiness;

use std::io::Write as _;
use std::process::{Command, Stdio};

use lifecycle_e2e::workspaces::{Asked, Workspaces};
use serde_json::{Value, json};

/// The path of the program.
const PROGRAM: &str = env!("CARGO_BIN_EXE_promptarena-deploy-omnia");

/// A pack with these agents and tools, of which no prompt may call the blocked ones.
fn pack(agents: &[&str], tools: &[&str], blocked: &[&str]) -> Value {
    let members: serde_json::Map<_, _> = agents.iter().map(|name| ((*name).to_owned(), json!({}))).collect();
    let tool = |name: &&str| ((*name).to_owned(), json!({ "name": name, "parameters": { "type": "object" } }));
    let tools: serde_json::Map<_, _> = tools.iter().map(tool).collect();
    let prompt = json!({ "id": "main", "version": "1.0.0", "tool_policy": { "blocklist": blocked } });
    let mut pack = json!({ "id": "my-pack", "name": "My pack", "version": "1.0.0", "tools": tools, "prompts": { "main": prompt } });
    if let Some(entry) = agents.first() {
        pack["agents"] = json!({ "entry": entry, "members": members });
    }
    pack
}

fn config(url: &str, workspace: &str) -> Value {
    json!({ "api_endpoint": url, "api_token": "secret", "workspace": workspace, "providers": { "default": "claude" } })
}

/// The configuration of the arena: each tool is really called.
fn arena(tools: &[&str]) -> Value {
    let spec = |name: &&str| {
        let http = json!({ "url": format!("https://tools.example.com/{name}"), "method": "POST" });
        ((*name).to_owned(), json!({ "name": name, "mode": "live", "http": http }))
    };
    json!({ "tool_specs": tools.iter().map(spec).collect::<serde_json::Map<_, _>>() })
}

/// Asks a new process of the program once, and returns its answer.
fn call(method: &str, url: &str, pack: &Value, state: &str) -> Value {
    let params = json!({
        "pack_json": pack.to_string(), "deploy_config": config(url, "team").to_string(), "prior_state": state,
        "environment": "default", "arena_config": arena(&["a"]).to_string(),
    });
    let mut process = Command::new(PROGRAM).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let request = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
    writeln!(process.stdin.take().unwrap(), "{request}").unwrap();
    let output = process.wait_with_output().unwrap();
    serde_json::from_slice(&output.stdout).unwrap()
}

/// The writes that a server got, as `METHOD workspace/collection/name`.
fn writes(server: &Workspaces) -> Vec<String> {
    let writes = server.asked().into_iter().filter(Asked::is_write);
    writes.map(|asked| format!("{} {}", asked.method, asked.path)).collect()
}

/// How often the server got a request.
fn count(server: &Workspaces, method: &str, path: &str) -> usize {
    server.asked().iter().filter(|asked| asked.method == method && asked.path == path).count()
}
