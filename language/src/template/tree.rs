//! YAML values whose strings are templates.
//!
//! In: a value, and at each event the variables. Out: a tree of nodes, and a value of the same structure. The
//! structure is never turned into text and parsed again, so no rendered text can change it.

use lifecycle_config::document::plain::{self, Dialect};
use lifecycle_config::document::scalar::Tag;
use lifecycle_config::document::{Content, Node as Written, Scalar as WrittenScalar, Style};
use lifecycle_config::go::through_json;
use serde_json::{Map, Value};

use super::{Part, RenderError, Template, TemplateError, yaml_scalar};
use crate::scope::Scope;

/// A node of a tree.
#[derive(Debug, Clone)]
pub(super) enum Node {
    /// A value without templates, which rendering copies.
    Literal(Value),
    Text(Scalar),
    List(Vec<Node>),
    /// The entries, with the keys in the manifest's order.
    Map(Vec<(Scalar, Node)>),
}

/// A string that is a template.
#[derive(Debug, Clone)]
pub(super) struct Scalar {
    template: Template,
    /// Whether Go's YAML encoder would leave the string unquoted, so that the rendered text decides the type.
    plain: bool,
    /// The type that the rendered text must have: the tag `!!int`, `!!float` or `!!bool` before the string.
    tag: Option<Tag>,
}

/// Parses a value; also returns the errors of strings that do not parse, with their paths.
pub(super) fn parse(value: &Value) -> (Node, Vec<(String, TemplateError)>) {
    let mut mistakes = Vec::new();
    (build(value, "", &mut mistakes), mistakes)
}

fn build(value: &Value, place: &str, mistakes: &mut Vec<(String, TemplateError)>) -> Node {
    match value {
        Value::Null | Value::Bool(_) => Node::Literal(value.clone()),
        // Go's way through YAML and JSON makes an integral double an integer.
        Value::Number(number) if number.is_f64() => {
            Node::Literal(number.as_f64().and_then(through_json).unwrap_or(Value::Null))
        }
        Value::Number(_) => Node::Literal(value.clone()),
        Value::String(text) => match scalar(text, place, mistakes) {
            Some(scalar) => Node::Text(scalar),
            None => Node::Literal(value.clone()),
        },
        Value::Array(items) => {
            let nodes: Vec<Node> = items
                .iter()
                .enumerate()
                .map(|(index, item)| build(item, &format!("{place}[{index}]"), mistakes))
                .collect();
            if nodes.iter().all(is_literal) {
                return Node::Literal(nodes.into_iter().map(literal).collect());
            }
            Node::List(nodes)
        }
        Value::Object(map) => {
            let mut entries = Vec::with_capacity(map.len());
            for (key, item) in map {
                let place = below(place, key);
                let node = build(item, &place, mistakes);
                entries.push((key, scalar(key, &place, mistakes), node));
            }
            if entries.iter().all(|(_, key, node)| key.is_none() && is_literal(node)) {
                return Node::Literal(entries.into_iter().map(|(key, _, node)| (key.clone(), literal(node))).collect());
            }
            let entry = |(key, scalar, node): (&String, Option<Scalar>, Node)| {
                (scalar.unwrap_or_else(|| Scalar { template: Template::literal(key), plain: false, tag: None }), node)
            };
            Node::Map(entries.into_iter().map(entry).collect())
        }
    }
}

/// Parses a string; none if it is literal.
fn scalar(text: &str, place: &str, mistakes: &mut Vec<(String, TemplateError)>) -> Option<Scalar> {
    match Template::parse(text) {
        Ok(template) if template.is_literal() => None,
        Ok(template) => Some(Scalar { plain: yaml_scalar::is_written_plain(text), template, tag: None }),
        Err(mistake) => {
            let template = Template::malformed(text, &mistake.to_string());
            mistakes.push((place.to_owned(), mistake));
            Some(Scalar { template, plain: false, tag: None })
        }
    }
}

fn below(place: &str, key: &str) -> String {
    if place.is_empty() { key.to_owned() } else { format!("{place}.{key}") }
}

fn is_literal(node: &Node) -> bool {
    matches!(node, Node::Literal(_))
}

/// Returns the value of a literal node.
fn literal(node: Node) -> Value {
    match node {
        Node::Literal(value) => value,
        Node::Text(_) | Node::List(_) | Node::Map(_) => Value::Null,
    }
}

