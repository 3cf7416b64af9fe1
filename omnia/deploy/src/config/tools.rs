//! The handlers of tools in the configuration.
//!
//! In: the key `tools`. Out: a [`Handler`] for each item. Fails: with the rules of its type: who answers has to be known, and
//! a type that does not describe itself needs the whole tool.

use promptkit_pack::reader::Field;
use promptkit_pack::rule::DNS_LABEL;
use serde_json::Value;

/// A handler of tools.
#[derive(Debug, Clone, PartialEq)]
pub struct Handler {
    /// The name of the handler.
    pub name: String,
    /// Who answers.
    pub kind: HandlerKind,
    /// The name of its tool, if it serves one.
    pub tool: Option<String>,
    /// The handler as written.
    pub body: Value,
}

/// Who answers the calls of a handler's tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HandlerKind {
    /// An HTTP endpoint.
    Http,
    /// The operations of an OpenAPI document.
    OpenApi,
    /// A gRPC endpoint.
    Grpc,
    /// An MCP server.
    Mcp,
    /// The program that talks to the agent.
    Client,
}

impl HandlerKind {
    /// The kinds, as the configuration writes them, and the keys of their blocks.
    const ALL: [(Self, &'static str, &'static str); 5] = [
        (Self::Http, "http", "httpConfig"),
        (Self::OpenApi, "openapi", "openAPIConfig"),
        (Self::Grpc, "grpc", "grpcConfig"),
        (Self::Mcp, "mcp", "mcpConfig"),
        (Self::Client, "client", "clientConfig"),
    ];

    /// Whether the handler itself says at run time which tools it has.
    #[must_use]
    pub fn is_self_describing(self) -> bool {
        match self {
            Self::OpenApi | Self::Mcp => true,
            Self::Http | Self::Grpc | Self::Client => false,
        }
    }
}

/// Reads the handlers.
pub(super) fn read(list: &Field<'_>) -> Vec<Handler> {
    let handlers: Vec<_> = list.items().iter().filter_map(handler).collect();
    for (at, handler) in handlers.iter().enumerate() {
        if handlers.iter().take(at).any(|earlier| earlier.name == handler.name) {
            list.refuse(format!("`{}` is there twice", handler.name), "give each handler a name of its own".to_owned());
        }
    }
    handlers
}

fn handler(item: &Field<'_>) -> Option<Handler> {
    let blocks = HandlerKind::ALL.map(|(.., block)| block);
    item.only(&[&["name", "type", "tool", "selector", "timeout"], &blocks[..]].concat());
    item.key("name").required("write a name");
    item.key("name").keeps(&DNS_LABEL);
    item.key("timeout").text();
    item.key("selector").object();
    item.key("type").required("write http, openapi, grpc, mcp or client");
    let chosen =
        item.key("type").filled().and_then(|_| item.key("type").choice(&HandlerKind::ALL.map(|(_, name, _)| name)));
    let tool = item.key("tool");
    tool.only(&["name", "description", "inputSchema", "outputSchema"]);
    for schema in ["inputSchema", "outputSchema"] {
        tool.key(schema).object();
    }
    let (name, description) = (tool.key("name").filled(), tool.key("description").text());
    let (kind, written, block) = *HandlerKind::ALL.iter().find(|(_, name, _)| chosen == Some(name))?;
    for other in blocks.iter().filter(|other| **other != block && item.key(other).is_set()) {
        let fits = format!("does not belong to the type `{written}`");
        item.key(other).refuse(fits, format!("remove it, or write `{block}`"));
    }
    item.key(block).object();
    let has_address = item.key(block).is_set() || item.key("selector").is_set();
    if kind != HandlerKind::Client && !has_address {
        item.key(block).required(&format!("write `{block}` or `selector`, so that the tool has an address"));
    }
    let is_whole = name.is_some() && description.is_some() && tool.key("inputSchema").is_set();
    if matches!(kind, HandlerKind::Http | HandlerKind::Grpc) && !is_whole {
        let message = format!("is not whole, and the type `{written}` does not describe itself");
        tool.refuse(message, "write its `name`, `description` and `inputSchema`".to_owned());
    }
    Some(Handler { name: item.key("name").filled()?, kind, tool: name, body: item.any()? })
}
