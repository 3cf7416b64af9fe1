//! The kinds, with their thresholds and the tables that the older schema has for them.

use std::collections::BTreeSet;
use std::time::Duration;

use lifecycle_config::diagnostics::Severity;
use lifecycle_config::document::Path;

use super::Settler;
use crate::config::spec::{KindSpec, TableSpec};
use crate::config::{Kind, Kinds, Table};

/// The metrics standard allows fewer than 100 values of a label.
const MAX_KINDS: usize = 50;
/// Of all kinds together: each is a value of the label `adapter`.
const MAX_ADAPTERS: usize = 50;

pub(super) fn kinds(s: &mut Settler<'_>, specs: &[KindSpec], default: Duration) -> Kinds {
    let root = Path::of_keys("kinds");
    if specs.is_empty() {
        let message = "no kinds are listed: types without pending resources have no series, and nothing is known of \
                       whom stuck resources wait on but what `stuck` prints, nor of missing conditions";
        s.report(Severity::Warning, &root, message.to_owned(), "list the kinds and required_adapters of the API");
    }
    if specs.len() > MAX_KINDS {
        s.error(&root, format!("has {} kinds", specs.len()), &format!("at most {MAX_KINDS} may be listed"));
    }
    let adapters: BTreeSet<_> = specs.iter().flat_map(|spec| &spec.required_adapters).collect();
    if adapters.len() > MAX_ADAPTERS {
        let message = format!("require {} different adapters", adapters.len());
        s.error(&root, message, &format!("at most {MAX_ADAPTERS} may be named, by all kinds together"));
    }
    let mut labels = BTreeSet::new();
    let mut kinds = Vec::new();
    for (index, spec) in specs.iter().enumerate() {
        let at = root.index(index);
        if spec.kind.is_empty() || !labels.insert(spec.kind.to_lowercase()) {
            let help = "name each kind once; case does not tell kinds apart, as labels are lower case";
            s.error(&at.key("kind"), format!("\"{}\" is empty or listed already", spec.kind), help);
        }
        let adapters: BTreeSet<_> = spec.required_adapters.iter().collect();
        let wrong =
            adapters.len() != spec.required_adapters.len() || spec.required_adapters.iter().any(String::is_empty);
        if wrong {
            s.error(&at.key("required_adapters"), "has empty or repeated names", "name each adapter once");
        }
        let stuck_after = s.duration(&at.key("stuck_after"), spec.stuck_after.as_deref(), default);
        let deleting = spec.stuck_after_deleting.as_deref();
        kinds.push(Kind {
            name: spec.kind.clone(),
            required_adapters: spec.required_adapters.clone(),
            stuck_after,
            stuck_after_deleting: s.duration(&at.key("stuck_after_deleting"), deleting, stuck_after),
            parent: spec.parent_kind.clone(),
            table: spec.table.as_ref().map(table).or_else(|| known_table(&spec.kind)),
        });
    }
    for (index, spec) in specs.iter().enumerate() {
        if let Some(parent) = &spec.parent_kind
            && !kinds.iter().any(|kind| kind.name == *parent)
        {
            let at = root.index(index).key("parent_kind");
            s.error(&at, format!("\"{parent}\" is none of the kinds"), "list it, with its kind as the API writes it");
        }
    }
    Kinds::new(kinds, default)
}

fn table(spec: &TableSpec) -> Table {
    Table {
        name: spec.name.clone(),
        conditions: spec.conditions.clone().unwrap_or("status_conditions".to_owned()),
        id: spec.id.clone(),
        resource_name: spec.resource_name.clone(),
        generation: spec.generation.clone(),
        created: spec.created.clone(),
        deleted: spec.deleted.clone(),
        owner: spec.owner.clone(),
    }
}

/// The tables that the API had before it had generic ones: the kind, and the table's name.
pub(crate) const KNOWN_TABLES: [(&str, &str); 2] = [("Cluster", "clusters"), ("NodePool", "node_pools")];

/// The table of a kind, as the API had it.
pub(crate) fn known_table(kind: &str) -> Option<Table> {
    let (_, name) = KNOWN_TABLES.iter().find(|(known, _)| *known == kind)?;
    Some(table(&TableSpec { name: (*name).to_owned(), ..TableSpec::default() }))
}
