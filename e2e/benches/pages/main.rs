//! Measures the pages of the console in front of 100,000 clusters, with the local API on PostgreSQL.
//!
//! Run it with `cargo bench --bench pages [-- --help]`. The API, its database, this program and the console's release binary share the
//! machine. Times are those of a reader; CPU time and memory of the console come from the kernel. The API's answers to the questions of a
//! page are timed without the console, too, to say which of the two a page waits for. `docs/performance.md` has the figures. The
//! benchmark never fails because of slowness.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use clap::Parser as _;
use futures::future::try_join_all;
use futures::{StreamExt as _, TryStreamExt as _, stream};
use lifecycle_benches::build;
use lifecycle_e2e::api::LocalApi;
use lifecycle_e2e::await_condition;
use lifecycle_e2e::fault::When;
use lifecycle_e2e::process::Process;
use lifecycle_e2e::usage::Usage;
use serde_json::json;
use tempfile::TempDir;
use tokio::process::Command;
use tokio::time::{Instant, sleep, timeout};

/// How often each page is read by a console that has just started, and again.
const ROUNDS: usize = 5;
/// A list that the API makes at once counts for a second in the console: a page that is read again after this time has a new one.
const APART: Duration = Duration::from_millis(1_200);
/// How many clusters are pending, of which a part is being deleted.
const PENDING: i32 = 200;
const DELETED: i32 = 50;
/// The readers who have a page open.
const READERS: [usize; 3] = [1, 8, 8];
const API: &str = "/api/hyperfleet/v1/resources";
/// What the console asks a list for.
const LIST: &str = "size=50&fields=kind,name,generation,created_time,updated_time,deleted_time,status";

/// Measures the pages of the console in front of a large fleet.
#[derive(Debug, clap::Parser)]
struct Options {
    /// How many clusters there are: a multiple of 1,000.
    #[arg(long, default_value_t = 100_000)]
    clusters: i32,
    /// How many seconds the pages of the readers are open.
    #[arg(long, default_value_t = 60)]
    seconds: u64,
    /// Measure this binary instead of one that the benchmark builds.
    #[arg(long)]
    binary: Option<PathBuf>,
    /// Cargo passes this to every benchmark.
    #[arg(long, hide = true)]
    bench: bool,
}

#[tokio::main]
async fn main() -> Result<()> {
    let options = Options::parse();
    let binary = options.binary.clone().map_or_else(|| build("hyperfleet-console"), Ok)?;
    let bench = Bench { api: LocalApi::start().await?, client: reqwest::Client::new() };
    bench.fill(options.clusters).await?;
    let last = options.clusters.div_euclid(50);
    let pages = [
        ("page one", "/".to_owned()),
        ("last page", format!("/?page={last}")),
        ("name, 10 of them", "/?name=cluster-00500".to_owned()),
        ("name, all of them", "/?name=cluster".to_owned()),
        ("state pending", "/?state=pending".to_owned()),
        ("state reconciled", "/?state=reconciled".to_owned()),
        ("label, 1,000 of them", "/?label=region%3Dr7".to_owned()),
    ];
    for (name, path) in &pages {
        bench.measure_page(&binary, name, path).await?;
    }
    let reconciled = "status.conditions.Reconciled='True' and deleted_time is null";
    for (name, query) in [
        ("count all", "page=1&size=1&fields=id&search=kind='Cluster'".to_owned()),
        ("count reconciled", format!("page=1&size=1&fields=id&search=kind='Cluster' and {reconciled}")),
        ("list page one", format!("page=1&{LIST}")),
        ("list last page", format!("page={last}&{LIST}")),
        ("list name, 10 of them", format!("page=1&{LIST}&search=name like '%cluster-00500%'")),
        ("list reconciled", format!("page=1&{LIST}&search={reconciled}")),
        ("list label", format!("page=1&{LIST}&search=labels.region='r7'")),
    ] {
        bench.measure_answer(name, &query).await?;
    }

    for (index, readers) in READERS.into_iter().enumerate() {
        let has_own = index == 2;
        let console = Console::start(&binary, &bench.api).await?;
        bench.measure_readers(&console, readers, has_own, Duration::from_secs(options.seconds)).await?;
    }
    Ok(())
}

struct Bench {
    api: LocalApi,
    client: reqwest::Client,
}

impl Bench {
    /// Stores the clusters, of which a few are pending or being deleted.
    async fn fill(&self, clusters: i32) -> Result<()> {
        let begun = Instant::now();
        self.api.put_fleet(clusters).await?;
        let change = async |number: i32| {
            let id = format!("cluster-{number:06}");
            self.api.put_reconciled(&id, "False", jiff::Timestamp::now()).await?;
            if number < DELETED {
                self.api.delete(&id).await?;
            }
            anyhow::Ok(())
        };
        stream::iter((0..PENDING).map(change)).buffer_unordered(4).try_collect::<()>().await?;
        print(&format!("stored {clusters} clusters in {:.1?}", begun.elapsed()));
        Ok(())
    }

