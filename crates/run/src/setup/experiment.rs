//! Properties of an experiment that are not in its tags: `tagq.toml`.
//!
//! A name that sources give to a channel counts only if the setup has neither the channel nor the name.

use std::{
    cmp::Ordering,
    collections::{BTreeMap, HashMap, HashSet},
    fs::File,
    io::{self, Read as _},
    path::{Path, PathBuf},
};

use serde::Deserialize;
use serde_json::Value;
use tagq_ingest::{Settings, SourceFile};
use tagq_store::{Duration, Manifest, Tick, read_side_file};

use crate::{
    Run, error::Error, location::RunLocation, progress::Progress, setup::arguments::Channel,
    setup::definitions::Definition, setup::definitions::InOrder,
};

/// The name of the setup file in the folder of a run.
const SETUP_NAME: &str = "tagq.toml";
/// Maximum size of a setup file in bytes.
const BYTES_MAX: u64 = 4 << 20;
/// Minimum similarity of a name that is suggested instead of another one.
const ALIKE: f64 = 0.75;

/// Tick, names of channels, delays and groups of an experiment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Setup {
    /// The file that it was read from.
    pub path: Option<PathBuf>,
    /// The unit of recorded times.
    pub tick: Option<Tick>,
    /// Names of channels, in the order of the channels.
    pub names: Vec<(u16, String)>,
    /// Delays of channels.
    pub delays: Vec<(u16, Duration)>,
    /// The groups that are counted by default.
    pub groups: Vec<Vec<u16>>,
    /// Definitions of channels made from channels, in their order.
    pub derived: Vec<Definition>,
    /// Definitions of gates.
    pub gates: Vec<Definition>,
    /// Options of queries, by the name of the query: they apply where they are not given.
    pub queries: BTreeMap<String, serde_json::Map<String, Value>>,
}

/// The content of the file.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Written {
    tick: Option<String>,
    channels: BTreeMap<String, String>,
    delays: BTreeMap<String, String>,
    groups: Vec<Vec<ChannelWritten>>,
    derived: InOrder,
    gates: InOrder,
    /// A table for each query.
    #[serde(flatten)]
    queries: BTreeMap<String, Value>,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum ChannelWritten {
    Number(u16),
    Name(String),
}

impl Setup {
    /// Returns the setup of the run that `run` names: the file `asked`, or `tagq.toml` in its folder,
    /// if there is one. Channels without a name in it have the names of the sources.
    ///
    /// # Errors
    /// [`Error::Setup`], [`Error::Io`].
    pub fn of(run: &Path, asked: Option<&Path>) -> Result<Self, Error> {
        Ok(Self::written(run, asked)?.with_names_of(run))
    }

    /// Reads the same setup, without the names that the sources give to channels.
    ///
    /// # Errors
    /// Same as [`Setup::of`].
    pub fn written(run: &Path, asked: Option<&Path>) -> Result<Self, Error> {
        if let Some(path) = asked {
            // A file named by the user may be a pipe.
            let read = File::open(path).and_then(|file| {
                let mut text = String::new();
                let bytes = file.take(BYTES_MAX + 1).read_to_string(&mut text)?;
                if bytes as u64 > BYTES_MAX {
                    let what = format!("more than {BYTES_MAX} bytes");
                    return Err(io::Error::new(io::ErrorKind::InvalidInput, what));
                }
                Ok(text)
            });
            return Self::parse(path, &read.map_err(cannot_read(path))?);
        }
        let path = Self::place(run);
        match path.try_exists() {
            Ok(true) => Self::parse(&path, &Self::text_at(&path)?),
            _ => Ok(Self::default()),
        }
    }

    /// Returns the names that the sources of the run at `run` give to its channels, and nothing else. Before there
    /// is a store, these are the names of the first source.
    pub fn of_sources(run: &Path) -> Self {
        Self::default().with_names_of(run)
    }

    /// Returns the names that the sources of an open run give to its channels, and nothing else.
    pub fn of_run(run: &Run) -> Self {
        let mut setup = Self::default();
        setup.add_names(names_in(run.store().manifest()));
        setup
    }

