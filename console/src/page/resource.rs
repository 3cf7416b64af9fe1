//! The page of one resource: why it is as it is, what would change that, and what happened.

use jiff::Timestamp;
use maud::{Markup, html};

use super::parts::{
    adapter_link, ago, all_away, counted, cut, cut_to, fitting, link, mark, prose, sentence, table, tone_of,
    url_segment,
};
use super::{Moment, Page, Part};
use crate::config::Links;
use crate::model::{
    Condition, Decision, Effect, List, Member, Pass, Passes, Pruned, Reference, Report, Resource, Stuck, StuckList,
    Totals,
};
use crate::source::{Away, Replica};
use crate::why::{Facts, Known, On, Tone, Verdict, judge};

/// The bytes of the decisions of one adapter, and of all; of the objects of one bundle; of the reports, of the conditions, and of the
/// timeline. A page has less than 100 kB.
const OF_ADAPTER: usize = 20_000;
const OF_ADAPTERS: usize = 40_000;
const OF_BUNDLE: usize = 8_000;
const OF_REPORTS: usize = 15_000;
const OF_CONDITIONS: usize = 8_000;
const OF_TIMELINE: usize = 12_000;
/// The bytes of the links to the resources that are part of it.
const OF_CHILDREN: usize = 8_000;
/// The most characters of the first sentence.
const HEADLINE: usize = 600;
/// The most gates of a decision, values that a gate read, labels, and things of other short lists.
const FEW: usize = 12;

/// What the page shows.
#[derive(Debug, Clone)]
pub struct Details<'a> {
    /// The resource.
    pub resource: Resource,
    /// The last report of each adapter.
    pub reports: Result<Vec<Report>, Away>,
    /// The resources that are part of it.
    pub children: Result<List<Resource>, Away>,
    /// The recent passes about it, of each replica of each configured adapter.
    pub passes: Vec<(String, Vec<Replica<Passes>>)>,
    /// The stuck resources; none if no exporter is configured.
    pub stuck: Option<Result<StuckList, Away>>,
    /// Where other programs show more.
    pub links: &'a Links,
}