/// Takes over the tags of the file that the value was read from.
pub(super) fn tag(node: &mut Node, written: &Written) {
    match (node, &written.content) {
        (Node::Text(scalar), Content::Scalar(written)) => {
            scalar.tag = written.tag.filter(|tag| matches!(tag, Tag::Int | Tag::Float | Tag::Bool));
        }
        (Node::List(nodes), Content::List(written)) => {
            nodes.iter_mut().zip(written).for_each(|(node, written)| tag(node, written));
        }
        (Node::Map(entries), Content::Map(written)) => {
            for (key, node) in entries {
                if let Some(entry) = written.iter().find(|entry| entry.key == key.template.source()) {
                    tag(node, &entry.value);
                }
            }
        }
        (Node::Literal(_) | Node::Text(_) | Node::List(_) | Node::Map(_), _) => {}
    }
}

/// Returns every path read from the root, with the path of the template that reads it.
pub(super) fn variables(node: &Node) -> Vec<(String, String)> {
    let mut found = Vec::new();
    collect(node, "", &mut found);
    found
}

fn collect(node: &Node, place: &str, found: &mut Vec<(String, String)>) {
    let mut reads = |template: &Template, place: &str| {
        found.extend(template.variables().iter().map(|path| (path.clone(), place.to_owned())));
    };
    match node {
        Node::Literal(_) => {}
        Node::Text(scalar) => reads(&scalar.template, place),
        Node::List(nodes) => {
            for (index, node) in nodes.iter().enumerate() {
                collect(node, &format!("{place}[{index}]"), found);
            }
        }
        Node::Map(entries) => {
            for (key, node) in entries {
                let place = below(place, key.template.source());
                found.extend(key.template.variables().iter().map(|path| (path.clone(), place.clone())));
                collect(node, &place, found);
            }
        }
    }
}

/// Returns the templates, in the order of the tree.
pub(super) fn templates(node: &Node) -> Vec<&Template> {
    match node {
        Node::Literal(_) => Vec::new(),
        Node::Text(scalar) => vec![&scalar.template],
        Node::List(nodes) => nodes.iter().flat_map(templates).collect(),
        Node::Map(entries) => {
            entries.iter().flat_map(|(key, node)| std::iter::once(&key.template).chain(templates(node))).collect()
        }
    }
}

/// Returns what is known of the value at a path of keys.
pub(super) fn part<'tree>(node: &'tree Node, path: &[&str]) -> Part<'tree> {
    match (node, path) {
        (Node::Literal(value), path) => {
            let found = path.iter().try_fold(value, |value, key| value.get(key));
            found.map_or(Part::Absent, Part::Literal)
        }
        (Node::Text(scalar), []) => Part::Template(&scalar.template),
        (Node::List(_) | Node::Map(_), []) => Part::Uncertain,
        (Node::Text(_) | Node::List(_), [_, ..]) => Part::Absent,
        (Node::Map(entries), [first, rest @ ..]) => {
            let found = entries.iter().find(|(key, _)| key.template.as_literal() == Some(*first));
            let is_fixed = entries.iter().all(|(key, _)| key.template.as_literal().is_some());
            match found {
                Some((_, node)) => part(node, rest),
                None if is_fixed => Part::Absent,
                None => Part::Uncertain,
            }
        }
    }
}

/// Returns the elements of the list at a path of keys; none if there is no list, or rendering decides what is there.
pub(super) fn elements(node: &Node, path: &[&str]) -> Option<Vec<Node>> {
    match (node, path) {
        (Node::Literal(value), path) => {
            let found = path.iter().try_fold(value, |value, key| value.get(key))?;
            Some(found.as_array()?.iter().cloned().map(Node::Literal).collect())
        }
        (Node::List(nodes), []) => Some(nodes.clone()),
        (Node::Map(entries), [first, rest @ ..]) => {
            let (_, node) = entries.iter().find(|(key, _)| key.template.as_literal() == Some(*first))?;
            elements(node, rest)
        }
        (Node::Text(_), _) | (Node::List(_), [_, ..]) | (Node::Map(_), []) => None,
    }
}

/// Returns the value with its templates as their author wrote them; behind a tag, with any value of the tag's type.
pub(super) fn specimen(node: &Node) -> Value {
    match node {
        Node::Literal(value) => value.clone(),
        Node::Text(scalar) => match scalar.tag {
            Some(Tag::Int) => Value::from(1),
            Some(Tag::Float) => Value::from(1.5),
            Some(Tag::Bool) => Value::from(true),
            Some(Tag::Null | Tag::Text) | None => Value::from(scalar.template.source()),
        },
        Node::List(nodes) => nodes.iter().map(specimen).collect(),
        Node::Map(entries) => {
            entries.iter().map(|(key, node)| (key.template.source().to_owned(), specimen(node))).collect()
        }
    }
}

