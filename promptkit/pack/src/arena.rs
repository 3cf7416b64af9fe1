//! What deploy adapters read of an arena configuration: how the tools of a pack are served, providers, and scenarios.
//!
//! In: the text that the CLI makes of its configuration; an empty one is none. Out: an [`Arena`]. Fails: with every mistake at
//! once, those of the tool manifests inside of it among them, under the names of their files.

use std::collections::BTreeMap;

use lifecycle_config::diagnostics::Diagnostics;
use serde_json::Value;

use crate::pack::{ToolPolicy, tool_policy, union};
use crate::reader::{Field, Reader};

mod manifest;

/// The name of the text in diagnostics.
pub const FILE: &str = "arena config";

/// An arena configuration.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Arena {
    /// The tools, by name: those written inline, and those of manifests that no inline one replaces.
    pub tools: BTreeMap<String, ToolSpec>,
    /// The providers that the CLI loaded, by their keys.
    pub providers: BTreeMap<String, Provider>,
    /// The specs of providers as written, by name.
    pub provider_specs: BTreeMap<String, Value>,
    /// The MCP servers as written.
    pub mcp_servers: Vec<Value>,
    /// What scenarios may do with tools, by scenario.
    pub scenarios: BTreeMap<String, ToolPolicy>,
}

/// How a tool is served.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ToolSpec {
    /// The name of the tool; its key, if it names none.
    pub name: String,
    /// What the tool does.
    pub description: Option<String>,
    /// Who answers a call.
    pub mode: Mode,
    /// The JSON Schema of the parameters.
    pub input_schema: Option<Value>,
    /// The HTTP endpoint, of a live tool.
    pub http: Option<Http>,
    /// The ARN of an AWS Lambda function.
    pub lambda_arn: Option<String>,
    /// An API of Amazon API Gateway, as written.
    pub api_gateway: Option<Value>,
    /// An OpenAPI document, as written.
    pub openapi: Option<Value>,
    /// A Smithy model, as written.
    pub smithy: Option<Value>,
    /// How the target is told who calls, as written.
    pub credential: Option<Value>,
}

/// Who answers the calls of a tool.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Mode {
    /// The arena itself, with canned answers.
    #[default]
    Mock,
    /// An HTTP endpoint.
    Live,
    /// An MCP server.
    Mcp,
    /// Another agent.
    A2a,
}

/// The HTTP endpoint of a tool.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Http {
    /// The URL; empty if the author names none.
    pub url: String,
    /// The method, as written.
    pub method: Option<String>,
    /// How long an answer may take.
    pub timeout_ms: Option<i64>,
    /// Headers with their values.
    pub headers: BTreeMap<String, String>,
    /// Headers whose values are in environment variables, in the author's order.
    pub headers_from_env: Vec<EnvHeader>,
    /// The fields that logs leave out.
    pub redact: Vec<String>,
    /// How a call becomes a request.
    pub request: Request,
    /// How an answer becomes the result, an expression.
    pub response_body_mapping: Option<String>,
}

/// A header whose value is in an environment variable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EnvHeader {
    /// The name of the header.
    pub header: String,
    /// The name of the variable.
    pub variable: String,
}

/// How the call of a tool becomes a request.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Request {
    /// The arguments that go into the query.
    pub query_params: Vec<String>,
    /// The body, an expression.
    pub body_mapping: Option<String>,
    /// Arguments that go into headers: argument to header.
    pub header_params: BTreeMap<String, String>,
    /// Parts of the query that are always the same.
    pub static_query: BTreeMap<String, String>,
    /// Headers that are always the same.
    pub static_headers: BTreeMap<String, String>,
}

/// A model provider that the CLI loaded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Provider {
    /// The id; the provider's key, if it names none.
    pub id: String,
    /// The kind of provider, such as `claude`.
    pub kind: String,
    /// The model.
    pub model: Option<String>,
}

/// Reads an arena configuration.
///
/// # Errors
/// The text is neither empty nor a JSON object, a value has a wrong type, or a manifest cannot be read. All mistakes are reported.
pub fn read(text: &str) -> Result<Arena, Diagnostics> {
    if text.trim().is_empty() {
        return Ok(Arena::default());
    }
    let reader = Reader::new(FILE);
    let value = reader.parse(text);
    let arena = arena(&reader, &reader.root(&value));
    reader.finish(arena).map(|(arena, _)| arena)
}