impl Details<'_> {
    /// Renders the page.
    #[must_use]
    pub fn page(&self, moment: Moment) -> Page {
        let resource = &self.resource;
        let passes = self.of_adapters();
        let verdict = self.verdict(&passes, moment.now);
        let content = html! {
            h1 { (cut(&resource.name)) " " small { (resource.kind) } }
            (self.problems())
            (headline(&verdict))
            (self.facts(moment))
            (self.decisions(&passes, &verdict, moment))
            (self.reports(moment))
            (conditions(&resource.status.conditions, moment))
            (self.timeline(&passes, moment))
        };
        Page { title: format!("{} {}", resource.kind, resource.name), part: Part::Fleet, content, exists: true }
    }

    /// Renders the page of a resource that the API does not have, with the passes about it that adapters still keep.
    #[must_use]
    pub fn missing(&self, moment: Moment) -> Page {
        let message = format!(
            "The API has no resource with the id {}. If it was force-deleted, the page Sweeper shows what is left of it.",
            self.resource.id
        );
        let passes = self.of_adapters();
        let content = html! {
            h1 { "There is no such resource" }
            p { (message) }
            (self.problems())
            @if passes.iter().any(|(_, passes)| !passes.is_empty()) { (self.timeline(&passes, moment)) }
            p { a href="/" { "To the fleet" } }
        };
        Page { title: "There is no such resource".to_owned(), part: Part::Fleet, content, exists: false }
    }

    /// The passes of each adapter, of all its replicas, the newest first.
    fn of_adapters(&self) -> Vec<(&str, Vec<&Pass>)> {
        let mut found = Vec::new();
        for (adapter, replicas) in &self.passes {
            let known = replicas.iter().filter_map(|replica| replica.answer.as_ref().ok());
            let mut passes: Vec<&Pass> = known.flat_map(|passes| &passes.passes).collect();
            passes.sort_by_key(|pass| std::cmp::Reverse(pass.time));
            found.push((adapter.as_str(), passes));
        }
        found
    }

    fn verdict(&self, passes: &[(&str, Vec<&Pass>)], now: Timestamp) -> Verdict {
        let known = self.passes.iter().zip(passes).map(|((adapter, replicas), (_, passes))| {
            let answers: Vec<&Passes> = replicas.iter().filter_map(|replica| replica.answer.as_ref().ok()).collect();
            if answers.is_empty() {
                return (adapter.clone(), Known::Nothing);
            }
            let are_all = answers.len() == replicas.len();
            let since = answers.iter().map(|passes| complete_since(passes)).max().flatten();
            let is_told = are_all && answers.iter().all(|passes| complete_since(passes).is_some());
            let last = passes.first().map(|pass| Box::new((*pass).clone()));
            let failed_before = passes.get(1).is_some_and(|pass| pass.status == "failed");
            (adapter.clone(), Known::Passes { last, failed_before, since: since.filter(|_| is_told) })
        });
        let known: Vec<(String, Known)> = known.collect();
        judge(&Facts {
            resource: &self.resource,
            reports: self.reports.as_deref().ok(),
            passes: &known,
            stuck: self.stuck(),
            children: self.children.as_ref().ok(),
            now,
        })
    }

    fn stuck(&self) -> Option<&Stuck> {
        self.stuck.as_ref()?.as_ref().ok()?.items.iter().find(|stuck| stuck.id == self.resource.id)
    }

    fn problems(&self) -> Markup {
        let of_passes =
            self.passes.iter().flat_map(|(_, replicas)| replicas).filter_map(|replica| replica.answer.as_ref().err());
        let others = [self.reports.as_ref().err(), self.children.as_ref().err()].into_iter().flatten();
        let of_stuck = self.stuck.iter().filter_map(|stuck| stuck.as_ref().err());
        let unlisted = match &self.stuck {
            Some(Ok(stuck))
                if self.stuck().is_none() && (stuck.truncated || stuck.total > stuck.items.len() as u64) =>
            {
                stuck.items.len()
            }
            Some(_) | None => 0,
        };
        html! {
            (all_away(others.chain(of_stuck).chain(of_passes)))
            @if self.stuck.is_none() && self.resource.is_reconciled() == Some(false) { p.faint { "Whether this takes too long is not judged here: no " code { "exporter" } " is configured." } }
            @if unlisted > 0 { p.faint { "More than " (unlisted) " resources are stuck. Whether this one is among the others is not known." } }
        }
    }

    fn facts(&self, moment: Moment) -> Markup {
        let resource = &self.resource;
        let references =
            resource.references.iter().flat_map(|(name, references)| references.iter().map(move |it| (name, it)));
        let (children, unlisted) = match &self.children {
            Ok(List { items, total, .. }) => (items.as_slice(), total.saturating_sub(items.len() as u64)),
            Err(_) => (&[] as &[Resource], 0),
        };
        let (links, hidden) = fitting(
            children.iter().map(|child| html! { span.child { (child.kind) " " (link(&child.id, &child.name)) " " } }),
            OF_CHILDREN,
        );
        let unlisted = unlisted + hidden as u64;
        html! {
            dl.facts {
                dt { "Id" } dd { code { (resource.id) } }
                dt { "Generation" } dd { (resource.generation) }
                dt { "Created" } dd { (ago(resource.created_time, moment.now)) }
                dt { "Changed" } dd { (ago(resource.updated_time, moment.now)) @if let Some(by) = &resource.updated_by { " by " (by) } }
                @if resource.deleted_time.is_some() {
                    dt { "Deletion asked for" }
                    dd { (ago(resource.deleted_time, moment.now)) @if let Some(by) = &resource.deleted_by { " by " (by) } }
                }
                @if let Some(owner) = &resource.owner_references { dt { "Part of" } dd { (named(owner)) } }
                @if !children.is_empty() {
                    dt { "Has" }
                    dd { (links) @if unlisted > 0 { "and " (unlisted) " more" } }
                }
                @for (name, reference) in references.take(FEW) { dt { "Names as " (name) } dd { (named(reference)) } }
                @if !resource.labels.is_empty() {
                    dt { "Labels" }
                    dd { @for (index, (key, value)) in resource.labels.iter().take(FEW).enumerate() { @if index > 0 { ", " } code { (key) "=" (value) } } }
                }
            }
        }
    }

    /// The last decisions of each adapter, first of those that the resource waits on.
    fn decisions(&self, passes: &[(&str, Vec<&Pass>)], verdict: &Verdict, moment: Moment) -> Markup {
        let is_awaited =
            |adapter: &str| verdict.waits.iter().any(|wait| matches!(&wait.on, On::Adapter(name) if name == adapter));
        let (awaited, others): (Vec<_>, Vec<_>) = passes.iter().partition(|(adapter, _)| is_awaited(adapter));
        let mut parts = Vec::new();
        let mut room = OF_ADAPTERS;
        for (adapter, passes) in awaited.into_iter().chain(others) {
            let part = match passes.first() {
                None => {
                    let since = self.kept_since(adapter);
                    html! { p { (adapter_link(adapter)) " has no pass about this resource among those that it keeps" @if since.is_some() { "; these go back to " (ago(since, moment.now)) } "." } }
                }
                Some(pass) => self.last_pass(adapter, pass, room.min(OF_ADAPTER), moment),
            };
            room = room.saturating_sub(part.0.len());
            parts.push(part);
        }
        html! {
            @if !parts.is_empty() { h2 { "What the adapters decided" } }
            @for part in parts { (part) }
        }
    }

    /// Since when each replica of an adapter that answers keeps all of its passes.
    fn kept_since(&self, adapter: &str) -> Option<Timestamp> {
        let replicas = self.passes.iter().filter(|(name, _)| name == adapter).flat_map(|(_, replicas)| replicas);
        replicas.filter_map(|replica| complete_since(replica.answer.as_ref().ok()?)).max()
    }

    fn last_pass(&self, adapter: &str, pass: &Pass, bytes: usize, moment: Moment) -> Markup {
        let effect = |name: &str| pass.resources.iter().find(|effect| effect.name == name);
        let row = |decision: &Decision| {
            html! {
                tr {
                    th scope="row" { (cut(&decision.resource)) @if let Some(effect) = effect(&decision.resource) { br; small { (object(effect)) } } }
                    td { (decided(decision, effect(&decision.resource))) }
                    td { (cut(&decision.because)) (why(adapter, decision)) (members(adapter, decision)) }
                }
            }
        };
        let (rows, hidden) = fitting(pass.decisions.iter().map(row), bytes);
        let shown = pass.decisions.len() - hidden;
        html! {
            h3 { (adapter_link(adapter)) " " (mark(tone_of(pass), &pass.status)) " " small { (ago(pass.time, moment.now)) ", about generation " (pass.event.generation) @if let Some(replica) = &pass.replica { ", by " (cut(replica)) } } (self.trace(pass)) }
            @if let Some(gone) = &pass.gone { p { (cut(gone)) } }
            @for (phase, error) in &pass.errors { p.error { strong { (phase.replace('_', " ")) ": " } (cut(error)) } }
            @if let Some(not_met) = &pass.not_met { p { (sentence(&cut(not_met))) } }
            @for precondition in pass.preconditions.iter().filter(|it| !it.matched && pass.not_met.is_none()) {
                p { "The precondition " code { (cut(&precondition.name)) } " is not met" @if let Some(error) = &precondition.error { ": " (cut(error)) } "." }
            }
            @for warning in pass.warnings.iter().take(FEW) { p.warning { (cut(warning)) } }
            @if shown > 0 { (table(&format!("Decisions of {adapter}"), &["Entry and object", "Decision", "Because"], rows)) }
            @if hidden > 0 { p.faint { (hidden) " more decisions are not shown; the adapter's page " code { "/passes" } " has them." } }
            @for cut in &pass.cut { p.faint { "The adapter left out of this pass, which was too long: " (cut) "." } }
        }
    }

    /// Links to the trace and to the log lines of a pass.
    fn trace(&self, pass: &Pass) -> Markup {
        let Some(id) = pass.trace_id.as_deref().filter(|id| !id.is_empty()) else { return html! {} };
        let links = [("trace", &self.links.trace), ("logs", &self.links.logs)];
        html! {
            @for (name, link) in links {
                @if let Some(link) = link { " " a rel="noreferrer" href=(link.replace(crate::config::TRACE_ID, &url_segment(id))) { (name) } }
            }
            @if self.links.trace.is_none() && self.links.logs.is_none() { " " small { "trace " code { (id) } } }
        }
    }

    fn reports(&self, moment: Moment) -> Markup {
        let Ok(reports) = &self.reports else { return html! {} };
        let generation = self.resource.generation;
        let of_report = |report: &Report| {
            html! {
                @for (index, condition) in report.conditions.iter().take(FEW).enumerate() {
                    tr class=[(index == 0).then_some("first")] {
                        @if index == 0 {
                            th scope="rowgroup" rowspan=(report.conditions.len().min(FEW)) {
                                (adapter_link(&report.adapter)) br;
                                small {
                                    "generation " (report.observed_generation)
                                    @if report.observed_generation != generation { ", not " (generation) }
                                    ", " (ago(report.last_report_time, moment.now))
                                }
                            }
                        }
                        (condition_cells(condition, moment))
                    }
                }
            }
        };
        let (rows, hidden) = fitting(reports.iter().map(of_report), OF_REPORTS);
        html! {
            h2 { "What the adapters reported" }
            @if reports.is_empty() { p { "No adapter has reported about this resource." } }
            @else { (table("Reports", &["Adapter", "Condition", "Status", "Reason and message", "Since"], rows)) }
            @if hidden > 0 { p.faint { (hidden) " more reports are not shown; the API has them." } }
        }
    }

    /// What happened, the newest first. Passes that changed nothing are counted, and not listed one by one.
    fn timeline(&self, passes: &[(&str, Vec<&Pass>)], moment: Moment) -> Markup {
        let resource = &self.resource;
        let mut lines: Vec<(Timestamp, Markup)> = Vec::new();
        let mut add = |time: Option<Timestamp>, line: Markup| lines.extend(time.map(|time| (time, line)));
        add(resource.created_time, html! { "The resource was created." });
        add(
            resource.deleted_time,
            html! { "Its deletion was asked for" @if let Some(by) = &resource.deleted_by { " by " (by) } "." },
        );
        if resource.generation > 1 && resource.deleted_time.is_none() {
            add(
                resource.updated_time,
                html! { "Generation " (resource.generation) @if let Some(by) = &resource.updated_by { " by " (by) } "." },
            );
        }
        for condition in &resource.status.conditions {
            add(
                condition.last_transition_time,
                html! { code { (condition.condition_type) } " became " (condition.status) @if !condition.reason.is_empty() { ": " (condition.reason) } "." },
            );
        }
        for report in self.reports.iter().flatten() {
            add(
                report.last_report_time,
                html! { (adapter_link(&report.adapter)) " reported last, about generation " (report.observed_generation) "." },
            );
        }
        let mut quiet = 0;
        for (adapter, pass) in
            passes.iter().flat_map(|(adapter, passes)| passes.iter().map(move |pass| (adapter, pass)))
        {
            let deeds = deeds(pass);
            if deeds.is_empty() && pass.status != "failed" {
                quiet += 1;
                continue;
            }
            let line = html! {
                (adapter_link(adapter))
                @if pass.status == "failed" { " " (mark(Tone::Bad, "failed")) @for error in pass.errors.values() { " " (cut(error)) } }
                @if !deeds.is_empty() { ": " (cut(&deeds.join(", "))) "." }
                (self.trace(pass))
            };
            add(pass.time, line);
        }
        lines.sort_by_key(|(time, _)| std::cmp::Reverse(*time));
        let line = |(time, line): &(Timestamp, Markup)| html! { li { (ago(Some(*time), moment.now)) span { (line) } } };
        let (shown, hidden) = fitting(lines.iter().map(line), OF_TIMELINE);
        html! {
            h2 { "What happened" }
            ol.timeline { (shown) }
            @if hidden > 0 { p.faint { (hidden) " more lines are not shown." } }
            @if quiet > 0 { p.faint { (counted(quiet, "pass", "passes")) " changed nothing." } }
        }
    }
}

