//! The `ToolRegistry`, which says how the tools of the pack are called.
//!
//! In: the tools of the pack, how the arena serves them, and the configured handlers. Out: the registry for each target, and the
//! environment variables in which the values of headers are. Fails: if two handlers would have one name, if Kubernetes would
//! refuse a tool, or if a header's value would have to be written in clear.

use std::collections::{BTreeMap, BTreeSet};

use promptkit_pack::arena::{Http, ToolSpec};
use promptkit_pack::pack::Tool;
use serde_json::{Map, Value, json};

use super::{Making, Surface, filled, present};
use crate::binding::{Binding, live_url};
use crate::names::sanitise;

/// Where a tool without an address is called: a name that no server ever has.
const PLACEHOLDER: &str = "https://placeholder.invalid";
/// The most characters of a handler's name.
const NAME_LIMIT: usize = 63;
/// The most characters of a tool's name in Kubernetes.
const TOOL_LIMIT: usize = 64;
/// The header whose value is a bearer token.
const AUTHORIZATION: &str = "Authorization";

pub(super) fn content(making: &Making<'_>) -> Option<Map<String, Value>> {
    let key = if making.inputs.surface == Surface::Versioned { "tools" } else { "handlers" };
    (!making.tools.is_empty()).then(|| present([("spec", Some(json!({ key: making.tools })))]))
}

/// The entries of the registry that is created, and the variables that they need; none if none is created.
pub(super) fn entries(making: &Making<'_>) -> (Vec<Value>, Vec<String>) {
    let (config, surface) = (making.inputs.config, making.inputs.surface);
    if *making.inputs.binding != Binding::Create {
        return (Vec::new(), Vec::new());
    }
    let mut tools: Vec<_> = making.inputs.pack.tools.iter().collect();
    tools.sort_by(|(_, a), (_, b)| a.name.cmp(&b.name));
    if surface == Surface::Versioned {
        return (tools.into_iter().map(|(_, tool)| plain(tool)).collect(), Vec::new());
    }
    let is_left_out =
        |tool: &str| surface == Surface::Cluster && making.blocklist.iter().any(|blocked| blocked == tool);
    let configured = config.tools.iter().filter(|handler| !handler.tool.as_deref().is_some_and(is_left_out));
    let mut entries: Vec<Value> = configured.map(|handler| handler.body.clone()).collect();
    let mut taken: BTreeMap<String, &str> = config.tools.iter().map(|it| (it.name.clone(), it.name.as_str())).collect();
    let mut variables = BTreeSet::new();
    for (key, tool) in tools {
        let is_configured = config.tools.iter().any(|handler| handler.tool.as_ref() == Some(&tool.name));
        if tool.is_system() || is_configured || is_left_out(&tool.name) {
            continue;
        }
        let name = handler_name(&tool.name);
        if let Some(other) = taken.insert(name.clone(), &tool.name) {
            making.refuse_tool(
                key,
                &format!("`{other}` and `{}` would share the handler `{name}`", tool.name),
                "rename one of them",
            );
        }
        let spec = making.inputs.arena.tools.get(key);
        entries.push(match surface {
            Surface::Cluster => in_cluster(making, key, name, tool, spec),
            Surface::Versioned | Surface::Current => called(making, name, tool, spec, &mut variables),
        });
    }
    (entries, variables.into_iter().collect())
}

fn handler_name(tool: &str) -> String {
    let mut name = sanitise(tool).replace('.', "-");
    name.truncate(NAME_LIMIT);
    name.trim_end_matches('-').to_owned()
}

fn plain(tool: &Tool) -> Value {
    let description = tool.description.as_ref().map(|text| json!(text));
    let fields =
        [("name", Some(json!(tool.name))), ("description", description), ("inputSchema", tool.parameters.clone())];
    present(fields).into()
}

/// The whole tool, as handlers that do not describe themselves need it.
fn whole(tool: &Tool, spec: Option<&ToolSpec>) -> Value {
    let description = tool.description.clone().or_else(|| spec?.description.clone());
    let schema = tool.parameters.clone().or_else(|| spec?.input_schema.clone());
    json!({
        "name": tool.name,
        "description": description.unwrap_or_else(|| tool.name.clone()),
        "inputSchema": schema.unwrap_or_else(|| json!({ "type": "object" })),
    })
}

fn address(tool: &Tool, spec: Option<&ToolSpec>) -> Value {
    json!(spec.and_then(live_url).map_or_else(|| format!("{PLACEHOLDER}/{}", tool.name), str::to_owned))
}

fn timeout(http: Option<&Http>) -> Option<Value> {
    http?.timeout_ms.filter(|timeout| *timeout > 0).map(|timeout| json!(format!("{timeout}ms")))
}

