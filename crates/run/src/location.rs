//! The location of a run: of its sources and of its store.
//!
//! The store of the folder `night/` is `night/.tagq`, and that of the file `night.tags.zst` is `night.tags.zst.tagq`. A
//! store at its default place is never a link, because a run from another user could point anywhere.

use std::{
    collections::HashMap,
    ffi::OsString,
    fs::{self, DirEntry},
    io, iter,
    path::{Component, Path, PathBuf},
};

use tagq_store::{Manifest, Store, os, pasted, quoted};

use crate::{error::Error, options::OpenOptions};

/// Suffix of a single source that names its store.
const STORE_OF_FILE: &str = ".tagq";

/// The location of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunLocation {
    /// The path that the user gave.
    pub path: PathBuf,
    /// Its store, whether it exists or not.
    pub store: PathBuf,
    /// Its sources, in natural order; `None` if the user named the store itself.
    pub sources: Option<Vec<PathBuf>>,
    /// Whether sources in nested folders belong to the run.
    pub(crate) is_recursive: bool,
    /// The source that is a buffered stream, if any, and its name in the manifest.
    pub(crate) input: Option<(PathBuf, String)>,
}

impl RunLocation {
    /// The name of the store inside a folder of sources.
    pub const STORE_IN_FOLDER: &str = ".tagq";
    /// The most files that a command which is shown names.
    const NAMED_MAX: usize = 20;

