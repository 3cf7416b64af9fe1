//! Builds nodes from parser events: resolves anchors and merge keys, reports duplicate keys, enforces limits.

use std::collections::HashMap;

use serde_saphyr::granit_parser::{self, Event, Parser, ScalarStyle, Span, StrInput, Tag as ParserTag};

use super::scalar::Tag;
use super::{Content, Entry, Node, Position, QUOTES, Scalar, Style};
use crate::diagnostics::Severity;

/// The size limit of a file, in bytes: twice the limit of a Kubernetes `ConfigMap`.
const MAX_BYTES: usize = 2 * 1024 * 1024;
/// The nesting limit. Real files stay below 20 levels; a limit is needed because the code that walks the tree
/// is recursive.
const MAX_DEPTH: usize = 100;
/// The memory limit of a tree: bytes of text plus [`NODE_WEIGHT`] for each value, after the expansion of aliases.
const MAX_WEIGHT: usize = 8 * 1024 * 1024;
/// The weight of a value in addition to its text, in bytes.
const NODE_WEIGHT: usize = 8;

type Report<'r> = dyn FnMut(Severity, Position, String, Option<String>) + 'r;

/// Parsing has stopped, after the reason was reported.
struct Stop;

/// The message about further documents.
pub(super) const OTHER_DOCUMENTS: &str = "only the first document of the file is read";

/// Parses the first document, and passes mistakes to `report`. Returns `None` if there is no value.
pub(super) fn parse<'r>(text: &str, report: &'r mut Report<'r>) -> Option<Node> {
    composer(text, report)?.first_document().ok().flatten()
}

/// Parses every document, and passes mistakes to `report`. Returns `None` after a mistake that ended the parsing.
pub(super) fn parse_all<'r>(text: &str, report: &'r mut Report<'r>) -> Option<Vec<Node>> {
    composer(text, report)?.all_documents().ok()
}

fn composer<'t, 'r>(text: &'t str, report: &'r mut Report<'r>) -> Option<Composer<'t, 'r>> {
    let start = Position { line: 1, column: 1 };
    if text.len() > MAX_BYTES {
        let message =
            format!("the text has {} bytes, the limit is {MAX_BYTES} (2 MiB); split it into several files", text.len());
        report(Severity::Error, start, message, None);
        return None;
    }
    let mut options = granit_parser::options! {
        flow_nesting_limit: MAX_DEPTH,
        block_nesting_limit: MAX_DEPTH,
        // The parser limits the length of a key on one line by default, and applies this limit to values as
        // well. Go's parser accepts long one-line templates, so the limit is raised.
        simple_key_max_lookahead: 1024,
    };
    options.set_emit_comments(false);
    let events = Parser::new_from_str_with_options(text, options);
    Some(Composer { text, events, report, anchors: HashMap::new(), weight: 0 })
}

struct Anchored {
    node: Node,
    weight: usize,
}

struct Composer<'t, 'r> {
    text: &'t str,
    events: Parser<'t, StrInput<'t>>,
    report: &'r mut Report<'r>,
    anchors: HashMap<usize, Anchored>,
    weight: usize,
}

fn position(span: &Span) -> Position {
    Position { line: span.start.line().max(1), column: span.start.col() + 1 }
}

