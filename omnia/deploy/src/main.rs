//! `promptarena-deploy-omnia`: deploys packs of PromptKit to Omnia, as `promptarena deploy` asks.

use std::ffi::OsString;

use clap::Command;
use lifecycle_service::version;
use promptarena_deploy_omnia::provider::Omnia;

/// Without arguments the program serves the protocol; a person asks for help and version.
fn parse(arguments: impl IntoIterator<Item = OsString>) -> Result<(), clap::Error> {
    let about = "Deploys packs of PromptKit to Omnia, through a workspace or directly to Kubernetes";
    let more = "`promptarena deploy` starts this program without arguments, and speaks JSON-RPC with it, one document per line, over \
                standard input and output. Put it into .promptarena/adapters of the project, ~/.promptarena/adapters, or the PATH. \
                docs/deployers.md describes the configuration.";
    let command = Command::new("promptarena-deploy-omnia").about(about).after_help(more).version(version::LINE);
    command.try_get_matches_from(arguments).map(drop)
}

fn main() -> std::process::ExitCode {
    lifecycle_service::program::run(parse, |(), environment| {
        Ok(promptkit_deploy::serve::run(&Omnia { environment: environment.into_iter().collect() }))
    })
}
