//! Imports inside each crate: no circle of files, and no import from a lower floor to a higher one.
//!
//! An import is a `use`, or a path in the code, that begins with `crate` or `super`. A name that a module
//! re-exports counts as an import of the file that defines it. Tests may import anything.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};

use crate::{support::root, tidy::sources_below};

/// A module by its names from the root of the crate on.
type Module = Vec<String>;

/// The floors of a crate, from the lowest to the highest, as paths of modules; modules of one floor may import
/// each other. A module stands on the floor of the longest path that it begins with.
struct Floors {
    of: &'static str,
    floors: &'static [&'static [&'static str]],
}

impl Floors {
    fn floor(&self, module: &Module) -> Option<usize> {
        (1..=module.len()).rev().find_map(|len| {
            let path = module[..len].join("/");
            self.floors.iter().position(|floor| floor.contains(&&*path))
        })
    }
}

/// All crates below `crates/`.
const FLOORS: [Floors; 16] = [
    Floors {
        of: "store",
        floors: &[
            &["checksum", "run_id", "simd", "units", "threads", "os/shell"],
            &["shell_words"],
            &["error"],
            &["os", "sealed"],
            &["folder"],
            &["files", "disk"],
            &["format"],
            &["checked", "decode", "encode", "row_values", "rows"],
            &["manifest", "growing", "times"],
            &["names", "snapshot"],
            &["leftovers", "kept"],
            &["writer"],
            &["faults"],
        ],
    },
    Floors {
        of: "ingest",
        floors: &[
            &[
                "formats/text/fields",
                "formats/text/columns",
                "formats/naming",
                "formats/columns",
                "formats/times",
                "formats/name",
            ],
            &["error"],
            &["settings"],
            &["payload"],
            &["formats/format"],
            &["pipeline"],
            &["formats"],
            &["foreign", "run_file"],
            &["source_file"],
            &["read"],
            &["pipeline/files"],
            &["arrays", "mask"],
            &["source", "write"],
        ],
    },
    Floors {
        of: "simulate",
        floors: &[
            &["error", "moment", "scan", "seeds"],
            &["comb", "simulation"],
            &["raster"],
            &["signal"],
            &["check", "process"],
            &["lane"],
            &["plan"],
            &["tags"],
            &["write"],
            &["live"],
        ],
    },
    Floors { of: "spectrum", floors: &[] },
    Floors {
        of: "fit",
        floors: &[
            &["error"],
            &["data", "special"],
            &["model", "residual"],
            &["problem"],
            &["information", "models"],
            &["estimate"],
            &["profile", "structure"],
            &["fit", "lifetimes"],
        ],
    },
    Floors {
        of: "query",
        floors: &[
            &["kernels"],
            &["run/time_range"],
            &["error"],
            &["run"],
            &["partial"],
            &["scan"],
            &["counters"],
            &["rules"],
            &["estimate"],
            &["kinds"],
            &["oracle"],
        ],
    },
    Floors {
        of: "derived",
        floors: &[
            &["error", "frontier", "search"],
            &["intervals", "tags", "units"],
            &["operators/operator"],
            &["operators"],
            &["grammar"],
            &["definitions", "output"],
            &["network"],
            &["gate_network"],
        ],
    },
    Floors {
        of: "run",
        floors: &[
            &["counted", "escape", "unfinished"],
            &["error"],
            &["progress", "notes", "remarks"],
            &["work"],
            &["options", "location", "memo"],
            &["cache", "input"],
            &["follow", "held", "left_out", "open", "room", "update", "writer"],
            &["destination"],
            &["new_file", "new_store", "recorder"],
            &["recorded"],
            &["fluorescence"],
            &["simulate"],
            &["details", "setup"],
            &["convert", "derive", "merge"],
            &["verify"],
        ],
    },
    Floors {
        of: "ask",
        floors: &[
            &["error"],
            &["cell", "cells", "figure"],
            &["table"],
            &["provenance"],
            &["answer"],
            &["lanes", "pulses", "unsteady"],
            &["peaks"],
            &["catalogue", "requests"],
            &["search"],
            &["delays"],
            &["question"],
        ],
    },
    Floors { of: "study", floors: &[&["error"], &["fits", "scans"], &["plan", "reproduce"]] },
    Floors { of: "tagq", floors: &[] },
    Floors {
        of: "export",
        floors: &[
            &["error", "unit", "view"],
            &["schema", "text", "tiff"],
            &["answers", "batches", "form"],
            &["catalogue", "write"],
            &["tag_forms"],
            &["report"],
        ],
    },
    Floors {
        of: "plot",
        floors: &[
            &["error", "quantity", "words", "colour", "font", "page"],
            &["axis", "drawing", "values"],
            &["figure"],
            &[
                "bins", "fit", "groups", "lanes", "look", "marks", "peaks", "pixels", "scan",
                "shared", "trace",
            ],
            &["map", "phasor"],
            &["drawn", "layout", "terminal"],
            &["draw"],
            &["svg", "pdf", "png", "html"],
            &["picture"],
        ],
    },
    Floors {
        of: "serve",
        floors: &[
            &["error", "notes", "page", "timed"],
            &["budget", "info", "sent", "token", "tables"],
            &["counting", "runs", "access"],
            &["question"],
            &["answering"],
            &["updates", "query"],
            &["live", "answerer"],
            &["routes"],
            &["server"],
        ],
    },
    Floors {
        of: "python",
        floors: &[
            &["errors"],
            &["stream", "options", "waiting", "process", "saving"],
            &["tags"],
            &["lists"],
            &["answer", "catalogue", "origin", "tuples"],
            &["run"],
            &["following", "making", "parts", "recording", "simulating", "tools"],
        ],
    },
    Floors {
        of: "cli",
        floors: &[
            &["args", "signals", "time_left", "wrapped"],
            &["progress", "report"],
            &["input", "written"],
            &["queries", "follow"],
            &["scan"],
            &[
                "watch",
                "cat",
                "convert",
                "derive",
                "export",
                "fit",
                "formats",
                "info",
                "ingest",
                "init",
                "merge",
                "name",
                "parts",
                "reproduce",
                "runs",
                "search",
                "serve",
                "demo",
                "doctor",
                "simulate",
                "verify",
            ],
        ],
    },
];

#[test]
fn each_crate_has_floors() {
    let crates = fs::read_dir(root().join("crates")).unwrap();
    let crates: BTreeSet<String> =
        crates.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    assert_eq!(crates, FLOORS.iter().map(|floors| floors.of.to_owned()).collect());
}

#[test]
fn no_files_import_each_other_in_a_circle() {
    for Floors { of, .. } in FLOORS {
        let imports = Crate::read(of).imports();
        assert!(imports.len() > 5 || ["spectrum", "tagq"].contains(&of), "{of} has few files");
        assert_eq!(circle(&imports), None, "in crates/{of}/src");
    }
}

#[test]
fn no_floor_imports_from_a_higher_one() {
    for floors in FLOORS {
        let of = floors.of;
        let imports = Crate::read(of).imports();
        for path in floors.floors.iter().copied().flatten() {
            let module: Module = path.split('/').map(str::to_owned).collect();
            assert!(imports.contains_key(&module), "crates/{of} has no module {path}");
        }
        for (file, imports) in imports {
            if file.is_empty() {
                continue;
            }
            let own = floors.floor(&file);
            assert!(own.is_some(), "{file:?} of crates/{of} stands on no floor");
            for import in imports.iter().filter(|import| !import.is_empty()) {
                assert!(
                    floors.floor(import) <= own,
                    "crates/{of}: {file:?} imports {import:?} from above"
                );
            }
        }
    }
}

#[test]
fn a_circle_is_found() {
    let module = |name: &str| vec![name.to_owned()];
    let mut imports = BTreeMap::from([
        (module("a"), BTreeSet::from([module("b")])),
        (module("b"), BTreeSet::from([module("c")])),
        (module("c"), BTreeSet::new()),
    ]);
    assert_eq!(circle(&imports), None);
    imports.insert(module("c"), BTreeSet::from([module("a")]));
    assert!(circle(&imports).is_some());
    let paths = uses("pub(crate) use super::{a::{self, B as C}, d};\nuse crate::e;");
    let paths: Vec<String> = paths.iter().map(|path| path.join("::")).collect();
    assert_eq!(paths, ["super::a", "super::a::B", "super::d", "crate::e"]);
}

/// The files of a crate, without comments and tests.
struct Crate {
    files: BTreeMap<Module, String>,
    /// The paths that each module re-exports, by their last name.
    exports: BTreeMap<Module, BTreeMap<String, Vec<String>>>,
}

impl Crate {
    fn read(name: &str) -> Self {
        let sources = root().join("crates").join(name).join("src");
        let mut paths = Vec::new();
        sources_below(&sources, &mut paths);
        let mut files = BTreeMap::new();
        for path in paths {
            if !path.ends_with("tests.rs") {
                let text = code(&fs::read_to_string(&path).unwrap());
                files.insert(module(path.strip_prefix(&sources).unwrap()), text);
            }
        }
        let exports = files.iter().map(|(file, text)| {
            let public = uses(text).into_iter().filter(|path| {
                text.contains("pub") && path.last().is_some_and(|name| is_exported(text, name))
            });
            let by_name = public.filter_map(|path| Some((path.last()?.clone(), path.clone())));
            (file.clone(), by_name.collect())
        });
        Self { exports: exports.collect(), files }
    }

