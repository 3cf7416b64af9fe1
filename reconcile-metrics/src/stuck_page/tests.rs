use std::time::Duration;

use super::*;
use crate::config::Kind;
use crate::diagnosis::{Cause, Wait};
use crate::store::Resource;

fn kinds() -> Kinds {
    let kind = |name: &str, adapters: &[&str]| Kind {
        name: name.to_owned(),
        required_adapters: adapters.iter().map(|&adapter| adapter.to_owned()).collect(),
        stuck_after: Duration::from_secs(600),
        stuck_after_deleting: Duration::from_secs(600),
    };
    Kinds::new(vec![kind("Cluster", &["dns"]), kind("NodePool", &["hypershift"])], Duration::from_secs(600))
}

fn wait(adapter: &str, message: &str) -> Wait {
    Wait {
        adapter: adapter.to_owned(),
        cause: Cause::NotFinalized,
        observed_generation: Some(4),
        last_report_time: None,
        reason: Some("CleanupInProgress".to_owned()),
        message: Some(message.to_owned()),
    }
}

fn stuck(id: &str, waits_on: Vec<Wait>) -> Stuck {
    let resource = Resource {
        id: id.to_owned(),
        kind: "NodePool".to_owned(),
        name: "workers".to_owned(),
        owner_id: Some("0198f1c2-cccc".to_owned()),
        deleting: true,
        age_seconds: 3_900,
        generation: 4,
        blocks: vec!["0198f1c2-cccc".to_owned()],
        ..Resource::default()
    };
    Stuck { resource, required_adapters_known: true, waits_on }
}

/// Renders a page, with two resources on each.
fn html(found: &[Stuck], number: usize, filter: &Filter, truncated: bool) -> String {
    let listing = Listing { found: found.to_vec(), read: 9, truncated };
    let kinds = kinds();
    let items = found.chunks(2).nth(number - 1).unwrap_or_default();
    let hint = filter.hint(&kinds).filter(|_| found.is_empty());
    let hint = hint.as_deref();
    let read_at = Timestamp::UNIX_EPOCH;
    Page { listing: &listing, items, number, size: 2, filter, hint, kinds: &kinds, read_at }.html()
}

fn filter(kind: Option<&str>, adapter: Option<&str>) -> Filter {
    Filter { kind: kind.map(str::to_owned), adapter: adapter.map(str::to_owned), ..Filter::default() }
}

#[test]
fn page_shows_adapters_waited_on_and_blocked_deletions() {
    let mut childless = stuck("0198f1c2-bbbb", vec![wait("dns", "")]);
    let resource = std::mem::take(&mut childless.resource);
    childless.resource = Resource { no_condition: true, owner_id: None, blocks: Vec::new(), ..resource };
    let found = [
        stuck("earlier", Vec::new()),
        stuck("earlier", Vec::new()),
        stuck("0198f1c2-aaaa", vec![wait("dns", "<a href='x'>&\""), wait("hypershift", "")]),
        childless,
        stuck("later", Vec::new()),
    ];
    let filter = Filter { deleting: Some(true), ..filter(Some("<Node\"Pool>"), None) };
    let html = html(&found, 2, &filter, true);
    insta::assert_snapshot!(
        ["<tr", "<form", "<p>", "</form", "</p>", "</table"]
            .iter()
            .fold(html, |html, tag| { html.replace(tag, &format!("\n{tag}")) })
    );
}

#[test]
fn page_shows_the_total_and_links_to_other_pages() {
    let of = |count: usize| vec![stuck("a", Vec::new()); count];
    let all = filter(None, None);
    let some = filter(None, Some("dns"));
    let cases = [
        ("nothing is stuck", 1, 0, &all, "Nothing is stuck.", None, None),
        ("nothing matches", 1, 0, &some, "Nothing that is stuck matches.", None, None),
        ("the only page", 1, 1, &all, "1–1 of 1,", None, None),
        ("a full page that is the last", 1, 2, &all, "1–2 of 2,", None, None),
        ("the first of two", 1, 3, &all, "1–2 of 3,", None, Some(2)),
        ("the last of two", 2, 3, &all, "3–3 of 3,", Some(1), None),
        ("in between", 2, 5, &all, "3–4 of 5,", Some(1), Some(3)),
        ("past the end", usize::MAX, 3, &all, "None of 3 is on this page.", Some(2), None),
        ("past the end of nothing", 7, 0, &all, "Nothing is stuck.", None, None),
    ];
    for (name, number, count, filter, summary, previous, next) in cases {
        let html = html(&of(count), number, filter, false);
        assert!(html.contains(&format!("<p>{summary}")), "{name}: {html}");
        for (text, page) in [("Previous page", previous), ("Next page", next)] {
            let button = page.map(|page: usize| format!("<button name=\"page\" value=\"{page}\">{text}</button>"));
            assert_eq!(html.contains(text), button.is_some(), "{name}: {html}");
            assert!(html.contains(&button.unwrap_or_default()), "{name}: {html}");
        }
    }
}

#[test]
fn empty_page_mentions_resources_that_were_not_read() {
    let typo = html(&[], 1, &filter(Some("Clutser"), None), false);
    assert!(typo.contains("did you mean `Cluster`?"), "{typo}");
    let younger = html(&[], 1, &filter(None, Some("dns")), true);
    assert!(younger.contains("None of the 9 oldest matches; there are more"), "{younger}");
    assert!(!younger.contains("did you mean"), "{younger}");
    let empty = html(&[], 1, &Filter { trouble: Trouble::Stalled, ..Filter::default() }, false);
    assert!(empty.contains("No deletion is stalled.") && !empty.contains("is stuck"), "{empty}");
}

#[test]
fn page_escapes_values_of_rows_and_filters() {
    let evil = "\"><script>alert('x')</script>&amp;";
    let wait = Wait { adapter: evil.to_owned(), reason: Some(evil.to_owned()), ..wait(evil, evil) };
    let mut row = stuck(evil, vec![wait]);
    let fields = &mut row.resource;
    (fields.kind, fields.name, fields.owner_id) = (evil.to_owned(), evil.to_owned(), Some(evil.to_owned()));
    fields.blocks = vec![evil.to_owned()];
    for found in [Vec::new(), vec![row]] {
        let html = html(&found, 1, &filter(Some(evil), Some(evil)), false);
        assert!(!html.contains("<script") && html.contains("&lt;script&gt;"), "{html}");
        assert!(html.contains("value=\"&quot;&gt;&lt;script&gt;alert('x')&lt;/script&gt;&amp;amp;\""), "{html}");
    }
}
