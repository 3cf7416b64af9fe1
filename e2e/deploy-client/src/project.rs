//! `arena.yaml`: provider, merged configuration; where the adapter's program is.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use serde::Deserialize;
use serde_json::{Map, Value};

/// The configuration of one key, which each environment may override.
type Settings = Map<String, Value>;

#[derive(Debug, Deserialize)]
struct Arena {
    spec: Map<String, Value>,
}

#[derive(Debug, Deserialize)]
struct Deploy {
    provider: String,
    #[serde(default)]
    config: Settings,
    #[serde(default)]
    environments: BTreeMap<String, Environment>,
}

#[derive(Debug, Default, Deserialize)]
struct Environment {
    #[serde(default)]
    config: Settings,
}

/// What a command works with.
#[derive(Debug)]
pub(crate) struct Project {
    pub(crate) provider: String,
    /// The merged configuration as text.
    pub(crate) config: String,
    /// The rest of the arena's configuration as text.
    pub(crate) arena: String,
}

impl Project {
    /// Reads `arena.yaml`; the environment's configuration wins over the base, key by key.
    pub(crate) fn read(directory: &Path, environment: &str) -> anyhow::Result<Self> {
        let path = directory.join("arena.yaml");
        let text = fs::read_to_string(&path).with_context(|| format!("failed to read {}", path.display()))?;
        let mut arena: Arena = serde_saphyr::from_str(&text).context("failed to parse arena.yaml")?;
        let deploy = arena.spec.remove("deploy").context("arena.yaml has no deploy section")?;
        let Deploy { provider, mut config, mut environments } = serde_json::from_value(deploy)?;
        config.extend(environments.remove(environment).unwrap_or_default().config);
        Ok(Self { provider, config: Value::Object(config).to_string(), arena: Value::Object(arena.spec).to_string() })
    }

    /// Finds the program: in the project, in the home directory, then in the search path.
    pub(crate) fn program(&self, directory: &Path, home: &Path, path: &str) -> anyhow::Result<PathBuf> {
        let name = format!("promptarena-deploy-{}", self.provider);
        let first = [directory, home].map(|folder| folder.join(".promptarena/adapters"));
        let mut files = first.into_iter().chain(path.split(':').map(PathBuf::from)).map(|folder| folder.join(&name));
        let found =
            files.find(|file| fs::metadata(file).is_ok_and(|it| !it.is_dir() && it.permissions().mode() & 0o111 != 0));
        found.with_context(|| format!("adapter {name} not found"))
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use super::*;

    #[test]
    fn environment_wins_key_by_key() {
        let folder = tempfile::tempdir().unwrap();
        let text = "spec: {a: 1, deploy: {provider: x, config: {k: 1, m: {n: 1}}, environments: {prod: {config: {m: {o: 2}}}}}}";
        fs::write(folder.path().join("arena.yaml"), text).unwrap();
        let cases = [("prod", r#"{"k":1,"m":{"o":2}}"#), ("default", r#"{"k":1,"m":{"n":1}}"#)];
        for (environment, expected) in cases {
            let project = Project::read(folder.path(), environment).unwrap();
            assert_eq!((project.config.as_str(), project.arena.as_str()), (expected, r#"{"a":1}"#));
        }
    }

    #[test]
    fn project_wins_over_home_and_path_and_a_directory_is_no_program() {
        let folder = tempfile::tempdir().unwrap();
        let [project, home, path] = ["project", "home", "path"].map(|name| folder.path().join(name));
        let name = "promptarena-deploy-x";
        let places = [project.join(".promptarena/adapters"), home.join(".promptarena/adapters"), path.clone()];
        let x = Project { provider: "x".into(), config: String::new(), arena: String::new() };
        let find = || x.program(&project, &home, path.to_str().unwrap());
        assert!(find().unwrap_err().to_string().contains(name));
        for place in places.iter().rev() {
            fs::create_dir_all(place).unwrap();
            let program = place.join(name);
            fs::write(&program, "").unwrap();
            fs::set_permissions(&program, fs::Permissions::from_mode(0o700)).unwrap();
            assert_eq!(find().unwrap(), program);
        }
        fs::remove_file(places[0].join(name)).unwrap();
        fs::create_dir(places[0].join(name)).unwrap();
        assert_eq!(find().unwrap(), places[1].join(name));
    }
}
