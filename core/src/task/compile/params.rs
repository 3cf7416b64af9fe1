//! Compiles the entries of `params`: their sources, types and defaults.

use lifecycle_config::decode::suggest;

use super::check::{Checker, Key, Place};
use super::names::Known;
use super::variables::EVENT;
use crate::task::spec::{OnErrorSpec, ParamSpec, SourceMappingSpec, SourceSpec};
use crate::task::{Param, ParamSource};

/// The types to which a param's value can be converted.
const TYPES: [&str; 6] = ["string", "int", "int64", "float", "float64", "bool"];

pub(super) fn compile(checker: &mut Checker<'_>, specs: &[ParamSpec], place: &Place<'_>) -> Vec<Param> {
    let mut earlier = Known::built_in();
    let mut params = Vec::new();
    for (index, spec) in specs.iter().enumerate() {
        params.extend(param(checker, spec, &place.index(index), &earlier));
        earlier.declare(&spec.name);
    }
    params
}

fn param(checker: &mut Checker<'_>, spec: &ParamSpec, place: &Place<'_>, earlier: &Known) -> Option<Param> {
    let at_source = place.key("source");
    checker.variable(&place.key("name"), &spec.name);
    let source = match &spec.source {
        SourceSpec::Path(path) => {
            if path.contains("{{") {
                let help = template_as_path(path).map_or_else(
                    || {
                        "write a path such as `event.id`, or `source: {expression: \"…\"}` to compute the value"
                            .to_owned()
                    },
                    |path| format!("write `{path}`"),
                );
                checker.warn(&at_source, "is read as a path, not as a template, and finds nothing", Some(help));
            } else {
                check_path(checker, path, &at_source, earlier);
            }
            Some(path_source(path))
        }
        SourceSpec::Mapping(mapping) => mapping_source(checker, mapping, &at_source, earlier),
    };
    if let Some(ParamSource::Environment(variable)) = &source {
        checker.record_environment(variable);
        let unset = (checker.surroundings.environment)(variable).is_none_or(|value| value.is_empty());
        if spec.required && unset && spec.default.is_none() {
            checker.unset(place, variable);
        }
    }
    if let Some(kind) = spec.kind.as_deref().filter(|kind| !kind.is_empty() && !TYPES.contains(kind)) {
        let message = format!("\"{kind}\" is unknown: the conversion will fail (known: {})", TYPES.join(", "));
        let help = suggest(kind, &TYPES).map(|similar| format!("did you mean `{similar}`?"));
        checker.warn(&place.key("type"), message, help);
    }
    let source = source?;
    failure(checker, spec, &source, place);
    Some(Param {
        name: spec.name.clone(),
        source,
        kind: spec.kind.clone().filter(|kind| !kind.is_empty()),
        default: spec.default.clone(),
        required: spec.required,
        default_on_error: spec.on_error == OnErrorSpec::Default,
        sensitive: spec.sensitive,
    })
}

/// Checks `on_error`. A note says that the event fails where the Go adapter would go on with the default.
fn failure(checker: &mut Checker<'_>, spec: &ParamSpec, source: &ParamSource, place: &Place<'_>) {
    let has_default = spec.default.as_ref().is_some_and(|default| !default.is_null());
    if spec.on_error == OnErrorSpec::Default {
        let at_key = place.key("on_error");
        if spec.required {
            let message = "a required param fails the event if its source fails";
            checker.error_with_help(&at_key, message, "remove `required: true` or `on_error: default`");
        } else if !has_default {
            checker.error_with_help(&at_key, "the param has no default", "give the param a `default`");
        }
        return;
    }
    let failure = match source {
        ParamSource::ApiCall(_) => "call fails",
        ParamSource::File { .. } => "file cannot be read",
        ParamSource::Expression(expression) if !expression.is_path() => "expression fails",
        ParamSource::Expression(_)
        | ParamSource::Environment(_)
        | ParamSource::Event(_)
        | ParamSource::Config(_)
        | ParamSource::Path(_) => return,
    };
    if has_default && !spec.required {
        let message =
            format!("the event fails if the {failure}: `default` is used only for a value that does not exist");
        // An answer with the default in its place would be written over what the last good answer wrote.
        let help = if matches!(source, ParamSource::ApiCall(_)) {
            "write `required: true` instead of the default if a value must exist: nothing is written while the API is away"
        } else {
            "write `on_error: default` to go on with the default, or `required: true` if a value must exist"
        };
        checker.note(place, message, help);
    }
}

