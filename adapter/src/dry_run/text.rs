//! Formats a trace as text for people.
//!
//! In: a [`Trace`]. Out: text with ANSI styles, which [`without_colours`] removes. Unless `verbose`, long
//! values are cut, and bodies and whole objects are left out.

mod style;

use std::collections::BTreeSet;
use std::fmt::{self, Formatter};

use lifecycle_bundle::member::Effect;
use lifecycle_core::decision::DecisionKind;
use lifecycle_core::outcome::OutcomeResult;
use lifecycle_core::stage::Phase;
use serde_json::Value;

use super::diff::{Change, ObjectDiff};
use super::trace::{
    ActionTrace, AnsweredBy, DecisionTrace, GateTrace, MemberTrace, ParamSource, PhaseStatus, PhaseTrace,
    PreconditionTrace, RequestTrace, ResourceTrace, Trace,
};
use crate::pass::Status;
use anstyle::Style;
use style::{ADDED, BAD, FAINT, GOOD, HEAD, NOTABLE, REMOVED, styled};

/// The number of characters to which values are cut, so that they fit on a line.
const VALUE_WIDTH: usize = 80;

/// Built-in variables, whose values the text leaves out.
const BUILT_IN: [&str; 4] = ["adapter", "config", "env", "event"];

/// Displays a trace as lines of text, for the terminal.
#[derive(Debug, Clone, Copy)]
pub struct Text<'a> {
    /// The trace to display.
    pub trace: &'a Trace,
    /// Whether the text also contains long values, bodies and whole objects.
    pub verbose: bool,
}

impl fmt::Display for Text<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let [params, preconditions, resources, post] = &*self.trace.phases else { return Ok(()) };
        self.heading(f)?;
        phase_line(f, "Phase 1: Parameter Extraction", params)?;
        self.params(f)?;
        phase_line(f, "Phase 2: Preconditions", preconditions)?;
        let total = self.trace.preconditions.len();
        for (index, result) in self.trace.preconditions.iter().enumerate() {
            self.precondition(f, index + 1, total, result)?;
        }
        phase_line(f, "Phase 3: Resources", resources)?;
        if let (PhaseStatus::Skipped, Some(reason)) = (resources.status, &resources.detail) {
            writeln!(f, "  Reason: {reason}")?;
        }
        let total = self.trace.resources.len();
        for (index, (resource, decision)) in self.trace.resources.iter().zip(&self.trace.decisions).enumerate() {
            self.resource(f, index + 1, total, resource, decision)?;
        }
        self.other_objects(f)?;
        self.discovered(f)?;
        phase_line(f, "Phase 4: Post Actions", post)?;
        let total = self.trace.post_actions.len();
        for (index, action) in self.trace.post_actions.iter().enumerate() {
            self.action(f, index + 1, total, action)?;
        }
        self.ending(f)
    }
}

/// The objects of a bundle, below the names of their steps.
fn members(f: &mut Formatter<'_>, objects: &[MemberTrace]) -> fmt::Result {
    let mut step = "";
    for member in objects {
        if member.step != step {
            step = &member.step;
            writeln!(f, "    {}", styled(HEAD, step))?;
        }
        let MemberTrace { object, decision, row, effect, drift, readiness, why, .. } = member;
        let word = match effect {
            Effect::Failed(_) => styled(BAD, effect.as_str()),
            Effect::None => styled(FAINT, "unchanged"),
            Effect::Deleted | Effect::Deleting | Effect::Disowned => styled(REMOVED, effect.as_str()),
            Effect::Created | Effect::Updated { .. } | Effect::Recreated => styled(GOOD, effect.as_str()),
        };
        writeln!(f, "      {object:<50} {word}")?;
        let why = if why.is_empty() { String::new() } else { format!(": {why}") };
        writeln!(f, "        {}", styled(FAINT, format_args!("{decision} ({row}), {readiness}{why}")))?;
        if !drift.is_empty() {
            writeln!(
                f,
                "        {}",
                styled(NOTABLE, format_args!("drift: somebody had changed {}", drift.join(", ")))
            )?;
        }
    }
    Ok(())
}

