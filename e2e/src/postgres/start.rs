//! Starts a PostgreSQL server that shares no files and no port with any other.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, ensure};
use unprivileged::Unprivileged;

use super::Server;
use crate::run::{Instance, free_port};

/// Debian's directory of the installed major versions. The wrappers in `/usr/bin` would use the system's
/// clusters instead.
const VERSIONS: &str = "/usr/lib/postgresql";

pub(super) async fn start(instance: &mut Instance) -> anyhow::Result<Server> {
    start_with(instance, &[]).await
}

pub(super) async fn start_with(instance: &mut Instance, more: &[&str]) -> anyhow::Result<Server> {
    let arguments = ["--username=postgres", "--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync"];
    make(instance, "initdb", &arguments)?;
    run(instance, free_port()?, more).await
}

/// Starts a standby of a server: a copy that replays the server's changes.
pub(super) async fn start_standby(instance: &mut Instance, primary: &Server) -> anyhow::Result<Server> {
    let primary = format!("--dbname={}", primary.url);
    let arguments = [&primary, "--write-recovery-conf", "--checkpoint=fast", "--no-sync"];
    make(instance, "pg_basebackup", &arguments)?;
    run(instance, free_port()?, &[]).await
}

/// Starts a server on the instance's data.
pub(super) async fn run(instance: &mut Instance, port: u16, more: &[&str]) -> anyhow::Result<Server> {
    let settings = [
        "listen_addresses=127.0.0.1".to_owned(),
        format!("port={port}"),
        // Tests use TCP only, and the path of a socket in this directory could exceed the system's limit.
        "unix_socket_directories=".to_owned(),
        // The data is deleted with the run, so it need not survive a power failure. These settings change
        // only durability.
        "fsync=off".to_owned(),
        "full_page_writes=off".to_owned(),
        "max_connections=200".to_owned(),
        "shared_buffers=64MB".to_owned(),
        "log_min_messages=warning".to_owned(),
    ];
    let mut argv = Unprivileged::choose()?.command();
    argv.extend([program(&programs()?, "postgres"), "-D".to_owned(), instance.data("postgres")?.display().to_string()]);
    let settings = settings.into_iter().chain(more.iter().map(|&setting| setting.to_owned()));
    argv.extend(settings.flat_map(|setting| ["-c".to_owned(), setting]));
    instance.spawn("postgres", &[], &argv)?;

    let server = Server { url: format!("postgres://postgres@127.0.0.1:{port}") };
    instance
        .await_start("PostgreSQL to answer", async || {
            psql(&format!("{}/postgres", server.url), "SELECT 1").await.map(drop)
        })
        .await?;
    Ok(server)
}

/// Fills the data directory by the program `maker`.
fn make(instance: &Instance, maker: &str, arguments: &[&str]) -> anyhow::Result<()> {
    let unprivileged = Unprivileged::choose()?;
    let data = instance.data("postgres")?;
    // pg_basebackup keeps the directory's mode, and the server refuses a directory that others may read.
    std::fs::set_permissions(&data, Permissions::from_mode(0o700)).context("failed to close the data to others")?;
    unprivileged.own(&data)?;
    let mut argv = unprivileged.command();
    argv.extend([program(&programs()?, maker), "--pgdata".to_owned(), data.display().to_string()]);
    argv.extend(arguments.iter().map(|&argument| argument.to_owned()));
    let (first, rest) = argv.split_first().context("there is a command to run")?;
    let output = Command::new(first)
        .args(rest)
        .stdin(Stdio::null())
        .output()
        .with_context(|| format!("failed to run {maker}"))?;
    ensure!(output.status.success(), "{maker} failed: {}", String::from_utf8_lossy(&output.stderr));
    Ok(())
}