    /// Finds the run that `path` names; `store` overrides the location of its store. If `is_recursive`, nested
    /// folders are searched for sources, too.
    ///
    /// # Errors
    /// [`Error::NoSuchPath`], [`Error::NoSources`], [`Error::LinkedStore`].
    pub fn find(path: &Path, store: Option<&Path>, is_recursive: bool) -> Result<Self, Error> {
        let metadata = fs::metadata(path).map_err(|source| match source.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => {
                Error::NoSuchPath { path: path.into() }
            }
            _ => Error::Io { path: path.into(), action: "look at it", source },
        })?;
        if Store::is_at(path) {
            return Ok(Self::new(path, path.into(), None));
        }
        if !metadata.is_dir() {
            let store = store.map_or_else(|| not_linked(beside(path)), |store| Ok(store.into()))?;
            return Ok(Self::new(path, store, Some(vec![path.into()])));
        }
        let sources = sources_in(path, is_recursive)?;
        let location = Self { is_recursive, ..Self::of_empty_folder(path, store)? };
        if sources.is_empty() && !Store::is_at(&location.store) {
            return Err(Error::NoSources { path: path.into() });
        }
        Ok(Self { sources: Some(sources), ..location })
    }

    /// Returns the location of a folder that may get sources later.
    pub(crate) fn of_empty_folder(path: &Path, store: Option<&Path>) -> Result<Self, Error> {
        let inside = || not_linked(path.join(RunLocation::STORE_IN_FOLDER));
        let store = store.map_or_else(inside, |store| Ok(store.into()))?;
        Ok(Self::new(path, store, Some(Vec::new())))
    }

    fn new(path: &Path, store: PathBuf, sources: Option<Vec<PathBuf>>) -> Self {
        Self { path: path.into(), store, sources, is_recursive: false, input: None }
    }

    /// Returns the name of a source in the manifest: its file name if it lies next to or around the store, otherwise
    /// its full path. In a recursive run, a source in a nested folder has its path from the folder around the store,
    /// with `/` between folders. A backslash is doubled, and bytes that are not UTF-8 are written as `\xNN`, so that no
    /// two files share a name.
    pub fn name_of(&self, source: &Path) -> String {
        if let Some((_, name)) = self.input.as_ref().filter(|(path, _)| path == source) {
            return name.clone();
        }
        let name = os::name_of_path(&self.plain_name_of(source));
        match str::from_utf8(&name) {
            Ok(text) => text.replace('\\', "\\\\"),
            Err(_) => name.escape_ascii().to_string(),
        }
    }

    /// Returns the name that older versions gave a source, if it was different: they did not double
    /// backslashes.
    pub(crate) fn old_name_of(&self, source: &Path) -> Option<String> {
        self.plain_name_of(source).to_str().filter(|name| name.contains('\\')).map(Into::into)
    }

    fn plain_name_of(&self, source: &Path) -> PathBuf {
        let home = self.store.parent().map(resolved);
        let folder = source.parent().map(resolved);
        let way = home.as_deref().zip(folder.as_deref());
        let way = way.and_then(|(home, folder)| folder.strip_prefix(home).ok());
        match (way, source.file_name()) {
            (Some(way), Some(name)) if self.is_recursive || way.as_os_str().is_empty() => {
                way.join(name)
            }
            _ => absolute(source),
        }
    }

    /// Returns the file that the source of this name in the manifest of the store at `store` has or had; `None` for a
    /// name that no file could have.
    pub(crate) fn file_named(store: &Path, name: &str) -> Option<PathBuf> {
        let path = os::path_of_name(unescaped(name)?)?;
        let is_inside = !path.components().any(|part| part == Component::ParentDir);
        let home = store.parent().map(absolute)?;
        is_inside.then(|| home.join(path))
    }

    /// Returns its sources by their names in the manifest, including the names of older versions.
    pub fn files(&self) -> HashMap<String, PathBuf> {
        let sources = self.sources.iter().flatten();
        let old = sources.clone().filter_map(|path| Some((self.old_name_of(path)?, path.clone())));
        let new = sources.map(|path| (self.name_of(path), path.clone()));
        old.chain(new).collect()
    }

    /// Whether a file is a source of the run or store at `run`, one that lies there or one that was ingested.
    pub(crate) fn has_source(run: &Path, file: &Path) -> bool {
        let Ok(location) = Self::find(run, None, has_nested_sources(run)) else { return false };
        if !file.exists() {
            return false;
        }
        let is_it = |source: &PathBuf| os::are_same(source, file);
        location.sources.iter().flatten().any(is_it) || Self::is_listed(&location.store, file)
    }

    /// Returns the store beside a file, or in a folder around it, that lists the file as one of its sources.
    pub(crate) fn store_of_source(file: &Path) -> Option<PathBuf> {
        if !file.exists() {
            return None;
        }
        let folder = file.parent().map(resolved)?;
        let around = folder.ancestors().map(|folder| folder.join(Self::STORE_IN_FOLDER));
        let mut stores = iter::once(beside(file)).chain(around);
        stores.find(|store| Self::is_listed(store, file))
    }

    /// Whether the manifest of a store lists a file as one of its sources.
    fn is_listed(store: &Path, file: &Path) -> bool {
        let Ok(Some(manifest)) = Manifest::read(store) else { return false };
        let names = [false, true].into_iter().flat_map(|is_recursive| {
            let location = Self { is_recursive, ..Self::new(file, store.into(), None) };
            [Some(location.name_of(file)), location.old_name_of(file)]
        });
        let names: Vec<String> = names.flatten().collect();
        manifest.sources.iter().any(|source| names.contains(&source.facts.name))
    }

    /// Returns the command that ingests the run, which was opened like this, with more options; `None` if its files are
    /// a stream, or too many are named one by one.
    pub(crate) fn ingest_command(&self, more: &str, options: &OpenOptions) -> Option<String> {
        if self.input.is_some() {
            return None;
        }
        let options = format!("{more}{}", given(options));
        if self.path == self.store {
            let sources = self.sources.iter().flatten().map(|source| pasted(source));
            let sources: Vec<String> = sources.take(Self::NAMED_MAX + 1).collect();
            let is_few = (1..=Self::NAMED_MAX).contains(&sources.len());
            let (store, sources) = (pasted(&self.store), sources.join(" "));
            return is_few.then(|| format!("tagq ingest {options} --store {store} {sources}"));
        }
        let store = if self.store == Self::store_for(&self.path) {
            String::new()
        } else {
            format!(" --store {}", pasted(&self.store))
        };
        let recursive = if self.is_recursive { " --recursive" } else { "" };
        Some(format!("tagq ingest {options}{recursive}{store} {}", pasted(&self.path)))
    }

    /// Returns the command that merges all sources of the run, which was opened like this; `None` if there are too
    /// many, or one alone.
    pub(crate) fn merge_command(
        &self,
        sources: &[PathBuf],
        options: &OpenOptions,
    ) -> Option<String> {
        let is_few = (2..=Self::NAMED_MAX).contains(&sources.len()) && self.input.is_none();
        let sources: Vec<String> = sources.iter().map(|source| pasted(source)).collect();
        let given = given(options);
        is_few.then(|| format!("tagq merge{given} {} -o merged.tagq", sources.join(" ")))
    }

    /// Returns the default location of the store of the run at `path`.
    fn store_for(path: &Path) -> PathBuf {
        if path.is_dir() { path.join(RunLocation::STORE_IN_FOLDER) } else { beside(path) }
    }
}