    /// Adds the names that the sources of the run at `run` give to its channels.
    #[must_use]
    pub fn with_names_of(mut self, run: &Path) -> Self {
        self.add_names(recorded_names(run));
        self
    }

    /// Adds names of channels, unless the setup has the channel or the name.
    fn add_names(&mut self, names: Vec<(u16, String)>) {
        let (mut numbers, mut words): (HashSet<u16>, HashSet<String>) =
            self.names.iter().cloned().unzip();
        for (channel, name) in names {
            if !numbers.contains(&channel) && !words.contains(&name) {
                numbers.insert(channel);
                words.insert(name.clone());
                self.names.push((channel, name));
            }
        }
        self.names.sort_unstable();
    }

    /// Returns the path of the setup of the run that `run` names, whether it exists or not.
    pub fn place(run: &Path) -> PathBuf {
        folder_of(run).join(SETUP_NAME)
    }

    /// Reads the text of a setup that is found in a folder: a file, or a link to one.
    pub(super) fn text_at(path: &Path) -> Result<String, Error> {
        let bytes = read_side_file(path, BYTES_MAX).map_err(cannot_read(path))?;
        String::from_utf8(bytes).map_err(|e| {
            cannot_read(path)(io::Error::new(io::ErrorKind::InvalidData, e.utf8_error()))
        })
    }

    /// Parses the text of a setup whose path is or will be `path`.
    pub(super) fn parse(path: &Path, text: &str) -> Result<Self, Error> {
        let fault = |reason: String| Error::Setup { path: path.into(), reason };
        let written: Written =
            toml::from_str(text).map_err(|e| fault(place_and_reason(text, &e)))?;
        let mut setup = Self { path: Some(path.into()), ..Self::default() };
        if let Some(unknown) = written.queries.iter().find(|(_, value)| !value.is_object()) {
            return Err(fault(unknown_key(text, unknown.0)));
        }
        setup.take(written).map_err(fault)?;
        Ok(setup)
    }

    fn take(&mut self, written: Written) -> Result<(), String> {
        if let Some(tick) = written.tick {
            self.tick = Some(tick.parse().map_err(|e| format!("tick: {e}"))?);
        }
        let numbers = self.take_names(written.channels)?;
        let numbered = |name: &str| -> Result<u16, String> {
            numbers.get(name).map_or_else(|| self.word(name), |number| Ok(*number))
        };
        let (mut delays, mut places) = (Vec::new(), HashMap::new());
        for (channel, delay) in written.delays {
            let channel = numbered(&channel).map_err(|e| format!("[delays]: {e}"))?;
            let delay: Duration = delay.parse().map_err(|e| format!("[delays]: {e}"))?;
            if let Some(place) = places.insert(channel, delays.len()) {
                let (_, before): &(u16, Duration) = &delays[place];
                let (channel, before) = (self.number_and_name(channel), before.asked());
                let delay = delay.asked();
                return Err(format!(
                    "[delays]: channel {channel} has two delays, {before} and {delay}; give one"
                ));
            }
            delays.push((channel, delay));
        }
        let mut groups = Vec::new();
        for group in written.groups {
            let number = |channel: ChannelWritten| match channel {
                ChannelWritten::Number(number) => Ok(number),
                ChannelWritten::Name(name) => numbered(&name),
            };
            let group: Result<Vec<u16>, String> = group.into_iter().map(number).collect();
            let group = group.map_err(|e| format!("groups: {e}"))?;
            if let Some(channel) = group.iter().find(|&&channel| count_of(&group, channel) > 1) {
                let channel = self.number_and_name(*channel);
                return Err(format!(
                    "groups: a group has channel {channel} twice; a coincidence takes one tag of each"
                ));
            }
            groups.push(group);
        }
        (self.delays, self.groups) = (delays, groups);
        (self.derived, self.gates) = (written.derived.0, written.gates.0);
        for (query, options) in written.queries {
            if let Value::Object(options) = options {
                self.queries.insert(query, options);
            }
        }
        Ok(())
    }