impl Arena {
    /// The tools that some scenario must not call: sorted, each once.
    #[must_use]
    pub fn blocklist(&self) -> Vec<String> {
        union(self.scenarios.values())
    }
}

fn arena(reader: &Reader, root: &Field<'_>) -> Arena {
    let inline = root.key("tool_specs").entries().into_iter().map(|(key, field)| (key.to_owned(), tool(key, &field)));
    let loaded = root.key("loaded_tools").items();
    let mut tools: BTreeMap<_, _> = loaded.iter().filter_map(|field| manifest::read(reader, field)).collect();
    tools.extend(inline);
    let providers = root.key("loaded_providers").entries();
    let scenarios = root.key("loaded_scenarios").entries();
    let specs = root.key("provider_specs").entries();
    Arena {
        tools,
        providers: providers.iter().map(|(key, field)| ((*key).to_owned(), provider(key, field))).collect(),
        provider_specs: specs.iter().filter_map(|(key, field)| Some(((*key).to_owned(), field.any()?))).collect(),
        mcp_servers: root.key("mcp_servers").items().iter().filter_map(Field::any).collect(),
        scenarios: scenarios.iter().map(|(key, it)| ((*key).to_owned(), tool_policy(&it.key("tool_policy")))).collect(),
    }
}

fn provider(key: &str, field: &Field<'_>) -> Provider {
    Provider {
        id: field.key("id").filled().unwrap_or_else(|| key.to_owned()),
        kind: field.key("type").text().unwrap_or_default(),
        model: field.key("model").filled(),
    }
}

fn tool(key: &str, field: &Field<'_>) -> ToolSpec {
    let http = field.key("http");
    let mode = match field.key("mode").choice(&["mock", "live", "mcp", "a2a"]) {
        Some("live") => Mode::Live,
        Some("mcp") => Mode::Mcp,
        Some("a2a") => Mode::A2a,
        Some(_) | None => Mode::Mock,
    };
    ToolSpec {
        name: field.key("name").filled().unwrap_or_else(|| key.to_owned()),
        description: field.key("description").filled(),
        mode,
        input_schema: field.key("input_schema").object().map(|schema| Value::Object(schema.clone())),
        http: http.object().map(|_| endpoint(&http)),
        lambda_arn: field.key("lambda_arn").filled(),
        api_gateway: field.key("api_gateway").any(),
        openapi: field.key("openapi").any(),
        smithy: field.key("smithy").any(),
        credential: field.key("credential").any(),
    }
}

fn endpoint(http: &Field<'_>) -> Http {
    let (request, texts) = (http.key("request"), |field: Field<'_>| field.text_entries().into_iter().collect());
    Http {
        url: http.key("url").text().unwrap_or_default(),
        method: http.key("method").filled(),
        timeout_ms: http.key("timeout_ms").whole(0, i64::MAX),
        headers: texts(http.key("headers")),
        headers_from_env: http.key("headers_from_env").items().iter().filter_map(env_header).collect(),
        redact: http.key("redact").texts(),
        request: Request {
            query_params: request.key("query_params").texts(),
            body_mapping: request.key("body_mapping").filled(),
            header_params: texts(request.key("header_params")),
            static_query: texts(request.key("static_query")),
            static_headers: texts(request.key("static_headers")),
        },
        response_body_mapping: http.key("response").key("body_mapping").filled(),
    }
}

fn env_header(field: &Field<'_>) -> Option<EnvHeader> {
    let text = field.text()?;
    let parts = text.split_once('=').map(|(header, variable)| (header.trim(), variable.trim()));
    let Some((header, variable)) = parts.filter(|(header, variable)| !header.is_empty() && !variable.is_empty()) else {
        // The text may be a header with its value, which is not to be shown.
        field.refuse("is not `HEADER=VARIABLE`".to_owned(), "write it as in `Authorization=API_TOKEN`".to_owned());
        return None;
    };
    Some(EnvHeader { header: header.to_owned(), variable: variable.to_owned() })
}

#[cfg(test)]
mod tests;
