//! Compiles the text of a task file to a [`Task`], or reports every mistake in it.
//!
//! In: the file's text, a way to read the files that it refers to, and the environment. Out: a task whose
//! expressions, templates and paths are all parsed, and warnings. Fails with every mistake at once:
//! compilation records a mistake with its place, and goes on.
//!
//! A file that the Go adapter accepts compiles, with four exceptions: a manifest whose kind is not fixed, an
//! inline manifest with an action that spans strings, a resource of the maestro transport that is no `ManifestWork`,
//! and a delete gate that never gives a boolean.
//! The Go adapter parses templates, JSON paths and payload files when an event needs them. They are parsed
//! here already, but one that does not parse only gives a warning, and fails the event. Nothing is evaluated
//! here.

mod booleans;
mod bundle;
mod check;
mod gates;
mod manifest;
mod names;
mod owner;
mod params;
mod patch;
mod post;
mod preconditions;
mod reserved;
mod resources;
mod retention;
mod variables;
mod when;

use std::collections::BTreeSet;

use lifecycle_config::decode::{Typing, decode};
use lifecycle_config::diagnostics::Diagnostics;
use lifecycle_config::document::{Document, Path};

use self::check::{Checker, Place};
use self::names::Known;
pub use self::variables::CONFIG as CONFIG_MEMBERS;
use super::spec::{DiscoverSpec, TaskSpec};
use super::{Discover, Task};

/// The files and environment variables that compilation reads besides the task file.
pub struct Surroundings<'s> {
    /// Reads a file by the path that the task gives; fails with a message for the task's author.
    pub read: &'s dyn Fn(&str) -> Result<String, String>,
    /// Returns the value of an environment variable.
    pub environment: &'s dyn Fn(&str) -> Option<String>,
}

/// The result of compiling a task file.
#[derive(Debug)]
pub struct Compiled {
    /// The task, if no diagnostic is an error.
    pub task: Option<Task>,
    /// The parsed file; none if it is no YAML or JSON document.
    pub document: Option<Document>,
    /// Errors, warnings and notes, in the order of the file.
    pub diagnostics: Diagnostics,
}

/// Compiles the task file `file` with the content `text`.
#[must_use]
pub fn compile(file: &str, text: &str, surroundings: &Surroundings<'_>) -> Compiled {
    let document = match Document::parse(file, text) {
        Ok(document) => document,
        Err(diagnostics) => return Compiled { task: None, document: None, diagnostics },
    };
    let mut diagnostics = Diagnostics::default();
    let spec: Option<TaskSpec> = decode(&document, Typing::Strict, &mut diagnostics);
    let task = spec.map(|spec| compile_spec(&spec, &document, surroundings, &mut diagnostics));
    let task = task.filter(|_| !diagnostics.has_errors());
    diagnostics.sort();
    Compiled { task, document: Some(document), diagnostics }
}

fn compile_spec(
    spec: &TaskSpec,
    document: &Document,
    surroundings: &Surroundings<'_>,
    diagnostics: &mut Diagnostics,
) -> Task {
    let known = Known::of(spec);
    let root = Place { document, path: Path::root() };
    let (before_objects, before_payloads) = (known.of_preconditions(), known.of_resources());
    let mut checker = Checker::new(surroundings, &known, diagnostics);
    let params = params::compile(&mut checker, &spec.params, &root.key("params"));
    checker.known = &before_objects;
    let preconditions = preconditions::compile(&mut checker, &spec.preconditions, &root.key("preconditions"));
    checker.known = &before_payloads;
    let resources = resources::compile(&mut checker, &spec.resources, &root.key("resources"));
    checker.known = &known;
    let post = spec.post.clone().unwrap_or_default();
    let payloads = post::payloads(&mut checker, &post.payloads, &root.key("post").key("payloads"));
    let actions = post::actions(&mut checker, &post.post_actions, &root.key("post").key("post_actions"));
    let discover = match spec.discover {
        DiscoverSpec::WhenMet => Discover::WhenMet,
        DiscoverSpec::Always => Discover::Always,
    };
    let mut task = Task {
        params,
        preconditions,
        discover,
        resources,
        payloads,
        actions,
        resend_after: None,
        environment: BTreeSet::new(),
    }
    .find_clocks();
    let index = |name: &str| spec.resources.iter().position(|resource| resource.any_name() == Some(name));
    let place = |name: &str| Some(root.key("resources").index(index(name)?));
    reserved::check(&mut checker, &task, place);
    booleans::check(&mut checker, &task, place);
    task.environment = checker.into_environment();
    task
}

#[cfg(test)]
mod tests;