/// Returns the options of a command that say how files are read.
fn given(options: &OpenOptions) -> String {
    let tick = options.tick_here.or(options.tick).map(|tick| format!(" --tick {}", tick.paste()));
    let format = options.format.map(|format| format!(" --source-format {format}"));
    let columns = options.columns.as_ref();
    let columns = columns.map(|columns| format!(" --columns {}", quoted(&columns.to_string())));
    [tick, format, columns].into_iter().flatten().collect()
}

/// Returns the bytes of a name as [`RunLocation::name_of`] writes it.
fn unescaped(name: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut rest = name.as_bytes();
    while let [first, after @ ..] = rest {
        rest = after;
        bytes.push(match (first, after) {
            (b'\\', [b'x', high, low, after @ ..]) => {
                rest = after;
                let digit =
                    |of: &u8| char::from(*of).to_digit(16).and_then(|n| u8::try_from(n).ok());
                digit(high)? << 4 | digit(low)?
            }
            (b'\\', [letter, after @ ..]) => {
                rest = after;
                match letter {
                    b'n' => b'\n',
                    b'r' => b'\r',
                    b't' => b'\t',
                    other => *other,
                }
            }
            (other, _) => *other,
        });
    }
    Some(bytes)
}

/// Returns the full path, links resolved, to be compared with another one. On Windows all have the same prefix.
fn resolved(path: &Path) -> PathBuf {
    let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
    fs::canonicalize(path).unwrap_or_else(|_| path.into())
}

/// Returns the full path, links resolved, to be shown and kept: on Windows without a prefix that it does not need.
fn absolute(path: &Path) -> PathBuf {
    dunce::simplified(&resolved(path)).into()
}

/// Checks that the default location of a store is not a link. The run may belong to another user, and a
/// link there would cause another folder to be written and cleaned up.
fn not_linked(store: PathBuf) -> Result<PathBuf, Error> {
    if store.is_symlink() { Err(Error::LinkedStore { store }) } else { Ok(store) }
}

/// Returns the store of a single file: `x.tags.zst` has its store in `x.tags.zst.tagq`.
fn beside(path: &Path) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(STORE_OF_FILE);
    name.into()
}

/// Whether a file with this name in a folder is a source.
pub fn is_source_name(name: &[u8]) -> bool {
    !name.starts_with(b".") && tagq_ingest::source_stem(name).is_some()
}

/// Whether a source in `folder` would belong to the run in the folder `run`: in that folder itself, or nested in it
/// if the run has sources in nested folders.
pub(crate) fn belongs(folder: &Path, run: &Path) -> bool {
    let (Ok(folder), Ok(run)) = (fs::canonicalize(folder), fs::canonicalize(run)) else {
        return false;
    };
    let Some(way) = folder.strip_prefix(&run).ok().filter(|_| run.is_dir()) else { return false };
    let folders = || way.ancestors().map(|way| run.join(way)).filter(|folder| *folder != run);
    way.as_os_str().is_empty()
        || has_nested_sources(&run) && folders().all(|folder| may_have_sources(&folder))
}

/// Whether sources in nested folders were ingested into the run in the folder `run`.
fn has_nested_sources(run: &Path) -> bool {
    let manifest = Manifest::read(&run.join(RunLocation::STORE_IN_FOLDER)).ok().flatten();
    manifest.is_some_and(|manifest| {
        let names = manifest.sources.iter().map(|source| Path::new(&source.facts.name));
        names.into_iter().any(|name| name.is_relative() && name.components().count() > 1)
    })
}

