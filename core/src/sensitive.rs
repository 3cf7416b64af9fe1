//! Which values of a task are secret, by where they come from.
//!
//! In: the name of an environment variable, of a header or of a query parameter; or the source of a param, and the paths
//! that are secret before it. Out: whether the value is secret. Fails: nothing.
//!
//! A param says itself whether it is secret: `sensitive: true` or `false`. Otherwise its source decides: a file is secret, and
//! so is a variable of the environment with the name of a credential, a part of the configuration that is redacted elsewhere
//! (which only a pass knows), and what is derived from a secret.

use heck::ToSnakeCase as _;
use lifecycle_language::secrets::SecretPaths;

use crate::task::{Param, ParamSource, Task};

/// Parts of words that mean a credential wherever they are: `accessToken`, `DBPASSWORD`, `x-apikey`.
const ANYWHERE: [&str; 13] = [
    "token",
    "secret",
    "passwd",
    "password",
    "passphrase",
    "credential",
    "cookie",
    "session",
    "signature",
    "authoriz",
    "apikey",
    "accesskey",
    "privatekey",
];
/// Words that mean a credential alone, because they are parts of others, such as `MONKEY`, `KEYSPACE` and `AUTHOR`.
const WORDS: [&str; 7] = ["auth", "key", "keys", "pass", "pwd", "sig", "creds"];
/// The last word of a name that says where a credential is, such as `PULL_SECRET_NAME` or `TOKEN_FILE`.
const PLACES: [&str; 4] = ["name", "namespace", "path", "file"];

/// Whether a name is that of a credential.
///
/// A certificate is none: it is public, other than its key.
#[must_use]
pub fn is_secret_name(name: &str) -> bool {
    let name = name.to_snake_case();
    let words = || name.split('_').map(|word| word.trim_end_matches(|letter: char| letter.is_ascii_digit()));
    let means_credential = |word: &str| WORDS.contains(&word) || ANYWHERE.iter().any(|part| word.contains(part));
    !words().next_back().is_some_and(|last| PLACES.contains(&last)) && words().any(means_credential)
}

/// Whether a source reads a secret, given the paths that are secret.
#[must_use]
pub fn reads_secret(source: &ParamSource, secrets: &SecretPaths) -> bool {
    let touches = |root: &str, path: &str| secrets.touch(&keys(root, path));
    match source {
        ParamSource::Environment(name) => secrets.touch(&["env", name]),
        ParamSource::File { .. } => true,
        ParamSource::Path(path) => secrets.touch(&path.split('.').collect::<Vec<_>>()) || touches("event", path),
        ParamSource::Event(path) => touches("event", path),
        ParamSource::Config(path) => touches("config", path),
        ParamSource::Expression(expression) => secrets.are_read_by(expression),
        ParamSource::ApiCall(_) => false,
    }
}

/// The path from which a param takes its value unchanged; none if it makes or fetches the value.
#[must_use]
pub fn origin(source: &ParamSource) -> Option<Vec<&str>> {
    match source {
        ParamSource::Environment(name) => Some(vec!["env", name]),
        ParamSource::Event(path) => Some(keys("event", path)),
        ParamSource::Config(path) => Some(keys("config", path)),
        ParamSource::Path(path) => Some(path.split('.').collect()),
        ParamSource::Expression(expression) => match expression.member_paths().as_slice() {
            [path] if expression.is_path() || expression.source().contains(".orValue(") => Some(path.clone()),
            _ => None,
        },
        ParamSource::ApiCall(_) | ParamSource::File { .. } => None,
    }
}

fn keys<'p>(root: &'p str, path: &'p str) -> Vec<&'p str> {
    std::iter::once(root).chain(path.split('.')).collect()
}

/// The paths that are secret before the first param: variables of the environment with the name of a credential.
pub fn of_environment<'n>(names: impl IntoIterator<Item = &'n str>) -> impl Iterator<Item = [&'n str; 2]> {
    names.into_iter().filter(|name| is_secret_name(name)).map(|name| ["env", name])
}

