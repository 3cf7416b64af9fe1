//! Warns of resources that no report mentions, and of payloads that no action sends.

use std::collections::{BTreeMap, BTreeSet};

use lifecycle_config::document::Path;

use super::{ACTIONS, Linter, PAYLOADS, entry, gates_of, resources};
use lifecycle_core::api_call::{ApiCall, Method};
use lifecycle_core::task::{
    Action, Check, Discover, Payload, PayloadNode, PayloadSource, Precondition, Resource, Task,
};
use lifecycle_language::cel::{Expression, UnknownName};
use lifecycle_language::field::FieldPath;
use lifecycle_language::resource_reads::ResourceReads;
use lifecycle_language::template::{Template, Tree};

/// Whether any action sends a body; warns if none does.
pub(super) fn anything_is_sent(linter: &mut Linter<'_>) -> bool {
    let task = linter.task;
    let has_work = !task.resources.is_empty() || !task.payloads.is_empty();
    let sends = task.actions.iter().filter_map(|action| action.api_call.as_ref()).any(sends_body);
    if has_work && !sends {
        let message = "nothing is ever reported: no post action sends a payload".to_owned();
        let help =
            "add a post action that puts a status to the API: adapter, observed_generation, observed_time and the \
                    conditions Applied, Available and Health"
                .to_owned();
        linter.warn(&Path::root().key("post"), message, help);
    }
    has_work && sends
}

pub(super) fn sends_body(call: &ApiCall) -> bool {
    call.body.is_some() && takes_body(call.method)
}

fn takes_body(method: Method) -> bool {
    match method {
        Method::Post | Method::Put | Method::Patch => true,
        Method::Get | Method::Delete => false,
    }
}

pub(super) fn lint(linter: &mut Linter<'_>) {
    let task = linter.task;
    let readers = Readers::of(linter);
    for (index, resource) in task.resources.iter().enumerate() {
        if !readers.cover(index, resource) {
            let name = &resource.name;
            let path = linter.either(&entry(&["resources"], index), ["name", "alias"]);
            let message =
                format!("nothing reports `{name}`: no payload, no post action and no other resource's gate reads it");
            let help = format!(
                "let a condition read `resources.?{name}` (the live object) or `adapter.outcomes.?{name}` (the decision)"
            );
            linter.warn(&path, message, help);
        }
    }
    for (index, payload) in task.payloads.iter().enumerate() {
        if !is_used(task, &payload.name) {
            let message = format!("the payload `{}` is built, but nothing sends it", payload.name);
            let help = format!("send it in the body of a post action: `body: \"{{{{ .{} }}}}\"`", payload.name);
            linter.warn(&entry(&PAYLOADS, index).key("name"), message, help);
        }
    }
    for (index, action) in task.actions.iter().enumerate() {
        let Some(call) = &action.api_call else { continue };
        if call.body.is_some() && !takes_body(call.method) {
            let path = entry(&ACTIONS, index).key("api_call").key("body");
            let message = format!("is never sent: a {} request has no body", call.method.as_str());
            linter.warn(&path, message, "use POST, PUT or PATCH, or remove the body".to_owned());
        }
    }
}

/// Notes that a payload reads live objects, which the adapter does not read while a precondition is not met.
pub(super) fn lint_unmet(linter: &mut Linter<'_>) {
    let task = linter.task;
    let may_be_unmet = |precondition: &Precondition| match &precondition.check {
        Check::CallSucceeds => false,
        Check::Conditions(_) | Check::Expression(_) => true,
    };
    let Some(first) = task.preconditions.iter().position(may_be_unmet) else { return };
    let reads_objects = |payload: &&Payload| {
        let mut reads = Reads::default();
        reads.objects_of(payload);
        let inside = |resource: &Resource| resource.nested.iter().any(|nested| reads.0.has(&nested.name));
        task.resources.iter().any(|it| reads.0.has(&it.name) || inside(it))
    };
    let (Discover::WhenMet, Some(payload)) = (task.discover, task.payloads.iter().find(reads_objects)) else { return };
    let finalized = if task.has_lifecycle() { "; no `Finalized` is True then, so no deletion is done" } else { "" };
    let message = format!(
        "while it is not met, no live object is read, and the payload `{}` reports live objects as absent{finalized}",
        payload.name
    );
    let help = "add `discover: always` at the top of the file: the adapter then reads objects all the same, and writes nothing";
    linter.note(&entry(&["preconditions"], first), message, help.to_owned());
}