/// Since when a replica knows all of its passes: since it started, unless it has forgotten some.
fn complete_since(passes: &Passes) -> Option<Timestamp> {
    let Totals { success, failed, skipped, .. } = passes.totals;
    if success + failed + skipped > passes.kept.passes { passes.kept.oldest } else { passes.started }
}

fn headline(verdict: &Verdict) -> Markup {
    html! {
        section.verdict aria-label="Why" {
            p.headline { (mark(verdict.tone, verdict.word)) " " (cut_to(&verdict.headline, HEADLINE)) "." }
            @for wait in verdict.waits.iter().take(FEW) {
                article {
                    h2 { (mark(wait.tone, &wait.on.to_string())) }
                    p { (prose(&wait.what)) }
                    @for said in wait.said.iter().take(3) { blockquote { (cut_to(said, 500)) } }
                    @if !wait.whose.is_empty() { p { strong { "Whose part: " } (wait.whose) } }
                    @if !wait.helps.is_empty() {
                        p { strong { "What would change it" } }
                        ul { @for help in wait.helps.iter().take(5) { li { (prose(help)) } } }
                    }
                }
            }
        }
    }
}

fn named(reference: &Reference) -> Markup {
    html! { (reference.kind) " " (link(&reference.id, "")) }
}

fn object(effect: &Effect) -> String {
    let place = [&effect.namespace, &effect.resource_name].into_iter().filter(|text| !text.is_empty());
    format!("{} {}", effect.kind, place.map(String::as_str).collect::<Vec<_>>().join("/"))
}

