//! Reads the parts of a Markdown page that the tests check.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

const END: &str = "<!-- end -->";

/// A page: its path and text.
pub(crate) struct Page {
    pub(crate) path: PathBuf,
    pub(crate) text: String,
}

/// The root directory of the repository.
pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the package is in the workspace")
}

/// The folders with checked pages. The figures of a benchmark are in the folder of its code.
const FOLDERS: [&str; 8] = [
    "",
    "docs",
    "docs/adr",
    "examples",
    "core/benches",
    "language/benches",
    "e2e/benches/events",
    "e2e/benches/scrape",
];

/// Reads all pages that the tests check.
pub(crate) fn pages() -> Vec<Page> {
    let mut found = Vec::new();
    for folder in FOLDERS {
        let entries = fs::read_dir(root().join(folder)).unwrap();
        let files = entries.map(|entry| entry.unwrap().path());
        found.extend(files.filter(|path| path.extension().is_some_and(|it| it == "md")));
    }
    found.sort();
    found.into_iter().map(Page::at).collect()
}

/// The text of all Rust files below a folder.
pub(crate) fn sources(folder: &str) -> String {
    let mut text = String::new();
    let mut folders = vec![root().join(folder)];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|it| it == "rs") {
                text.push_str(&fs::read_to_string(&path).unwrap());
            }
        }
    }
    text
}

impl Page {
    pub(crate) fn read(name: &str) -> Self {
        Self::at(root().join(name))
    }

    pub(crate) fn at(path: PathBuf) -> Self {
        let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        Self { path, text }
    }

    pub(crate) fn generated_names(&self) -> BTreeSet<String> {
        let marks = self.text.split("<!-- generated: ").skip(1);
        marks.map(|rest| rest.split(" -->").next().unwrap_or_default().to_owned()).collect()
    }

    /// Replaces the generated table `name`.
    pub(crate) fn replace(&mut self, name: &str, table: &str) {
        let mark = format!("<!-- generated: {name} -->\n");
        let start = self.text.find(&mark).unwrap() + mark.len();
        let length = self.text[start..].find(END).unwrap_or_else(|| panic!("`{name}` has no {END}"));
        self.text.replace_range(start..start + length, table);
    }

    /// The first column of all tables whose header begins with `header`, without backticks.
    pub(crate) fn first_column(&self, header: &str) -> BTreeSet<String> {
        let header = format!("| {header} |");
        let mut rows = BTreeSet::new();
        let mut lines = self.text.lines();
        while let Some(line) = lines.next() {
            if line.starts_with(&header) {
                let table = lines.by_ref().skip(1).take_while(|line| line.starts_with('|'));
                rows.extend(table.filter_map(|line| Some(line.split('|').nth(1)?.trim().replace('`', ""))));
            }
        }
        assert!(!rows.is_empty(), "{} has no table that begins with `{header}`", self.path.display());
        rows
    }

    /// The code (text in backticks) in the last column of all tables whose header ends with `header`.
    pub(crate) fn last_column(&self, header: &str) -> BTreeSet<String> {
        let header = format!("| {header} |");
        let mut found = BTreeSet::new();
        let mut lines = self.text.lines();
        while let Some(line) = lines.next() {
            if line.ends_with(&header) {
                for line in lines.by_ref().skip(1).take_while(|line| line.starts_with('|')) {
                    found.extend(code(line.trim_end_matches('|').rsplit('|').next().unwrap_or_default()));
                }
            }
        }
        assert!(!found.is_empty(), "{} has no table that ends with `{header}`", self.path.display());
        found
    }

    /// Returns the code of the page: its texts in backticks.
    pub(crate) fn code(&self) -> BTreeSet<String> {
        code(&self.text).collect()
    }

    /// The code blocks marked `yaml KIND`: the kind, the number of the first line, and the text.
    pub(crate) fn files(&self) -> Vec<(String, usize, String)> {
        let mut found = Vec::new();
        let mut block: Option<(String, usize, String)> = None;
        for (index, line) in self.text.lines().enumerate() {
            match (&mut block, line.strip_prefix("```")) {
                (Some(_), Some("")) => found.extend(block.take()),
                (Some((_, _, text)), _) => {
                    text.push_str(line);
                    text.push('\n');
                }
                (None, Some(info)) => {
                    block = info.strip_prefix("yaml ").map(|kind| (kind.to_owned(), index + 2, String::new()));
                }
                (None, None) => {}
            }
        }
        found
    }

    /// The targets of all links within the repository.
    pub(crate) fn links(&self) -> Vec<String> {
        let targets = self.text.split("](").skip(1).filter_map(|rest| rest.split(')').next());
        targets.filter(|target| !target.contains("://") && !target.contains(' ')).map(str::to_owned).collect()
    }

    /// The anchors of all headings.
    pub(crate) fn anchors(&self) -> BTreeSet<String> {
        let headings = self.text.lines().filter_map(|line| line.strip_prefix('#'));
        headings
            .map(|heading| {
                let text = heading.trim_start_matches('#').trim().to_lowercase().replace(' ', "-");
                text.chars().filter(|c| c.is_alphanumeric() || matches!(c, '-' | '_')).collect()
            })
            .collect()
    }
}

/// Yields the text between backticks, line by line.
fn code(text: &str) -> impl Iterator<Item = String> {
    text.lines().flat_map(|line| line.split('`').skip(1).step_by(2)).map(str::to_owned)
}
