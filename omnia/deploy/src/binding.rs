//! Which registry serves the tools of a pack: one that is created, one that exists, or none.
//!
//! In: pack, arena configuration, deploy configuration, and the registries that the workspace has. Out: a [`Binding`], the same
//! for plan and apply, and advice. Fails never: where nothing fits, the agents have no tools, and the advice says what would help.

use std::collections::BTreeMap;

use promptkit_pack::arena::{Arena, Mode, ToolSpec};
use promptkit_pack::pack::{Pack, Tool};
use serde_json::Value;

use crate::config::Config;
use crate::kinds::Surface;

/// Which registry serves the tools.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Binding {
    /// One that this deployment makes.
    Create,
    /// The existing one of this name.
    Bind(String),
    /// None: the agents have no tools of a registry.
    None,
}

/// A registry that exists.
#[derive(Debug, Clone, PartialEq)]
pub struct Registry {
    /// The name of the registry.
    pub name: String,
    /// Its tools, with the schemas of their parameters where they are known.
    pub tools: BTreeMap<String, Option<Value>>,
}

impl Registry {
    /// Reads a registry of the API: the tools that its handlers declare, and those that were discovered.
    #[must_use]
    pub fn of(object: &Value) -> Option<Self> {
        let tool = |tool: &Value| Some((tool.get("name")?.as_str()?.to_owned(), tool.get("inputSchema").cloned()));
        let list = |pointer: &str| object.pointer(pointer).and_then(Value::as_array).into_iter().flatten();
        let discovered = list("/status/discoveredTools").filter_map(tool);
        let declared = list("/spec/handlers").filter_map(|handler| tool(handler.get("tool")?));
        let name = object.pointer("/metadata/name")?.as_str()?.to_owned();
        Some(Self { name, tools: discovered.chain(declared).collect() })
    }
}

/// The URL at which a tool is really called.
pub(crate) fn live_url(spec: &ToolSpec) -> Option<&str> {
    let http = spec.http.as_ref().filter(|http| spec.mode == Mode::Live && !http.url.is_empty())?;
    Some(&http.url)
}

/// Decides which registry serves the tools of a pack. Only today's API is asked for registries.
#[must_use]
pub fn decide(
    surface: Surface,
    pack: &Pack,
    arena: &Arena,
    config: &Config,
    registries: &[Registry],
) -> (Binding, Vec<String>) {
    let own: Vec<_> = pack.tools.values().filter(|tool| surface == Surface::Versioned || !tool.is_system()).collect();
    if let Some(name) = &config.tool_registry_ref {
        let advice = registries.iter().find(|it| it.name == *name).map(|it| differences(it, &own)).unwrap_or_default();
        return (Binding::Bind(name.clone()), advice);
    }
    let is_live =
        pack.tools.iter().any(|(key, tool)| !tool.is_system() && arena.tools.get(key).and_then(live_url).is_some());
    let is_configured = !config.tools.is_empty() && surface != Surface::Versioned;
    match surface {
        _ if is_configured => (Binding::Create, Vec::new()),
        _ if own.is_empty() => (Binding::None, Vec::new()),
        Surface::Versioned | Surface::Cluster => (Binding::Create, Vec::new()),
        Surface::Current if is_live => (Binding::Create, Vec::new()),
        Surface::Current => discover(registries, &own),
    }
}

/// What a registry lacks of the pack's tools, or has otherwise.
fn differences(registry: &Registry, tools: &[&Tool]) -> Vec<String> {
    let advice = |tool: &&Tool| match registry.tools.get(&tool.name) {
        None => Some(format!("registry `{}` has no tool `{}`: calls of it will fail", registry.name, tool.name)),
        Some(Some(schema)) if tool.parameters.as_ref().is_some_and(|own| own != schema) => Some(format!(
            "the parameters of `{}` are others in registry `{}` than in the pack",
            tool.name, registry.name
        )),
        Some(_) => None,
    };
    tools.iter().filter_map(advice).collect()
}

