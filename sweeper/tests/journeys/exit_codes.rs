//! The exit codes of `plan` and `sweep`, by which scripts tell "nothing to do" from "nothing is known".

use anyhow::Result;
use lifecycle_e2e::fault::Fault;

use crate::program::Setup;
use crate::world::{CANARY, World, lists};

async fn code(setup: &Setup, command: &str) -> Result<Option<i32>> {
    Ok(setup.output(&[command]).await?.status.code())
}

#[tokio::test(flavor = "multi_thread")]
async fn api_that_proves_nothing_ends_plan_and_sweep_with_3() -> Result<()> {
    let world = World::new().await?;
    let id = world.living("object").await?;
    for id in [id.as_str(), CANARY] {
        world.api.remove(id).await?;
    }
    assert_eq!(code(&world.sweeper()?, "plan").await?, Some(3));
    assert_eq!(code(&world.sweeper()?, "sweep").await?, Some(3));
    world.assert_names(&["object"]).await
}

#[tokio::test(flavor = "multi_thread")]
async fn unread_kind_ends_plan_and_sweep_with_3() -> Result<()> {
    let world = World::new().await?;
    world.orphan("orphan").await?;
    world.kubernetes.inject(lists(), Fault::Status(403));
    assert_eq!(code(&world.sweeper()?, "plan").await?, Some(3));
    assert_eq!(code(&world.sweeper()?, "sweep").await?, Some(3));
    world.assert_names(&["orphan"]).await
}

#[tokio::test(flavor = "multi_thread")]
async fn plan_that_a_person_can_approve_exits_with_2_and_its_sweep_with_3() -> Result<()> {
    let world = World::new().await?;
    world.orphan("orphan").await?;
    let limited = world.sweeper()?.with("limits.objects", 0);
    assert_eq!(code(&limited, "plan").await?, Some(2));
    assert_eq!(code(&limited, "sweep").await?, Some(3));
    world.assert_names(&["orphan"]).await
}
