//! Lists the objects of every kind that carry given labels, and deletes one of them on request.
//!
//! ```console
//! cargo run -p lifecycle-kube --example prune -- team=a
//! cargo run -p lifecycle-kube --example prune -- team=a --delete 'ConfigMap default/settings'
//! ```

mod inventory;

use std::io::Write as _;
use std::path::PathBuf;

use anyhow::Context as _;
use clap::Parser;
use lifecycle_kube::{Cluster, Settings, connect};
use lifecycle_objects::object_ref::ObjectRef;
use lifecycle_objects::write::Deletion;

/// Lists the objects of every kind that carry all given labels, and with `--delete` deletes one of them.
#[derive(Parser)]
struct Arguments {
    /// Labels that each listed object carries.
    #[arg(required = true, value_name = "KEY=VALUE", value_parser = label)]
    labels: Vec<(String, String)>,
    /// Deletes this object; written as in the list, such as `ConfigMap default/settings`.
    #[arg(long, value_name = "OBJECT")]
    delete: Option<String>,
    /// The kubeconfig file; without it, the service account of the pod is used.
    #[arg(long, env = "KUBECONFIG")]
    kubeconfig: Option<PathBuf>,
}

fn label(text: &str) -> Result<(String, String), String> {
    let (key, value) = text.split_once('=').ok_or("a label is KEY=VALUE")?;
    Ok((key.to_owned(), value.to_owned()))
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    let client = connect(arguments.kubeconfig.as_deref(), "prune/1").await?;
    let cluster = Cluster::new(client, "prune", Settings::default());
    let inventory = inventory::take(&cluster, &arguments.labels.into_iter().collect()).await?;

    let mut out = std::io::stdout().lock();
    for error in &inventory.unread {
        writeln!(out, "not read: {error}")?;
    }
    for object in &inventory.objects {
        writeln!(out, "{}", ObjectRef::of(object))?;
    }
    if let Some(name) = arguments.delete {
        let named = inventory.objects.iter().find(|object| ObjectRef::of(object).to_string() == name);
        match inventory::delete(&cluster, named.with_context(|| format!("the list has no {name}"))?).await? {
            Deletion::Gone => writeln!(out, "deleted {name}")?,
            Deletion::Pending(_) => {
                writeln!(out, "{name} is being deleted; finalizers or dependents delay its removal")?
            }
        }
    }
    Ok(())
}
