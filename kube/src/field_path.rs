//! The path of a field, as the server names it in a refusal: `spec.template.spec.volumes[0].configMap`.
//!
//! In: the text. Out: the steps, without the indices and keys in brackets: an index is that of the server's merged list.

/// One step of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Step {
    /// The member of this name.
    Field(String),
    /// Some element of a list, or a member whose name is a key of people, such as a label's.
    Element,
}

/// The path of a field; it has at least one step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FieldPath(Vec<Step>);

impl FieldPath {
    /// Parses the server's text; `None` if it is no path.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let mut steps = Vec::new();
        let mut rest = text;
        while !rest.is_empty() {
            if let Some(bracket) = rest.strip_prefix('[') {
                rest = bracket.split_once(']')?.1;
                steps.push(Step::Element);
            } else {
                rest = rest.strip_prefix('.').unwrap_or(rest);
                let end = rest.find(['.', '[']).unwrap_or(rest.len());
                let (name, after) = rest.split_at(end);
                if name.is_empty() {
                    return None;
                }
                steps.push(Step::Field(name.to_owned()));
                rest = after;
            }
        }
        (!steps.is_empty()).then_some(Self(steps))
    }

    pub(crate) fn steps(&self) -> &[Step] {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn path_is_read_without_indices_and_keys() {
        let field = |name: &str| Step::Field(name.to_owned());
        let cases = [
            ("spec.strategy.rollingUpdate", Some(vec![field("spec"), field("strategy"), field("rollingUpdate")])),
            (
                "spec.volumes[0].configMap",
                Some(vec![field("spec"), field("volumes"), Step::Element, field("configMap")]),
            ),
            ("metadata.labels[a.b/c]", Some(vec![field("metadata"), field("labels"), Step::Element])),
            ("spec.ports[1]", Some(vec![field("spec"), field("ports"), Step::Element])),
            ("", None),
            ("spec..a", None),
            ("spec[0", None),
        ];
        for (text, expected) in cases {
            assert_eq!(FieldPath::parse(text).map(|path| path.0), expected, "{text}");
        }
    }
}
