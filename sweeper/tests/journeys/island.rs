//! A network namespace whose link can be cut: what a process sends into the cut link stays in the kernel's buffers, and may
//! arrive once the link is up again.

use std::fs;
use std::net::{Ipv4Addr, SocketAddr};

use anyhow::{Context as _, Result, ensure};
use lifecycle_e2e::fault::Proxy;
use lifecycle_e2e::unique;
use serde_json::{Value, json};
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::process::Command;

use crate::program::Setup;
use crate::world::World;

/// Where Linux distributions have the program `ip`.
const IP: &str = "/usr/sbin/ip";

/// A network namespace that is connected to this machine by a pair of virtual devices. Dropping it removes both.
pub(crate) struct Island {
    name: String,
    device: String,
    address: Ipv4Addr,
}

impl Island {
    /// Makes a namespace; `None`, with a message, if that is not permitted here.
    pub(crate) async fn new() -> Option<Self> {
        Self::make().await.inspect_err(skip).ok()
    }

    async fn make() -> Result<Self> {
        let id = fastrand::u16(..);
        let [high, low] = (id & 0xfffc).to_be_bytes();
        let (name, device, address) = (unique("island"), format!("hf{id}"), Ipv4Addr::new(198, 18, high, low + 1));
        ip(&format!("netns add {name}")).await?;
        let island = Self { name, device, address };
        let Self { name, device, address } = &island;
        ip(&format!("link add {device} type veth peer name eth0 netns {name}")).await?;
        ip(&format!("address add {address}/30 dev {device}")).await?;
        ip(&format!("link set {device} up")).await?;
        ip(&format!("-n {name} address add 198.18.{high}.{}/30 dev eth0", low + 2)).await?;
        ip(&format!("-n {name} link set eth0 up")).await?;
        ip(&format!("-n {name} link set lo up")).await?;
        Ok(island)
    }

    /// The setup of a sweeper that runs on the island, and reaches the API server through a proxy.
    pub(crate) async fn inhabit(&self, world: &World, proxy: &Proxy, setup: Setup) -> Result<Setup> {
        let access = &proxy.access()?.kubeconfig;
        let mut kubeconfig: Value = serde_json::from_str(&fs::read_to_string(access)?)?;
        let cluster = &mut kubeconfig["clusters"][0]["cluster"];
        cluster["server"] = format!("https://{}", self.reach(proxy.url()).await?).into();
        cluster["tls-server-name"] = "localhost".into();
        let file = world.audit().with_file_name("island.json");
        fs::write(&file, kubeconfig.to_string())?;
        let api = format!("http://{}", self.reach(&world.api.url()).await?);
        let setup = setup.with("kubernetes.kubeconfig", json!(file)).with("api.base_url", api);
        Ok(setup.under(&[IP, "netns", "exec", &self.name]))
    }

    /// Lets the island reach a server of the loopback interface; returns the address for it.
    async fn reach(&self, url: &str) -> Result<SocketAddr> {
        let (_, server) = url.split_once("://").context("an address")?;
        let server: SocketAddr = server.parse()?;
        let listener = TcpListener::bind((self.address, 0)).await?;
        let address = listener.local_addr()?;
        tokio::spawn(async move {
            while let Ok((mut client, _)) = listener.accept().await {
                tokio::spawn(async move {
                    let mut server = TcpStream::connect(server).await?;
                    copy_bidirectional(&mut client, &mut server).await
                });
            }
        });
        Ok(address)
    }

    pub(crate) async fn cut(&self) -> Result<()> {
        ip(&format!("link set {} down", self.device)).await
    }

    pub(crate) async fn heal(&self) -> Result<()> {
        ip(&format!("link set {} up", self.device)).await
    }
}

impl Drop for Island {
    fn drop(&mut self) {
        // The devices go with the namespace.
        let _ = std::process::Command::new(IP).args(["netns", "delete", &self.name]).status();
    }
}

async fn ip(arguments: &str) -> Result<()> {
    let output = Command::new(IP).args(arguments.split(' ')).output().await.context(IP)?;
    ensure!(output.status.success(), "ip {arguments}: {}", String::from_utf8_lossy(&output.stderr));
    Ok(())
}

#[expect(clippy::print_stderr, reason = "says why the test proves nothing here")]
fn skip(error: &anyhow::Error) {
    eprintln!("skipped, because no network namespace can be made: {error:#}");
}
