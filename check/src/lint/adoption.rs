//! Says which entries may take over an object that no adapter wrote, and warns of one that cannot.

use super::linter::{Linter, resources};

pub(super) fn lint(linter: &mut Linter<'_>) {
    for (path, resource) in resources(linter.task).filter(|(_, resource)| resource.adopt) {
        let (at, name) = (path.key("adopt"), &resource.name);
        if resource.gates.apply.as_ref().is_some_and(|apply| apply.source() == "false") {
            let message = format!(
                "has no effect: an update takes an object over, and `lifecycle.apply` never lets one write `{name}`"
            );
            linter.warn(&at, message, "remove `adopt`: a patch may write an object that no adapter wrote".to_owned());
            continue;
        }
        let message = format!(
            "the first update of `{name}` takes over an object that no adapter wrote: it forces its fields and stamps the object, \
             and from then on the task's gates and the sweeper may delete it"
        );
        linter.note(
            &at,
            message,
            "remove `adopt` if the entry is to leave such an object alone, or only to patch it".to_owned(),
        );
    }
}