/// Returns the part of a tree that can contain the values at these paths.
pub(super) fn keep(node: &Node, paths: &[&[&str]]) -> Node {
    match node {
        _ if paths.iter().any(|path| path.is_empty()) => node.clone(),
        Node::Literal(value) => Node::Literal(value.clone()),
        Node::Text(_) | Node::List(_) => Node::Literal(Value::Null),
        Node::Map(entries) => {
            let kept = entries.iter().filter_map(|(key, node)| {
                let Some(literal) = key.template.as_literal() else { return Some((key.clone(), node.clone())) };
                let below: Vec<&[&str]> = paths
                    .iter()
                    .filter_map(|path| path.split_first())
                    .filter(|(first, _)| **first == literal)
                    .map(|(_, rest)| rest)
                    .collect();
                (!below.is_empty()).then(|| (key.clone(), keep(node, &below)))
            });
            Node::Map(kept.collect())
        }
    }
}

/// Renders every template of a tree with the variables of the scope.
pub(super) fn render(node: &Node, scope: &Scope) -> Result<Value, RenderError> {
    let mut place = Vec::new();
    walk(node, scope, &mut place)
}

/// A step of the path that is being rendered, for error messages.
enum Step<'tree> {
    Key(&'tree str),
    Index(usize),
}

fn walk<'tree>(node: &'tree Node, scope: &Scope, place: &mut Vec<Step<'tree>>) -> Result<Value, RenderError> {
    match node {
        Node::Literal(value) => Ok(value.clone()),
        Node::Text(scalar) => render_value(scalar, scope).map_err(|message| at(place, &message)),
        Node::List(nodes) => {
            let mut items = Vec::with_capacity(nodes.len());
            for (index, node) in nodes.iter().enumerate() {
                place.push(Step::Index(index));
                items.push(walk(node, scope, place)?);
                place.pop();
            }
            Ok(Value::Array(items))
        }
        Node::Map(entries) => {
            let mut map = Map::new();
            for (key, node) in entries {
                place.push(Step::Key(key.template.source()));
                let key = render_key(key, scope).map_err(|message| at(place, &message))?;
                if map.contains_key(&key) {
                    return Err(at(place, &format!("another key of the same mapping renders to {key:?} too")));
                }
                map.insert(key, walk(node, scope, place)?);
                place.pop();
            }
            Ok(Value::Object(map))
        }
    }
}

fn render_value(scalar: &Scalar, scope: &Scope) -> Result<Value, String> {
    let text = scalar.template.render(scope).map_err(|error| error.message)?;
    if let Some(tag) = scalar.tag {
        let written = WrittenScalar { text: text.trim().to_owned(), style: Style::Quoted, tag: Some(tag) };
        let value = written.to_value();
        let kind = match tag {
            Tag::Int => "an integer",
            Tag::Float => "a number",
            Tag::Bool => "true or false",
            Tag::Null | Tag::Text => return Ok(value),
        };
        return if value.is_string() { Err(format!("the template's text is not {kind}")) } else { Ok(value) };
    }
    match plain(scalar, &text) {
        Some(text) => plain::manifest_value(text).map_err(|_| format!("{text} is a number that JSON cannot carry")),
        None => Ok(Value::String(text.into_owned())),
    }
}

fn render_key(scalar: &Scalar, scope: &Scope) -> Result<String, String> {
    let text = scalar.template.render(scope).map_err(|error| error.message)?;
    match plain(scalar, &text) {
        Some(text) => plain::key(text, Dialect::Manifest).map_err(|_| format!("{text} cannot be a key")),
        None => Ok(text.into_owned()),
    }
}

/// Returns the rendered text of a plain scalar as a YAML parser would read it: without surrounding blanks.
/// Text with line breaks is no plain scalar any more, and stays a string.
fn plain<'text>(scalar: &Scalar, text: &'text str) -> Option<&'text str> {
    (scalar.plain && !text.contains(['\n', '\r'])).then(|| text.trim_matches([' ', '\t']))
}

fn at(place: &[Step<'_>], message: &str) -> RenderError {
    let mut path = String::new();
    for step in place {
        match step {
            Step::Key(key) => path = below(&path, key),
            Step::Index(index) => path = format!("{path}[{index}]"),
        }
    }
    let message = if path.is_empty() { message.to_owned() } else { format!("{path}: {message}") };
    RenderError { message }
}

#[cfg(test)]
mod tests;