    /// Takes the names of channels; returns the channel of each name.
    fn take_names(
        &mut self,
        written: BTreeMap<String, String>,
    ) -> Result<HashMap<String, u16>, String> {
        let mut names: BTreeMap<u16, String> = BTreeMap::new();
        let mut numbers = HashMap::new();
        for (number, name) in written {
            let Ok(Channel::Number(number)) = number.parse() else {
                return Err(format!("[channels]: `{number}` is no channel number"));
            };
            let Ok(Channel::Name(name)) = name.parse() else {
                return Err(format!("[channels]: `{name}` cannot be a name"));
            };
            if numbers.insert(name.clone(), number).is_some() {
                return Err(format!("[channels]: two channels are called `{name}`"));
            }
            if let Some(before) = names.insert(number, name.clone()) {
                return Err(format!(
                    "[channels]: channel {number} has two names, `{before}` and `{name}`; give one"
                ));
            }
        }
        self.names = names.into_iter().collect();
        Ok(numbers)
    }

    fn number_and_name(&self, channel: u16) -> String {
        match self.named(channel) {
            Some(name) => format!("{channel} ({name})"),
            None => channel.to_string(),
        }
    }

    fn word(&self, text: &str) -> Result<u16, String> {
        self.channel(&text.parse()?).map_err(|e| e.to_string())
    }

    /// Returns the label of a channel.
    ///
    /// # Errors
    /// [`Error::NoSuchChannel`], with similar names.
    pub fn channel(&self, channel: &Channel) -> Result<u16, Error> {
        let name = match channel {
            Channel::Number(number) => return Ok(*number),
            Channel::Name(name) => name,
        };
        if let Some((number, _)) = self.names.iter().find(|(_, other)| other == name) {
            return Ok(*number);
        }
        if self.derived.iter().any(|(derived, _)| derived == name) {
            return Err(Error::DerivedChannel { name: name.clone() });
        }
        let is_alike = |other: &str| likeness(name, other) >= ALIKE;
        let derived = self.derived.iter().map(|(other, _)| other.as_str());
        let names = self.names.iter().map(|(_, other)| other.as_str()).chain(derived);
        Err(Error::NoSuchChannel {
            name: name.clone(),
            alike: names.clone().filter(|other| is_alike(other)).map(str::to_owned).collect(),
            known: names.map(str::to_owned).collect(),
        })
    }

    /// Sorts these channels by similarity to `channel`, for a user who may have meant another one: by
    /// name if it has one, then by number.
    pub(crate) fn nearest_first(&self, channel: u16, among: &[u16]) -> Vec<u16> {
        let called = self.name_of(channel);
        let is_named = self.named(channel).is_some();
        let mut near = among.to_vec();
        near.sort_by(|&a, &b| {
            let far = |other: u16| 1.0 - likeness(&called, &self.name_of(other));
            let by_name = if is_named { far(a).total_cmp(&far(b)) } else { Ordering::Equal };
            by_name.then(a.abs_diff(channel).cmp(&b.abs_diff(channel)))
        });
        near
    }

    /// Notes which of these channels have no tags: such a channel is a row of zeros, and the user may have meant
    /// another one. The note lists channels that have tags, the most similar first. A run without any is only told so: it may
    /// be recorded.
    pub fn note_dark(&self, run: &Run, mut channels: Vec<u16>, progress: &dyn Progress) {
        let present: Vec<u16> = run.store().manifest().channels.iter().map(|c| c.channel).collect();
        if present.is_empty() && !channels.is_empty() {
            return progress.note(&format!("{}: no tags yet", run.path().display()));
        }
        channels.sort_unstable();
        channels.dedup();
        channels.retain(|channel| present.binary_search(channel).is_err());
        for channel in channels {
            let (name, path) = (self.name_of(channel), run.path().display());
            if run.sync_period(channel).is_some() {
                progress.note(&format!(
                    "channel {name} has no tags in {path}: its sync pulses are not recorded as tags and count zero; a \
                     histogram can count from them, with {name} as its start"
                ));
                continue;
            }
            let near = self.nearest_first(channel, &present);
            let near: Vec<String> = near.into_iter().map(|c| self.name_of(c)).collect();
            let others = match &near[..] {
                [only] => format!("the only one that has is {only}"),
                near => format!("those that have, the nearest first: {}", near.join(", ")),
            };
            progress.note(&format!("channel {name} has no tags in {path}; {others}"));
        }
    }