/// The names read below `resources`, `adapter.outcomes` and `adapter.resourceErrors`.
#[derive(Default)]
struct Reads(ResourceReads);

/// The readers of each resource, collected in one walk over the task so that the cost grows linearly.
#[derive(Default)]
struct Readers {
    /// The reads of payloads and post actions.
    reports: Reads,
    /// The resources whose gates and patches can read any resource.
    of_any: BTreeSet<usize>,
    /// For each name, the resources whose gates and patches read it.
    of_name: BTreeMap<String, BTreeSet<usize>>,
}

impl Readers {
    /// Collects the readers of a task.
    fn of(linter: &Linter<'_>) -> Self {
        let task = linter.task;
        let mut readers = Self::default();
        task.payloads.iter().for_each(|payload| readers.reports.payload(payload));
        task.actions.iter().for_each(|action| readers.reports.action(action));
        for (index, (path, resource)) in resources(task).enumerate() {
            let mut reads = Reads::default();
            for gate in gates_of(linter, &path, resource) {
                reads.expression(gate.expression);
            }
            let documents = resource.gates.patches.iter().map(|patch| &patch.document);
            documents.flat_map(Tree::templates).for_each(|template| reads.template(template));
            match reads.0 {
                ResourceReads::Any => _ = readers.of_any.insert(index),
                ResourceReads::Only(names) => names.into_iter().for_each(|name| {
                    readers.of_name.entry(name).or_default().insert(index);
                }),
            }
        }
        readers
    }

    /// Whether a payload, a post action or another resource reads a resource, or an object found inside it.
    fn cover(&self, index: usize, resource: &Resource) -> bool {
        let has_another = |readers: &BTreeSet<usize>| readers.iter().any(|reader| *reader != index);
        let is_read = |name: &String| self.reports.0.has(name) || self.of_name.get(name).is_some_and(has_another);
        has_another(&self.of_any)
            || is_read(&resource.name)
            || resource.nested.iter().any(|nested| is_read(&nested.name))
    }
}

impl Reads {
    fn payload(&mut self, payload: &Payload) {
        payload.when.iter().for_each(|when| self.expression(when));
        visit(&payload.build, &mut |part| match part {
            Part::Template(template) => self.template(template),
            Part::Field(path) => self.path(&path.prefix()),
            Part::Expression(expression) => self.expression(expression),
        });
    }

    /// Adds the reads below `resources`, without those below `adapter`.
    fn objects_of(&mut self, payload: &Payload) {
        visit(&payload.build, &mut |part| match part {
            Part::Template(template) => self.0.extend(template.resource_reads()),
            Part::Field(path) if path.prefix().first() == Some(&"resources") => self.path(&path.prefix()),
            Part::Field(_) => {}
            Part::Expression(expression) => self.0.extend(expression.resource_reads()),
        });
    }

    fn action(&mut self, action: &Action) {
        action.when.iter().for_each(|when| self.expression(when));
        templates(action).into_iter().for_each(|template| self.template(template));
    }

    fn expression(&mut self, expression: &Expression) {
        self.0.extend(expression.resource_reads());
        self.0.extend(&expression.reads_below("adapter", "outcomes"));
        self.0.extend(&expression.reads_below("adapter", "resourceErrors"));
    }

