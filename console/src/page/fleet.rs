//! The page of the fleet: how many resources of each kind are reconciled, pending, stuck and being deleted, what the stuck ones wait on,
//! and a list with filters.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use maud::{Markup, html};

use super::parts::{adapter_link, ago, all_away, counted, cut, cut_to, fitting, link, mark, rest, table, url_segment};
use super::{Moment, Page, Part};
use crate::model::{List, Resource, Stuck, StuckList};
use crate::source::{Away, Count, Filter, State};
use crate::why::{Tone, age};

/// The resources on a page of the list.
pub const PAGE_SIZE: u32 = 50;

/// The bytes of the stuck resources, of what they wait on, of the stalled deletions, and of the list; the page has less than 100 kB.
const OF_STUCK: usize = 12_000;
const OF_WAITS: usize = 12_000;
const OF_STALLED: usize = 8_000;
const OF_LIST: usize = 45_000;
/// The age from which the page says how old its numbers or its list are; the rest may be a second old.
const AGED: SignedDuration = SignedDuration::from_secs(3);
/// The most stuck resources, and the most stalled deletions.
const OLDEST: usize = 10;
/// The most characters of a name in the list, and of a kind; Kubernetes has names of 63.
const NAME: usize = 80;

/// The numbers of a kind, each by itself: one may be known while another is not.
#[derive(Debug, Clone)]
pub struct Counts {
    /// The kind.
    pub kind: String,
    /// The number of resources in each state.
    pub of_state: Vec<(State, Result<Count, Away>)>,
}

/// What the page shows.
#[derive(Debug, Clone)]
pub struct Fleet {
    /// The numbers of each configured kind.
    pub counts: Vec<Counts>,
    /// The stuck resources; none if no exporter is configured.
    pub stuck: Option<Result<StuckList, Away>>,
    /// The stalled deletions, which are not among the stuck resources; none if no exporter is configured.
    pub stalled: Option<Result<StuckList, Away>>,
    /// The filter of the list.
    pub filter: Filter,
    /// The number of the page of the list, from 1.
    pub page: u32,
    /// The list, and when the API was asked for it.
    pub list: Result<(List<Resource>, Timestamp), Away>,
}

impl Fleet {
    /// Renders the page.
    #[must_use]
    pub fn page(&self, moment: Moment) -> Page {
        let content = html! {
            h1 { "Fleet" }
            (self.problems())
            (self.numbers(moment))
            @if self.is_well() { p { (mark(Tone::Good, "Nothing is stuck")) } }
            (self.waiting())
            (self.stalled())
            (self.list(moment))
        };
        Page { title: "Fleet".to_owned(), part: Part::Fleet, content, exists: true }
    }

    /// Each source that is away, once.
    fn problems(&self) -> Markup {
        let of_counts =
            self.counts.iter().flat_map(|counts| &counts.of_state).filter_map(|(_, count)| count.as_ref().err());
        let of_stuck = self.stuck.iter().chain(&self.stalled).filter_map(|stuck| stuck.as_ref().err());
        all_away(of_counts.chain(of_stuck).chain(self.list.as_ref().err()))
    }

    fn numbers(&self, moment: Moment) -> Markup {
        let stuck_of = |kind: &str| {
            let list = self.stuck.as_ref()?.as_ref().ok()?;
            let count = list.items.iter().filter(|stuck| stuck.kind.eq_ignore_ascii_case(kind)).count();
            // The exporter's page holds the oldest ones only.
            let more = list.total > list.items.len() as u64 || list.truncated;
            Some(if more { format!("≥ {count}") } else { count.to_string() })
        };
        let rows = html! {
            @for counts in &self.counts {
                tr {
                    th scope="row" { (counts.kind) }
                    @for (state, count) in &counts.of_state {
                        td.number {
                            @match count {
                                Ok(count) => a href=(href(&Filter { kind: Some(counts.kind.clone()), state: *state, ..Filter::default() }, 1)) { (count.number) },
                                Err(_) => span.faint title="away" { "?" },
                            }
                        }
                    }
                    td.number { @match stuck_of(&counts.kind) { Some(count) => (count), None => span.faint title="not known" { "?" } } }
                }
            }
        };
        let known = self.counts.iter().flat_map(|counts| &counts.of_state).filter_map(|(_, count)| count.as_ref().ok());
        let oldest = known.map(|count| count.asked).min();
        let headings: Vec<&str> = ["Kind"].into_iter().chain(State::EACH.map(State::word)).chain(["stuck"]).collect();
        html! {
            (table("Resources by state", &headings, rows))
            @if let Some(asked) = oldest { (aged("The API counts slowly: the oldest of these numbers was asked for ", asked, moment)) }
            @if self.stuck.is_none() { p.faint { "What is stuck is not known: no " code { "exporter" } " is configured." } }
        }
    }

