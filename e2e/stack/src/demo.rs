//! Plays stories against a running stack.
//!
//! In: the addresses of the stack, and a story. Out: what happens to a cluster, line by line, and what to look at. Fails: if
//! a request fails, or if what the story tells does not happen in time.

mod observation;
mod scene;
mod stories;

use anyhow::{Result, ensure};

use crate::args::Story;
use crate::place::Running;
use scene::Scene;

/// Plays a story.
pub(crate) async fn play(running: &Running, story: Story) -> Result<()> {
    let needs_task = matches!(story, Story::History | Story::Debounce | Story::Bundle);
    ensure!(
        !(running.has_other_task && needs_task),
        "the provisioner's task lacks `retention`, `when` and `bundle`: restart the stack without --adapter-program and --adapter-task"
    );
    let scene = Scene::open(running).await?;
    match story {
        Story::Create => stories::create(&scene).await,
        Story::Delete => stories::delete(&scene).await,
        Story::ForceDelete => stories::force_delete(&scene).await,
        Story::Stuck => stories::stuck(&scene).await,
        Story::Disown => stories::disown(&scene).await,
        Story::History => stories::history(&scene).await,
        Story::Debounce => stories::debounce(&scene).await,
        Story::Bundle => stories::bundle(&scene).await,
    }
}