fn decided(decision: &Decision, effect: Option<&Effect>) -> Markup {
    let failed = effect.is_some_and(|effect| effect.error.is_some()) || decision.decision == "fail";
    html! {
        @if failed { (mark(Tone::Bad, &decision.decision)) } @else { (decision.decision) }
        @if !decision.reason.is_empty() { br; small { (decision.reason) } }
        @if let Some(error) = effect.and_then(|effect| effect.error.as_ref()) { br; small.error { (cut(error)) } }
    }
}

/// The row of the decision table, and the gates with what they read.
fn why(adapter: &str, decision: &Decision) -> Markup {
    if decision.row.is_empty() {
        return html! {};
    }
    html! {
        details id={ "why-" (adapter) "-" (decision.resource) } {
            summary { "Row " (decision.row) " of the decision table" }
            p { (prose(&super::parts::sentence(&decision.condition))) }
            @if let Some(otherwise) = decision.otherwise.as_deref().filter(|text| !text.is_empty()) {
                p { (prose(&format!("For another decision, {otherwise}."))) }
            }
            @for gate in decision.gates.iter().take(FEW) {
                p {
                    "Gate " code { @if let Some(of) = &gate.resource { (of) "." } (gate.gate) } ": " strong { (gate.answer) }
                    @if let Some(expression) = &gate.expression { br; code { (cut(expression)) } }
                }
                @if !gate.readings.is_empty() {
                    ul { @for reading in gate.readings.iter().take(FEW) { li { code { (cut(&reading.path)) } " = " code { (cut(&reading.value)) } } } }
                }
            }
            @for warning in decision.warnings.iter().take(FEW) { p.warning { (cut(warning)) } }
        }
    }
}

