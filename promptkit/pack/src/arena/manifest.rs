//! A tool manifest inside of an arena configuration: a YAML file, as base64.
//!
//! In: an item of `loaded_tools`. Out: the tool's name and its spec. Fails: with the place in the file, whose name the item gives.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use lifecycle_config::diagnostics::Diagnostics;
use lifecycle_config::document::Document;
use serde_json::Value;

use super::{FILE, ToolSpec, tool};
use crate::reader::{Field, Reader};

/// Reads the manifest of an item; its mistakes go to the reader of the whole configuration.
pub(super) fn read(reader: &Reader, item: &Field<'_>) -> Option<(String, ToolSpec)> {
    let file = item.key("file_path").filled().unwrap_or_else(|| format!("{FILE}: {}", item.path()));
    let data = item.key("data");
    data.required("write the file as base64");
    let Ok(bytes) = STANDARD.decode(data.filled()?) else {
        data.refuse("is no base64".to_owned(), "write the file as base64, with padding".to_owned());
        return None;
    };
    let Ok(text) = String::from_utf8(bytes) else {
        data.refuse("is no UTF-8 text".to_owned(), format!("save {file} as UTF-8"));
        return None;
    };
    // A header of a tool may be a token: the file is not quoted.
    let value = match Document::parse_secret(&file, &text) {
        Ok(document) => document.root().to_value(),
        Err(found) => {
            reader.extend(found);
            return None;
        }
    };
    match tool_of(&file, &value) {
        Ok(read) => Some(read),
        Err(found) => {
            reader.extend(found);
            None
        }
    }
}

fn tool_of(file: &str, value: &Value) -> Result<(String, ToolSpec), Diagnostics> {
    let reader = Reader::new(file);
    let root = reader.root(value);
    let name = root.key("metadata").key("name");
    name.required("write the name of the tool");
    let key = name.filled().unwrap_or_default();
    let spec = tool(&key, &root.key("spec"));
    reader.finish((key, spec)).map(|(read, _)| read)
}