/// The paths that are secret after the last param, as far as the task alone tells.
#[must_use]
pub fn secret_paths(task: &Task) -> SecretPaths {
    let mut secrets = SecretPaths::default();
    of_environment(task.environment.iter().map(String::as_str)).for_each(|path| secrets.set(&path, true));
    for param in &task.params {
        let is_secret = param.sensitive.unwrap_or_else(|| !is_boolean(param) && reads_secret(&param.source, &secrets));
        note(param, is_secret, &mut |path, is_secret| secrets.set(path, is_secret));
    }
    secrets
}

/// Notes whether a param is secret, and with it the path of which its author says the same.
pub(crate) fn note(param: &Param, is_secret: bool, set: &mut dyn FnMut(&[&str], bool)) {
    if let (Some(is_secret), Some(path)) = (param.sensitive, origin(&param.source)) {
        set(&path, is_secret);
    }
    set(&[&param.name], is_secret);
}

/// Whether a param is a boolean, which tells too little of a secret.
#[must_use]
pub fn is_boolean(param: &Param) -> bool {
    match &param.source {
        ParamSource::Expression(expression) => expression.is_boolean(),
        ParamSource::Environment(_)
        | ParamSource::Event(_)
        | ParamSource::Config(_)
        | ParamSource::Path(_)
        | ParamSource::ApiCall(_)
        | ParamSource::File { .. } => param.kind.as_deref() == Some("bool"),
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use super::*;
    use crate::task::compile::{Surroundings, compile};

    #[test]
    fn name_of_a_credential_is_told_from_words_that_only_contain_one() {
        let credentials = [
            "TOKEN",
            "API_TOKEN",
            "accessToken",
            "DBPASSWORD",
            "PGPASSWD",
            "DB_PWD",
            "client-secret",
            "SIGNING_KEY",
            "APIKEY",
            "X-Api-Key",
            "Authorization",
            "X-Auth",
            "KEY2",
            "AWS_SECRET_ACCESS_KEY",
            "registryCredentials",
            "Set-Cookie",
            "sig",
        ];
        let others = [
            "MONKEY",
            "KEYSPACE",
            "AUTHOR",
            "KEYCLOAK_URL",
            "COMPASS",
            "NAMESPACE",
            "REGION",
            "PULL_SECRET_NAME",
            "TOKEN_FILE",
            "TLS_CERT",
            "DESIGN",
            "page",
            "",
        ];
        for name in credentials {
            assert!(is_secret_name(name), "{name}");
        }
        for name in others {
            assert!(!is_secret_name(name), "{name}");
        }
    }

    #[test]
    fn task_tells_which_params_are_secret() {
        let text = r#"params:
  - {name: namespace, source: env.NAMESPACE}
  - {name: token, source: env.API_TOKEN}
  - {name: scheme, source: env.AUTH_SCHEME, sensitive: false}
  - {name: dsn, source: env.DATABASE, sensitive: true}
  - {name: file, source: {file: {path: /a}}}
  - {name: notes, source: {file: {path: /b}}, sensitive: false}
  - {name: cluster, source: {api_call: {method: GET, url: /a}}}
  - {name: pull, source: cluster.spec.pullSecret, sensitive: true}
  - {name: copy, source: "cluster.spec.pullSecret"}
  - {name: spec, source: {expression: "string(cluster.spec)"}}
  - {name: region, source: {expression: cluster.spec.region}}
  - {name: url, source: {expression: "'https://' + dsn"}}
  - {name: is_set, source: {expression: "token != ''"}}
  - {name: shown, source: {expression: "token.size()"}, sensitive: false}
  - {name: length, source: {expression: "shown + 1"}}
"#;
        let surroundings = Surroundings { read: &|_| Err(String::new()), environment: &|_| Some("x".to_owned()) };
        let task = compile("task.yaml", text, &surroundings).task.unwrap();
        let secrets = secret_paths(&task);
        let secret = |path: &&str| secrets.cover(&path.split('.').collect::<Vec<_>>());
        let found: Vec<&str> = task.params.iter().map(|param| param.name.as_str()).filter(secret).collect();
        assert_eq!(found, ["token", "dsn", "file", "pull", "copy", "spec", "url"]);
        assert!(["env.API_TOKEN", "env.DATABASE", "cluster.spec.pullSecret"].iter().all(secret));
        assert!(!["env.AUTH_SCHEME", "env.NAMESPACE", "cluster", "cluster.spec"].iter().any(secret));
    }
}
