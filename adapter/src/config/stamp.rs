//! Resolves `stamp.resource_id`, and judges it by the task's variables: objects of different API resources need different values.
//!
//! In: the deployment file, and the task. Out: the template. Warns of one that takes no id, because a deletion deletes all objects
//! with the value.

use lifecycle_check::identity::shared_values;
use lifecycle_config::diagnostics::{Diagnostic, Diagnostics, Severity};
use lifecycle_config::settings::Resolver;
use lifecycle_core::task::Task;
use lifecycle_language::template::Template;
use lifecycle_objects::keys;
use lifecycle_objects::labels::is_label_value;

use super::AdapterConfig;
use super::spec::AdapterSpec;

const KEY: &str = "stamp.resource_id";

/// Parses the template. One that is no template is an error.
pub(super) fn resolve(r: &mut Resolver<'_>, spec: &AdapterSpec) -> Option<Template> {
    let text = spec.stamp.as_ref()?.resource_id.as_deref().filter(|text| !text.is_empty())?;
    match Template::parse(text) {
        Ok(template) => {
            if let Some(id) = template.as_literal() {
                let message = if is_label_value(id) {
                    format!(
                        "\"{id}\" has no template: the objects of all API resources would be one resource's, and the deletion of one \
                         would delete them all"
                    )
                } else {
                    not_a_label_value(id, keys::RESOURCE_ID)
                };
                r.error(KEY, message, Some("remove it: the event's id is stamped then"));
            }
            Some(template)
        }
        Err(error) => {
            r.error(KEY, error.to_string(), None);
            None
        }
    }
}

/// Warns of a template whose value several API resources can share.
pub(super) fn match_with_task(adapter: &AdapterConfig, task: &Task, file: &str, diagnostics: &mut Diagnostics) {
    let template = adapter.stamp_resource_id.as_ref().filter(|template| template.as_literal().is_none());
    let Some(shared) = template.and_then(|template| shared_values(task, template)) else { return };
    let what = match shared.as_slice() {
        [] => "takes no variable, so that all API resources have the same value".to_owned(),
        [one] => format!("takes `{one}`, which several API resources can share"),
        _ => format!("takes `{}`, which several API resources can share", shared.join("`, `")),
    };
    let message = format!("{what}: the deletion of one deletes the objects of the others");
    let help = "remove it: the event's id is stamped then; or add `{{ .event.id }}`";
    let found = Diagnostic::outside(file, KEY, message, Some(help.to_owned()));
    diagnostics.push(found.as_severity(Severity::Warning));
}

/// What is wrong with a text that every object would get as the value of a label.
pub(super) fn not_a_label_value(text: &str, label: &str) -> String {
    format!(
        "\"{text}\" is not valid as the value of the label `{label}`, which every object gets: write 1 to 63 letters, digits, `-`, `_` or `.`, \
         beginning and ending with a letter or digit"
    )
}