fn discover(registries: &[Registry], tools: &[&Tool]) -> (Binding, Vec<String>) {
    let covers = |registry: &&Registry| tools.iter().all(|tool| registry.tools.contains_key(&tool.name));
    let fitting: Vec<_> = registries.iter().filter(covers).collect();
    if let [only] = fitting.as_slice() {
        return (Binding::Bind(only.name.clone()), differences(only, tools));
    }
    let named = |names: Vec<&str>| names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    let wanted = named(tools.iter().map(|tool| tool.name.as_str()).collect());
    let advice = if fitting.is_empty() {
        format!(
            "no registry of the workspace has the tools {wanted}, so the agents have none: write `tools` or `tool_registry_ref`"
        )
    } else {
        let names = named(fitting.iter().map(|registry| registry.name.as_str()).collect());
        format!(
            "the registries {names} all have the tools {wanted}, so the agents have none: write one as `tool_registry_ref`"
        )
    };
    (Binding::None, vec![advice])
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use promptkit_pack::{arena, pack};
    use serde_json::json;

    use super::*;
    use crate::config;

    fn registry(name: &str, tools: &[&str]) -> Registry {
        let handlers: Vec<_> =
            tools.iter().map(|tool| json!({ "tool": { "name": tool, "inputSchema": {} } })).collect();
        Registry::of(&json!({ "metadata": { "name": name }, "spec": { "handlers": handlers } })).unwrap()
    }

    #[test]
    fn first_rule_that_fits_decides() {
        let pack = json!({ "tools": { "a": { "parameters": {} }, "b": {}, "sys__c": {} } });
        let none = json!({});
        let (plain, configured, named) =
            (json!({}), json!({ "tools": [{ "name": "x", "type": "client" }] }), json!({ "tool_registry_ref": "r" }));
        let live = json!({ "tool_specs": { "a": { "mode": "live", "http": { "url": "https://a" } } } });
        let mock = json!({ "tool_specs": { "a": { "http": { "url": "https://a" } } } });
        let (create, bind) = (Binding::Create, |name: &str| Binding::Bind(name.to_owned()));
        let both = [registry("one", &["a", "b"]), registry("two", &["a"])];
        let many = [registry("one", &["a", "b"]), registry("two", &["a", "b", "c"])];
        let system = json!({ "tools": { "sys__c": {} } });
        use Surface::{Cluster, Current, Versioned};
        let cases = [
            ("configured", Current, &pack, &none, &configured, &both[..], create.clone(), ""),
            ("named", Current, &pack, &live, &named, &both[..], bind("r"), ""),
            (
                "named, and lacking a tool",
                Current,
                &pack,
                &live,
                &named,
                &[registry("r", &["a"])][..],
                bind("r"),
                "has no tool `b`",
            ),
            ("a live tool", Current, &pack, &live, &plain, &both[..], create.clone(), ""),
            ("a mocked tool", Current, &pack, &mock, &plain, &both[..], bind("one"), ""),
            (
                "none covers all",
                Current,
                &pack,
                &none,
                &plain,
                &both[1..],
                Binding::None,
                "no registry of the workspace has the tools `a`, `b`",
            ),
            (
                "several cover all",
                Current,
                &pack,
                &none,
                &plain,
                &many[..],
                Binding::None,
                "the registries `one`, `two` all have",
            ),
            ("no tools", Current, &none, &none, &plain, &both[..], Binding::None, ""),
            ("the runtime's own tools", Current, &system, &none, &plain, &both[..], Binding::None, ""),
            ("the versioned API", Versioned, &pack, &none, &plain, &[][..], create.clone(), ""),
            ("the versioned API, configured", Versioned, &none, &none, &configured, &[][..], Binding::None, ""),
            ("Kubernetes", Cluster, &pack, &none, &plain, &[][..], create.clone(), ""),
            ("Kubernetes, configured", Cluster, &none, &none, &configured, &[][..], create, ""),
        ];
        for (name, surface, pack, arena, config, registries, expected, advice) in cases {
            let mut value = json!({ "api_endpoint": "https://a", "workspace": "w", "api_token": "t", "providers": { "default": "p" } });
            value.as_object_mut().unwrap().extend(config.as_object().unwrap().clone());
            let config = config::check(&value, &BTreeMap::new()).0.unwrap();
            let (pack, arena) = (pack::read(&pack.to_string()).unwrap(), arena::read(&arena.to_string()).unwrap());
            let (found, given) = decide(surface, &pack, &arena, &config, registries);
            assert_eq!(found, expected, "{name}");
            assert!(
                if advice.is_empty() { given.is_empty() } else { given.len() == 1 && given[0].contains(advice) },
                "{name}: {given:?}"
            );
        }
    }

    #[test]
    fn other_parameters_are_told() {
        let pack = pack::read(r#"{"tools": {"a": {"parameters": {"type": "object"}}}}"#).unwrap();
        let tools: Vec<_> = pack.tools.values().collect();
        assert_eq!(
            discover(&[registry("one", &["a"])], &tools),
            (
                Binding::Bind("one".to_owned()),
                vec!["the parameters of `a` are others in registry `one` than in the pack".to_owned()]
            )
        );
    }
}