/// Executes SQL statements with `psql`. Returns a line for each row of a result, with `|` between the columns.
pub(super) async fn psql(url: &str, sql: &str) -> anyhow::Result<String> {
    let output = tokio::process::Command::new(program(&programs()?, "psql"))
        .args(["--no-psqlrc", "--quiet", "--tuples-only", "--no-align", "--set=ON_ERROR_STOP=1"])
        .args(["--dbname", url, "--command", sql])
        .stdin(Stdio::null())
        .output()
        .await
        .context("failed to run psql")?;
    ensure!(output.status.success(), "psql failed: {}", String::from_utf8_lossy(&output.stderr).trim());
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

fn program(programs: &Path, name: &str) -> String {
    programs.join(name).display().to_string()
}

/// The programs of the newest installed version.
fn programs() -> anyhow::Result<PathBuf> {
    let versions = std::fs::read_dir(VERSIONS).into_iter().flatten().flatten();
    let newest = versions
        .filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok())
        .filter(|version| Path::new(VERSIONS).join(version.to_string()).join("bin/postgres").is_file())
        .max();
    let newest =
        newest.context("PostgreSQL is not installed; run `./test --setup` once, it installs the package postgresql")?;
    Ok(Path::new(VERSIONS).join(newest.to_string()).join("bin"))
}

/// PostgreSQL refuses to run as root, and in many containers root runs the tests.
mod unprivileged {
    use std::path::Path;
    use std::process::{Command, Stdio};

    use anyhow::{Context, bail, ensure};

    /// How a process drops root's privileges.
    pub(super) enum Unprivileged {
        /// The tests do not run as root: nothing to drop.
        Same,
        /// In its own user namespace: root owns the files, so no directory has to be made accessible to other
        /// users.
        Namespace,
        /// As the user `postgres` of Debian's package, where user namespaces are forbidden.
        User,
    }

    impl Unprivileged {
        pub(super) fn choose() -> anyhow::Result<Self> {
            let output = Command::new("id").arg("-u").output().context("failed to run id")?;
            if output.stdout.trim_ascii() != b"0" {
                return Ok(Self::Same);
            }
            for way in [Self::Namespace, Self::User] {
                if runs(&way.command()) {
                    return Ok(way);
                }
            }
            bail!("PostgreSQL does not run as root, and neither `unshare --user` nor the user postgres is there")
        }

        /// The words of the command line before the program.
        pub(super) fn command(&self) -> Vec<String> {
            // Changing the user clears the parent-death signal, so set it again: the server must end with its
            // supervisor.
            let words: &[&str] = match self {
                Self::Same => &[],
                Self::Namespace => &["unshare", "--user", "--map-user=1000", "--map-group=1000", "--"],
                Self::User => &["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups", "--"],
            };
            let again = ["setpriv", "--pdeathsig", "KILL", "--"];
            words.iter().chain(&again).map(|&word| word.to_owned()).collect()
        }

        /// Makes a directory accessible to the process, if it runs as another user.
        pub(super) fn own(&self, directory: &Path) -> anyhow::Result<()> {
            match self {
                Self::Same | Self::Namespace => return Ok(()),
                Self::User => {}
            }
            let path = directory.display().to_string();
            let owned = Command::new("chown").args(["postgres:postgres", &path]).status();
            ensure!(owned.is_ok_and(|status| status.success()), "failed to give {path} to the user postgres");
            // The data directory, the instance and the run: the parents that the tests created.
            for parent in directory.ancestors().skip(1).take(3) {
                let parent = parent.display().to_string();
                let opened = Command::new("chmod").args(["o+x", &parent]).status();
                ensure!(opened.is_ok_and(|status| status.success()), "failed to open {parent} to the user postgres");
            }
            let mut argv = self.command();
            argv.extend(["test", "-w", &path].map(str::to_owned));
            ensure!(
                runs(&argv),
                "the user postgres cannot reach {path}: set TMPDIR or CARGO_TARGET_DIR to a directory open to all, \
                 or run the tests as an ordinary user"
            );
            Ok(())
        }
    }

    fn runs(argv: &[String]) -> bool {
        let Some((first, rest)) = argv.split_first() else { return true };
        let rest: Vec<&str> = rest.iter().map(String::as_str).collect();
        let ends_bare = rest.last() == Some(&"--");
        let mut command = Command::new(first);
        command.args(&rest).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        if ends_bare {
            command.arg("true");
        }
        command.status().is_ok_and(|status| status.success())
    }
}