/// The objects of a bundle, on demand: first those that failed or are not ready.
fn members(adapter: &str, decision: &Decision) -> Markup {
    if decision.objects.is_empty() {
        return html! {};
    }
    // An older adapter does not say whether an object that is gone has served.
    let is_fine = |member: &Member| {
        member.ready.unwrap_or_else(|| member.readiness.eq_ignore_ascii_case("ready")) && member.effect != "failed"
    };
    let (fine, others): (Vec<&Member>, Vec<&Member>) = decision.objects.iter().partition(|member| is_fine(member));
    let (ready, all) = (fine.len(), decision.objects.len());
    let row = |member: &Member| {
        html! {
            tr {
                th scope="row" { (cut(&member.object)) }
                td { (member.step) }
                td { (cut(&member.decision)) @if !member.effect.is_empty() { br; small { (member.effect) } } }
                td { (member.readiness) @if !member.why.is_empty() { br; small { (cut(&member.why)) } } }
            }
        }
    };
    let (rows, hidden) = fitting(others.into_iter().chain(fine).map(row), OF_BUNDLE);
    html! {
        details id={ "objects-" (adapter) "-" (decision.resource) } {
            summary { (ready) " of " (all) " objects are ready" }
            (table("Objects of the bundle", &["Object", "Step", "Decision", "Readiness"], rows))
            @if hidden > 0 { p.faint { (hidden) " more objects are not shown; the adapter's page " code { "/passes" } " has them." } }
        }
    }
}