    /// Whether the exporter knows neither a stuck resource nor a stalled deletion.
    fn is_well(&self) -> bool {
        let is_empty = |list: &Option<Result<StuckList, Away>>| matches!(list, Some(Ok(list)) if list.items.is_empty() && list.total == 0 && !list.truncated);
        is_empty(&self.stuck) && is_empty(&self.stalled)
    }

    /// What stuck resources wait on, and which these are.
    fn waiting(&self) -> Markup {
        let Some(Ok(stuck)) = &self.stuck else { return html! {} };
        if stuck.items.is_empty() {
            return html! {};
        }
        let mut waits: BTreeMap<(&str, &str), u64> = BTreeMap::new();
        for on in stuck.items.iter().flat_map(|stuck| &stuck.waits_on) {
            *waits.entry((&on.adapter, &on.cause)).or_default() += 1;
        }
        let row = |((adapter, cause), count): (&(&str, &str), &u64)| {
            html! {
                tr {
                    th scope="row" { (adapter_link(adapter)) }
                    td { (cut(&cause.replace('_', " "))) }
                    td.number { (count) }
                }
            }
        };
        let (by_adapter, hidden) = fitting(waits.iter().map(row), OF_WAITS);
        let of_stuck = |stuck: &Stuck| {
            let adapters: Vec<&str> = stuck.waits_on.iter().map(|on| on.adapter.as_str()).collect();
            in_trouble(
                stuck,
                if stuck.deleting { "deletion stuck" } else { "stuck" },
                &html! { (cut(&adapters.join(", "))) },
            )
        };
        html! {
            h2 { (stuck.total) (if stuck.total == 1 { " is" } else { " are" }) " stuck" @if stuck.truncated { ", at least" } }
            (oldest("stuck resources", "reconcile-metrics stuck", stuck, "Waits on", of_stuck, OF_STUCK))
            (table(&format!("What the oldest {} of them wait on", stuck.items.len()), &["Adapter", "Because", "Resources"], by_adapter))
            (rest(hidden, "such causes are not shown here; `reconcile-metrics stuck` lists them"))
        }
    }

    /// The stalled deletions.
    fn stalled(&self) -> Markup {
        let Some(Ok(stalled)) = &self.stalled else { return html! {} };
        if stalled.items.is_empty() {
            return html! {};
        }
        let of_stalled = |stalled: &Stuck| {
            let children = html! { @for child in stalled.children.iter().take(4) { (link(child, "")) br; } };
            in_trouble(stalled, "deletion stalled", &children)
        };
        html! {
            h2 { (stalled.total) (if stalled.total == 1 { " deletion is" } else { " deletions are" }) " stalled" @if stalled.truncated { ", at least" } }
            p { "These deletions were asked for long ago, and their resources are not pending, so they are not among the stuck ones." }
            (oldest("stalled deletions", "reconcile-metrics stuck --stalled", stalled, "Children that still exist", of_stalled, OF_STALLED))
        }
    }

    fn list(&self, moment: Moment) -> Markup {
        let kinds = self.counts.iter().map(|counts| counts.kind.as_str());
        let label = self.filter.label.as_ref().map(|(key, value)| format!("{key}={value}")).unwrap_or_default();
        html! {
            h2 #list { "Resources" }
            form.filter method="get" action="/#list" {
                label { "Kind " select name="kind" {
                    option value="" { "all" }
                    @for kind in kinds { option value=(kind) selected[self.filter.kind.as_deref() == Some(kind)] { (kind) } }
                } }
                label { "State " select name="state" {
                    @for state in State::EACH { option value=(state.word()) selected[self.filter.state == state] { (state.word()) } }
                } }
                label { "Name or id " input name="name" value=(self.filter.name.as_deref().unwrap_or_default()) autocomplete="off"; }
                label { "Label " input name="label" value=(label) placeholder="region=north" autocomplete="off"; }
                button { "Show" }
            }
            @if let Ok((list, asked)) = &self.list {
                (aged("The API lists slowly: it was asked for this list ", *asked, moment))
                (self.rows(list, moment))
            }
        }
    }

