//! Finds the parts of a template that depend on a condition or a loop, and what the condition reads.
//!
//! In: a parsed template. Out: a [`Branch`] for each body of `{{ if }}`, `{{ with }}` and `{{ range }}`, and of their `{{ else }}`.
//! What a defined template does is not looked into. Nothing fails.

use std::collections::BTreeSet;

use gotmpl::parse::{BranchNode, ListNode, Node};

use super::origin::collect;

/// A part of a template that a condition or a loop decides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Branch {
    /// The dotted paths that the condition, or the list of the loop, reads from the root.
    pub reads: BTreeSet<String>,
    /// Whether it reads nothing else, such as an element of a loop, or a variable of the template.
    pub reads_nothing_else: bool,
    /// The text of the part, without its actions.
    pub text: String,
}

/// The parts of a template; those within another part come after it, too.
pub(super) fn branches(main: &ListNode) -> Vec<Branch> {
    let mut found = Vec::new();
    of_list(main, true, &mut found);
    found
}

fn of_list(list: &ListNode, at_root: bool, found: &mut Vec<Branch>) {
    for node in &list.nodes {
        match node {
            Node::If(branch) => of_branch(branch, at_root, at_root, found),
            Node::With(branch) | Node::Range(branch) => of_branch(branch, at_root, false, found),
            Node::List(inner) => of_list(inner, at_root, found),
            Node::Text(_)
            | Node::Action(_)
            | Node::Define(_)
            | Node::Template(_)
            | Node::Break(_)
            | Node::Continue(_) => {}
        }
    }
}

fn of_branch(branch: &BranchNode, at_root: bool, body_at_root: bool, found: &mut Vec<Branch>) {
    let mut reads = BTreeSet::new();
    let reads_nothing_else = collect(&branch.pipe, at_root, &mut reads);
    for (body, at_root) in [(Some(&branch.body), body_at_root), (branch.else_body.as_ref(), at_root)] {
        let Some(body) = body else { continue };
        let mut text = String::new();
        text_of(body, &mut text);
        found.push(Branch { reads: reads.clone(), reads_nothing_else, text });
        of_list(body, at_root, found);
    }
}

fn text_of(list: &ListNode, text: &mut String) {
    for node in &list.nodes {
        match node {
            Node::Text(part) => text.push_str(&part.text),
            Node::List(inner) => text_of(inner, text),
            Node::If(branch) | Node::With(branch) | Node::Range(branch) => {
                text_of(&branch.body, text);
                branch.else_body.iter().for_each(|body| text_of(body, text));
            }
            Node::Action(_) | Node::Define(_) | Node::Template(_) | Node::Break(_) | Node::Continue(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use crate::template::Template;

    #[test]
    fn branches_have_their_text_and_what_decides_it() {
        let cases = [
            ("a {{ .b }}", ""),
            ("{{ if eq .tier \"gold\" }}a {{ .b }}c{{ end }}", "tier: a c"),
            ("{{ if and .a.b $.c }}x{{ else }}y{{ end }}", "a.b c: x; a.b c: y"),
            ("{{ if .a }}1{{ if .b }}2{{ end }}{{ end }}", "a: 12; b: 2"),
            ("{{ range .list }}{{ if .x }}1{{ end }}{{ end }}", "list: 1; …: 1"),
            ("{{ with .a }}1{{ end }}", "a: 1"),
            ("{{ $p := .pool }}{{ if and $p.tier .b }}1{{ end }}", "b …: 1"),
            ("{{ range .list }}{{ if and .x $.tier }}1{{ end }}{{ end }}", "list: 1; tier …: 1"),
            ("{{ with .a }}{{ if $.tier }}1{{ end }}{{ end }}", "a: 1; tier …: 1"),
        ];
        for (source, expected) in cases {
            let branches = Template::parse(source).unwrap().branches();
            let told = branches.iter().map(|it| {
                let more = (!it.reads_nothing_else).then(|| "…".to_owned());
                let reads: Vec<String> = it.reads.iter().cloned().chain(more).collect();
                format!("{}: {}", reads.join(" "), it.text)
            });
            assert_eq!(told.collect::<Vec<_>>().join("; "), expected, "{source}");
        }
    }
}