impl Text<'_> {
    fn heading(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let event = &self.trace.event;
        let title = "Dry-Run Execution Trace";
        writeln!(f, "{}", styled(HEAD, title))?;
        writeln!(f, "{}", "=".repeat(title.len() + 1))?;
        writeln!(f, "Event: id={} type={}", event.id, event.event_type)?;
        let subject = match (event.kind.as_str(), event.resource_id.as_str()) {
            ("", "") => "no resource".to_owned(),
            (kind, id) => format!("{kind} {id}").trim().to_owned(),
        };
        writeln!(f, "About: {subject}, generation {}, at {}", event.generation, event.now)
    }

    fn params(&self, f: &mut Formatter<'_>) -> fmt::Result {
        // The pass ended at the param that failed, and read none of those after it.
        let has_failed = |name: &str| self.trace.failed_param.as_deref() == Some(name);
        let mut is_over = false;
        for ParamSource { name, source, is_default, has_failed: is_replaced } in &self.trace.param_sources {
            let value = match self.trace.params.get(name) {
                Some(value) => self.value(value),
                None if has_failed(name) => styled(BAD, "(failed)"),
                None if is_over => styled(FAINT, "(not read: the pass ended before)"),
                None => styled(FAINT, "(absent)"),
            };
            is_over |= has_failed(name);
            let by = match (*is_default, *is_replaced) {
                (_, true) => "default, after a failure of ",
                (true, false) => "default, no value in ",
                (false, false) => "",
            };
            writeln!(f, "  {name:<16} = {value}  {}", styled(FAINT, format_args!("<- {by}{}", one_line(source))))?;
        }
        self.calls(f, Phase::ParamExtraction, "", 2)?;
        if let Some(error) = self.trace.errors.get(Phase::ParamExtraction.as_str()) {
            writeln!(f, "  {}", styled(BAD, format_args!("Error: {error}")))?;
        }
        if self.verbose {
            for name in BUILT_IN {
                let value = self.trace.params.get(name).unwrap_or(&Value::Null);
                writeln!(f, "  {name:<16} = {value}  {}", styled(FAINT, "<- built in"))?;
            }
        }
        Ok(())
    }

    fn precondition(&self, f: &mut Formatter<'_>, at: usize, of: usize, result: &PreconditionTrace) -> fmt::Result {
        let nothing_there = self.trace.lacks_resource;
        let word = match (result.matched, &result.error) {
            (_, Some(_)) if nothing_there => styled(NOTABLE, "NOT FOUND"),
            (_, Some(_)) => styled(BAD, "FAIL"),
            (true, None) => styled(GOOD, "PASS"),
            (false, None) => styled(NOTABLE, "NOT MET"),
        };
        writeln!(f, "  [{at}/{of}] {:<30} {word}", result.name)?;
        self.logs(f, Phase::Preconditions, &result.name)?;
        self.calls(f, Phase::Preconditions, &result.name, 4)?;
        for capture in &result.captures {
            writeln!(f, "    Captured: {} = {}", capture.name, self.value(&capture.value))?;
        }
        match &result.error {
            Some(error) if nothing_there => writeln!(f, "    Answer: {error}"),
            Some(error) => writeln!(f, "    {}", styled(BAD, format_args!("Error: {error}"))),
            None => Ok(()),
        }
    }

    fn resource(
        &self,
        f: &mut Formatter<'_>,
        at: usize,
        of: usize,
        resource: &ResourceTrace,
        decision: &DecisionTrace,
    ) -> fmt::Result {
        let waits_for = waits_for(decision);
        // What became of a bundle is not what was decided about its parent.
        let word = match (&waits_for, decision.objects.as_slice()) {
            (Some(_), _) => "WAIT".to_owned(),
            (None, []) => decision.decision.as_str().to_uppercase(),
            (None, _) => resource.result.as_str().to_uppercase(),
        };
        let word = match (resource.status, decision.decision) {
            (Status::Failed, _) => styled(BAD, "FAILED".to_owned()),
            (Status::Success | Status::Skipped, kind) => styled(style_of(kind), word),
        };
        writeln!(f, "  [{at}/{of}] {:<30} {word}", resource.name)?;
        match resource.resource_name.as_str() {
            "" => writeln!(f, "    Object:   no {}", resource.kind)?,
            name => writeln!(f, "    Object:   {} {}", resource.kind, qualified(&resource.namespace, name))?,
        }
        if decision.versions > 1 {
            writeln!(f, "    Versions: {}, of which expressions see the current one", decision.versions)?;
        }
        for gate in &decision.gates {
            gate_line(f, gate)?;
        }
        writeln!(f, "    Row:      {}, {}", decision.row, decision.condition)?;
        for warning in &decision.warnings {
            writeln!(f, "    {}", styled(NOTABLE, format_args!("Warning:  {warning}")))?;
        }
        match &resource.error {
            Some(error) => writeln!(f, "    {}", styled(BAD, format_args!("Error:    {error}")))?,
            None => match &waits_for {
                Some(waits_for) => writeln!(f, "    Reason:   {waits_for} ({})", decision.because)?,
                None if !decision.objects.is_empty() => writeln!(f, "    Reason:   {}", decision.because)?,
                None => writeln!(f, "    Reason:   {} ({})", decision.reason, decision.because)?,
            },
        }
        let result = resource.result.as_str();
        match &resource.result {
            OutcomeResult::Skipped if decision.finalized => {
                writeln!(f, "    Outcome:  finalized, nothing of it is left to do")?;
            }
            OutcomeResult::Skipped | OutcomeResult::Failed(_) => {}
            OutcomeResult::Deleting | OutcomeResult::Waiting => {
                writeln!(f, "    Outcome:  {result}; the next event looks again")?;
            }
            OutcomeResult::Created
            | OutcomeResult::Updated
            | OutcomeResult::Patched
            | OutcomeResult::Recreated
            | OutcomeResult::Disowned
            | OutcomeResult::Deleted => writeln!(f, "    Outcome:  {result}")?,
        }
        members(f, &decision.objects)?;
        for (index, pruned) in decision.pruned.iter().enumerate() {
            let title = if index == 0 { "Pruned:" } else { "" };
            writeln!(f, "    {title:<9} {}: {}", pruned.name, pruned.because)?;
        }
        // Print what would have led to another decision only if nothing happened: that is when the reader asks
        // why.
        let did_nothing =
            matches!(resource.result, OutcomeResult::Skipped | OutcomeResult::Waiting | OutcomeResult::Failed(_));
        if let Some(otherwise) = decision.otherwise.filter(|_| did_nothing) {
            writeln!(f, "    {}", styled(FAINT, format_args!("Else:     {otherwise}")))?;
        }
        for diff in self.trace.diffs.iter().filter(|diff| concerns(diff, resource)) {
            self.diff(f, diff)?;
        }
        Ok(())
    }

    /// The diffs of objects that no resource entry names, such as former versions.
    fn other_objects(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let shown = |diff: &ObjectDiff| self.trace.resources.iter().any(|resource| concerns(diff, resource));
        for diff in self.trace.diffs.iter().filter(|diff| !shown(diff)) {
            let object = qualified(&diff.namespace, &diff.name);
            let mut members = self.trace.decisions.iter().flat_map(|decision| &decision.objects);
            let whose =
                if members.any(|member| member.identity == diff.identity) { "Of a bundle" } else { "Beside these" };
            writeln!(f, "  {whose}: {} {object} {}", diff.kind, diff.change.as_str())?;
            self.diff(f, diff)?;
        }
        Ok(())
    }

    fn diff(&self, f: &mut Formatter<'_>, diff: &ObjectDiff) -> fmt::Result {
        if diff.change == Change::Deleted && !self.verbose {
            return Ok(());
        }
        for line in diff.diff.lines() {
            match line.as_bytes().first() {
                Some(b'@') if diff.change == Change::Created => continue,
                Some(b'@') => writeln!(f, "      {}", styled(FAINT, line))?,
                Some(b'+') => writeln!(f, "      {}", styled(ADDED, line))?,
                Some(b'-') => writeln!(f, "      {}", styled(REMOVED, line))?,
                Some(_) | None => writeln!(f, "{}", format!("      {line}").trim_end())?,
            }
        }
        Ok(())
    }

    fn discovered(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if self.trace.discovered_resources.is_empty() {
            return Ok(());
        }
        let title = dotted("Phase 3.5: Discovery Results");
        writeln!(f, "\n{} (available as resources.* in payload)", styled(HEAD, title))?;
        for (name, object) in &self.trace.discovered_resources {
            let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
            let object_name = qualified(text("/metadata/namespace"), text("/metadata/name"));
            let generation = match text("/metadata/annotations/hyperfleet.io~1generation") {
                "" => "without generation".to_owned(),
                generation => format!("generation {generation}"),
            };
            let terminating = if text("/metadata/deletionTimestamp").is_empty() { "" } else { ", terminating" };
            writeln!(f, "  {name:<16} = {} {object_name}, {generation}{terminating}", text("/kind"))?;
            if self.verbose {
                indented(f, &format!("{object:#}"), 4)?;
            }
        }
        Ok(())
    }

    fn action(&self, f: &mut Formatter<'_>, at: usize, of: usize, action: &ActionTrace) -> fmt::Result {
        let word = match action.status {
            Status::Failed => styled(BAD, "FAILED"),
            Status::Skipped => styled(NOTABLE, "SKIPPED"),
            Status::Success => styled(GOOD, "EXECUTED"),
        };
        writeln!(f, "  [{at}/{of}] {:<30} {word}", action.name)?;
        if let Some(reason) = &action.reason {
            writeln!(f, "    Reason:   {reason}")?;
        }
        self.logs(f, Phase::PostActions, &action.name)?;
        self.calls(f, Phase::PostActions, &action.name, 4)?;
        if let Some(error) = &action.error {
            writeln!(f, "    {}", styled(BAD, format_args!("Error:    {error}")))?;
        }
        Ok(())
    }

    /// The lines that a step of a phase logs, before it makes its call.
    fn logs(&self, f: &mut Formatter<'_>, phase: Phase, step: &str) -> fmt::Result {
        for line in self.trace.logs.iter().filter(|line| line.phase == phase && line.step == step) {
            match &line.error {
                Some(error) => writeln!(f, "    {}", styled(BAD, format_args!("Log:      not rendered: {error}")))?,
                None => writeln!(f, "    Log:      {}: {}", line.level, line.message)?,
            }
        }
        Ok(())
    }

    /// The calls that a step of a phase made, and the conditions that they reported.
    fn calls(&self, f: &mut Formatter<'_>, phase: Phase, step: &str, indent: usize) -> fmt::Result {
        let its_own = |call: &&RequestTrace| call.phase == phase && call.step == step;
        for call in self.trace.api_requests.iter().filter(its_own) {
            let status = styled(if call.status_code < 400 { GOOD } else { BAD }, call.status_code);
            let note = match (call.answered_by, call.status_code) {
                (AnsweredBy::Default, 404) => "  (no prepared answer)",
                (AnsweredBy::Default, 201) => "  (no prepared answer: the report is stored)",
                (AnsweredBy::Default, _) => "  (no prepared answer: {})",
                (AnsweredBy::Entry(_), _) => "",
            };
            writeln!(f, "{:indent$}API Call: {} {} -> {status}{}", "", call.method, call.url, styled(FAINT, note))?;
            for report in
                self.trace.reports.iter().filter(|report| phase == Phase::PostActions && report.url == call.url)
            {
                reported(f, &report.body)?;
            }
            for (name, body) in [("Request", &call.request_body), ("Response", &call.response_body)] {
                let Some(body) = body.as_ref().filter(|_| self.verbose) else { continue };
                writeln!(f, "{:indent$}[verbose] {name} body:", "")?;
                let pretty = serde_json::from_str::<Value>(body).map(|body| format!("{body:#}"));
                indented(f, pretty.as_deref().unwrap_or(body), 6)?;
            }
        }
        Ok(())
    }

    fn ending(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if !self.trace.warnings.is_empty() {
            writeln!(f)?;
        }
        for warning in &self.trace.warnings {
            writeln!(f, "{}", styled(NOTABLE, format_args!("Warning: {warning}")))?;
        }
        let result = if self.trace.failed() { styled(BAD, "FAILED") } else { styled(GOOD, "SUCCESS") };
        writeln!(f, "\n{} {result}", styled(HEAD, "Result:"))
    }

    fn value(&self, value: &Value) -> String {
        let text = value.to_string();
        if self.verbose { text } else { cut(&text) }
    }
}