/// Returns the sources in a folder, in natural order of their paths. If `is_recursive`, sources in nested folders
/// belong to them, but not those in hidden folders and in stores, and links to folders are not followed.
fn sources_in(folder: &Path, is_recursive: bool) -> Result<Vec<PathBuf>, Error> {
    let mut sources = Vec::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(folder) = folders.pop() {
        let io_error =
            |source| Error::Io { path: folder.clone(), action: "list this folder", source };
        for entry in fs::read_dir(&folder).map_err(io_error)? {
            let entry = entry.map_err(io_error)?;
            if is_recursive && entry.file_type().map_err(io_error)?.is_dir() {
                folders.extend(nested_folder(&entry));
            } else {
                sources.extend(source(&entry)?);
            }
        }
    }
    alphanumeric_sort::sort_path_slice(&mut sources);
    Ok(sources)
}

/// Returns a folder that may contain sources of the run around it.
fn nested_folder(entry: &DirEntry) -> Option<PathBuf> {
    Some(entry.path()).filter(|path| may_have_sources(path))
}

/// Whether a folder may hold sources of a run: it is not hidden, and no store.
pub fn may_have_sources(folder: &Path) -> bool {
    let name = folder.file_name().unwrap_or_default().as_encoded_bytes();
    !name.starts_with(b".") && !is_store(folder)
}

/// Whether a folder is a store, or has the name of one.
fn is_store(folder: &Path) -> bool {
    let name = folder.file_name().unwrap_or_default().as_encoded_bytes();
    name.ends_with(STORE_OF_FILE.as_bytes()) || Store::is_at(folder)
}

/// Returns the store that a folder is or lies in.
pub(crate) fn store_around(folder: &Path) -> Option<PathBuf> {
    let folder = dunce::canonicalize(folder).ok()?;
    folder.ancestors().find(|folder| is_store(folder)).map(Into::into)
}

/// Returns a source. A link to a file counts as a file. A file that cannot be inspected is not skipped silently,
/// because the counts would be wrong.
fn source(entry: &DirEntry) -> Result<Option<PathBuf>, Error> {
    if !is_source_name(entry.file_name().as_encoded_bytes()) {
        return Ok(None);
    }
    let path = entry.path();
    match fs::metadata(&path) {
        Ok(metadata) if metadata.is_dir() => Ok(None),
        // Anything that is not a file is rejected when it is opened, and not skipped silently either.
        Ok(_) => Ok(Some(path)),
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(Error::Io { path, action: "look at it", source }),
    }
}

#[cfg(test)]
mod tests {
    use tagq_store::{Creation, Tick, Writer};

    use super::*;