impl<'t> Composer<'t, '_> {
    fn stop(&mut self, position: Position, message: String, help: Option<&str>) -> Stop {
        (self.report)(Severity::Error, position, message, help.map(str::to_owned));
        Stop
    }

    fn next(&mut self) -> Result<Option<(Event<'t>, Span)>, Stop> {
        match self.events.next_event() {
            None => Ok(None),
            Some(Ok(event)) => Ok(Some(event)),
            Some(Err(error)) => {
                let marker = *error.marker();
                let position = Position { line: marker.line().max(1), column: marker.col() + 1 };
                let help = lacks_quotes(self.text, position.line);
                Err(self.stop(position, format!("not valid YAML: {}", error.info()), help))
            }
        }
    }

    fn first_document(&mut self) -> Result<Option<Node>, Stop> {
        while let Some((event, span)) = self.next()? {
            if event.is_node() {
                let node = self.node(event, &span, 1)?;
                self.warn_about_more();
                return Ok(Some(node));
            }
        }
        let start = Position { line: 1, column: 1 };
        Err(self.stop(start, "the file is empty".to_owned(), Some("write `{}` for a file without any key")))
    }

    /// All documents; their sizes and weights count together. An anchor holds within its document.
    fn all_documents(&mut self) -> Result<Vec<Node>, Stop> {
        let mut documents = Vec::new();
        while let Some((event, span)) = self.next()? {
            if event.is_node() {
                self.anchors.clear();
                documents.push(self.node(event, &span, 1)?);
            }
        }
        Ok(documents)
    }

    fn warn_about_more(&mut self) {
        while let Ok(Some((event, span))) = self.next_unreported() {
            if let Event::DocumentStart(..) = event {
                let message = OTHER_DOCUMENTS.to_owned();
                (self.report)(Severity::Warning, position(&span), message, None);
                return;
            }
        }
    }

    /// Returns the next event, without reporting errors: the documents after the first are not used.
    fn next_unreported(&mut self) -> Result<Option<(Event<'t>, Span)>, Stop> {
        self.events.next_event().transpose().map_err(|_| Stop)
    }

    fn add_weight(&mut self, weight: usize, position: Position) -> Result<(), Stop> {
        self.weight = self.weight.saturating_add(weight);
        if self.weight > MAX_WEIGHT {
            let message = format!("the file has over {MAX_WEIGHT} bytes after the expansion of aliases");
            return Err(self.stop(position, message, None));
        }
        Ok(())
    }

    fn node(&mut self, event: Event<'t>, span: &Span, depth: usize) -> Result<Node, Stop> {
        let position = position(span);
        if depth > MAX_DEPTH {
            return Err(self.stop(position, format!("nested over {MAX_DEPTH} deep"), None));
        }
        if let Event::Alias(id) = event {
            return self.alias(id, position, depth);
        }
        let before = self.weight;
        self.add_weight(NODE_WEIGHT + event.scalar().map_or(0, |(text, _)| text.len()), position)?;
        let anchor = event.anchor_id();
        let content = if let Event::Scalar(text, style, _, tag) = event {
            Content::Scalar(self.scalar(&text, style, tag.as_deref(), position))
        } else if let Event::SequenceStart(..) = event {
            Content::List(self.list(depth)?)
        } else {
            Content::Map(self.map(depth)?)
        };
        let node = Node { position, content };
        if let Some(id) = anchor {
            let weight = self.weight - before;
            self.add_weight(weight, position)?;
            self.anchors.insert(id, Anchored { node: node.clone(), weight });
        }
        Ok(node)
    }

    fn alias(&mut self, id: usize, position: Position, depth: usize) -> Result<Node, Stop> {
        let Some(weight) = self.anchors.get(&id).map(|anchored| anchored.weight) else {
            return Err(self.stop(position, "the alias is inside the value that it refers to".to_owned(), None));
        };
        self.add_weight(weight, position)?;
        let node = self.anchors.get(&id).map(|anchored| anchored.node.clone()).ok_or(Stop)?;
        if depth + height(&node) > MAX_DEPTH + 1 {
            return Err(self.stop(position, format!("nested over {MAX_DEPTH} deep"), None));
        }
        Ok(node)
    }

    fn scalar(&mut self, text: &str, style: ScalarStyle, tag: Option<&ParserTag>, position: Position) -> Scalar {
        let style = match style {
            ScalarStyle::Plain => Style::Plain,
            ScalarStyle::SingleQuoted | ScalarStyle::DoubleQuoted => Style::Quoted,
            ScalarStyle::Literal => Style::Literal,
            ScalarStyle::Folded => Style::Folded,
        };
        let tag = tag.map(|tag| match tag.core_suffix() {
            Some("null") => Tag::Null,
            Some("bool") => Tag::Bool,
            Some("int") => Tag::Int,
            Some("float") => Tag::Float,
            Some(_) | None => Tag::Text,
        });
        let scalar = Scalar { text: text.to_owned(), style, tag };
        if scalar.is_not_finite() {
            let message = format!("`{text}` is not a number that JSON can hold");
            (self.report)(Severity::Error, position, message, Some("put it in quotes if text is meant".to_owned()));
        }
        scalar
    }

    fn list(&mut self, depth: usize) -> Result<Vec<Node>, Stop> {
        let mut items = Vec::new();
        while let Some((event, span)) = self.next()? {
            if event == Event::SequenceEnd {
                break;
            }
            items.push(self.node(event, &span, depth + 1)?);
        }
        Ok(items)
    }

    fn map(&mut self, depth: usize) -> Result<Vec<Entry>, Stop> {
        let mut entries: Vec<Entry> = Vec::new();
        let mut index: HashMap<String, usize> = HashMap::new();
        let mut merged: Vec<Entry> = Vec::new();
        while let Some((event, span)) = self.next()? {
            if event == Event::MappingEnd {
                break;
            }
            let key_position = position(&span);
            let is_merge = matches!(&event, Event::Scalar(text, ScalarStyle::Plain, _, None) if text == "<<");
            let key = self.node(event, &span, depth + 1)?;
            let Some((event, span)) = self.next()? else { break };
            let value = self.node(event, &span, depth + 1)?;
            if is_merge {
                self.merge(value, key_position, &mut merged)?;
                continue;
            }
            let key_scalar = match key.content {
                Content::Scalar(scalar) => scalar,
                Content::List(_) | Content::Map(_) => {
                    // YAML reads the unquoted template `name: {{ .clusterId }}` as a mapping whose key is a
                    // mapping.
                    let is_template = matches!(key.content, Content::Map(_));
                    let help = is_template.then(|| TEMPLATE_QUOTES.to_owned());
                    (self.report)(Severity::Error, key_position, "a key must be a scalar".to_owned(), help);
                    continue;
                }
            };
            let key = key_scalar.text.clone();
            if let Some(first) = index.get(&key) {
                let first = entries[*first].key_position.line;
                let message = format!("the key `{key}` is repeated; it is already set in line {first}");
                (self.report)(Severity::Error, key_position, message, Some("remove one of the two".to_owned()));
                continue;
            }
            index.insert(key.clone(), entries.len());
            entries.push(Entry { key, key_scalar, key_position, value });
        }
        for entry in merged {
            if !index.contains_key(&entry.key) {
                index.insert(entry.key.clone(), entries.len());
                entries.push(entry);
            }
        }
        Ok(entries)
    }

    /// Collects the entries of a merge key: `<<: *base`, or `<<: [*one, *two]`, of which the first has
    /// precedence. The mapping's own keys have precedence over merged ones.
    fn merge(&mut self, value: Node, position: Position, merged: &mut Vec<Entry>) -> Result<(), Stop> {
        let sources = match value.content {
            Content::List(items) => items,
            content @ (Content::Map(_) | Content::Scalar(_)) => vec![Node { position: value.position, content }],
        };
        for source in sources {
            let Content::Map(entries) = source.content else {
                let message = "`<<` must name a mapping or a list of mappings".to_owned();
                return Err(self.stop(position, message, None));
            };
            merged.extend(entries);
        }
        Ok(())
    }
}