fn headers(http: Option<&Http>) -> Option<Value> {
    let all: BTreeMap<_, _> = http?.headers.iter().chain(&http?.request.static_headers).collect();
    some(json!(all))
}

/// The map or list, if there is anything in it.
fn some(value: Value) -> Option<Value> {
    let is_empty = value.as_object().is_some_and(Map::is_empty) || value.as_array().is_some_and(Vec::is_empty);
    (!is_empty).then_some(value)
}

/// A handler of today's API.
fn called(
    making: &Making<'_>,
    name: String,
    tool: &Tool,
    spec: Option<&ToolSpec>,
    variables: &mut BTreeSet<String>,
) -> Value {
    let http = spec.and_then(|spec| spec.http.as_ref());
    let request = http.map(|http| &http.request);
    let secret = |variable: &str| json!({ "name": making.names.credentials, "key": variable });
    let (mut auth, mut from_secret) = (None, Map::new());
    for it in http.into_iter().flat_map(|http| &http.headers_from_env) {
        variables.insert(it.variable.clone());
        if it.header.eq_ignore_ascii_case(AUTHORIZATION) {
            auth = Some(json!({ "type": "bearer", "secretRef": secret(&it.variable) }));
        } else {
            from_secret.insert(it.header.clone(), secret(&it.variable));
        }
    }
    let tool_body = whole(tool, spec);
    let method = http.and_then(|http| http.method.clone()).unwrap_or_else(|| "POST".to_owned());
    let query = match request.map(|request| &request.query_params) {
        Some(declared) if !declared.is_empty() => json!(declared),
        Some(_) | None if method.eq_ignore_ascii_case("GET") => {
            let properties = tool_body.pointer("/inputSchema/properties").and_then(Value::as_object);
            json!(properties.into_iter().flat_map(Map::keys).collect::<BTreeSet<_>>())
        }
        Some(_) | None => json!([]),
    };
    let config = present([
        ("endpoint", Some(address(tool, spec))),
        ("method", Some(json!(method))),
        ("headers", headers(http)),
        ("queryParams", some(query)),
        ("bodyMapping", request.and_then(|it| it.body_mapping.as_ref()).map(|it| json!(it))),
        ("responseMapping", http.and_then(|it| it.response_body_mapping.as_ref()).map(|it| json!(it))),
        ("headerParams", request.and_then(|it| some(json!(it.header_params)))),
        ("staticQuery", request.and_then(|it| some(json!(it.static_query)))),
        ("redact", http.and_then(|it| some(json!(it.redact)))),
        ("headersFromSecret", filled(from_secret)),
    ]);
    let fields = [
        ("name", Some(json!(name))),
        ("type", Some(json!("http"))),
        ("tool", Some(tool_body)),
        ("httpConfig", Some(config.into())),
        ("timeout", timeout(http)),
        ("auth", auth),
    ];
    present(fields).into()
}

/// A handler of the kind in Kubernetes.
fn in_cluster(making: &Making<'_>, key: &str, name: String, tool: &Tool, spec: Option<&ToolSpec>) -> Value {
    let is_legal = tool.name.len() <= TOOL_LIMIT
        && tool.name.starts_with(|c: char| c.is_ascii_lowercase())
        && tool.name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
    if !is_legal {
        let message = format!("`{}` is not ^[a-z][a-z0-9_]*$ of at most {TOOL_LIMIT} characters", tool.name);
        making.refuse_tool(key, &message, "write a lower case letter, then lower case letters, digits and underscores");
    }
    let http = spec.and_then(|spec| spec.http.as_ref());
    if http.is_some_and(|http| !http.headers_from_env.is_empty()) {
        let message = "has a header from the environment, whose value would be in clear in the registry";
        making.refuse_tool(key, message, "write a handler with `authSecretRef` into `tools` of the deploy config");
    }
    let config = present([
        ("endpoint", Some(address(tool, spec))),
        ("method", http.and_then(|http| http.method.as_ref()).map(|method| json!(method))),
        ("headers", headers(http)),
    ]);
    let fields = [
        ("name", Some(json!(name))),
        ("type", Some(json!("http"))),
        ("tool", Some(whole(tool, spec))),
        ("httpConfig", Some(config.into())),
        ("timeout", timeout(http)),
    ];
    present(fields).into()
}

impl Making<'_> {
    fn refuse_tool(&self, key: &str, message: &str, cure: &str) {
        let null = Value::Null;
        self.of_pack.root(&null).key("tools").key(key).refuse(message.to_owned(), cure.to_owned());
    }
}
