#![expect(clippy::unwrap_used, reason = "tests")]

use schemars::JsonSchema;
use serde::Deserialize;

use super::{Derived, Environment, FileName, Flags, Resolver, Setting, Settings, Source, Table, tables};
use crate::decode::{Typing, schema_of};
use crate::diagnostics::Diagnostics;
use crate::document::{Document, Path};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Sample {
    /// Who it is.
    name: String,
    /// The server.
    server: Option<Server>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Server {
    /// The port.
    port: Option<u16>,
    /// `fast` or `slow`.
    pace: Option<String>,
}

const SETTINGS: &[Setting] = &[
    Setting::text("name", "name", &["NAME"]),
    Setting::text("server.port", "port", &["PORT", "OLD_PORT"]),
    Setting::variable("server.pace", &["PACE"]).lower_case(),
];

fn merged(
    text: &str,
    derived: Derived,
    variables: &[(&str, &str)],
    given: &[(&'static str, &str)],
) -> (Settings, Diagnostics) {
    let environment: Environment =
        variables.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect();
    let flags: Flags = given.iter().map(|(flag, text)| (*flag, (*text).to_owned())).collect();
    let table = Table { settings: SETTINGS, derived, typing: Typing::Strict };
    let document = Document::parse("f.yaml", text).unwrap();
    let mut diagnostics = Diagnostics::default();
    let settings = Settings::merge(&table, &schema_of::<Sample>(), document, &environment, &flags, &mut diagnostics);
    (settings, diagnostics)
}

#[test]
fn later_source_takes_precedence_and_is_recorded() {
    let key = Path::of_keys("server.port");
    let file = "{name: a, server: {port: 1}}";
    let cases = [
        ("nobody", "{name: a}", &[][..], &[][..], None, Source::Default),
        ("the file", file, &[], &[], Some(1), Source::File),
        ("an empty variable", file, &[("PORT", "")], &[], Some(1), Source::File),
        ("the second variable", file, &[("OLD_PORT", "2")], &[], Some(2), Source::Environment),
        ("the first variable", file, &[("OLD_PORT", "2"), ("PORT", "3")], &[], Some(3), Source::Environment),
        ("a flag", file, &[("PORT", "3")], &[("port", "4")], Some(4), Source::Flag),
        ("a flag without a file", "{name: a}", &[], &[("port", "4")], Some(4), Source::Flag),
    ];
    for (name, text, variables, given, expected, source) in cases {
        let (settings, mut diagnostics) = merged(text, Derived::None, variables, given);
        let sample: Sample = settings.decode(&mut diagnostics).unwrap();
        let Server { port, pace } = sample.server.unwrap_or(Server { port: None, pace: None });
        assert_eq!((sample.name.as_str(), port, pace), ("a", expected, None), "{name}");
        assert_eq!((settings.source(&key), diagnostics.is_empty()), (source, true), "{name}: {diagnostics}");
    }
}

#[test]
fn listed_variables_take_precedence_over_derived_ones() {
    let file = "{name: a, server: {port: 1}}";
    let (settings, _) = merged(file, Derived::OfKeysInFile("APP"), &[("APP_SERVER_PORT", "2")], &[]);
    assert_eq!(settings.values()["server"]["port"], 2);
    let (settings, _) = merged("{name: a}", Derived::OfKeysInFile("APP"), &[("APP_SERVER_PORT", "2")], &[]);
    assert!(settings.values()["server"]["port"].is_null(), "no derived variable for a key that the file lacks");
    let (settings, _) = merged("{name: a}", Derived::OfEveryKey, &[("SERVER_PORT", "2"), ("PORT", "3")], &[]);
    assert_eq!(settings.values()["server"]["port"], 3);
    let (settings, diagnostics) = merged("{}", Derived::OfEveryKey, &[("NAME", "b"), ("PACE", "FAST")], &[]);
    assert_eq!((settings.values()["name"].as_str(), diagnostics.is_empty()), (Some("b"), true), "{diagnostics}");
    assert_eq!(settings.values()["server"]["pace"], "fast");
}

#[test]
fn diagnostic_names_the_line_the_variable_or_the_flag() {
    let (_, diagnostics) = merged("{name: a}", Derived::None, &[("PORT", "x")], &[("port", "99999")]);
    let expected = "environment: error: PORT: server.port must be an integer, but is \"x\"\n\
                    command line: error: --port: server.port must be at most 65535, but is 99999\n";
    assert!(diagnostics.to_string().starts_with(expected), "{diagnostics}");

    let resolved = |text: &str, variables: &[_], given: &[_]| {
        let (settings, mut diagnostics) = merged(text, Derived::None, variables, given);
        let pace = settings.values()["server"]["pace"].as_str().map(str::to_owned);
        let mut resolver = Resolver::new(&settings, &mut diagnostics);
        let chosen = resolver.choice("server.pace", pace.as_deref(), &[("fast", 1), ("slow", 2)], 0);
        let port = settings.values()["server"]["port"].as_u64();
        resolver.within("server.port", port, 80, &(80..=90));
        (chosen, diagnostics.to_string())
    };
    let (chosen, reported) = resolved("name: a\nserver:\n  pace: idle\n", &[], &[]);
    assert!(
        chosen == 0
            && reported.starts_with("f.yaml:3:9: error: server.pace: \"idle\" is invalid (allowed: fast, slow)"),
        "{reported}"
    );
    let (chosen, reported) = resolved("{name: a}", &[("PACE", "Idle")], &[("port", "7")]);
    assert!(
        chosen == 0 && reported.contains("environment: error: PACE: server.pace \"idle\" is invalid"),
        "{reported}"
    );
    let out_of_range = "command line: error: --port: server.port must be between 80 and 90, but is 7";
    assert!(reported.contains(out_of_range), "{reported}");
    assert_eq!(resolved("{name: a, server: {pace: slow}}", &[], &[]).0, 2);
}

#[test]
fn flag_takes_precedence_over_the_variable_of_a_file_name() {
    const FILE: FileName = FileName { flag: "config", short: 'c', variable: "CONFIG" };
    let variable = Environment::from([("CONFIG".to_owned(), "b".to_owned())]);
    let cases = [
        (Some("a"), &variable, Some("a")),
        (Some(""), &variable, Some("b")),
        (None, &variable, Some("b")),
        (None, &Environment::new(), None),
    ];
    for (flag, environment, expected) in cases {
        let flags = flag.map(|path: &str| (FILE.flag, path.to_owned())).into_iter().collect();
        let path = FILE.resolve(&flags, environment);
        assert_eq!(path.as_deref(), expected.map(std::path::Path::new), "{flag:?}");
    }
}

#[test]
fn tables_list_every_key_and_setting() {
    let keys = "| Key | Value | Variable | Meaning |\n| --- | --- | --- | --- |\n\
                | `name` | text | `NAME` | Required. Who it is. |\n\
                | `server` | mapping | | The server. |\n\
                | `server.pace` | text | `SERVER_PACE` | `fast` or `slow`. |\n\
                | `server.port` | integer | `SERVER_PORT` | The port. |\n";
    assert_eq!(tables::keys(&schema_of::<Sample>(), true), keys);
    let settings = "| Key | Flag | Variable |\n| --- | --- | --- |\n| `name` | `--name` | `NAME` |\n\
                    | `server.port` | `--port` | `PORT`, else `OLD_PORT` |\n| `server.pace` | – | `PACE` |\n";
    assert_eq!(tables::settings(SETTINGS), settings);
}