    fn rows(&self, list: &List<Resource>, moment: Moment) -> Markup {
        let pages = u32::try_from(list.total.div_ceil(u64::from(PAGE_SIZE))).unwrap_or(u32::MAX);
        let stuck: Vec<&str> = match &self.stuck {
            Some(Ok(stuck)) => stuck.items.iter().map(|stuck| stuck.id.as_str()).collect(),
            Some(Err(_)) | None => Vec::new(),
        };
        let row = |resource: &Resource| {
            html! {
                tr {
                    th scope="row" { (link(&resource.id, &cut_to(&resource.name, NAME))) }
                    td { (cut_to(&resource.kind, NAME)) }
                    td { (state(resource, stuck.contains(&resource.id.as_str()))) }
                    td.number { (resource.generation) }
                    td { (ago(resource.updated_time, moment.now)) }
                    td { (ago(resource.created_time, moment.now)) }
                }
            }
        };
        let (rows, hidden) = fitting(list.items.iter().map(row), OF_LIST);
        html! {
            @if list.items.is_empty() && list.unreadable == 0 {
                p { @if list.total == 0 { "No resource matches." } @else { "This page is after the last one." } }
            } @else {
                (table(
                    &format!("{}, the newest first; page {} of {pages}", counted(list.total, "resource", "resources"), self.page),
                    &["Name", "Kind", "State", "Generation", "Changed", "Created"],
                    rows,
                ))
                (rest(hidden, "of this page are not shown here"))
                @if list.unreadable > 0 { p { (mark(Tone::Bad, &format!("{} items of this page could not be read", list.unreadable))) } }
            }
            nav.pages aria-label="Pages" {
                @if self.page > 1 { a rel="prev" href=(href(&self.filter, self.page - 1)) { "Newer" } }
                @if self.page < pages { a rel="next" href=(href(&self.filter, self.page + 1)) { "Older" } }
            }
        }
    }
}

/// When the API was asked, if that is longer ago than for the rest of the page.
fn aged(what: &str, asked: Timestamp, moment: Moment) -> Markup {
    let is_aged = moment.now.duration_since(asked) >= AGED;
    html! { @if is_aged { p.faint { (what) (ago(Some(asked), moment.now)) "." } } }
}

/// The oldest of the stuck resources or stalled deletions, and how many more there are.
fn oldest(
    of: &str,
    command: &str,
    list: &StuckList,
    what: &str,
    row: impl Fn(&Stuck) -> Markup,
    bytes: usize,
) -> Markup {
    let (rows, hidden) = fitting(list.items.iter().take(OLDEST).map(row), bytes);
    let shown = list.items.len().min(OLDEST) - hidden;
    let others = list.total.saturating_sub(shown as u64);
    html! {
        (table(&format!("The oldest {shown} of {} {of}", list.total), &["Name", "Kind", "State", "For", what], rows))
        @if others > 0 || list.truncated { p.faint { (others) @if list.truncated { " or" } " more: " code { (command) } " lists them, with " code { "--adapter" } " and " code { "--kind" } " those of one adapter or kind." } }
    }
}

fn in_trouble(stuck: &Stuck, state: &str, last: &Markup) -> Markup {
    let seconds = i64::try_from(stuck.age_seconds).unwrap_or(i64::MAX);
    html! {
        tr {
            th scope="row" { (link(&stuck.id, &cut(&stuck.name))) }
            td { (cut(&stuck.kind)) }
            td { (mark(Tone::Bad, state)) }
            td { (age(jiff::SignedDuration::from_secs(seconds))) }
            td { (last) }
        }
    }
}

/// The state of a resource in one word.
fn state(resource: &Resource, is_stuck: bool) -> Markup {
    let state = match (resource.deleted_time.is_some(), resource.is_reconciled()) {
        (true, _) => "being deleted",
        (false, Some(true)) => return mark(Tone::Good, "reconciled"),
        (false, Some(false)) => "pending",
        (false, None) => return html! { span.faint { "no adapters" } },
    };
    match is_stuck {
        true => mark(Tone::Bad, &format!("{state}, stuck")),
        false => mark(Tone::Busy, state),
    }
}

/// The path of a page of the list.
fn href(filter: &Filter, page: u32) -> String {
    let mut query = format!("/?state={}&page={page}", filter.state.word());
    let label = filter.label.as_ref().map(|(key, value)| format!("{key}={value}"));
    for (key, value) in [("kind", &filter.kind), ("name", &filter.name), ("label", &label)] {
        if let Some(value) = value {
            query.push_str(&format!("&{key}={}", url_segment(value)));
        }
    }
    query + "#list"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn page_says_how_old_its_numbers_are() {
        let now = Timestamp::UNIX_EPOCH;
        let counted = |ago: i64| {
            let count = Count { number: 7, asked: now - SignedDuration::from_secs(ago) };
            Counts { kind: "Cluster".to_owned(), of_state: vec![(State::All, Ok(count))] }
        };
        let away = || Away { source_name: "API".to_owned(), reason: "it is busy".to_owned() };
        let cases = [("of now", vec![1, 2], false), ("one is old", vec![1, 20, 2], true)];
        for (name, ages, is_told) in cases {
            let counts = ages.into_iter().map(counted).collect();
            let (filter, list) = (Filter::default(), Err(away()));
            let fleet = Fleet { counts, stuck: None, stalled: None, filter, page: 1, list };
            let content = fleet.page(Moment { now }).content.into_string();
            assert_eq!(content.contains("was asked for <time"), is_told, "{name}: {content}");
            assert_eq!(content.contains(">20s ago<"), is_told, "{name}: {content}");
        }
    }
}