/// The decision about each resource, on one line: what was written, or why not.
#[must_use]
pub fn decisions(trace: &Trace) -> String {
    let told = trace.resources.iter().zip(&trace.decisions).map(|(resource, decision)| {
        let kind = decision.decision.as_str().to_uppercase();
        let reason = match (&resource.result, waits_for(decision)) {
            (OutcomeResult::Failed(failure), _) => format!("FAILED {}", failure.reason.as_str()),
            (_, Some(waits)) => format!("WAIT, {waits}"),
            (result, None) if !decision.objects.is_empty() => result.as_str().to_uppercase(),
            (_, None) if matches!(decision.decision, DecisionKind::Skip | DecisionKind::Wait) => {
                format!("{kind} {}", decision.reason)
            }
            (_, None) => kind,
        };
        format!("{} {reason}", resource.name)
    });
    let told: Vec<_> = told.collect();
    if told.is_empty() { "no resource".to_owned() } else { told.join("; ") }
}

/// Removes the ANSI styles from a text.
#[must_use]
pub fn without_colours(text: &str) -> String {
    anstream::adapter::strip_str(text).to_string()
}

fn phase_line(f: &mut Formatter<'_>, title: &str, phase: &PhaseTrace) -> fmt::Result {
    let status = match phase.status {
        PhaseStatus::Success => styled(GOOD, "SUCCESS"),
        PhaseStatus::Failed => styled(BAD, "FAILED"),
        PhaseStatus::Skipped => styled(NOTABLE, "SKIPPED"),
        PhaseStatus::NotRun => styled(FAINT, "NOT RUN"),
    };
    write!(f, "\n{} {status}", styled(HEAD, dotted(title)))?;
    match &phase.detail {
        Some(detail) if phase.status == PhaseStatus::Success => writeln!(f, " ({})", detail.to_uppercase()),
        Some(_) | None => writeln!(f),
    }
}

