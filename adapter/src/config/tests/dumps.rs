//! What a dump of the configuration shows, and what it redacts.

use serde_json::json;

use super::super::dump;
use super::{Folder, complete_folder};

#[test]
fn dump_redacts_secrets_and_shows_the_rest() {
    let folder = complete_folder();
    let loaded = folder.load(&[("REGION", "eu")]).unwrap_or_else(|diagnostics| panic!("{diagnostics}"));
    insta::assert_snapshot!(dump::yaml(&loaded).unwrap());
    assert_eq!(loaded.adapter.values["clients"]["maestro"]["auth"]["tls_config"]["key_file"], json!("/certs/key"));
    assert_eq!(loaded.adapter.redacted["clients"]["maestro"]["auth"]["tls_config"]["key_file"], json!(dump::REDACTED));
    assert_eq!(loaded.adapter.values["clients"]["maestro"].get("insecure"), None, "zeros are left out");
}

#[test]
fn dump_redacts_headers_that_may_hold_credentials() {
    let names = [
        "Authorization",
        "Cookie",
        "X-Token",
        "X-Secret",
        "X-Api-Key",
        "X-Passphrase",
        "X-Pwd",
        "X-Credential",
        "X-Signature",
        "X-Session",
    ];
    let headers = names.map(|name| format!("{name}: hunter2")).join(", ");
    let text = format!(
        "adapter: {{name: a}}\nclients: {{hyperfleet_api: {{default_headers: {{{headers}, X-Region: eu}}}}}}\n"
    );
    let folder = Folder::new(&[("config.yaml", &text), ("task/task.yaml", "resources: []\n")]);
    let loaded = folder.load(&[]).unwrap_or_else(|diagnostics| panic!("{diagnostics}"));
    let output = dump::yaml(&loaded).unwrap();
    assert!(!output.contains("hunter2") && output.contains(": eu"), "{output}");
}

#[test]
fn dump_redacts_credentials_in_urls() {
    let address = "https://user:hunter2@gate.example/fleet?access_token=hunter2&region=eu";
    let text = format!(
        "adapter: {{name: a}}\nclients:\n  hyperfleet_api: {{base_url: \"{address}\"}}\n  \
         maestro: {{http_server_address: \"{address}\", grpc_server_address: \"user:hunter2@gate.example:8090\"}}\n"
    );
    let folder = Folder::new(&[("config.yaml", &text), ("task/task.yaml", "resources: []\n")]);
    let loaded = folder.load(&[]).unwrap_or_else(|diagnostics| panic!("{diagnostics}"));
    let output = dump::yaml(&loaded).unwrap();
    assert!(!output.contains("hunter2") && !output.contains("user:"), "{output}");
    let expected = "https://**REDACTED**@gate.example/fleet?access_token=**REDACTED**&region=eu";
    assert_eq!(output.matches(expected).count(), 2, "{output}");
    assert_eq!(loaded.adapter.api.base_url.as_deref(), Some(address), "calls go to the address as it is");
}

#[test]
fn dump_has_the_text_of_each_manifest_file() {
    let task = json!({ "resources": [
        { "manifest": { "ref": "a" } },
        { "bundle": { "manifests": [{ "ref": "b" }, { "kind": "Pod" }, "text", { "ref": "missing" }] } },
    ] });
    let read = |file: &str| if file == "missing" { Err(String::new()) } else { Ok(format!("text of {file}")) };
    let dumped = dump::with_manifests(task, &read);
    assert_eq!(dumped.pointer("/resources/0/manifest"), Some(&"text of a".into()));
    let expected = json!(["text of b", { "kind": "Pod" }, "text", { "ref": "missing" }]);
    assert_eq!(dumped.pointer("/resources/1/bundle/manifests"), Some(&expected));
}
