//! What the query of a list means, and which are refused.

#![expect(clippy::unwrap_used, reason = "tests")]

use super::*;

fn tail(query: &str) -> String {
    let mut sql = QueryBuilder::new("");
    let query = ListQuery::parse(query).unwrap_or_else(|problem| panic!("{query}: {}", problem.detail()));
    query.push_order(&mut sql);
    query.page.push(&mut sql);
    sql.into_string()
}

fn page(query: &str) -> (u32, u32) {
    let Page { number, size } = Page::parse(query).unwrap();
    (number, size)
}

#[test]
fn page_has_defaults_and_bounds() {
    let cases = [
        ("", (1, 20)),
        ("page=&size=", (1, 20)),
        ("page=100000&size=100", (100_000, 100)),
        ("page=2&page=x&pageSize=7", (2, 20)),
        ("search=%28&size=1", (1, 1)),
    ];
    for (query, expected) in cases {
        assert_eq!(page(query), expected, "{query}");
    }
}

#[test]
fn order_ends_with_the_id() {
    let cases = [
        ("", "r.created_time DESC, r.id"),
        ("order=", "r.created_time DESC, r.id"),
        ("order=name", "r.name ASC, r.id"),
        ("order=kind+desc,name%20asc&order=generation", "r.kind DESC, r.name ASC, r.generation ASC, r.id"),
        ("orderBy=name", "r.created_time DESC, r.id"),
    ];
    for (query, expected) in cases {
        assert_eq!(tail(query), format!(" ORDER BY {expected} LIMIT $1 OFFSET $2"), "{query}");
    }
}

#[test]
fn query_that_makes_no_sense_is_refused() {
    let cases = [
        ("page=0", r#"page is "0", so write a number from 1 to 100000"#),
        ("page=100001", r#"page is "100001", so write a number from 1 to 100000"#),
        ("size=101", r#"size is "101", so write a number from 1 to 100"#),
        ("size=-1", r#"size is "-1", so write a number from 1 to 100"#),
        ("size=x", r#"size is "x", so write a number from 1 to 100"#),
        ("order=color", r#"order names the unknown column "color", so name one of id, kind, name, "#),
        ("order=spec", r#"order names the unknown column "spec""#),
        ("order=name,", r#"order contains """#),
        ("order=name+DESC", r#"order contains "name DESC""#),
        ("order=name;drop", r#"order names the unknown column "name;drop""#),
        ("search=name", "search is not valid: character 5 of the search: "),
        ("ref_type=wif_config", "ref_type needs ref_target_id"),
        ("ref_target_id=a&ref_type=", "ref_target_id needs ref_type"),
        ("kind=%00", "kind contains the character NUL"),
        ("size =1", "percent-encode"),
    ];
    for (query, detail) in cases {
        let problem = ListQuery::parse(query).unwrap_err();
        assert_eq!(problem.status().as_u16(), 400, "{query}");
        assert!(problem.detail().contains(detail), "{query}: {}", problem.detail());
    }
}

#[test]
fn search_and_filters_are_decoded() {
    let query = ListQuery::parse("search=name%3D%27a%27&kind=Cluster&ref_type=wif_config&ref_target_id=a%2Fb").unwrap();
    assert_eq!(query.search, search::parse("name='a'").ok());
    assert_eq!(query.kind.as_deref(), Some("Cluster"));
    assert_eq!(query.reference, Some(Target { ref_type: "wif_config".to_owned(), id: "a/b".to_owned() }));
    let query = ListQuery::parse("search=+&kind=&fields=&unknown=1").unwrap();
    assert_eq!((query.search, query.kind, query.reference, query.projection), (None, None, None, None));
}

#[test]
fn document_is_projected() {
    let item = json!({ "id": "a", "name": "b", "created_time": "2026-09-01T12:00:00.123456Z", "status": {} });
    let cases = [
        ("", item.clone()),
        ("fields=name", json!({ "id": "a", "name": "b" })),
        ("fields=status,color&fields=id", json!({ "id": "a", "status": {} })),
        ("fields=+created_time", json!({ "id": "a", "created_time": "2026-09-01T12:00:00.123456Z" })),
    ];
    for (query, expected) in cases {
        let Value::Object(item) = item.clone() else { unreachable!() };
        let expected = json!({ "items": [expected], "page": 3, "size": 1, "total": 7 });
        let list = ListQuery::parse(&format!("page=3&size=3&{query}")).unwrap();
        assert_eq!(list.document(vec![item.clone()], 7), expected, "{query}");
        let projected = Projection::parse(query).unwrap().map_or(item.clone(), |projection| projection.apply(item));
        assert_eq!(Value::Object(projected), expected["items"][0], "{query}");
    }
    for (query, items) in [("", json!([])), ("fields=id", Value::Null)] {
        let expected = json!({ "items": items, "page": 1, "size": 0, "total": 0 });
        assert_eq!(ListQuery::parse(query).unwrap().document(vec![], 0), expected, "{query}");
    }
}