/// The conditions of a status report, one per line.
fn reported(f: &mut Formatter<'_>, body: &Value) -> fmt::Result {
    let conditions = body.get("conditions").and_then(Value::as_array);
    for condition in conditions.into_iter().flatten() {
        let text = |key: &str| condition.get(key).and_then(Value::as_str).unwrap_or("-");
        let style = match text("status") {
            "True" => GOOD,
            "False" => NOTABLE,
            _ => FAINT,
        };
        let (kind, status, reason) = (text("type"), text("status"), text("reason"));
        writeln!(
            f,
            "    Reported: {kind:<10} {} {reason}: {}",
            styled(style, format_args!("{status:<7}")),
            text("message")
        )?;
    }
    Ok(())
}

/// A gate that was evaluated. The resource's error contains the reason of a failure.
fn gate_line(f: &mut Formatter<'_>, gate: &GateTrace) -> fmt::Result {
    let answer = gate.answer.as_str();
    let of = gate.resource.as_ref().map(|resource| format!(" of {resource}")).unwrap_or_default();
    let answer = match waits(&gate.awaits) {
        Some(awaited) => format!("{answer}, {awaited}"),
        None => answer.to_owned(),
    };
    match &gate.expression {
        Some(expression) => {
            let key = if gate.gate == "when" { "when".to_owned() } else { format!("{}.when", gate.gate) };
            writeln!(f, "    Asked:    {key}{of} {answer}: {}", styled(FAINT, expression))?;
        }
        None => writeln!(f, "    Asked:    {}{of} {answer}", gate.gate)?,
    }
    for reading in &gate.readings {
        writeln!(f, "              {}", styled(FAINT, format_args!("{} = {}", reading.path, reading.value)))?;
    }
    Ok(())
}