/// What a pass did to objects.
fn deeds(pass: &Pass) -> Vec<String> {
    let is_deed = |effect: &&Effect| !matches!(effect.result.as_str(), "" | "skipped" | "waiting" | "failed");
    let of_entries =
        pass.resources.iter().filter(is_deed).map(|effect| format!("{} {}", object(effect), effect.result));
    let of_retention = pass.decisions.iter().flat_map(|decision| {
        let entry = pass.resources.iter().find(|effect| effect.name == decision.resource);
        let entry = entry.cloned().unwrap_or_default();
        decision.pruned.iter().map(move |Pruned { name, because }| {
            let former = object(&Effect { resource_name: name.clone(), ..entry.clone() });
            format!("{former} deleted by retention: {because}")
        })
    });
    let members = pass.decisions.iter().flat_map(|decision| &decision.objects);
    let is_written = |effect: &str| !matches!(effect, "" | "none" | "failed");
    let of_members = members
        .filter(|member| is_written(&member.effect))
        .map(|member| format!("{} {}", member.object, member.effect));
    of_entries.chain(of_retention).chain(of_members).collect()
}

fn condition_cells(condition: &Condition, moment: Moment) -> Markup {
    let name = condition.condition_type.as_str();
    let is_wanted =
        ["Reconciled", "Applied", "Available", "Health", "Ready"].contains(&name) || name.ends_with("Successful");
    // Of another condition, such as Degraded, nobody here knows which status is the good one.
    let tone = match condition.status.as_str() {
        "True" if is_wanted || name == "Finalized" => Some(Tone::Good),
        "False" if is_wanted => Some(Tone::Bad),
        "Unknown" => Some(Tone::Busy),
        "False" if name == "Finalized" => Some(Tone::Busy),
        _ => None,
    };
    html! {
        td { (condition.condition_type) }
        td { @match tone { Some(tone) => (mark(tone, &condition.status)), None => (condition.status) } }
        td { (condition.reason) @if !condition.reason.is_empty() && !condition.message.is_empty() { ": " } (cut(&condition.message)) }
        td { (ago(condition.last_transition_time, moment.now)) }
    }
}

fn conditions(conditions: &[Condition], moment: Moment) -> Markup {
    let row = |condition: &Condition| html! { tr { (condition_cells(condition, moment)) } };
    let (rows, hidden) = fitting(conditions.iter().map(row), OF_CONDITIONS);
    html! {
        h2 { "What the API makes of it" }
        @if conditions.is_empty() { p { "The API keeps no conditions about this resource." } }
        @else { (table("Conditions", &["Condition", "Status", "Reason and message", "Since"], rows)) }
        @if hidden > 0 { p.faint { (hidden) " more conditions are not shown; the API has them." } }
    }
}
