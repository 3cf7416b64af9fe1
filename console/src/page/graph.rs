//! Draws a task: each resource as a box, an arrow from what comes first to what waits for it, dashed for deletions.
//!
//! In: a [`Task`]. Out: a picture as SVG, without styles of its own. Cannot fail; arrows that go round in a circle are drawn, too.
//!
//! A box stands below everything that is created before it. Tasks have a handful of resources, so boxes of one row stand side by side in
//! the order of the task, and arrows are straight lines.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use maud::{Markup, html};

use super::parts::{cut, cut_to, fitting};
use crate::model::{Arrow, Task};

const BOX: (i32, i32) = (190, 46);
const GAP: (i32, i32) = (40, 56);
/// The most characters of a name in a box.
const WIDTH: usize = 23;
/// The bytes of the arrows.
const OF_ARROWS: usize = 8_000;

/// Draws the picture; the number of arrows for which it has no room.
pub(super) fn draw(task: &Task) -> (Markup, usize) {
    let rows = rows(task);
    let places = places(task, &rows);
    let most = places.values().map(|(x, _)| x + BOX.0).max().unwrap_or_default();
    let deepest = places.values().map(|(_, y)| y + BOX.1).max().unwrap_or_default();
    let known = |arrow: &&Arrow| places.contains_key(arrow.from.as_str()) && places.contains_key(arrow.to.as_str());
    let (arrows, hidden) = fitting(task.arrows.iter().filter(known).map(|arrow| line(arrow, &places)), OF_ARROWS);
    let picture = html! {
        svg.graph viewBox={ "0 0 " (most + 2) " " (deepest + 2) } width=(most + 2) role="img" aria-label="What waits for what; the table below says the same" {
            defs {
                marker #head viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" orient="auto" { path d="M0 0 L8 4 L0 8 z" {} }
            }
            (arrows)
            @for resource in &task.resources {
                @let (x, y) = places.get(resource.name.as_str()).copied().unwrap_or_default();
                g {
                    rect x=(x + 1) y=(y + 1) width=(BOX.0) height=(BOX.1) rx="6" {}
                    text x=(x + BOX.0 / 2) y=(y + 20) { (cut_to(&resource.name, WIDTH)) }
                    text.kind x=(x + BOX.0 / 2) y=(y + 37) { (cut_to(&resource.kind, WIDTH)) }
                }
            }
        }
    };
    (picture, hidden)
}

/// The row of each resource: below all that are created before it.
fn rows(task: &Task) -> BTreeMap<&str, usize> {
    let mut rows: BTreeMap<&str, usize> = task.resources.iter().map(|resource| (resource.name.as_str(), 0)).collect();
    // As often as there are resources: a longer way would be a circle.
    for _ in 0..task.resources.len() {
        for arrow in task.arrows.iter().filter(|arrow| arrow.on != "deletion" && arrow.from != arrow.to) {
            let above = rows.get(arrow.from.as_str()).copied().unwrap_or_default();
            if let Some(row) = rows.get_mut(arrow.to.as_str()) {
                *row = (*row).max(above + 1).min(task.resources.len());
            }
        }
    }
    rows
}

fn places<'t>(task: &'t Task, rows: &BTreeMap<&str, usize>) -> BTreeMap<&'t str, (i32, i32)> {
    let mut used: BTreeMap<usize, i32> = BTreeMap::new();
    let mut place = |name: &'t str| {
        let row = rows.get(name).copied().unwrap_or_default();
        let column = used.entry(row).or_default();
        let x = *column * (BOX.0 + GAP.0);
        *column += 1;
        (name, (x, i32::try_from(row).unwrap_or_default() * (BOX.1 + GAP.1)))
    };
    task.resources.iter().map(|resource| place(&resource.name)).collect()
}

fn line(arrow: &Arrow, places: &BTreeMap<&str, (i32, i32)>) -> Markup {
    let place = |name: &str| places.get(name).copied().unwrap_or_default();
    let ((from_x, from_y), (to_x, to_y)) = (place(&arrow.from), place(&arrow.to));
    let is_deletion = arrow.on == "deletion";
    // Beside each other: an arrow of a deletion usually leads where one of a creation comes from.
    let shift = if is_deletion { 14 } else { -14 };
    // From another column, an arrow ends on the side that it comes from, and not where another one begins.
    let side = (from_x - to_x).signum() * BOX.0 / 4;
    let (begin, end) = (from_x + BOX.0 / 2 + shift, to_x + BOX.0 / 2 + if side == 0 { shift } else { side });
    let middle = from_y + BOX.1 / 2 + shift / 2;
    let (x1, y1, x2, y2) = match (from_y.cmp(&to_y), from_x < to_x) {
        (Ordering::Less, _) => (begin, from_y + BOX.1, end, to_y),
        (Ordering::Greater, _) => (begin, from_y, end, to_y + BOX.1 + 2),
        (Ordering::Equal, true) => (from_x + BOX.0, middle, to_x, middle),
        (Ordering::Equal, false) => (from_x, middle, to_x + BOX.0 + 2, middle),
    };
    html! {
        line class=[is_deletion.then_some("deletion")] x1=(x1) y1=(y1) x2=(x2) y2=(y2) marker-end="url(#head)" {
            title { (cut(&arrow.from)) " before " (cut(&arrow.to)) ", on " (cut(&arrow.on)) @if !arrow.label.is_empty() { ": " (cut(&arrow.label)) } }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::TaskResource;

    /// From, to, and on what.
    type Arrows<'a> = &'a [(&'a str, &'a str, &'a str)];

    fn task(names: &[&str], arrows: Arrows<'_>) -> Task {
        let resource = |name: &&str| TaskResource { name: (*name).to_owned(), ..TaskResource::default() };
        let arrow = |(from, to, on): &(&str, &str, &str)| Arrow {
            from: (*from).to_owned(),
            to: (*to).to_owned(),
            on: (*on).to_owned(),
            label: String::new(),
        };
        Task { resources: names.iter().map(resource).collect(), arrows: arrows.iter().map(arrow).collect() }
    }

    #[test]
    fn resource_stands_below_all_that_come_before_it() {
        let cases: [(&str, Arrows<'_>, [usize; 3]); 4] = [
            ("none", &[], [0, 0, 0]),
            ("a chain", &[("a", "b", "creation"), ("b", "c", "creation")], [0, 1, 2]),
            ("a deletion", &[("c", "a", "deletion")], [0, 0, 0]),
            ("a circle", &[("a", "b", "creation"), ("b", "a", "creation")], [3, 3, 0]),
        ];
        for (name, arrows, expected) in cases {
            let task = task(&["a", "b", "c"], arrows);
            let found: Vec<usize> = rows(&task).into_values().collect();
            assert_eq!(found, expected, "{name}");
        }
    }

    #[test]
    fn arrow_in_a_row_ends_at_the_edge_of_a_box_which_would_hide_its_head() {
        let picture = draw(&task(&["a", "b"], &[("b", "a", "deletion")])).0.into_string();
        let edges = (format!("x1=\"{}\"", BOX.0 + GAP.0), format!("x2=\"{}\"", BOX.0 + 2));
        assert!(picture.contains(&edges.0) && picture.contains(&edges.1), "{picture}");
    }

    #[test]
    fn picture_escapes_names_and_passes_over_arrows_to_nowhere() {
        let task = task(&["<script>"], &[("<script>", "nowhere", "creation")]);
        let picture = draw(&task).0.into_string();
        assert!(
            picture.contains("&lt;script&gt;") && !picture.contains("<script>") && !picture.contains("<line"),
            "{picture}"
        );
    }
}
