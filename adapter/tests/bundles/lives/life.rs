//! What random lives are made of.
//!
//! In: a seed and a number. Out: a [`Life`], and smaller variants of it.

use anyhow::{Result, anyhow};
use proptest::collection::vec;
use proptest::option::weighted;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

/// The kind of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Map,
    Secret,
    /// In progress until it was observed.
    Foo,
    /// A ConfigMap in the bundle's own namespace.
    Content,
    /// An instance of the bundle's own type, in progress until it was observed.
    Instance,
    /// The bundle's own namespace.
    Namespace,
    /// The bundle's own type.
    Type,
}

impl Kind {
    /// The kind of the object with which an object of this kind goes.
    pub(crate) fn outer(self) -> Option<Self> {
        match self {
            Self::Content => Some(Self::Namespace),
            Self::Instance => Some(Self::Type),
            _ => None,
        }
    }

    /// Whether other objects go with an object of this kind.
    pub(crate) fn is_outer(self) -> bool {
        matches!(self, Self::Namespace | Self::Type)
    }
}

/// What the annotations of an object say.
#[derive(Debug, Clone)]
pub(crate) struct Settings {
    pub(crate) apply_order: i16,
    pub(crate) delete_order: i16,
    pub(crate) purge_order: Option<i16>,
    pub(crate) adoption: &'static str,
    pub(crate) reconcile: &'static str,
    pub(crate) update: &'static str,
    pub(crate) delete: &'static str,
}

/// One object of the manifests.
#[derive(Debug, Clone)]
pub(crate) struct Shape {
    pub(crate) kind: Kind,
    pub(crate) settings: Settings,
}

/// What happens between two passes. Objects are named by their places in the life.
#[derive(Debug, Clone)]
pub(crate) enum Act {
    /// The manifest of an object changes.
    Change(usize),
    /// An object leaves the manifests, or comes back.
    Toggle(usize),
    /// The orders and policies of an object change.
    Reset(usize, Settings),
    /// A controller observes an object.
    Observe(usize),
    /// Somebody deletes an object.
    Remove(usize),
    /// Somebody edits an object.
    Edit(usize),
    /// Somebody removes the labels of the owner and of the set from an object.
    Strip(usize),
    /// Somebody removes one of the marks by which an object is a member.
    Unmark(usize, Mark),
    /// Somebody else takes the name of an object that is not there; another adapter, if so.
    Squat(usize, bool),
    /// Somebody holds an object, so that it stays after its deletion, or lets it go.
    Hold(usize),
    /// A stranger copies a member with its labels and annotations: beside it, or into the other namespace of the life.
    Copy(usize, bool),
    /// A stranger creates an object of this kind: in the bundle's namespace, or of its type.
    Intrude(Kind),
    /// A stranger removes what a stranger made.
    Withdraw(usize),
    /// Somebody removes what the parent says to other tools.
    EditParent,
    /// An hour passes, so that objects are due again.
    Wait,
    /// The API resource gets a new generation.
    Generation,
}

/// A mark of a member.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Mark {
    Owner,
    Digest,
}

/// How a pass ends early.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Interruption {
    /// The adapter's process ends after so many calls.
    Crash(usize),
    /// A request does not reach the server.
    LostRequest(usize),
    /// The answer to a request does not reach the adapter.
    LostAnswer(usize),
}

/// One event, with what happens before it.
#[derive(Debug, Clone)]
pub(crate) struct Step {
    pub(crate) acts: Vec<Act>,
    pub(crate) interruption: Option<Interruption>,
}

#[derive(Debug, Clone)]
pub(crate) struct Life {
    pub(crate) shapes: Vec<Shape>,
    /// Whether each step is followed by events until nothing changes any more, and the life is compared with one without
    /// interruptions.
    pub(crate) is_twin: bool,
    pub(crate) steps: Vec<Step>,
    /// The steps after the API resource was deleted, or the bundle disowned.
    pub(crate) end: Vec<Step>,
    /// Whether the bundle is disowned in the end, and not deleted.
    pub(crate) is_disowned: bool,
}

fn settings() -> impl Strategy<Value = Settings> {
    let orders = (0..3_i16, 0..3_i16, weighted(0.2, 0..3_i16));
    let adoption = select(vec!["never", "if-unowned", "always"]);
    let reconcile = prop_oneof![
        6 => Just("on-object-change"),
        1 => Just("on-object-or-component-change"),
        1 => Just("once"),
    ];
    let update = select(vec!["apply", "apply-override", "replace", "recreate"]);
    let delete = prop_oneof![
        5 => Just("delete"),
        1 => Just("orphan"),
        1 => Just("orphan-on-apply"),
        1 => Just("orphan-on-delete"),
    ];
    (orders, adoption, reconcile, update, delete).prop_map(
        |((apply_order, delete_order, purge_order), adoption, reconcile, update, delete)| Settings {
            apply_order,
            delete_order,
            purge_order,
            adoption,
            reconcile,
            update,
            delete,
        },
    )
}

