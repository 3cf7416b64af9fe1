//! A model of a task's life: random tasks, random events, users, faults and a second replica. Nine invariants
//! must hold in every sequence.
//!
//! The engine is the real one: a [`Pipeline`](hyperfleet_adapter::pipeline::Pipeline) for each of two replicas,
//! over the API server in memory (`memory`), a real one (`server`), or Maestro (`maestro`). Between engine and server, the
//! transport `watch` records every call and injects faults. An oracle judges each pass by this record. The oracle knows
//! the terms of `docs/lifecycle.md` (ownership, current version), but not the decision table.
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
//! A sequence has a task of one to three resources, a past, and one event. The past is a list of events and
//! users' acts. Each event is delivered to either replica, with faults at chosen calls; it may pause before a
//! call while the other replica handles an event or a user acts. After the past, the event is delivered several
//! times with *disturbances*, and then without. Faults are refusals (409, 422, 403, 429, 503), connections that
//! break before or after the server has carried the request out, calls that are never answered, and crashes of
//! the process before or right after a call.
//!
//! # The invariants
//!
//! * **I1** No object is deleted without a reason: the delete gate holds; or, without retention, the recreate
//!   gate and the create gate hold; or the version is beyond the limits of retention. The deleted object has
//!   the UID and resource version that the pass read. No object is recreated under a name that a foreign object
//!   has. A gate that reads an unread resource is no reason. Disowning wins over deletion.
//! * **I2** Without retention, no second object is created for one generation. No object is created beside a
//!   terminating one, or for a resource that could not be read.
//! * **I3** A disowned object is not written, deleted or replaced until a user removes its mark, and is not
//!   deleted with an owner. An object is disowned only if its gate holds, or with another version that is
//!   disowned.
//! * **I4** A stale generation never wins: no object's generation is lowered, and no object is updated,
//!   patched, replaced or created while the pass knows a live version of a higher generation.
//! * **I5** After the last fault, the event leads to the same state as without disturbances, in as many passes
//!   as it needs without them. For most tasks that is one pass.
//! * **I6** A second identical event writes nothing.
//! * **I7** The current version is never pruned.
//! * **I8** No object is created, updated or patched if a gate forbids it.
//! * **I9** An object that no adapter wrote is only patched, and not stamped by that; an entry that adopts may update it.
//!
//! Two states are compared without UIDs, resource versions, times, and the clock in names. A terminating object
//! is compared only as such.
//!
//! # Exceptions
//!
//! Each exception of I5 has a sequence in `findings`, which fails without the exception.
//!
//! * I2: only its name fences a creation. Two passes that both read before either creates, under names that
//!   contain the clock, create two objects. ("Writes", `create`: POST, and a taken name.)
//! * I2: a current version that lacks its owner reference is followed by another version, if no later event
//!   renders its name (rows 17 and 18: no object is created without its reference, and an update goes to the
//!   rendered name).
//! * I3, I4: a creation is decided by what its pass has read. An object that is disowned, or written for a
//!   later generation, after that does not prevent a creation under another name; the next event sees both
//!   objects. The generation of a deleted object is not remembered: an absent object is created (row 12 comes
//!   before row 13).
//! * I4: a late event deletes and disowns like any other (rows 3 to 7 come before row 13): both are final, so
//!   an event that requires one of them is never out of date.
//! * I6: a write of a work that would change nothing is not sent, so it is none: a deletion that keeps the objects waits for
//!   the agent, and each event asks for it again.
//! * I6: two events are identical only if their gates have the same results. If the first pass changed what a
//!   gate of the second one reads, there may be something to write. A patch or recreate gate that still holds
//!   leads to a write with every event. A dependent follows its owner. An object is deleted, recreated or
//!   pruned on the event after another one was disowned (rows 5 and 14). A failed write is tried again.
//! * I5 applies to *confluent* tasks (`generate::is_confluent`), whose final state is independent of when a
//!   gate is evaluated. Their gates may read flags of the event, which are the same in every pass; and live
//!   objects only if the gate's effect ends the gate: a patch that compares the value it sets, a recreation of
//!   an object of an older generation, a deletion that waits for a resource with the same flags. Tasks of these
//!   forms are not confluent:
//!   * a replacement with an apply gate: row 14 does not evaluate it, but after an interruption row 11 does;
//!   * a name with the clock for a dependent whose owner may be replaced (rows 17 and 18, as above);
//!   * an orphan gate that requires its own object to exist, if that object has dependents (see "Traps");
//!   * gates about a resource whose selector matches objects of other resources, which are visible while it has
//!     none (see "Traps").
//! * I5: without retention, a replacement deletes no version while another one terminates (row 14). If a
//!   finalizer holds one, the interruption decides which other versions exist until that one is gone.
//! * I5: an event that never comes to rest without disturbances, or that fails, need not converge: a failure
//!   stops the later resources of the list, so the state depends on how far earlier passes came.
//! * I5: late events are among the disturbances only if they leave no trace: names are fixed, no versions are
//!   retained, and existing objects are updated.
//!
//! # Running it
//!
//! `LIFECYCLE_MODEL_SEQUENCES`, `LIFECYCLE_MODEL_SERVER_SEQUENCES` and `LIFECYCLE_MODEL_MAESTRO_SEQUENCES` are the numbers of
//! sequences in memory, on the real server and on Maestro, and `LIFECYCLE_MODEL_SEED` selects other sequences; the same values
//! give the same sequences. A finding is printed with the task, the steps, every call, and the sequence as a Rust value for a
//! regression test in `findings`. `sabotage` breaks the adapter on purpose, to check that the model notices.

#![expect(clippy::panic, reason = "tests")]

mod account;
mod arena;
mod control;
mod drive;
mod findings;
mod generate;
mod ground;
mod journal;
mod maestro;
mod memory;
mod object;
mod oracle;
mod people;
mod sabotage;
mod sequence;
mod server;
mod shape;
mod tamper;
mod watch;
mod world;
