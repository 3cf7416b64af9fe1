use super::*;
use crate::diagnosis::{Cause, Wait};

fn stuck(id: &str, waits_on: Vec<Wait>) -> Stuck {
    Stuck {
        id: id.to_owned(),
        kind: "NodePool".to_owned(),
        name: "workers".to_owned(),
        owner_id: Some("0198f1c2-cccc".to_owned()),
        deleting: true,
        no_condition: false,
        since: Timestamp::UNIX_EPOCH,
        age_seconds: 3_900,
        generation: 4,
        reason: None,
        message: None,
        required_adapters_known: true,
        waits_on,
        blocks: vec!["0198f1c2-cccc".to_owned()],
    }
}

fn page<'a>(items: &'a [Stuck], number: usize, total: usize, filter: &'a Filter) -> Page<'a> {
    Page { items, number, size: 2, total, truncated: false, filter, read_at: Timestamp::UNIX_EPOCH }
}

#[test]
fn a_page_shows_what_is_waited_on_and_what_waits_in_turn() {
    let wait = |adapter: &str, message: &str| Wait {
        adapter: adapter.to_owned(),
        cause: Cause::NotFinalized,
        observed_generation: Some(4),
        last_report_time: None,
        reason: Some("CleanupInProgress".to_owned()),
        message: Some(message.to_owned()),
    };
    let items = [
        stuck("0198f1c2-aaaa", vec![wait("dns", "<a href='x'>&\""), wait("hypershift", "")]),
        Stuck {
            no_condition: true,
            owner_id: None,
            blocks: Vec::new(),
            ..stuck("0198f1c2-bbbb", vec![wait("dns", "")])
        },
    ];
    let filter = Filter { kind: Some("<Node\"Pool>".to_owned()), deleting: Some(true), ..Filter::default() };
    let html = Page { truncated: true, ..page(&items, 2, 5, &filter) }.html();
    insta::assert_snapshot!(html.replace("<tr", "\n<tr").replace("<form", "\n<form").replace("<p>", "\n<p>"));
}

#[test]
fn a_page_says_how_many_there_are_and_offers_the_others() {
    let one = [stuck("a", Vec::new())];
    let all = Filter::default();
    let some = Filter { adapter: Some("dns".to_owned()), ..Filter::default() };
    let (previous, next) = ("Previous page", "Next page");
    let cases = [
        ("nothing is stuck", page(&[], 1, 0, &all), "Nothing is stuck.", vec![]),
        ("nothing fits", page(&[], 1, 0, &some), "Nothing that is stuck fits the filter.", vec![]),
        ("the only page", page(&one, 1, 1, &all), "1–1 of 1,", vec![]),
        ("a full page that is the last", page(&one, 1, 2, &all), "1–1 of 2,", vec![]),
        ("the first of two", page(&one, 1, 3, &all), "1–1 of 3,", vec![next]),
        ("the last of two", page(&one, 2, 3, &all), "3–3 of 3,", vec![previous]),
        ("in between", page(&one, 2, 5, &all), "3–3 of 5,", vec![previous, next]),
        ("past the end", page(&[], usize::MAX, 3, &all), "None of 3 is on this page.", vec![previous]),
    ];
    for (name, page, summary, buttons) in cases {
        let html = page.html();
        assert!(html.contains(&format!("<p>{summary}")), "{name}: {html}");
        let offered: Vec<_> = [previous, next].into_iter().filter(|button| html.contains(button)).collect();
        assert_eq!(offered, buttons, "{name}");
    }
}
