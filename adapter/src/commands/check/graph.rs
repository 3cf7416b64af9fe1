//! Draws the decision tree of a resource as a Mermaid flowchart.
//!
//! In: the questions and decisions that a resource can reach. Out: text in Mermaid's grammar, with questions as
//! boxes and decisions as rounded boxes. Rows that no event can reach are left out. A decision or a failure
//! that several paths reach is drawn once. Every label is quoted and escaped, because expressions contain
//! quotes, brackets and comparison signs, which Mermaid or HTML would interpret.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use lifecycle_check::members::Members;
use lifecycle_check::reach::{Asks, End, Question, Reach, Step};
use lifecycle_core::task::Resource;

/// A Markdown page with the flowchart of a resource.
pub(super) fn page(reach: &Reach<'_>) -> String {
    let resource = reach.resource;
    let kind = &resource.kind;
    let mut page = format!(
        "## {}\n\nWhat can become of this {} ({}) on an event.\n\n```mermaid\n{}```\n",
        resource.name,
        kind.kind,
        kind.api_version(),
        flowchart(reach)
    );
    if let Some(members) = &reach.members {
        let _ = write!(page, "\nIts objects, in waves.\n\n```mermaid\n{}```\n", waves(members));
        page.push_str("\nWhat can become of each of them: the first row that matches decides.\n\n| row | condition |\n| --- | --- |\n");
        for row in &members.rows {
            let _ = writeln!(page, "| {} | {} |", row.number(), row.condition());
        }
    }
    page
}

/// The flowchart of a bundle's waves, in the order in which they are applied, and of those of its deletion.
pub(super) fn waves(members: &Members) -> String {
    let mut text = "flowchart LR\n".to_owned();
    for (group, steps) in [("wave", &members.application), ("deletion", &members.deletion)] {
        for (index, step) in steps.iter().enumerate() {
            let _ = writeln!(text, "    {group}{index}[\"{}\"]", lines(&step.name, &step.objects));
            if let Some(previous) = index.checked_sub(1) {
                let _ = writeln!(text, "    {group}{previous} --> {group}{index}");
            }
        }
    }
    if !members.kept.is_empty() {
        let _ = writeln!(text, "    kept([\"{}\"])", lines("not deleted with the bundle", &members.kept));
    }
    if members.has_others {
        text.push_str("    others([\"further objects, known only with an event\"])\n");
    }
    text
}

/// The text of a box: a title, and an object in each line below it.
fn lines(title: &str, objects: &[String]) -> String {
    let lines: Vec<_> = std::iter::once(title.to_owned()).chain(objects.iter().map(|it| escaped(it))).collect();
    lines.join("<br>")
}

/// The flowchart of one resource.
pub(super) fn flowchart(reach: &Reach<'_>) -> String {
    let text = "flowchart TD\n".to_owned();
    let mut chart = Chart { resource: reach.resource, text, questions: 0, ends: BTreeSet::new() };
    chart.step(&reach.root);
    chart.text
}

struct Chart<'t> {
    resource: &'t Resource,
    text: String,
    /// The number of questions written so far; a question's number is part of its node's name.
    questions: usize,
    /// The names of the decision nodes that were written already.
    ends: BTreeSet<String>,
}

impl Chart<'_> {
    /// Writes a step and all steps that follow it, and returns the name of the step's node.
    fn step(&mut self, step: &Step) -> String {
        match step {
            Step::Question(question) => self.question(question),
            Step::End(End { row, decision, reason }) => {
                let name = format!("row{}_{decision}_{reason}", row.number());
                self.end(name, &[format!("row {}", row.number()), format!("{decision} {reason}")])
            }
        }
    }

    fn question(&mut self, question: &Question) -> String {
        self.questions += 1;
        let name = format!("question{}", self.questions);
        let _ = writeln!(self.text, "    {name}[\"{}\"]", self.question_label(&question.asks));
        for (answer, step) in &question.answers {
            let next = self.step(step);
            let _ = writeln!(self.text, "    {name} -->|\"{}\"| {next}", escaped(answer));
        }
        if !question.unanswered.is_empty() {
            let reasons: Vec<_> = question.unanswered.iter().map(|end| end.reason).collect();
            let lines: Vec<_> = reasons.iter().map(|reason| format!("fail {reason}")).collect();
            let next = self.end(format!("fail_{}", reasons.join("_")), &lines);
            let _ = writeln!(self.text, "    {name} -.->|\"{}\"| {next}", failure_label(question));
        }
        name
    }

    fn question_label(&self, asks: &Asks) -> String {
        match asks {
            Asks::Fact(fact) => escaped(fact),
            Asks::Gates(gates) => {
                let gate = |name: &String| {
                    let expression = self.resource.gates.expression(name);
                    let lines = expression.iter().flat_map(|expression| expression.source().lines());
                    let lines = lines.map(|line| escaped(line.trim()));
                    std::iter::once(format!("<b>{}</b>", escaped(name))).chain(lines).collect::<Vec<_>>().join("<br/>")
                };
                gates.iter().map(gate).collect::<Vec<_>>().join("<br/>")
            }
        }
    }

    fn end(&mut self, name: String, lines: &[String]) -> String {
        if self.ends.insert(name.clone()) {
            let lines: Vec<_> = lines.iter().map(|line| escaped(line)).collect();
            let _ = writeln!(self.text, "    {name}([\"{}\"])", lines.join("<br/>"));
        }
        name
    }
}

/// The label of the edge to a failure: "no" if the only other answer is that a fact holds, else "no answer".
fn failure_label(question: &Question) -> &'static str {
    let is_requirement = matches!(question.asks, Asks::Fact(_)) && question.answers.len() == 1;
    if is_requirement { "no" } else { "no answer" }
}

/// Replaces each character that Mermaid or HTML could interpret by Mermaid's decimal character code, such as
/// `#34;`.
pub(super) fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        let is_plain = character.is_alphanumeric() || " _.,()?!=-+*/'|[]".contains(character);
        if is_plain {
            escaped.push(character);
        } else if !character.is_control() {
            let _ = write!(escaped, "#{};", u32::from(character));
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_escape_characters_that_mermaid_or_html_interprets() {
        let cases = [
            ("a == 'b' && c[0]", "a == 'b' #38;#38; c[0]"),
            ("\"<b>\" # ; : `%%` {x} $y", "#34;#60;b#62;#34; #35; #59; #58; #96;#37;#37;#96; #123;x#125; #36;y"),
            ("tab\there", "tabhere"),
            ("größer ≥ 3", "größer #8805; 3"),
        ];
        for (text, expected) in cases {
            assert_eq!(escaped(text), expected);
        }
    }
}
