//! Warns of fields of the API's answer that are spelt otherwise than the API does, such as `cluster.Spec`: they never exist, and a
//! default hides that.

use std::collections::BTreeSet;

use lifecycle_config::document::Path;
use lifecycle_core::task::ParamSource;

use super::comparisons;
use super::linter::{Linter, entry};
use crate::api_resource::{answers, is_misspelt};

/// The fields of a resource of the API.
const FIELDS: [&str; 17] = [
    "created_by",
    "created_time",
    "deleted_by",
    "deleted_time",
    "generation",
    "href",
    "id",
    "kind",
    "labels",
    "name",
    "owner_references",
    "references",
    "spec",
    "status",
    "tenancy",
    "updated_by",
    "updated_time",
];

pub(super) fn lint(linter: &mut Linter<'_>) {
    let task = linter.task;
    let own: BTreeSet<&str> = answers(task).collect();
    let mut found: Vec<(Path, String, &str)> = Vec::new();
    let mut look = |place: Path, path: &[&str]| {
        if let [answer, field, ..] = path
            && own.contains(answer)
            && let Some(meant) = meant(field)
        {
            found.push((place, format!("{answer}.{field}"), meant));
        }
    };
    for (index, param) in task.params.iter().enumerate() {
        if let ParamSource::Path(path) = &param.source {
            look(entry(&["params"], index).key("source"), &path.split('.').collect::<Vec<_>>());
        }
    }
    for (place, expression) in comparisons::expressions(linter) {
        expression.member_paths().iter().for_each(|path| look(place.clone(), path));
    }
    for object in linter.manifests().iter() {
        for (variable, _) in object.variables() {
            look(object.at(linter.document, &Path::root()), &variable.split('.').collect::<Vec<_>>());
        }
    }
    let mut told = BTreeSet::new();
    for (place, written, meant) in found {
        if told.insert((place.to_string(), written.clone())) {
            let message = format!("`{written}` never exists: the API's answer has `{meant}`");
            linter.warn(&place, message, format!("write `{meant}`, as the API spells it"));
        }
    }
}

/// The field of the API that only the spelling tells from this one. Lints of deletions judge `deleted_time`.
fn meant(field: &str) -> Option<&'static str> {
    let plain = |name: &str| name.to_lowercase().replace(['-', '_'], "");
    if FIELDS.contains(&field) || is_misspelt(field) {
        return None;
    }
    FIELDS.into_iter().find(|known| plain(known) == plain(field))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documented_fields_are_those_that_check_knows() {
        let page = include_str!("../../../docs/configuration.md");
        let (_, section) = page.split_once("### What the API answers").unwrap_or_default();
        let rows = section.lines().skip_while(|line| !line.starts_with("| field ")).skip(2);
        let first = rows.take_while(|line| line.starts_with('|')).filter_map(|row| row.split('|').nth(1));
        let documented: BTreeSet<&str> = first.flat_map(|cell| cell.split('`').skip(1).step_by(2)).collect();
        // Prose names it, because only newer versions of the API have it.
        let known: BTreeSet<&str> = FIELDS.into_iter().filter(|field| *field != "tenancy").collect();
        assert_eq!(documented, known);
    }
}
