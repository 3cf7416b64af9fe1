#![expect(clippy::unwrap_used, reason = "tests")]

use super::*;

fn parsed(address: &str) -> Result<Option<View>, String> {
    View::parse(&address.parse().unwrap())
}

#[test]
fn address_names_a_view() {
    let id = "01a219eb-957a-7319-9ecb-fd65426d7ca0";
    let fleet = |filter: Filter, page| Some(View::Fleet(filter, page));
    let pending = Filter { kind: Some("Cluster".to_owned()), state: State::Pending, ..Filter::default() };
    let north = Filter { label: Some(("region".to_owned(), "north".to_owned())), ..Filter::default() };
    let cases = [
        ("/", fleet(Filter::default(), 1)),
        ("/?kind=Cluster&state=pending&name=&label=&page=3", fleet(pending, 3)),
        ("/?label=region%3Dnorth", fleet(north, 1)),
        (&format!("/?name={id}"), Some(View::Resource(id.to_owned()))),
        ("/resources/a%2Fb", Some(View::Resource("a/b".to_owned()))),
        ("/adapters", Some(View::Adapters)),
        ("/adapters/dns", Some(View::Adapter("dns".to_owned()))),
        ("/sweeper", Some(View::Sweeper)),
        ("/nothing", None),
        ("/resources/a/b", None),
    ];
    for (address, expected) in cases {
        assert_eq!(parsed(address).unwrap(), expected, "{address}");
    }
}

#[test]
fn wrong_filter_is_refused_before_the_api_is_asked() {
    let cases = [
        ("/?name=a'%20or%20'1'='1", "A name has letters"),
        ("/?name=a_b", "A name has letters"),
        ("/?label=a", "key=value"),
        ("/?label=example.io/region%3Dnorth", "small letters"),
        ("/?label=region%3D'%20or%20(name", "value of a label"),
        ("/?state=odd", "no state `odd`"),
        ("/?page=0", "number from 1"),
        ("/?page=x", "invalid digit"),
    ];
    for (address, expected) in cases {
        let message = parsed(address).unwrap_err();
        assert!(message.contains(expected), "{address}: {message}");
    }
}
