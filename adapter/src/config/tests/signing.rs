//! The key that signs labels.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use lifecycle_objects::proof::Signer;

use super::super::dump;
use super::{Folder, SIGNING_KEY};

/// A folder whose deployment file sets `signing.key_file`, with `key` as the content of that file.
fn signing_folder(key: &str) -> Folder {
    let deployment = "adapter: {name: a}\nsigning: {key_file: secret/key}\n";
    Folder::new(&[("config.yaml", deployment), ("task/task.yaml", "post: {payloads: []}\n"), ("secret/key", key)])
}

#[test]
fn signing_key_loads_by_relative_path_and_is_never_printed() {
    let folder = signing_folder(&format!("{SIGNING_KEY}\n"));
    let loaded = folder.load(&[]).unwrap_or_else(|diagnostics| panic!("{diagnostics}"));
    assert!(loaded.warnings.is_empty(), "{}", loaded.warnings);
    assert_eq!(loaded.adapter.signer, Some(Signer::new(SIGNING_KEY.as_bytes()).unwrap()));
    let dump = dump::yaml(&loaded).unwrap();
    assert!(dump.contains("key_file: secret/key"), "{dump}");
    for output in [dump, format!("{loaded:?}"), loaded.adapter.values.to_string()] {
        assert!(!output.contains(SIGNING_KEY), "{output}");
    }

    let elsewhere = folder.path("secret/key").display().to_string();
    let named = folder.load(&[("HYPERFLEET_SIGNING_KEY_FILE", &elsewhere)]);
    assert!(named.is_ok_and(|loaded| loaded.adapter.signer.is_some()), "a variable may name it, by an absolute path");
}

#[test]
fn world_readable_signing_key_loads_with_a_warning() {
    let folder = signing_folder(SIGNING_KEY);
    fs::set_permissions(folder.path("secret/key"), fs::Permissions::from_mode(0o444)).unwrap();
    let loaded = folder.load(&[]).unwrap_or_else(|diagnostics| panic!("{diagnostics}"));
    assert!(loaded.adapter.signer.is_some());
    let root = folder.0.path().display().to_string();
    insta::assert_snapshot!(loaded.warnings.to_string().replace(&root, "/folder"));
}

#[test]
fn unusable_signing_key_file_is_an_error_with_a_cure() {
    let too_short = signing_folder(&SIGNING_KEY[1..]);
    let too_long = signing_folder(&SIGNING_KEY.repeat(1 << 12));
    let a_folder = signing_folder(SIGNING_KEY);
    fs::remove_file(a_folder.path("secret/key")).unwrap();
    fs::create_dir(a_folder.path("secret/key")).unwrap();
    let missing = signing_folder(SIGNING_KEY);
    fs::remove_dir_all(missing.path("secret")).unwrap();
    let diagnostics = [too_short, too_long, a_folder, missing].map(|folder| {
        let root = folder.0.path().display().to_string();
        folder.load(&[]).unwrap_err().to_string().replace(&root, "/folder")
    });
    insta::assert_snapshot!(diagnostics.join("\n"));
}