fn shape(kinds: &'static [Kind]) -> impl Strategy<Value = Shape> {
    (select(kinds), settings()).prop_map(|(kind, settings)| Shape { kind, settings })
}

/// The objects of a life. They come in another order than the one in which they can be applied.
fn shapes() -> impl Strategy<Value = Vec<Shape>> {
    let plain = vec(shape(&[Kind::Map, Kind::Secret, Kind::Foo]), 1..6);
    let inner = vec(shape(&[Kind::Map, Kind::Foo, Kind::Content, Kind::Content, Kind::Instance, Kind::Instance]), 1..6);
    let outer = (inner, shape(&[Kind::Type]), shape(&[Kind::Namespace]));
    let with_outer = outer.prop_map(|(inner, types, namespace)| inner.into_iter().chain([types, namespace]).collect());
    prop_oneof![plain, with_outer]
}

/// The acts of people, strangers and controllers on objects.
fn act_on_an_object() -> impl Strategy<Value = Act> {
    let place = || 0..7_usize;
    prop_oneof![
        6 => place().prop_map(Act::Observe),
        1 => place().prop_map(Act::Remove),
        1 => place().prop_map(Act::Edit),
        1 => place().prop_map(Act::Strip),
        2 => (place(), select(vec![Mark::Owner, Mark::Digest])).prop_map(|(place, mark)| Act::Unmark(place, mark)),
        2 => (place(), any::<bool>()).prop_map(|(place, is_owned)| Act::Squat(place, is_owned)),
        3 => place().prop_map(Act::Hold),
        2 => (place(), any::<bool>()).prop_map(|(place, is_elsewhere)| Act::Copy(place, is_elsewhere)),
        2 => select(vec![Kind::Content, Kind::Instance]).prop_map(Act::Intrude),
        1 => place().prop_map(Act::Withdraw),
    ]
}

fn act() -> impl Strategy<Value = Act> {
    let place = || 0..7_usize;
    prop_oneof![
        3 => place().prop_map(Act::Change),
        3 => place().prop_map(Act::Toggle),
        1 => (place(), settings()).prop_map(|(place, settings)| Act::Reset(place, settings)),
        16 => act_on_an_object(),
        1 => Just(Act::EditParent),
        1 => Just(Act::Wait),
        1 => Just(Act::Generation),
    ]
}

fn step(act: impl Strategy<Value = Act>, likely: f64) -> impl Strategy<Value = Step> {
    let interruption = prop_oneof![
        3 => (0..14_usize).prop_map(Interruption::Crash),
        1 => (1..14_usize).prop_map(Interruption::LostRequest),
        2 => (1..14_usize).prop_map(Interruption::LostAnswer),
    ];
    (vec(act, 0..5), weighted(likely, interruption)).prop_map(|(acts, interruption)| Step { acts, interruption })
}

fn life(is_disowned: bool) -> impl Strategy<Value = Life> {
    (shapes(), any::<bool>()).prop_flat_map(move |(shapes, is_twin)| {
        let likely = if is_twin { 0.8 } else { 0.4 };
        let steps = vec(step(act(), likely), 1..6);
        // Nothing is rendered any more.
        let end = vec(step(act_on_an_object(), likely), 0..4);
        (Just(shapes), Just(is_twin), steps, end).prop_map(move |(shapes, is_twin, steps, end)| Life {
            shapes,
            is_twin,
            steps,
            end,
            is_disowned,
        })
    })
}

/// Of how many lives one ends with the bundle disowned.
const DISOWNED: u32 = 5;

/// The n-th life of a seed, with its smaller variants.
pub(crate) fn tree(seed: u32, number: u32) -> Result<impl ValueTree<Value = Life>> {
    let mut bytes = [2; 32];
    bytes[..4].copy_from_slice(&seed.to_le_bytes());
    bytes[4..8].copy_from_slice(&number.to_le_bytes());
    let mut runner = TestRunner::new_with_rng(Config::default(), TestRng::from_seed(RngAlgorithm::ChaCha, &bytes));
    life(number % DISOWNED == DISOWNED - 1).new_tree(&mut runner).map_err(|reason| anyhow!("{reason}"))
}
