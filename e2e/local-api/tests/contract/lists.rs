//! Lists: paging, order, search, kinds. `tests/search.rs` has the search language itself.

use std::collections::BTreeSet;

use anyhow::{Result, ensure};
use serde_json::{Value, json};

use crate::world::World;

fn names(list: &Value) -> Vec<&str> {
    list["items"].as_array().into_iter().flatten().filter_map(|item| item["name"].as_str()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn list_is_paged_newest_first() -> Result<()> {
    let world = World::new().await?;
    for name in ["one", "two", "three"] {
        world.tick();
        world.create("clusters", "Cluster", name).await?;
    }
    let list = world.get("clusters").await?.expect(200)?;
    ensure!(names(&list) == ["three", "two", "one"], "{list}");
    ensure!(list["page"] == 1 && list["size"] == 3 && list["total"] == 3 && list.get("kind").is_none(), "{list}");
    let page = world.get("clusters?page=2&size=2").await?.expect(200)?;
    ensure!(names(&page) == ["one"] && page["size"] == 1 && page["total"] == 3, "{page}");
    let beyond = world.get("clusters?page=9").await?.expect(200)?;
    ensure!(beyond["items"] == json!([]) && beyond["total"] == 3, "{beyond}");
    let ordered = world.get("clusters?order=name%20asc").await?.expect(200)?;
    ensure!(names(&ordered) == ["one", "three", "two"], "{ordered}");
    for query in ["page=0", "size=101", "size=x", "order=nothing", "search=nothing%20at%20all"] {
        world.get(&format!("clusters?{query}")).await?.problem(400, "VAL-005")?;
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn list_contains_deleted_resources_and_search_can_leave_them_out() -> Result<()> {
    let world = World::new().await?;
    let (cluster, _) = world.create("clusters", "Cluster", "one").await?;
    world.create("clusters", "Cluster", "two").await?;
    world.send("DELETE", &cluster, &Value::Null).await?.expect(202)?;
    ensure!(world.get("clusters").await?.expect(200)?["total"] == 2, "deleted ones are listed");
    let live = world.get("clusters?search=deleted_time%20is%20null").await?.expect(200)?;
    ensure!(names(&live) == ["two"], "{live}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn list_is_of_a_kind_and_of_a_parent() -> Result<()> {
    let world = World::new().await?;
    let (one, _) = world.create("clusters", "Cluster", "one").await?;
    let (two, _) = world.create("clusters", "Cluster", "two").await?;
    world.create(&format!("{one}/nodepools"), "NodePool", "a").await?;
    world.create(&format!("{two}/nodepools"), "NodePool", "b").await?;
    for (path, expected) in [
        (format!("{one}/nodepools"), vec!["a"]),
        ("nodepools".to_owned(), vec!["a", "b"]),
        ("resources".to_owned(), vec!["a", "b", "one", "two"]),
        ("resources?kind=Cluster".to_owned(), vec!["one", "two"]),
        // The text of the search cannot end the restriction to the path's kind.
        ("nodepools?search=name='a'%20or%20name='one'".to_owned(), vec!["a"]),
    ] {
        let list = world.get(&path).await?.expect(200)?;
        let found: BTreeSet<_> = names(&list).into_iter().collect();
        ensure!(found == expected.iter().copied().collect(), "{path}: {list}");
    }
    world.get("resources?kind=Nothing").await?.problem(400, "VAL-005")?;
    world.get("nodepools?search=name='x')%20or%20(name!=''").await?.problem(400, "VAL-005")?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn hundred_ids_are_found_by_one_search() -> Result<()> {
    let world = World::new().await?;
    let (_, created) = world.create("clusters", "Cluster", "one").await?;
    let mut ids: Vec<String> = (0..98).map(|number| format!("0198c0de-0000-7000-8000-{number:012}")).collect();
    ids.push(created["id"].as_str().unwrap_or_default().to_owned());
    let search = format!("id in ['{}']", ids.join("','"));
    ensure!(search.len() < 4096, "the longest search");
    let list = world.get(&format!("resources?fields=id&search={}", search.replace(' ', "%20"))).await?.expect(200)?;
    ensure!(list["items"] == json!([{ "id": created["id"] }]), "{list}");
    Ok(())
}
