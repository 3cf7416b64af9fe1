//! Plays stories in front of the console: its pages, opened once and never loaded again, tell each story as it happens.
//!
//! With `UPDATE_PICTURES=1` the pictures of docs/console.md are made at the decisive moments.

use std::path::Path;
use std::process::Stdio;

use anyhow::{Context as _, Result, bail, ensure};
use lifecycle_e2e::browser::{Browser, Look, Tab};
use lifecycle_e2e::program;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, BufReader};
use tokio::process::Command;
use tokio::time::timeout;
use tokio::try_join;

use crate::LIMIT;

const PICTURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/pictures");
/// The height of a picture, which shows the beginning of a page.
const HEIGHT: u32 = 800;

/// A story, and what the page of its cluster tells, in this order; `<id>` is the cluster's id.
pub(crate) struct Story {
    pub(crate) name: &'static str,
    told: &'static [&'static str],
    /// What the page of the sweeper tells meanwhile.
    swept: &'static [&'static str],
}

impl Story {
    const fn new(name: &'static str, told: &'static [&'static str]) -> Self {
        Self { name, told, swept: &[] }
    }
}

/// What the page says of a cluster that is stuck: what is wrong, whose part it is, and what would change it; then, that it is cured.
const STUCK: [&str; 8] = [
    "Needs somebody Cluster stuck-",
    "it waits on adapter provisioner",
    "It has applied generation 1, and has reported Available=False",
    "JobFailed Job provision-1 has failed",
    "Whose part: Whoever owns Job provision-1, and what it runs. The adapter has done its part, and reports what it sees.",
    "What would change it Find out why: kubectl -n cluster-<id> describe job provision-1",
    "change the resource's spec at the API, by PATCH /api/hyperfleet/v1/clusters/<id>",
    "is reconciled at generation 2",
];
/// What the page of the fleet says of it meanwhile, and that of the adapter.
const STUCK_IN_FLEET: [&str; 2] = ["is stuck", "provisioner not available"];
const STUCK_AT_ADAPTER: [&str; 2] =
    ["The last passes", "Cluster <id> generation 1 ✓ success provision: skip SameGeneration"];
const GONE: &str = "The API has no resource with the id <id>.";

/// It is played first: what its page tells lasts for seconds only.
pub(crate) const CREATE: Story = Story::new(
    "create",
    &[
        "In progress Cluster demo-",
        "it waits on adapter provisioner",
        "/provision-1 created",
        "Well Cluster demo-",
        "is reconciled at generation 1",
    ],
);

/// The stories that are played at once.
pub(crate) const STORIES: [Story; 7] = [
    Story::new(
        "delete",
        &[
            "/provision-1 created",
            "The deletion of Cluster delete-",
            "/provision-1 deleted",
            "cluster-<id>/settings deleted",
            "Namespace cluster-<id> deleting",
            GONE,
        ],
    ),
    Story {
        name: "force-delete",
        told: &["/provision-1 created", GONE, "the page Sweeper shows what is left of it"],
        swept: &[
            "Objects whose API resource is gone",
            "Job cluster-<id>/provision-1 provisioner <id>",
            "No object is orphaned",
            "ConfigMap records/<id> foundation <id> deleted",
            "Namespace cluster-<id> foundation <id> terminating",
        ],
    },
    Story::new("stuck", &STUCK),
    Story::new(
        "disown",
        &["/provision-1 created", "ConfigMap records/<id> disowned", "Disowned the object was disowned", GONE],
    ),
    Story::new(
        "history",
        &[
            "/provision-1 created",
            "/provision-2 created",
            "/provision-3 created",
            "/provision-4 created",
            "/provision-1 deleted by retention: ",
            "is reconciled at generation 4",
        ],
    ),
    Story::new(
        "debounce",
        &["NotYet when condition reads the clock", "recreate RecreateGateHolds", "cluster-<id>/check recreated"],
    ),
    Story::new(
        "bundle",
        &["addon-settings created", "addon-install created", "addon-route created", "addon deleted", GONE],
    ),
];

/// Plays a story, and waits until the pages have told it.
pub(crate) async fn play(story: &Story, stack: &Path, browser: &Browser) -> Result<()> {
    let mut demo = Command::new(program("stack")?);
    demo.args(["demo", story.name, "--directory"]).arg(stack).kill_on_drop(true);
    let mut demo = demo.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    let mut lines = BufReader::new(demo.stdout.take().context("no output")?).lines();
    let mut complaints = demo.stderr.take().context("no errors")?;
    let url = loop {
        let Some(line) = lines.next_line().await? else { break String::new() };
        if let Some((_, url)) = line.split_once("console      ") {
            break url.to_owned();
        }
    };
    let end = async {
        let mut rest = String::new();
        while let Some(line) = lines.next_line().await? {
            rest = rest + &line + "\n";
        }
        complaints.read_to_string(&mut rest).await?;
        let status = demo.wait().await?;
        ensure!(status.success(), "{status}: {rest}");
        Ok(())
    };
    let end = async { timeout(LIMIT, end).await.context("it does not end")? };
    let Some((console, id)) = url.split_once("/resources/") else {
        end.await?;
        bail!("it names no cluster's page");
    };
    let cluster = async {
        let tab = browser.open(&url).await?;
        if story.name == "stuck" {
            ensure_told_elsewhere(&tab, browser, console, id).await?;
        }
        told(&tab, story.told, id).await.context("the cluster's page")?;
        tab.close().await
    };
    let sweeper = async {
        if !story.swept.is_empty() {
            let tab = browser.open(&format!("{console}/sweeper")).await?;
            if draws() {
                told(&tab, &story.swept[..2], id).await.context("the sweeper's page")?;
                draw(&tab, Look::DESK, "sweeper").await?;
            }
            told(&tab, story.swept, id).await.context("the sweeper's page")?;
        }
        Ok(())
    };
    try_join!(end, cluster, sweeper)?;
    Ok(())
}

async fn told(tab: &Tab, parts: &[&str], id: &str) -> Result<()> {
    let parts: Vec<String> = parts.iter().map(|part| part.replace("<id>", id)).collect();
    tab.await_told(&parts.iter().map(String::as_str).collect::<Vec<_>>(), LIMIT).await?;
    let faults = tab.faults().await?;
    ensure!(faults.is_empty(), "{faults:?}");
    Ok(())
}

/// Reads the pages of the fleet and of the adapter while a cluster is stuck, and draws what readers see.
async fn ensure_told_elsewhere(tab: &Tab, browser: &Browser, console: &str, id: &str) -> Result<()> {
    let fleet = browser.open(&format!("{console}/")).await?;
    let provisioner = browser.open(&format!("{console}/adapters/provisioner")).await?;
    if draws() {
        draw_stuck(tab, &fleet, browser, console, id).await?;
    }
    told(&fleet, &STUCK_IN_FLEET, id).await.context("the fleet's page")?;
    told(&provisioner, &STUCK_AT_ADAPTER, id).await.context("the adapter's page")?;
    fleet.close().await?;
    provisioner.close().await
}

/// Pictures of a stuck cluster, as readers with a desk, with a telephone and with dark pages see it, and of the fleet and an adapter.
async fn draw_stuck(tab: &Tab, fleet: &Tab, browser: &Browser, console: &str, id: &str) -> Result<()> {
    told(tab, &STUCK[..7], id).await?;
    draw(tab, Look::DESK, "stuck").await?;
    fleet.await_shown(&["1 is stuck"], LIMIT).await?;
    draw(fleet, Look::DESK, "fleet").await?;
    draw(tab, Look::DESK.dark(), "stuck-dark").await?;
    draw(tab, Look::PHONE, "stuck-phone").await?;
    let adapter = browser.open(&format!("{console}/adapters/foundation")).await?;
    draw(&adapter, Look::DESK, "adapter").await?;
    adapter.close().await
}

fn draws() -> bool {
    std::env::var_os("UPDATE_PICTURES").is_some()
}

async fn draw(tab: &Tab, look: Look, name: &str) -> Result<()> {
    let picture = tab.picture(Look { height: HEIGHT, ..look }, Look::DESK).await?;
    std::fs::create_dir_all(PICTURES)?;
    Ok(std::fs::write(Path::new(PICTURES).join(format!("console-{name}.png")), picture)?)
}
