//! Starts the three processes of a control plane, each after those that it needs.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, ensure};
use k8s_openapi::api::core::v1::ServiceAccount;
use kube::Api;

use super::access::Access;
use crate::pki::{Authority, SigningKey};
use crate::run::{Instance, free_port};

pub(super) async fn start(instance: &mut Instance) -> anyhow::Result<Access> {
    let tools = tools()?;
    let files = Files::write(instance.directory())?;
    let etcd = etcd(instance, &tools).await?;
    let access = apiserver(instance, &tools, &files, etcd).await?;
    controller_manager(instance, &tools, &files, &access).await?;
    Ok(access)
}

/// The directory of the built programs, which `e2e/tools/build` prints.
pub(super) fn tools() -> anyhow::Result<PathBuf> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tools/build");
    let output = Command::new(&script).args(["--where", "kube"]).output().context("failed to run `e2e/tools/build`")?;
    ensure!(output.status.success(), "`e2e/tools/build` failed: {}", String::from_utf8_lossy(&output.stderr));
    let directory = PathBuf::from(String::from_utf8_lossy(&output.stdout).trim());
    for program in ["etcd", "kube-apiserver", "kube-controller-manager", "kubectl"] {
        ensure!(
            directory.join(program).is_file(),
            "`{program}` is not built; run `./test --setup` once, it builds the control plane"
        );
    }
    Ok(directory)
}

/// The certificates, keys and tokens that the processes share.
struct Files {
    authority: PathBuf,
    certificate: PathBuf,
    key: PathBuf,
    client_certificate: PathBuf,
    client_key: PathBuf,
    signing_key: PathBuf,
    verifying_key: PathBuf,
    tokens: PathBuf,
    token: String,
    kubeconfig: PathBuf,
}

impl Files {
    fn write(directory: &Path) -> anyhow::Result<Self> {
        let write = |name: &str, content: &str| -> anyhow::Result<PathBuf> {
            let path = directory.join(name);
            fs::write(&path, content).with_context(|| format!("failed to write {}", path.display()))?;
            Ok(path)
        };
        let authority = Authority::new("lifecycle-e2e control plane")?;
        let server = authority.loopback()?;
        let client = authority.client("kube-apiserver")?;
        let accounts = SigningKey::new()?;
        let token = uuid::Uuid::new_v4().simple().to_string();
        Ok(Self {
            authority: write("ca.crt", &authority.certificate)?,
            certificate: write("apiserver.crt", &server.certificate)?,
            key: write("apiserver.key", &server.key)?,
            client_certificate: write("kubelet-client.crt", &client.certificate)?,
            client_key: write("kubelet-client.key", &client.key)?,
            signing_key: write("service-accounts.key", &accounts.private)?,
            verifying_key: write("service-accounts.pub", &accounts.public)?,
            tokens: write("tokens.csv", &format!("{token},admin,1,system:masters\n"))?,
            token,
            kubeconfig: directory.join("kubeconfig.json"),
        })
    }
}

async fn etcd(instance: &mut Instance, tools: &Path) -> anyhow::Result<u16> {
    let (client, peer) = (free_port()?, free_port()?);
    let argv = [
        tools.join("etcd").display().to_string(),
        format!("--data-dir={}", instance.data("etcd")?.display()),
        format!("--listen-client-urls=http://127.0.0.1:{client}"),
        format!("--advertise-client-urls=http://127.0.0.1:{client}"),
        format!("--listen-peer-urls=http://127.0.0.1:{peer}"),
        format!("--initial-advertise-peer-urls=http://127.0.0.1:{peer}"),
        format!("--initial-cluster=default=http://127.0.0.1:{peer}"),
        // The data is deleted at the end of the run, so it need not survive a power failure.
        "--unsafe-no-fsync".to_owned(),
        "--log-level=warn".to_owned(),
    ];
    instance.spawn("etcd", &[], &argv)?;
    instance.await_port("etcd to listen", client).await?;
    Ok(client)
}

async fn apiserver(instance: &mut Instance, tools: &Path, files: &Files, etcd: u16) -> anyhow::Result<Access> {
    let port = free_port()?;
    let argv = [
        tools.join("kube-apiserver").display().to_string(),
        format!("--etcd-servers=http://127.0.0.1:{etcd}"),
        format!("--cert-dir={}", instance.data("apiserver")?.display()),
        format!("--tls-cert-file={}", files.certificate.display()),
        format!("--tls-private-key-file={}", files.key.display()),
        // For the kubelet of `node.rs`. Without a node, the API server does not use it.
        format!("--kubelet-client-certificate={}", files.client_certificate.display()),
        format!("--kubelet-client-key={}", files.client_key.display()),
        "--bind-address=127.0.0.1".to_owned(),
        // Without an address, the API server fails on a machine without a default route.
        "--advertise-address=127.0.0.1".to_owned(),
        "--endpoint-reconciler-type=none".to_owned(),
        format!("--secure-port={port}"),
        "--service-account-issuer=https://kubernetes.default.svc".to_owned(),
        format!("--service-account-key-file={}", files.verifying_key.display()),
        format!("--service-account-signing-key-file={}", files.signing_key.display()),
        format!("--token-auth-file={}", files.tokens.display()),
        "--authorization-mode=RBAC".to_owned(),
        "--service-cluster-ip-range=10.0.0.0/24".to_owned(),
        // This plugin adds a token volume to each Pod, and without a node there is no kubelet to mount it.
        "--disable-admission-plugins=ServiceAccount".to_owned(),
        // Priority and fairness would throttle the tests, because all of them are one user to the API server.
        "--enable-priority-and-fairness=false".to_owned(),
    ];
    instance.spawn("kube-apiserver", &[], &argv)?;
    let access = Access::write(
        files.kubeconfig.clone(),
        format!("https://127.0.0.1:{port}"),
        files.authority.clone(),
        files.token.clone(),
        None,
    )?;
    let client = access.client().await?;
    instance
        .await_start("kube-apiserver to be ready", async || {
            let request = http::Request::get("/readyz").body(Vec::new())?;
            client.request_text(request).await?;
            Ok(())
        })
        .await?;
    Ok(access)
}

async fn controller_manager(
    instance: &mut Instance,
    tools: &Path,
    files: &Files,
    access: &Access,
) -> anyhow::Result<()> {
    let argv = [
        tools.join("kube-controller-manager").display().to_string(),
        format!("--kubeconfig={}", files.kubeconfig.display()),
        format!("--cert-dir={}", instance.data("controller-manager")?.display()),
        "--leader-elect=false".to_owned(),
        "--controllers=*".to_owned(),
        // Each controller has its own user and rights, as in a real cluster, and not those of the tests' administrator.
        "--use-service-account-credentials=true".to_owned(),
        format!("--service-account-private-key-file={}", files.signing_key.display()),
        format!("--root-ca-file={}", files.authority.display()),
        // Turn the controller-manager's own HTTPS server off; tests observe the effects of its controllers
        // instead.
        "--secure-port=0".to_owned(),
        "--kube-api-qps=500".to_owned(),
        "--kube-api-burst=1000".to_owned(),
    ];
    instance.spawn("kube-controller-manager", &[], &argv)?;
    let accounts: Api<ServiceAccount> = Api::namespaced(access.client().await?, "default");
    instance
        .await_start("kube-controller-manager to make the first service account", async || {
            Ok(accounts.get("default").await.map(drop)?)
        })
        .await
}
