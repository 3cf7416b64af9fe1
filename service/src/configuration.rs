//! The configuration of a program: a file, and the flags and environment variables that set its keys.
//!
//! In: what a program names as its own, as a [`Configuration`]. Out: the program's values with every default applied, a
//! JSON Schema, and a log. Fails: with all diagnostics at once. A flag wins over a variable, a variable over the file, the
//! file over the default.

use std::process::ExitCode;

use lifecycle_config::decode::schema_of;
use lifecycle_config::diagnostics::{Diagnostic, Diagnostics};
use lifecycle_config::document::Document;
use lifecycle_config::settings::{self, FileName, Resolver, Table};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tracing_subscriber::util::SubscriberInitExt as _;

pub use lifecycle_config::settings::{Environment, Flags};

use crate::files;
use crate::logging::{self, Identity, LogSettings};
use crate::program::print;

/// The configuration file of a program: `S` as written, and `C` with every default applied.
pub struct Configuration<S, C> {
    /// The flag and the variable that name the file.
    pub file: FileName,
    /// What diagnostics call the empty file that is loaded if nothing names one.
    pub absent: &'static str,
    /// The flags and variables that set keys.
    pub table: Table,
    /// Parses the file by its name and text; [`Document::parse_secret`] if a key may hold a password, which no diagnostic may quote.
    pub document: fn(&str, &str) -> Result<Document, Diagnostics>,
    /// Applies the defaults, and checks the rules that the JSON Schema cannot express.
    pub resolve: fn(S, Resolver<'_>, &Environment) -> Option<C>,
    /// The log's settings, and the program's name in its lines.
    pub log: fn(&C) -> (LogSettings, &str),
}

/// A configuration with its warnings, or every diagnostic of one with errors.
pub type Loaded<C> = Result<(C, Diagnostics), Diagnostics>;

impl<S: DeserializeOwned + JsonSchema, C> Configuration<S, C> {
    /// Reads and loads the file that a flag or the variable names; without one, flags and variables alone.
    ///
    /// # Errors
    /// Returns every diagnostic, also if the file cannot be read.
    pub fn load(&self, environment: &Environment, flags: &Flags) -> Loaded<C> {
        self.load_by(environment, flags, |spec, resolver| (self.resolve)(spec, resolver, environment))
    }

    /// Loads the file as [`load`](Self::load) does, but applies the defaults by another function.
    ///
    /// # Errors
    /// Returns every diagnostic, also if the file cannot be read.
    pub fn load_by(
        &self,
        environment: &Environment,
        flags: &Flags,
        resolve: impl FnOnce(S, Resolver<'_>) -> Option<C>,
    ) -> Loaded<C> {
        let document = self.read(environment, flags)?;
        settings::load(&self.table, &self.schema(), document, environment, flags, resolve)
    }

    fn read(&self, environment: &Environment, flags: &Flags) -> Result<Document, Diagnostics> {
        let FileName { flag, variable, .. } = self.file;
        let Some(path) = self.file.resolve(flags, environment) else { return (self.document)(self.absent, "{}") };
        let name = path.display().to_string();
        let text = files::read_text(&path, files::CONFIGURATION).map_err(|error| {
            let help = format!("name a readable file by --{flag} or {variable}");
            Diagnostics::from(Diagnostic::unreadable(&name, &error, Some(help)))
        })?;
        (self.document)(&name, &text)
    }

    /// Loads a configuration from the file's text.
    ///
    /// # Errors
    /// Returns every diagnostic.
    pub fn parse(&self, file: &str, text: &str, environment: &Environment, flags: &Flags) -> Loaded<C> {
        let document = (self.document)(file, text)?;
        let resolve = |spec, resolver: Resolver<'_>| (self.resolve)(spec, resolver, environment);
        settings::load(&self.table, &self.schema(), document, environment, flags, resolve)
    }

    /// Returns the JSON Schema of the file.
    #[must_use]
    pub fn schema(&self) -> Value {
        schema_of::<S>()
    }

    /// Starts the log of a configuration that loaded. Returns its warnings, too.
    ///
    /// # Errors
    /// The configuration has errors; `hint` stands before the diagnostics.
    pub fn start(&self, loaded: Loaded<C>, hint: &str) -> anyhow::Result<(C, Diagnostics)> {
        let (config, warnings) =
            loaded.map_err(|diagnostics| anyhow::anyhow!("the configuration is wrong{hint}\n{diagnostics}"))?;
        let (settings, program) = (self.log)(&config);
        // A test may have installed a log of its own.
        let _ = logging::subscriber(settings, &Identity::of(program)).try_init();
        Ok((config, warnings))
    }
}

/// Prints the diagnostics of a configuration, whether it loads or not. The exit code says which.
///
/// # Errors
/// Standard output is closed, or its disk is full.
pub fn check<C>(loaded: Loaded<C>) -> anyhow::Result<ExitCode> {
    let (diagnostics, code) = match loaded {
        Ok((_, diagnostics)) => (diagnostics, ExitCode::SUCCESS),
        Err(diagnostics) => (diagnostics, ExitCode::FAILURE),
    };
    print(&format!("{diagnostics}\n"))?;
    Ok(code)
}
