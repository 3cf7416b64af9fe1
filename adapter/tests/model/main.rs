//! A model of everything that can happen to a task: random tasks, random events, people, faults and a second replica, under
//! which eight invariants have to hold.
//!
//! The engine is the real one: a [`Pipeline`](hyperfleet_adapter::pipeline::Pipeline) for each of two replicas, over the API
//! server in memory (`memory`) or a real one (`server`). Between engine and server stands a transport (`watch`) that writes
//! down every call and breaks those that it is told to. An oracle judges each pass from what was written down. It
//! knows the terms of `docs/lifecycle.md` (what belongs, which version is current), but not the table.
//!
//! ```text
//! generate ─▶ Sequence ─▶ drive ─▶ world ─▶ pipeline ─▶ tamper ─▶ watch ─▶ server
//!                           │        ▲                              │
//!                           │      people                        journal
//!                           └──────────────── oracle ◀──────────────┘
//! ```
//!
//! # A sequence
//!
//! A task of one to three entries; a past of events, each delivered to either replica, with faults at chosen calls, or
//! standing still before a call while the other replica handles an event or somebody else does something; then one event that
//! is *disturbed* a few times, and then left in peace. Faults are refusals (409, 422, 403, 429, 503), broken connections before
//! and after the server has done its work, calls that stay unanswered, and the end of the process before or right after a call.
//!
//! # What has to hold
//!
//! * **I1** Nothing is deleted that no gate and no limit told to delete: the delete gate, or the recreate gate (and the create
//!   gate) without retention, or retention beyond its limits. What is deleted is the very version that was judged. Nothing is
//!   recreated under a name that a foreign object holds. A gate that reads what could not be read has told nothing. Release wins
//!   over deletion.
//! * **I2** Nothing is created twice for one generation without retention; nothing is created beside what is on its way out, or
//!   for what could not be read.
//! * **I3** What was released is not written, deleted, or replaced until a person removes its mark, nor does it go with
//!   an owner. Only what a gate says is released, and what is beside something released.
//! * **I4** A stale generation never wins: an object never gets a lower generation, and nothing is updated, patched, replaced
//!   or created while the pass knows a live version of a higher generation.
//! * **I5** After faults have ceased, the event leads to the state to which it leads undisturbed, in as many passes as that takes
//!   undisturbed. For most tasks that is one.
//! * **I6** A second identical event writes nothing.
//! * **I7** The current version is never pruned.
//! * **I8** Nothing is created, updated or patched that a gate forbids. (Not one of the seven that the design names; it
//!   is what I1 is for deletions.)
//!
//! States are compared without UIDs, versions, times, and readings of the clock in names. What is on its way out counts as
//! just that.
//!
//! # Where an invariant says less
//!
//! Those of I5 have a sequence each in `findings`, which fails without the exception.
//!
//! * I2: nothing fences a creation but its name. Two passes that read before either creates, under names that contain the
//!   clock, create two objects. ("Writes", `create`: POST, and a taken name.)
//! * I2: a current version that lacks its owner is followed by another one, if it has a name that no later event renders (rows
//!   17 and 18: nothing is ever created without its reference, and an update goes to the rendered name).
//! * I3, I4: a creation knows what its pass was shown. What is released, or written for a later generation, between the
//!   reading and a creation under another name does not stop it (as above); the next event sees both. Nor does
//!   anything remember the generation of what is gone: what is absent is created (row 12 comes before row 13).
//! * I4: a late event deletes and releases like any other (rows 3 to 7 come before row 13): there is no way back from
//!   either, so that an event that says so is never out of date.
//! * I6: an event is identical only to who asks the same and gets the same answer. If a gate of the entry says something else
//!   on the second pass, since the first one changed what it reads, there is something to do. A patch or recreate gate that
//!   still holds says so on every event. What names an owner follows it. An object is deleted,
//!   recreated or pruned on the event after another one was disowned (rows 5 and 14). What failed is tried again.
//! * I5 is about *confluent* tasks, in which it does not matter when a gate is asked: `generate::is_confluent` says which. Gates
//!   may ask for flags of the event, which are the same on every pass; and for live objects only where the answer ends what
//!   it starts (a patch that compares what it sets, a recreation of what is behind, a deletion that waits for one on the
//!   same word). The others depend on their history on purpose. Some that look harmless do, too:
//!   * a replacement with an apply gate: row 14 does not ask it, but after an interruption the object is absent, and row 11 does;
//!   * a name of the clock for what has an owner that is not one and the same object (rows 17 and 18, as above);
//!   * an orphan gate that asks whether its own object is there, if that owns something (see "Traps");
//!   * gates about an entry whose selector finds other entries' objects, which are visible while it has none (see "Traps").
//! * I5: an event that undisturbed never comes to rest, or comes to rest with a failure, promises nothing: a failure stops what is
//!   later in the list, so that it matters how far the list came before.
//! * I5: events that come too late are among the disturbances only where they leave no trace: names are fixed, nothing is
//!   retained, and what is there is updated.
//!
//! # Running it
//!
//! `LIFECYCLE_MODEL_SEQUENCES` says how many sequences are run in memory, `LIFECYCLE_MODEL_SERVER_SEQUENCES` how many on the
//! real server, `LIFECYCLE_MODEL_SEED` which; the same numbers give the same sequences. A finding is printed with the task, the steps, every call, and the sequence as
//! a value, from which a regression test in `findings` is made. `sabotage` breaks the adapter on purpose, to see that the
//! model notices.

#![expect(clippy::panic, reason = "tests")]

mod control;
mod drive;
mod findings;
mod generate;
mod ground;
mod journal;
mod memory;
mod object;
mod oracle;
mod people;
mod sabotage;
mod sequence;
mod server;
mod shape;
mod tamper;
mod tell;
mod watch;
mod world;