/// Names the resources for which something waits, if it waits for any.
fn waits(awaited: &BTreeSet<String>) -> Option<String> {
    let names: Vec<_> = awaited.iter().map(String::as_str).collect();
    (!names.is_empty()).then(|| format!("waits for {}", names.join(" and ")))
}

/// The other resources for which a resource waits: the gate that decided does not hold because of these.
fn waits_for(decision: &DecisionTrace) -> Option<String> {
    waits(&decision.awaits)
}

fn style_of(kind: DecisionKind) -> Style {
    match kind {
        DecisionKind::Skip | DecisionKind::Wait => NOTABLE,
        DecisionKind::Delete | DecisionKind::Recreate => REMOVED,
        DecisionKind::Create
        | DecisionKind::CreateVersion
        | DecisionKind::Update
        | DecisionKind::Patch
        | DecisionKind::Disown
        | DecisionKind::Fail => GOOD,
    }
}

fn concerns(diff: &ObjectDiff, resource: &ResourceTrace) -> bool {
    diff.kind == resource.kind && diff.namespace == resource.namespace && diff.name == resource.resource_name
}

fn qualified(namespace: &str, name: &str) -> String {
    if namespace.is_empty() { name.to_owned() } else { format!("{namespace}/{name}") }
}

fn dotted(title: &str) -> String {
    format!("{:.<45}", format!("{title} "))
}

fn indented(f: &mut Formatter<'_>, text: &str, indent: usize) -> fmt::Result {
    text.lines().try_for_each(|line| writeln!(f, "{:indent$}{line}", ""))
}

fn one_line(text: &str) -> String {
    cut(&text.split_whitespace().collect::<Vec<_>>().join(" "))
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(VALUE_WIDTH) {
        Some((end, _)) => format!("{}… ({} bytes)", &text[..end], text.len()),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests;