    #[test]
    fn a_folder_gives_its_tag_files_in_natural_order() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["10.tags.zst", "9.tags", ".8.tags", "notes.txt", "7.tags.zst.bak", "11.tsv"]
            .into_iter()
            .chain(["12.tsv.zst", "13.csv", "14.csv.zst", ".15.csv", "16.txt.zst", "17.tsv.tagq"])
        {
            fs::write(folder.path().join(name), "").unwrap();
        }
        fs::create_dir(folder.path().join("6.tags")).unwrap();
        let location = RunLocation::find(folder.path(), None, false).unwrap();
        let names: Vec<String> =
            location.sources.as_ref().unwrap().iter().map(|p| location.name_of(p)).collect();
        let expected = ["9.tags", "10.tags.zst", "11.tsv", "12.tsv.zst", "13.csv", "14.csv.zst"];
        assert_eq!(names, expected);
        assert_eq!(location.store, folder.path().join(".tagq"));
    }

    #[test]
    fn nested_folders_give_their_tag_files_if_asked_for() {
        let folder = tempfile::tempdir().unwrap();
        let here = |name: &str| folder.path().join(name);
        for name in ["10/b/x", "9", "9/.git", "9/.tagq", "9/old.tags.tagq", "a"] {
            fs::create_dir_all(here(name)).unwrap();
        }
        // A store under any name.
        let creation = Creation { tick: Tick::DEFAULT, tick_assumed: true, run_id: None };
        Writer::open(&here("9/other"), &creation).unwrap().commit().unwrap();
        let outside = tempfile::tempdir().unwrap();
        fs::write(outside.path().join("7.tags"), "").unwrap();
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink(outside.path(), here("9/linked")).unwrap();
            std::os::unix::fs::symlink(folder.path(), here("a/loop")).unwrap();
        }
        for name in ["10/1.tags", "10/b/x/2.csv", "9/3.tags.gz", "9/12.tags", "4.tsv", "a/5.txt"]
            .into_iter()
            .chain(["9/.git/6.tags", "9/.tagq/6.tags", "9/old.tags.tagq/6.tags", "9/other/6.tags"])
        {
            fs::write(here(name), "").unwrap();
        }
        let names = |store: Option<&Path>, is_recursive| -> Vec<String> {
            let location = RunLocation::find(folder.path(), store, is_recursive).unwrap();
            let sources = location.sources.iter().flatten();
            sources.map(|path| location.name_of(path)).collect()
        };
        let nested = ["4.tsv", "9/3.tags.gz", "9/12.tags", "10/1.tags", "10/b/x/2.csv"];
        assert_eq!(names(None, true), nested);
        assert_eq!(names(None, false), ["4.tsv"]);
        // A store elsewhere needs the full paths.
        let absolute = dunce::canonicalize(folder.path()).unwrap();
        let full = nested
            .map(|name| named(&name.split('/').fold(absolute.clone(), |at, part| at.join(part))));
        assert_eq!(names(Some(&outside.path().join("s")), true), full);
    }

    /// An absolute path as a name, on Windows with `/`.
    fn named(path: &Path) -> String {
        path.to_str().unwrap().replace('\\', "/")
    }

    #[test]
    fn a_file_has_its_store_beside_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.tags.zst");
        fs::write(&path, "").unwrap();
        let location = RunLocation::find(&path, None, false).unwrap();
        assert_eq!(location.store, folder.path().join("x.tags.zst.tagq"));
        assert_eq!(location.name_of(&path), "x.tags.zst");
        let elsewhere = tempfile::tempdir().unwrap();
        let location = RunLocation::find(&path, Some(&elsewhere.path().join("s")), false).unwrap();
        assert_eq!(location.name_of(&path), named(&dunce::canonicalize(&path).unwrap()));
    }

    #[test]
    fn the_file_of_a_name_is_found_again() {
        let folder = tempfile::tempdir().unwrap();
        let home = dunce::canonicalize(folder.path()).unwrap();
        let store = home.join("s");
        let location = RunLocation::new(&store, store.clone(), None);
        let plain = [&b"a.tags"[..], "\u{e9}.tags".as_bytes()];
        let odd = [&b"a\\b.tags"[..], b"a\xff\n'\"\\x.tags"];
        for name in plain.into_iter().chain(odd.into_iter().filter(|_| cfg!(target_os = "linux"))) {
            let path = home.join(os::path_of_name(name.to_vec()).unwrap());
            fs::write(&path, "").unwrap();
            let name = location.name_of(&path);
            assert_eq!(RunLocation::file_named(&store, &name), Some(path), "{name}");
        }
        let root: PathBuf = if cfg!(windows) { "C:/etc/x".into() } else { "/etc/x".into() };
        assert_eq!(RunLocation::file_named(&store, root.to_str().unwrap()), Some(root));
        for name in ["../x", "/a/../x", "a\\xg0"] {
            assert_eq!(RunLocation::file_named(&store, name), None, "{name}");
        }
    }

    #[test]
    fn what_is_no_run_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let none = RunLocation::find(&folder.path().join("x"), None, false);
        assert!(matches!(none, Err(Error::NoSuchPath { .. })), "{none:?}");
        let empty = RunLocation::find(folder.path(), None, false);
        assert!(matches!(empty, Err(Error::NoSources { .. })), "{empty:?}");
    }
}
