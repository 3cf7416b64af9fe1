//! axe-core, which finds what keeps people from using a page.
//!
//! In: an open page. Out: what it finds, by its rules for WCAG 2.1 A and AA and for best practice. Fails: if `e2e/tools/axe` has not
//! fetched it.

use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use serde::Deserialize;
use serde_json::json;

use super::Tab;

/// The rules that pages are checked by.
const TAGS: [&str; 5] = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"];
const RUN: &str = "const [tags, done] = arguments; axe.run({ runOnly: { type: 'tag', values: tags } }).then((found) => done({
    violations: found.violations.map((it) => ({ rule: it.id, help: it.help, nodes: it.nodes.map((node) => `${node.html}: ${node.failureSummary}`) })),
    passes: found.passes.length }), (error) => done({ error: String(error) }))";

/// What is wrong with a page by one rule.
#[derive(Debug, Deserialize)]
pub struct Violation {
    /// The rule's name.
    pub rule: String,
    /// What the rule asks for.
    pub help: String,
    /// The elements that break it, each with the reason.
    pub nodes: Vec<String>,
}

#[derive(Deserialize)]
struct Found {
    #[serde(default)]
    error: Option<String>,
    #[serde(default)]
    violations: Vec<Violation>,
    #[serde(default)]
    passes: usize,
}

impl Tab {
    /// What axe-core finds wrong with the page as it is now.
    pub async fn violations(&self) -> Result<Vec<Violation>> {
        self.run(&script()?, vec![]).await?;
        let found: Found = serde_json::from_value(self.run_async(RUN, vec![json!(TAGS)]).await?)?;
        ensure!(found.error.is_none(), "axe-core failed: {:?}", found.error);
        ensure!(found.passes > 0, "no rule of axe-core was applied");
        Ok(found.violations)
    }
}

fn script() -> Result<String> {
    let tool = Path::new(env!("CARGO_MANIFEST_DIR")).join("tools/axe");
    let output = Command::new(tool).arg("--where").output().context("failed to run e2e/tools/axe")?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let path = String::from_utf8(output.stdout)?;
    std::fs::read_to_string(path.trim()).context("axe-core is missing; run `./test --setup` once, it fetches axe-core")
}