    /// Reads a page with nothing known, and again with the numbers that the console knows by then.
    async fn measure_page(&self, binary: &Path, name: &str, path: &str) -> Result<()> {
        let mut first = (Vec::new(), 0);
        let mut again = (Vec::new(), 0);
        let (mut bytes, mut cpu) = (0, Duration::ZERO);
        for _ in 0..ROUNDS {
            let console = Console::start(binary, &self.api).await?;
            let idle = console.usage()?.cpu;
            for (times, asked) in [&mut first, &mut again] {
                let (begun, before) = (Instant::now(), self.api.count(&When::any()));
                let answer = self.client.get(format!("{}{path}", console.url)).send().await?;
                ensure!(answer.status().is_success(), "{path}: {}", answer.status());
                bytes = answer.bytes().await?.len();
                times.push(begun.elapsed());
                *asked += self.api.count(&When::any()) - before;
                sleep(APART).await;
            }
            cpu += console.usage()?.cpu - idle;
        }
        let rounds = u32::try_from(ROUNDS)?;
        print(&format!(
            "page, {name}: {}, again {}; {} and {} requests to the API; {bytes} bytes; {:.1?} CPU of the console for both",
            Spread::of(first.0),
            Spread::of(again.0),
            first.1 as f64 / f64::from(rounds),
            again.1 as f64 / f64::from(rounds),
            cpu / rounds,
        ));
        Ok(())
    }

    /// Asks the API itself, as the console does.
    async fn measure_answer(&self, name: &str, query: &str) -> Result<()> {
        let (mut times, mut bytes) = (Vec::new(), 0);
        for _ in 0..ROUNDS {
            let begun = Instant::now();
            let url = format!("{}{API}?{}", self.api.url(), query.replace('%', "%25"));
            let answer = self.client.get(url).send().await?.error_for_status()?;
            bytes = answer.bytes().await?.len();
            times.push(begun.elapsed());
        }
        print(&format!("API alone, {name}: {}; {bytes} bytes", Spread::of(times)));
        Ok(())
    }

    /// Keeps pages open; each reader has the first page of the fleet, or one of his own.
    async fn measure_readers(&self, console: &Console, readers: usize, has_own: bool, open: Duration) -> Result<()> {
        let read = async |number: usize| {
            let page = if has_own { number + 1 } else { 1 };
            let url = format!("{}/live?of=%2F%3Fpage%3D{page}", console.url);
            let mut answer = self.client.get(url).send().await?.error_for_status()?;
            let mut bytes = 0;
            let stream = async {
                while let Some(chunk) = answer.chunk().await? {
                    bytes += chunk.len();
                }
                anyhow::Ok(())
            };
            let ended = timeout(open, stream).await;
            ensure!(ended.is_err(), "a stream ended: {ended:?}");
            Ok(bytes)
        };
        let (before, asked) = (console.usage()?, self.api.count(&When::any()));
        let bytes: usize = try_join_all((0..readers).map(read)).await?.into_iter().sum();
        let after = console.usage()?;
        let of = if has_own { "of a page of their own each" } else { "of one page" };
        let seconds = open.as_secs();
        print(&format!(
            "{readers} readers {of}, {seconds} s: {:.2?} CPU of the console; {} KiB resident when idle, {} after, {} at most; {} kB sent, \
             {} requests to the API",
            after.cpu - before.cpu,
            before.resident,
            after.resident,
            after.most_resident,
            bytes / 1000,
            self.api.count(&When::any()) - asked,
        ));
        Ok(())
    }
}

/// A running console.
struct Console {
    process: Process,
    url: String,
}

impl Console {
    async fn start(binary: &Path, api: &LocalApi) -> Result<Self> {
        let files = TempDir::new()?;
        let config = json!({
            "listen": "127.0.0.1:0", "api": { "base_url": api.url(), "kinds": ["Cluster"] },
            "health": { "listen": "127.0.0.1:0" }, "metrics": { "listen": "127.0.0.1:0" },
        });
        fs::write(files.path().join("console.yaml"), config.to_string())?;
        let mut command = Command::new(binary);
        command.args(["serve", "--config", "console.yaml"]).env_clear().current_dir(files.path());
        let process = Process::start("the console", command, files)?;
        let url = process.url("pages").await?;
        let client = reqwest::Client::new();
        await_condition("a page", lifecycle_e2e::PATIENCE, async || {
            Ok(client.get(format!("{url}/adapters")).send().await?.error_for_status().map(drop)?)
        })
        .await?;
        Ok(Self { process, url })
    }

    fn usage(&self) -> Result<Usage> {
        Usage::of(self.process.id()?).context("the console has ended")
    }
}

/// Median, and least to most.
struct Spread(Vec<Duration>);

impl Spread {
    fn of(mut times: Vec<Duration>) -> Self {
        times.sort_unstable();
        Self(times)
    }
}

impl std::fmt::Display for Spread {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let milliseconds = |index: usize| self.0[index].as_secs_f64() * 1e3;
        let last = self.0.len() - 1;
        write!(f, "{:.0} ms ({:.0} to {:.0})", milliseconds(self.0.len() / 2), milliseconds(0), milliseconds(last))
    }
}

#[expect(clippy::print_stdout, reason = "the result")]
fn print(text: &str) {
    println!("{text}");
}
