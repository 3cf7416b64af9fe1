//! Plays the steps of a scenario one after the other, and prints them: a single event, or a series.
//!
//! In: a [`World`], and the steps of a series; none for a scenario of one event. Out: the [`Trace`] of each step, with a
//! summary of a series, and what a repeat of an event would write. A step that cannot be played ends the life, and the traces of the
//! steps before it stay.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::fakes::World;
use super::input_error::SeriesError;
use super::series::Step;
use super::text::{Text, decisions};
use super::trace::Trace;

/// The events of a scenario that were played.
#[derive(Debug, Default)]
pub struct Life {
    /// The trace of each event, with the name of its step; without a name if the scenario is no series.
    pub steps: Vec<(Option<String>, Trace)>,
    /// The repeats that wrongly write.
    pub repeats: Vec<Repeat>,
    /// How many steps the series has; 0 if the scenario is no series.
    pub planned: usize,
    /// Why the step after the last one could not be played, if the series ended there.
    pub refused: Option<SeriesError>,
}

/// A repeat of an event that writes what was written before.
#[derive(Debug, Clone, PartialEq)]
pub struct Repeat {
    /// The sentence about it.
    pub fault: String,
    /// Its trace, which shows the gates that let it write.
    pub trace: Trace,
}

impl Life {
    /// Plays every step, up to one whose changes name no object, or are refused by the store. With `repeat`, also plays each
    /// event again.
    pub async fn play(world: &mut World, steps: &[Step], verbose: bool, repeat: bool) -> Self {
        let mut life = Self { planned: steps.len(), ..Self::default() };
        if steps.is_empty() {
            life.event(world, None, verbose, repeat).await;
        }
        for step in steps {
            if let Err(refused) = world.begin(step) {
                life.refused = Some(refused);
                break;
            }
            life.event(world, Some(&step.name), verbose, repeat).await;
        }
        life
    }

    async fn event(&mut self, world: &World, name: Option<&str>, verbose: bool, repeat: bool) {
        let trace = world.play(verbose).await;
        if repeat && let Some((writes, trace)) = world.repeat(&trace).await {
            let step = name.map(|name| format!("step `{name}`: ")).unwrap_or_default();
            let fault = format!("{step}a repeat of the event writes what was written before: {writes}");
            self.repeats.push(Repeat { fault, trace });
        }
        self.steps.push((name.map(str::to_owned), trace));
    }

    /// Whether an event failed.
    #[must_use]
    pub fn failed(&self) -> bool {
        self.steps.iter().any(|(_, trace)| trace.failed())
    }

    /// The errors of every event, one line each.
    #[must_use]
    pub fn errors(&self) -> Vec<String> {
        let of_step = |(name, trace): &(Option<String>, Trace)| -> Vec<String> {
            let step = name.as_ref().map(|name| format!(" of step `{name}`")).unwrap_or_default();
            trace.errors.iter().map(|(phase, error)| format!("Error in {phase}{step}: {error}")).collect()
        };
        self.steps.iter().flat_map(of_step).collect()
    }

    /// The traces as text: of a series with a heading for each step, and at the end a line for each.
    #[must_use]
    pub fn to_text(&self, verbose: bool) -> String {
        let mut text = String::new();
        for (index, (name, trace)) in self.steps.iter().enumerate() {
            if let Some(name) = name {
                let _ = writeln!(text, "Step {}/{}: {name}\n", index + 1, self.planned);
            }
            let _ = write!(text, "{}", Text { trace, verbose });
            text.push_str(if name.is_some() { "\n" } else { "" });
        }
        let named = || self.steps.iter().filter_map(|(name, trace)| Some((name.as_ref()?, trace)));
        let width = named().map(|(name, _)| name.chars().count()).max().unwrap_or_default();
        for (index, (name, trace)) in named().enumerate() {
            let result = if trace.failed() { "FAILED: " } else { "" };
            let _ = writeln!(text, "{:>3}  {name:<width$}  {result}{}", index + 1, decisions(trace));
        }
        text
    }

    /// The traces as JSON: the only one, or a list `steps`.
    #[must_use]
    pub fn to_json(&self) -> String {
        if let [(None, trace)] = self.steps.as_slice() {
            return trace.to_json();
        }
        let steps = self.steps.iter().map(|(name, trace)| {
            let mut step = json!({ "step": name });
            if let (Some(step), Ok(Value::Object(trace))) = (step.as_object_mut(), serde_json::to_value(trace)) {
                step.extend(trace);
            }
            step
        });
        format!("{:#}\n", json!({ "steps": steps.collect::<Vec<_>>() }))
    }
}
