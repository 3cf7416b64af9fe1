//! Random lives of a bundle on a real API server: sets, orders and policies, what people and strangers do between events, and
//! passes that end after any call, or whose requests and answers get lost. Half of the bundles have a namespace with content, and a
//! type with instances.
//!
//! These invariants hold in every life. [`judge`] checks the first six before each write, and [`sabotage`] checks that it does:
//!
//! * nothing of others is deleted or disowned, and nothing of others is changed that the policy does not adopt;
//! * a namespace is empty when it is deleted, and so is a type, in all namespaces: nothing of strangers goes with it, a copy of a
//!   member neither, and the content of the bundle is gone before it;
//! * nothing is written before every object of an earlier wave or stage is ready or has served, nor before its namespace is there;
//!   nothing leaves before all are; and nothing is deleted before what has a lower `delete-order` or an earlier stage is gone;
//! * the parent names the kind and the namespace of each object before the object is created, and goes after all members;
//! * an object that is wanted is deleted only to be purged or recreated, and one that is not wanted as its policy says;
//! * an instance is not disowned while its type goes, which would wait for it;
//! * what strangers made is there after each pass;
//! * an event after which nothing changed writes nothing, unless something is in the bundle's way: then it may try the same again;
//! * a life whose passes are broken off ends, after each step, as the same life without interruptions;
//! * at rest, also after each object got the policies of the next one, each wanted object is there with its content and says how it
//!   goes, and no other is a member, unless somebody else has its name;
//! * a deleted bundle leaves no member behind, and of the objects that it created only those that somebody gave away, once people
//!   have taken away what is theirs; a disowned one leaves no label of its own on any object.
//!
//! The calls of a pass come one at a time, so that each is judged alone and a pass can end after any; that those of a wave are under
//! way together is not part of the lives.
//!
//! `LIFECYCLE_MODEL_BUNDLE_LIVES` is the number of lives, `LIFECYCLE_MODEL_SEED` selects others, and
//! `LIFECYCLE_MODEL_BUNDLE_SHRINKS` is the number of smaller variants that are tried of one that breaks an invariant.

mod cluster;
mod judge;
mod life;
mod model;
mod people;
mod sabotage;
mod witness;

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Instant;

use anyhow::{Context as _, Result, ensure};
use futures::future::join_all;
use proptest::strategy::ValueTree;
use serde_json::Value;

use life::{Life, tree};
use model::Model;

/// How many lives there are by default. They take a minute at most.
const LIVES: u32 = 14;
/// How many lives go on at the same time.
const PARALLEL: usize = 8;
/// How many smaller variants of a life that fails are tried.
const SHRINKS: u32 = 30;

/// Lives a life. Fails with what happened in it.
async fn play(life: &Life, is_disturbed: bool) -> Result<Vec<Vec<Value>>> {
    let mut model = Model::new(life).await?;
    let states = model.live(life, is_disturbed).await;
    let cleared = model.clear().await;
    let states = states.with_context(|| format!("{life:?}\n{}", model.journal))?;
    cleared.map(|()| states)
}

async fn check(life: &Life) -> Result<()> {
    let states = play(life, true).await?;
    if life.is_twin {
        let undisturbed = play(life, false).await?;
        for (step, (found, expected)) in states.iter().zip(&undisturbed).enumerate() {
            ensure!(
                found == expected,
                "{life:?}\nafter step {step}, the interrupted life has {found:#?}\ninstead of {expected:#?}"
            );
        }
    }
    Ok(())
}

/// Lives lives until none is left. Fails with the smallest variant that was found of the first one that breaks an invariant.
async fn explore(next: &AtomicU32, count: u32, seed: u32) -> Result<()> {
    loop {
        let number = next.fetch_add(1, Ordering::Relaxed);
        if number >= count {
            return Ok(());
        }
        let mut tree = tree(seed, number)?;
        let Err(mut smallest) = check(&tree.current()).await else { continue };
        // One finding is enough, and its smaller variants need the time.
        next.store(count, Ordering::Relaxed);
        let mut is_worth_it = tree.simplify();
        for _ in 0..setting("LIFECYCLE_MODEL_BUNDLE_SHRINKS", SHRINKS) {
            if !is_worth_it {
                break;
            }
            is_worth_it = match check(&tree.current()).await {
                Ok(()) => tree.complicate(),
                Err(error) => {
                    smallest = error;
                    tree.simplify()
                }
            };
        }
        return Err(smallest.context(format!("life {number} of seed {seed}")));
    }
}

fn setting(name: &str, otherwise: u32) -> u32 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(otherwise)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn random_lives_keep_all_invariants_on_a_real_server() -> Result<()> {
    let (count, seed) = (setting("LIFECYCLE_MODEL_BUNDLE_LIVES", LIVES), setting("LIFECYCLE_MODEL_SEED", 0));
    let (begun, next) = (Instant::now(), AtomicU32::new(0));
    let found = join_all((0..PARALLEL).map(|_| explore(&next, count, seed))).await;
    eprintln!("{count} lives in {:.0?}", begun.elapsed());
    let found: Vec<String> = found.into_iter().filter_map(Result::err).map(|error| format!("{error:#}")).collect();
    ensure!(found.is_empty(), "{}", found.join("\n\n"));
    Ok(())
}
