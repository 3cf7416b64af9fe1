//! The hints of a manifest's author about the status that the object's controller writes.
//!
//! In: the text of an annotation, such as `has-observed-generation,conditions=Issued;Published`. Out: [`Hints`].
//! Fails if a hint is unknown, or has a value against its form.

use heck::ToKebabCase as _;

/// What the author of a manifest tells about the object's status. The default is to tell nothing.
///
/// Some controllers write nothing until they have seen an object. Without a hint, the object would be ready in that
/// time, because nothing says otherwise.
///
/// | hint | effect |
/// | --- | --- |
/// | `has-observed-generation` | If `status.observedGeneration` is missing, the one of the condition `Ready` counts; without both, the object is in progress. An object without `metadata.generation` is not affected. |
/// | `has-ready-condition` | An object of a kind without a rule of its own is in progress until it has the condition `Ready`. |
/// | `conditions=TYPE;TYPE` | The object is ready only if these conditions are True, too. |
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Hints {
    /// The controller writes `status.observedGeneration`.
    pub observed_generation: bool,
    /// The controller writes the condition `Ready`.
    pub ready_condition: bool,
    /// The types of the conditions that must be True before the object is ready.
    pub conditions: Vec<String>,
}

/// Why a text does not parse as [`Hints`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HintError {
    /// No hint has this name.
    #[error(
        "`{0}` is not a hint; write `has-observed-generation`, `has-ready-condition` or `conditions=TYPE;TYPE`, with commas between them"
    )]
    Unknown(String),
    /// The hint is complete without a value.
    #[error("the hint `{0}` takes no value")]
    UnexpectedValue(String),
    /// The hint needs condition types, and one of them, or all, are missing.
    #[error("the hint `{0}` lacks a condition type; write `conditions=TYPE;TYPE`")]
    MissingCondition(String),
}

impl Hints {
    /// Parses hints with commas between them. A blank text has none.
    ///
    /// A hint's name may be written in camel case, too. The types of conditions are names of Kubernetes, so their case
    /// counts.
    ///
    /// # Errors
    /// A hint is unknown, has a value that it does not take, or lacks the condition types that it needs.
    pub fn parse(text: &str) -> Result<Self, HintError> {
        let mut hints = Self::default();
        if text.trim().is_empty() {
            return Ok(hints);
        }
        for hint in text.split(',').map(str::trim) {
            let (written, value) = match hint.split_once('=') {
                Some((written, value)) => (written.trim(), Some(value)),
                None => (hint, None),
            };
            match (written.to_kebab_case().as_str(), value) {
                ("has-observed-generation", None) => hints.observed_generation = true,
                ("has-ready-condition", None) => hints.ready_condition = true,
                ("has-observed-generation" | "has-ready-condition", Some(_)) => {
                    return Err(HintError::UnexpectedValue(written.to_owned()));
                }
                ("conditions", value) => {
                    for condition in value.unwrap_or_default().split(';').map(str::trim) {
                        if condition.is_empty() {
                            return Err(HintError::MissingCondition(written.to_owned()));
                        }
                        hints.conditions.push(condition.to_owned());
                    }
                }
                (_, _) => return Err(HintError::Unknown(written.to_owned())),
            }
        }
        Ok(hints)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_parses_as_hints_or_names_the_faulty_one() {
        let hints = |observed_generation, ready_condition, conditions: &[&str]| {
            let conditions = conditions.iter().map(|name| (*name).to_owned()).collect();
            Ok(Hints { observed_generation, ready_condition, conditions })
        };
        let unknown = |hint: &str| Err(HintError::Unknown(hint.to_owned()));
        let unexpected = |hint: &str| Err(HintError::UnexpectedValue(hint.to_owned()));
        let missing = |hint: &str| Err(HintError::MissingCondition(hint.to_owned()));
        let cases = [
            ("no text", "", hints(false, false, &[])),
            ("a blank text", "  ", hints(false, false, &[])),
            ("one hint", "has-observed-generation", hints(true, false, &[])),
            ("several hints", "has-observed-generation,has-ready-condition", hints(true, true, &[])),
            ("blanks around them", " has-ready-condition , conditions = A ; B ", hints(false, true, &["A", "B"])),
            ("camel case", "HasObservedGeneration,hasReadyCondition", hints(true, true, &[])),
            ("a condition keeps its case", "Conditions=example.io/IsUp", hints(false, false, &["example.io/IsUp"])),
            ("hints add up", "conditions=A,conditions=B", hints(false, false, &["A", "B"])),
            ("an unknown hint", "has-ready-condition,has-status", unknown("has-status")),
            ("an unknown hint with a value", "Ready=True", unknown("Ready")),
            ("no hint between commas", "has-ready-condition,,conditions=A", unknown("")),
            ("a value that is not taken", "HasReadyCondition=true", unexpected("HasReadyCondition")),
            ("an empty value that is not taken", "has-observed-generation=", unexpected("has-observed-generation")),
            ("no value", "conditions", missing("conditions")),
            ("an empty value", "conditions=", missing("conditions")),
            ("no condition between semicolons", "conditions=A;;B", missing("conditions")),
        ];
        for (name, text, expected) in cases {
            assert_eq!(Hints::parse(text), expected, "{name}");
        }
    }

    #[test]
    fn error_names_the_hint_and_the_valid_ones() {
        let error = Hints::parse("has-status").map_err(|error| error.to_string());
        let expected = "`has-status` is not a hint; write `has-observed-generation`, `has-ready-condition` or \
                        `conditions=TYPE;TYPE`, with commas between them";
        assert_eq!(error, Err(expected.to_owned()));
    }
}
