//! The kinds of objects that a pack has in Omnia, and the APIs that take them.
//!
//! In: a kind as plans, states or Kubernetes name it. Out: a [`Kind`], and its names elsewhere. Nothing here fails.

use lifecycle_objects::id::GroupVersionKind;
use lifecycle_objects::identity::GroupKind;

/// The group and version of Omnia's kinds.
pub const OMNIA: &str = "omnia.altairalabs.ai/v1alpha1";
/// The kind of a provider of models, which the workspace has and a deployment names.
pub const PROVIDER: &str = "Provider";
/// The kind of a source of skills, likewise.
pub const SKILL_SOURCE: &str = "SkillSource";

/// A kind of object, in the order of application.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// The text of the pack.
    ConfigMap,
    /// The pack.
    PromptPack,
    /// The tools of the pack.
    ToolRegistry,
    /// What its agents must not call.
    AgentPolicy,
    /// An agent.
    AgentRuntime,
}

impl Kind {
    /// The kinds in the order of application. They are deleted in the opposite one.
    pub const ALL: [Self; 5] =
        [Self::ConfigMap, Self::PromptPack, Self::ToolRegistry, Self::AgentPolicy, Self::AgentRuntime];

    /// The type of a resource in plans and states.
    #[must_use]
    pub fn type_name(self) -> &'static str {
        match self {
            Self::ConfigMap => "configmap",
            Self::PromptPack => "prompt_pack",
            Self::ToolRegistry => "tool_registry",
            Self::AgentPolicy => "agent_policy",
            Self::AgentRuntime => "agent_runtime",
        }
    }

    /// The kind in Kubernetes.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::ConfigMap => "ConfigMap",
            Self::PromptPack => "PromptPack",
            Self::ToolRegistry => "ToolRegistry",
            Self::AgentPolicy => "AgentPolicy",
            Self::AgentRuntime => "AgentRuntime",
        }
    }

    /// The order in which an object of the kind is applied.
    #[must_use]
    pub fn apply_order(self) -> i16 {
        self as i16
    }

    /// The order in which an object of the kind is deleted.
    #[must_use]
    pub fn delete_order(self) -> i16 {
        -self.apply_order()
    }

    /// The kind of an object; none if it is no kind of a pack.
    #[must_use]
    pub fn of(kind: &GroupKind) -> Option<Self> {
        Self::ALL.into_iter().find(|known| known.group_kind() == *kind)
    }

    /// The kind of a resource of this type; none for a type of another adapter.
    #[must_use]
    pub fn of_type(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|known| known.type_name() == name)
    }

    /// The kind as the set engine knows it.
    #[must_use]
    pub fn group_kind(self) -> GroupKind {
        let kind = self.version_kind();
        GroupKind::new(&kind.group, &kind.kind)
    }

    /// The kind with its version.
    #[must_use]
    pub fn version_kind(self) -> GroupVersionKind {
        GroupVersionKind::new(self.api_version(), self.name())
    }

    pub(crate) fn api_version(self) -> &'static str {
        match self {
            Self::ConfigMap => "v1",
            Self::PromptPack | Self::ToolRegistry | Self::AgentPolicy | Self::AgentRuntime => OMNIA,
        }
    }
}

/// Where objects are written, which decides their form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Surface {
    /// The workspace API below `/api/v1`, as it was designed.
    Versioned,
    /// The workspace API below `/api`, which servers have today.
    Current,
    /// The API of Kubernetes.
    Cluster,
}

impl Surface {
    /// The surface as messages name it.
    #[must_use]
    pub fn describe(self) -> &'static str {
        match self {
            Self::Versioned => "the workspace API v1",
            Self::Current => "the workspace API",
            Self::Cluster => "Kubernetes itself",
        }
    }
}
