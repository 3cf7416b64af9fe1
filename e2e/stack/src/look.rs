//! Commands and links with which a person looks into the running system.
//!
//! In: where the system runs. Out: lines to copy, with what this machine has: curl if kubectl is not installed, and
//! Prometheus's API if its build serves no pages, as Debian's does not. Fails: never.

use std::path::Path;

use serde_json::Value;

/// A command that shows objects: `arguments` of kubectl, or the `path` of the same objects at the API server.
pub(crate) fn objects(kubeconfig: &Path, arguments: &str, path: &str) -> String {
    let paths = std::env::var_os("PATH").unwrap_or_default();
    let is_installed = std::env::split_paths(&paths).any(|directory| directory.join("kubectl").is_file());
    match (is_installed, by_curl(kubeconfig, path)) {
        (false, Some(command)) => command,
        (true, _) | (false, None) => format!("kubectl --kubeconfig {} {arguments}", kubeconfig.display()),
    }
}

fn by_curl(kubeconfig: &Path, path: &str) -> Option<String> {
    let config: Value = serde_json::from_slice(&std::fs::read(kubeconfig).ok()?).ok()?;
    let text = |pointer: &str| config.pointer(pointer).and_then(Value::as_str);
    let server = text("/clusters/0/cluster/server")?;
    let authority = text("/clusters/0/cluster/certificate-authority")?;
    let token = text("/users/0/user/token")?;
    Some(format!("curl -s --cacert {authority} -H 'Authorization: Bearer {token}' '{server}{path}'"))
}

/// The first page of Prometheus that its build serves: `page`, or `api`.
pub(crate) async fn prometheus(url: &str, page: &str, api: &str) -> String {
    let has_pages = reqwest::get(format!("{url}/targets")).await.is_ok_and(|answer| answer.status().is_success());
    format!("{url}{}", if has_pages { page } else { api })
}