    /// Returns the files that each file imports.
    fn imports(&self) -> BTreeMap<Module, BTreeSet<Module>> {
        let of = |(file, text): (&Module, &String)| {
            let paths = uses(text).into_iter().chain(inline_paths(text));
            let found = paths.filter_map(|path| self.resolve(file, &path, 0));
            let others = found.filter(|module| module != file && !module.is_empty());
            (file.clone(), others.collect())
        };
        self.files.iter().map(of).collect()
    }

    /// Returns the file that a path in `file` resolves to, or `None` if it is outside the crate.
    fn resolve(&self, file: &Module, path: &[String], depth: usize) -> Option<Module> {
        let mut rest = path.iter().peekable();
        let mut base = match path.first()?.as_str() {
            "crate" => {
                rest.next();
                Vec::new()
            }
            "self" => {
                rest.next();
                file.clone()
            }
            "super" => {
                let mut base = file.clone();
                while rest.next_if(|name| *name == "super").is_some() {
                    base.pop();
                }
                base
            }
            first if self.files.contains_key(&below(file, first)) => file.clone(),
            _ => return None,
        };
        while let Some(name) = rest.next_if(|name| self.files.contains_key(&below(&base, name))) {
            base.push(name.clone());
        }
        let exported = rest.next().and_then(|name| self.exports.get(&base)?.get(name));
        match exported.filter(|_| depth < 8) {
            Some(path) => self.resolve(&base, path, depth + 1).or(Some(base)),
            None => Some(base),
        }
    }
}

fn below(module: &Module, name: &str) -> Module {
    module.iter().cloned().chain([name.to_owned()]).collect()
}

fn module(path: &Path) -> Module {
    let names = path.with_extension("");
    let mut names: Module = names.iter().map(|name| name.to_string_lossy().into_owned()).collect();
    if matches!(names.last().map(String::as_str), Some("mod" | "lib" | "main")) {
        names.pop();
    }
    names
}

/// Returns the text without comments and without the tests at its end.
fn code(text: &str) -> String {
    let end = text.find("\nmod tests {").unwrap_or(text.len());
    let without = |line: &str| line.split("//").next().unwrap_or_default().to_owned();
    text[..end].lines().map(without).collect::<Vec<_>>().join("\n")
}

/// Returns the `use` statements of a file, and whether they are public.
fn statements(text: &str) -> impl Iterator<Item = (bool, &str)> {
    let starts = text.match_indices("use ").map(|(at, _)| at);
    starts.filter_map(move |at| {
        let before = text[..at].rsplit('\n').next().unwrap_or_default().trim();
        let is_public = before.starts_with("pub");
        let is_statement = before.is_empty() || (is_public && before.split(' ').count() < 3);
        let end = text[at..].find(';')?;
        is_statement.then_some((is_public, &text[at + 4..at + end]))
    })
}

fn is_exported(text: &str, name: &str) -> bool {
    statements(text).any(|(is_public, tree)| {
        is_public
            && paths(&[], tree).iter().any(|path| path.last().is_some_and(|last| last == name))
    })
}

/// Returns all paths of the `use` statements of a file.
fn uses(text: &str) -> Vec<Vec<String>> {
    statements(text).flat_map(|(_, tree)| paths(&[], tree)).collect()
}

/// Returns the paths of a tree like `a::{b, c::d}`.
fn paths(prefix: &[String], tree: &str) -> Vec<Vec<String>> {
    let names = |text: &str| -> Vec<String> {
        let names = text.split(" as ").next().unwrap_or_default().split("::");
        let names = names.map(|name| name.trim().to_owned());
        prefix.iter().cloned().chain(names.filter(|n| !n.is_empty() && n != "self")).collect()
    };
    let first = tree.split("::").next().unwrap_or_default().trim() == "self";
    match tree.split_once('{') {
        Some((before, inner)) => {
            let inner = inner.rsplit_once('}').map_or(inner, |(inner, _)| inner);
            let prefix = names(before);
            items(inner).into_iter().flat_map(|item| paths(&prefix, item)).collect()
        }
        None if first && prefix.is_empty() => {
            vec![[vec!["self".to_owned()], names(tree)].concat()]
        }
        None => vec![names(tree)],
    }
}

/// Splits a list at commas outside of braces.
fn items(list: &str) -> Vec<&str> {
    let (mut depth, mut start, mut items) = (0, 0, Vec::new());
    for (at, c) in list.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                items.push(&list[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    items.push(&list[start..]);
    items.into_iter().filter(|item| !item.trim().is_empty()).collect()
}

/// Returns the paths in the code that begin with `crate::` or `super::`.
fn inline_paths(text: &str) -> Vec<Vec<String>> {
    let is_name = |c: char| c.is_alphanumeric() || c == '_' || c == ':';
    let words = text.split(|c: char| !is_name(c));
    // `use crate::{` ends with colons.
    let inside = words.filter(|word| {
        (word.starts_with("crate::") || word.starts_with("super::")) && !word.ends_with(':')
    });
    inside.map(|word| word.split("::").map(str::to_owned).collect()).collect()
}

/// Returns files that import each other in a circle, or `None`.
fn circle(imports: &BTreeMap<Module, BTreeSet<Module>>) -> Option<Vec<Module>> {
    let mut left = imports.clone();
    // Files that import none of the remaining files are in no circle.
    loop {
        let free: Vec<Module> = left
            .iter()
            .filter(|(_, others)| !others.iter().any(|other| left.contains_key(other)))
            .map(|(file, _)| file.clone())
            .collect();
        if free.is_empty() {
            break;
        }
        left.retain(|file, _| !free.contains(file));
    }
    // The same holds for files that no remaining file imports.
    loop {
        let before = left.len();
        let imported: BTreeSet<Module> = left.values().flatten().cloned().collect();
        left.retain(|file, _| imported.contains(file));
        if left.len() == before {
            break;
        }
    }
    (!left.is_empty()).then(|| left.into_keys().collect())
}