    /// Returns the name of a channel, or its number if it has none.
    pub fn name_of(&self, channel: u16) -> String {
        self.named(channel).map_or_else(|| channel.to_string(), str::to_owned)
    }

    /// Returns the name of a channel, if it has one.
    pub fn named(&self, channel: u16) -> Option<&str> {
        let place = self.names.binary_search_by_key(&channel, |(number, _)| *number).ok()?;
        Some(&self.names[place].1)
    }
}

fn count_of(group: &[u16], channel: u16) -> usize {
    group.iter().filter(|&&other| other == channel).count()
}

/// Returns the place and the reason of an unknown key.
fn unknown_key(text: &str, key: &str) -> String {
    let is_of = |line: &str| {
        let rest = line.trim_start().trim_start_matches(['"', '\'']).strip_prefix(key);
        rest.is_some_and(|rest| rest.trim_start_matches(['"', '\'', ' ']).starts_with('='))
    };
    let line =
        text.lines().position(is_of).map_or(String::new(), |at| format!("line {}: ", at + 1));
    format!(
        "{line}unknown field `{key}`, expected one of `tick`, `channels`, `delays`, `groups` or a table of the options \
         of a query, such as [coincidences]"
    )
}

/// Returns the place and the reason of a syntax error, on one line.
fn place_and_reason(text: &str, error: &toml::de::Error) -> String {
    let reason = error.message().replace('\n', ", ");
    match error.span().and_then(|span| text.get(..span.start)) {
        Some(before) => format!("line {}: {reason}", before.matches('\n').count() + 1),
        None => reason,
    }
}

fn cannot_read(path: &Path) -> impl FnOnce(io::Error) -> Error {
    move |source| match source.kind() {
        io::ErrorKind::NotFound => Error::NoSuchPath { path: path.into() },
        // Not all systems say that it is a folder.
        kind if kind == io::ErrorKind::InvalidData || path.is_dir() => Error::Setup {
            path: path.into(),
            reason: "a setup is a text file; `tagq init` writes one".into(),
        },
        _ => Error::Io { path: path.into(), action: "read this setup", source },
    }
}

/// Returns the names that sources give to channels; none if the run cannot be read, which opening it reports.
fn recorded_names(run: &Path) -> Vec<(u16, String)> {
    // A folder whose sources are all in nested folders can be opened only if these are asked for.
    let found = RunLocation::find(run, None, false).or_else(|_| RunLocation::find(run, None, true));
    let Ok(location) = found else { return Vec::new() };
    if let Ok(Some(manifest)) = Manifest::read(&location.store) {
        return names_in(&manifest);
    }
    // Names in texts have the same numbers in all of them, which a single one tells.
    let sources = location.sources.unwrap_or_default();
    let settings = Settings::default();
    let header = sources
        .first()
        .and_then(|path| SourceFile::open(path).ok()?.header(&settings).ok().flatten())
        .filter(|header| sources.len() == 1 || !header.are_names_counted);
    header.map_or(Vec::new(), |header| header.channel_names)
}

fn names_in(manifest: &Manifest) -> Vec<(u16, String)> {
    let recordings = manifest.sources.iter().filter_map(|source| source.facts.recording.as_ref());
    recordings.flat_map(|recording| recording.channel_names.clone()).collect()
}

/// Returns the similarity of two names, from 0 to 1.
fn likeness(name: &str, other: &str) -> f64 {
    strsim::jaro_winkler(&name.to_lowercase(), &other.to_lowercase())
}