    fn template(&mut self, template: &Template) {
        self.0.extend(template.resource_reads());
        for path in template.variables().iter().filter(|path| path.starts_with("adapter")) {
            self.path(&path.split('.').collect::<Vec<_>>());
        }
    }

    /// Adds the read of a path; the empty path reads everything.
    fn path(&mut self, path: &[&str]) {
        match path {
            [] | ["resources" | "adapter"] | ["adapter", "outcomes" | "resourceErrors"] => self.0 = ResourceReads::Any,
            ["resources", name, ..] | ["adapter", "outcomes" | "resourceErrors", name, ..] => self.0.add(name),
            _ => {}
        }
    }
}

/// A part of a payload that reads variables.
enum Part<'n> {
    Template(&'n Template),
    Field(&'n FieldPath),
    Expression(&'n Expression),
}

fn visit<'n>(node: &'n PayloadNode, see: &mut dyn FnMut(Part<'n>)) {
    match node {
        PayloadNode::Literal(_) => {}
        PayloadNode::Text(template) => see(Part::Template(template)),
        PayloadNode::List(nodes) => nodes.iter().for_each(|node| visit(node, see)),
        PayloadNode::Map(entries) => {
            for (key, node) in entries {
                see(Part::Template(key));
                visit(node, see);
            }
        }
        PayloadNode::Lookup { source: PayloadSource::Field(path), .. } => see(Part::Field(path)),
        PayloadNode::Lookup { source: PayloadSource::Expression(expression), .. } => see(Part::Expression(expression)),
    }
}

/// Whether a part of a payload, or one of the conditions before it, reads a path that `is_read` accepts. The empty path
/// reads everything.
pub(super) fn reads<'n>(
    node: &'n PayloadNode,
    conditions: impl Iterator<Item = &'n Expression>,
    is_read: &dyn Fn(&[&str]) -> bool,
) -> bool {
    let in_expression = |expression: &Expression| expression.member_paths().iter().any(|path| is_read(path));
    let in_template = |template: &Template| {
        let variables = template.variables();
        template.reads_root() && is_read(&[])
            || variables.iter().any(|path| is_read(&path.split('.').collect::<Vec<_>>()))
    };
    let mut found = false;
    conditions.for_each(|condition| found |= in_expression(condition));
    visit(node, &mut |part| {
        found |= match part {
            Part::Template(template) => in_template(template),
            Part::Field(path) => is_read(&path.prefix()),
            Part::Expression(expression) => in_expression(expression),
        };
    });
    found
}

/// The templates of an action that the adapter renders.
fn templates(action: &Action) -> Vec<&Template> {
    let log = action.log.iter().map(|log| &log.message);
    let calls = action.api_call.iter().flat_map(|call| {
        let headers = call.headers.iter().map(|(_, value)| value);
        headers.chain([call.url.written()]).chain(call.body.as_ref().filter(|_| takes_body(call.method)))
    });
    log.chain(calls).collect()
}

/// Whether an action or another payload reads a payload.
fn is_used(task: &Task, name: &str) -> bool {
    let in_template = |template: &Template| {
        let mut variables = template.variables().iter();
        template.reads_root() || variables.any(|path| path.split('.').next() == Some(name))
    };
    let in_expression = |expression: &Expression| {
        expression.unknown_names(&|known| known != name).contains(&UnknownName::Variable(name.to_owned()))
    };
    let in_payload = |payload: &Payload| {
        let mut used = payload.when.as_ref().is_some_and(in_expression);
        visit(&payload.build, &mut |part| {
            used |= match part {
                Part::Template(template) => in_template(template),
                Part::Field(path) => path.prefix().first().is_none_or(|first| *first == name),
                Part::Expression(expression) => in_expression(expression),
            };
        });
        used
    };
    let in_action = |action: &Action| {
        action.when.as_ref().is_some_and(in_expression) || templates(action).into_iter().any(in_template)
    };
    task.actions.iter().any(in_action)
        || task.payloads.iter().any(|payload| payload.name != name && in_payload(payload))
}
