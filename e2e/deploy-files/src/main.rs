//! A small deploy adapter for tests: deploys packs as files into a directory.
//!
//! It is a whole adapter, and does what is right with all that the conformance program plays. So it shows that the rows can be
//! passed, and, with a sabotage, that each row finds what it is for.
//!
//! | module | idea |
//! | --- | --- |
//! | `config` | the configuration, and the pack's resources |
//! | `directory` | the files, and the faults that a test asks for |
//! | `provider` | plans, applies, destroys, looks |
//! | `sabotage` | what a test breaks on purpose |

mod config;
mod directory;
mod provider;
mod sabotage;

use std::process::ExitCode;

fn main() -> ExitCode {
    let provider = provider::Files { sabotage: sabotage::Sabotage::of_environment() };
    if provider.sabotage.is_none() { promptkit_deploy::serve::run(&provider) } else { sabotage::run(&provider) }
}
