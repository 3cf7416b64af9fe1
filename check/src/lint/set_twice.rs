//! Notes a param whose name an earlier param has, and warns of a manifest that fixes the generation of its object.

use lifecycle_language::template::Part;
use lifecycle_objects::keys;

use super::linter::{Linter, entry, resources};

pub(super) fn lint(linter: &mut Linter<'_>) {
    let params = &linter.task.params;
    for (index, param) in params.iter().enumerate() {
        let Some(first) = params[..index].iter().position(|other| other.name == param.name) else { continue };
        let message =
            format!("sets `{}` again: the value of params[{first}] counts only where this one has none", param.name);
        let help = "give the second param another name, unless the first one is to stand in for it";
        linter.note(&entry(&["params"], index).key("name"), message, help.to_owned());
    }
    for (path, resource) in resources(linter.task).filter(|(_, resource)| resource.bundle.is_none()) {
        let Some(tree) = resource.manifest.structure() else { continue };
        let Part::Literal(written) = tree.part(&["metadata", "annotations", keys::GENERATION]) else { continue };
        let manifest = path.key("manifest");
        let place = linter.place_or(manifest.key("metadata").key("annotations").key(keys::GENERATION), &manifest);
        let message = format!(
            "is always {written}: the object of each generation looks like that one, so that `{}` is never updated",
            resource.name
        );
        linter.warn(&place, message, "remove it: the adapter writes the generation of the event".to_owned());
    }
}
