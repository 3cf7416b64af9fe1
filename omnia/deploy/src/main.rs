//! `promptarena-deploy-omnia`: deploys packs of PromptKit to Omnia, as `promptarena deploy` asks.

use std::process::ExitCode;

use promptarena_deploy_omnia::provider::Omnia;

fn main() -> ExitCode {
    promptkit_deploy::serve::run(&Omnia { environment: std::env::vars().collect() })
}
