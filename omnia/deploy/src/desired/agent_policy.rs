//! The `AgentPolicy`, which blocks tools.
//!
//! In: the blocklist of all prompts. Out: the policy for each target. Kubernetes has no such kind: there, blocked tools are left
//! out of the registry. Fails: if a tool would not be blocked, since a policy that lets a blocked tool through is worse than no
//! deployment.

use serde_json::{Map, Value, json};

use super::{Making, Surface, present};
use crate::binding::Binding;

pub(super) fn content(making: &Making<'_>) -> Option<Map<String, Value>> {
    if making.blocklist.is_empty() {
        return None;
    }
    let spec = match making.inputs.surface {
        Surface::Versioned => json!({ "toolBlocklist": making.blocklist }),
        Surface::Current => {
            refuse_unreachable(making);
            let Some(registry) = making.registry() else {
                for tool in &making.blocklist {
                    making.refuse_blocked(
                        tool,
                        "a policy names the registry of a tool, and the agents have none",
                        "write `tools` or `tool_registry_ref` into the deploy config, or remove it from the blocklist",
                    );
                }
                return None;
            };
            let agents: Vec<_> = making.names.agents.iter().map(|agent| &agent.runtime).collect();
            let rules = json!([{ "registry": registry, "tools": making.blocklist }]);
            json!({ "selector": { "agents": agents }, "toolAccess": { "mode": "denylist", "rules": rules } })
        }
        Surface::Cluster => {
            refuse_unreachable(making);
            refuse_foreign(making);
            return None;
        }
    };
    Some(present([("spec", Some(spec))]))
}

/// Refuses to block what no registry serves: the runtime's own tools.
fn refuse_unreachable(making: &Making<'_>) {
    let own = making.inputs.pack.tools.values().filter(|tool| tool.is_system()).map(|tool| &tool.name);
    for tool in own.filter(|tool| making.blocklist.contains(tool)) {
        making.refuse_blocked(tool, "the runtime serves it by itself", "remove the tool from the pack instead");
    }
}

/// Refuses to block what a handler or a registry may serve that is not made of the pack's tools.
fn refuse_foreign(making: &Making<'_>) {
    let describing = making.inputs.config.tools.iter().find(|handler| handler.kind.is_self_describing());
    let why = match (making.inputs.binding, describing) {
        (Binding::Bind(name), _) => format!("the registry `{name}` is not made by this deployment, and may serve it"),
        (Binding::Create, Some(handler)) => format!("the handler `{}` may serve it", handler.name),
        (Binding::Create | Binding::None, _) => return,
    };
    for tool in &making.blocklist {
        making.refuse_blocked(tool, &why, "deploy to a workspace, whose policies block by name");
    }
}