/// Returns the folder that contains the sources of a run.
fn folder_of(run: &Path) -> PathBuf {
    let is_store = run.join(tagq_store::MANIFEST_NAME).is_file();
    let folder = if is_store || run.is_file() { run.parent() } else { Some(run) };
    folder.unwrap_or(Path::new("")).into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn read(text: &str) -> Result<Setup, String> {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("tagq.toml"), text).unwrap();
        Setup::of(folder.path(), None).map_err(|e| e.to_string())
    }

    #[test]
    fn a_setup_names_channels_and_uses_the_names() {
        let setup = read(
            "tick = '4ps'\ngroups = [['Alice-H', 15], [3, 16]]\n\
             [channels]\n3 = 'Alice-H'\n15 = 'Bob-V'\n\
             [delays]\n'Bob-V' = '-4.0625ns'\n16 = '3t'\n",
        )
        .unwrap();
        assert_eq!(setup.tick, Some("4ps".parse().unwrap()));
        assert_eq!(setup.groups, [[3, 15], [3, 16]]);
        let delays: Vec<(u16, &str)> =
            setup.delays.iter().map(|(channel, delay)| (*channel, delay.asked())).collect();
        assert_eq!(delays, [(16, "3t"), (15, "-4.0625ns")]);
        assert_eq!((setup.name_of(3), setup.name_of(4)), ("Alice-H".into(), "4".into()));
        let unknown = setup.channel(&Channel::Name("alice-V".into())).unwrap_err().to_string();
        assert!(unknown.contains("did you mean Alice-H?"), "{unknown}");
        let unknown = setup.channel(&Channel::Name("xyz".into())).unwrap_err().to_string();
        assert!(unknown.contains("the names are Alice-H, Bob-V"), "{unknown}");
    }

    #[test]
    fn channels_are_offered_nearest_first() {
        let setup =
            read("[channels]\n1 = 'Alice-H'\n2 = 'Alice-V'\n9 = 'Bob-V'\n8 = 'Bob-H'\n").unwrap();
        assert_eq!(setup.nearest_first(7, &[1, 2, 6, 8, 9]), [6, 8, 9, 2, 1]);
        assert_eq!(setup.nearest_first(8, &[1, 2, 7, 9]), [9, 1, 2, 7]);
        assert_eq!(setup.nearest_first(3, &[]), [0; 0]);
    }

    #[test]
    fn what_is_wrong_with_a_setup_is_said() {
        for (text, reason) in [
            ("tick = '4'", "tick"),
            ("[channels]\nx = 'a'", "`x` is no channel number"),
            ("[channels]\n1 = 'a'\n2 = 'a'", "two channels are called `a`"),
            ("[channels]\n1 = '7'", "`7` cannot be a name"),
            ("[channels]\n1 = \"a\\u001b[31m\"", "cannot be a name"),
            ("[channels]\n1 = \"a\\nb\"", "cannot be a name"),
            ("[channels]\n1 = \"a\\u202eb\"", "cannot be a name"),
            ("[channels]\n1 = 'a\u{2066}b'", "cannot be a name"),
            ("[delays]\nBob = '1ns'", "Bob"),
            ("[delays]\n1 = '1'", "has no unit"),
            (
                "[channels]\n3 = 'Alice'\n[delays]\n3 = '1ns'\nAlice = '2ns'",
                "channel 3 (Alice) has two delays, 1ns and 2ns",
            ),
            ("[delays]\n3 = '1ns'\n03 = '1ns'", "channel 3 has two delays"),
            ("[channels]\n3 = 'a'\n03 = 'b'", "channel 3 has two names"),
            ("groups = [['a', 3]]\n[channels]\n3 = 'a'", "channel 3 (a) twice"),
            ("delay = 3", "unknown field `delay`"),
            ("tick = ", "line 1"),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.contains(reason) && error.contains("tagq.toml"), "{text}: {error}");
        }
        assert_eq!(read("").unwrap().names, []);
    }

    #[test]
    fn a_file_and_a_store_share_the_setup_of_their_folder() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("tagq.toml"), "tick = '4ps'").unwrap();
        let file = folder.path().join("a.tags");
        fs::write(&file, "").unwrap();
        let store = folder.path().join(".tagq");
        fs::create_dir(&store).unwrap();
        fs::write(store.join("manifest.json"), "").unwrap();
        for run in [folder.path(), &file, &store] {
            assert!(Setup::of(run, None).unwrap().tick.is_some(), "{}", run.display());
        }
        let missing = Setup::of(folder.path(), Some(Path::new("/no/such/setup")));
        assert!(matches!(missing, Err(Error::NoSuchPath { .. })));
    }
}