/// Returns the path that a template such as `{{ .event.id }}` reads, to suggest it.
fn template_as_path(text: &str) -> Option<&str> {
    let path = text.trim().strip_prefix("{{")?.strip_suffix("}}")?.trim().strip_prefix('.')?;
    (!path.is_empty() && path.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '.'))).then_some(path)
}

/// Warns of a path whose first keys find nothing, so that the param silently gets its default.
fn check_path(checker: &mut Checker<'_>, path: &str, place: &Place<'_>, earlier: &Known) {
    let keys: Vec<&str> = path.split('.').collect();
    let Some(root) = keys.first().copied() else { return };
    if root.is_empty() {
        // The decoder has reported it.
    } else if matches!(root, "env" | "event" | "config") {
        checker.members(place, &keys);
    } else if !earlier.has_variable(root) && !EVENT.contains(&root) {
        let names: Vec<&str> = earlier.variables().into_iter().chain(EVENT).collect();
        let similar = suggest(root, &names);
        if checker.known.has_variable(root) {
            let message = format!("`{root}` has no value yet: the path is looked up in the event, and finds nothing");
            checker.warn(place, message, Some(format!("move `{root}` before this param")));
        } else if let Some(similar) = similar {
            let message = format!("`{root}` is no earlier param and no member of an event: the path finds nothing");
            checker.warn(place, message, Some(format!("did you mean `{similar}`?")));
        }
    }
}

fn path_source(path: &str) -> ParamSource {
    if let Some(variable) = path.strip_prefix("env.") {
        ParamSource::Environment(variable.to_owned())
    } else if let Some(path) = path.strip_prefix("event.") {
        ParamSource::Event(path.to_owned())
    } else if let Some(path) = path.strip_prefix("config.") {
        ParamSource::Config(path.to_owned())
    } else {
        ParamSource::Path(path.to_owned())
    }
}

fn mapping_source(
    checker: &mut Checker<'_>,
    spec: &SourceMappingSpec,
    place: &Place<'_>,
    earlier: &Known,
) -> Option<ParamSource> {
    let set = [spec.api_call.is_some(), spec.expression.is_some(), spec.file.is_some()];
    match set.into_iter().filter(|set| *set).count() {
        0 if checker.is_reported(place) => return None,
        0 => {
            checker.error(place, "mapping must contain one of `api_call`, `expression` and `file`");
            return None;
        }
        1 => {}
        _ => checker.error(place, "only one of `api_call`, `expression` and `file` can be set"),
    }
    if let Some(call) = &spec.api_call {
        return checker.api_call(&place.key("api_call"), call, earlier).map(ParamSource::ApiCall);
    }
    if let Some(expression) = &spec.expression {
        let place = place.key("expression");
        if expression.trim().is_empty() {
            checker.error(&place, "expression must not be empty");
            return None;
        }
        return checker.expression(&place, expression, earlier, Key::Inherited).map(ParamSource::Expression);
    }
    let file = spec.file.as_ref()?;
    if !file.path.is_empty() && !file.path.starts_with('/') {
        let help = "write an absolute path: a relative one depends on where the adapter is started".to_owned();
        checker.warn(&place.key("file").key("path"), format!("the path \"{}\" is relative", file.path), Some(help));
    }
    Some(ParamSource::File { path: file.path.clone(), trim: file.trim.unwrap_or(true) })
}