/// The help for an unquoted template, whose braces YAML reads as a mapping.
const TEMPLATE_QUOTES: &str =
    "put the template in quotes: `\"{{ … }}\"`; in a manifest, for a number, `!!int \"{{ … }}\"`";

/// Suggests quotes if an unquoted expression or template is probably the reason for a syntax error in `line`.
///
/// Looks at the line before as well, because the parser may notice the error one line late.
fn lacks_quotes(text: &str, line: usize) -> Option<&'static str> {
    let mut lines = text.lines().skip(line.saturating_sub(2)).take(2);
    lines.find_map(|line| {
        let expression = line.split_once("expression:").map(|(_, rest)| rest.trim_start());
        if expression.is_some_and(|rest| !rest.is_empty() && !rest.starts_with(['|', '>'])) {
            return Some(QUOTES);
        }
        let bare = [": {{", "- {{", "[{{", "[ {{", ", {{"].iter().any(|start| line.contains(start));
        bare.then_some(TEMPLATE_QUOTES)
    })
}

fn height(node: &Node) -> usize {
    match &node.content {
        Content::Scalar(_) => 1,
        Content::List(items) => 1 + items.iter().map(height).max().unwrap_or(0),
        Content::Map(entries) => 1 + entries.iter().map(|entry| height(&entry.value)).max().unwrap_or(0),
    }
}
