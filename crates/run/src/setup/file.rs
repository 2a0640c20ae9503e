//! Editing of a setup: the text of the user is preserved, including comments.

use std::{
    io::Write as _,
    path::{Path, PathBuf},
};

use tagq_derived::{Expression, Operand};
use tagq_store::{Duration, Tick};
use toml_edit::{DocumentMut, Item, Table, Value, value};

use crate::{destination::Destination, error::Error, new_file::NewFile, progress::Progress};
use crate::{setup::arguments::Channel, setup::experiment::Setup};

/// A `tagq.toml` that is being edited.
#[derive(Debug)]
pub struct SetupFile {
    path: PathBuf,
    document: DocumentMut,
    setup: Setup,
}

impl SetupFile {
    /// Opens the file at `path`, or starts a new one.
    ///
    /// # Errors
    /// [`Error::Setup`] if its current content is invalid, [`Error::Io`].
    pub fn open(path: &Path) -> Result<Self, Error> {
        let text = match Setup::text_at(path) {
            Err(Error::NoSuchPath { .. }) => String::new(),
            text => text?,
        };
        let setup = Setup::parse(path, &text)?;
        let wrong = |reason: toml_edit::TomlError| Error::Setup {
            path: path.into(),
            reason: reason.to_string(),
        };
        Ok(Self { path: path.into(), document: text.parse().map_err(wrong)?, setup })
    }

    /// Returns its current content.
    pub fn setup(&self) -> &Setup {
        &self.setup
    }

    /// Replaces the tick in the setup of a run, with a note, if it states another one: it would be asked for again.
    ///
    /// # Errors
    /// Same as [`Self::open`] and [`Self::save`].
    pub fn replace_tick(run: &Path, tick: Tick, progress: &dyn Progress) -> Result<(), Error> {
        let mut file = Self::open(&Setup::place(run))?;
        let stated = file.document.get_mut("tick").and_then(Item::as_value_mut);
        let Some(stated) = stated.filter(|_| file.setup.tick != Some(tick)) else { return Ok(()) };
        let decor = stated.decor().clone();
        *stated = tick.paste().into();
        *stated.decor_mut() = decor;
        file.reread()?;
        file.save(progress)?;
        progress.note(&format!("{}: its tick is {} now", file.path.display(), tick.exact()));
        Ok(())
    }

    /// Sets the delay of a channel; zero removes an existing one.
    ///
    /// # Errors
    /// [`Error::Setup`] if `[delays]` is not a table.
    pub fn set_delay(
        &mut self,
        channel: u16,
        delay: &Duration,
        is_zero: bool,
    ) -> Result<(), Error> {
        let name = self.setup.name_of(channel);
        let number = channel.to_string();
        let delays = self.table("delays")?;
        let key = if delays.contains_key(&number) { number } else { name };
        if is_zero {
            delays.remove(&key);
        } else {
            delays.insert(&key, value(delay.asked()));
        }
        self.reread()
    }

    /// Sets the name of a channel, replacing an existing one; without a name the channel has only its
    /// number.
    ///
    /// # Errors
    /// [`Error::Setup`] for a name that another channel has, or that is not allowed.
    pub fn set_name(&mut self, channel: u16, name: Option<&str>) -> Result<(), Error> {
        if let Some(name) = name
            && !matches!(name.parse(), Ok(Channel::Name(parsed)) if parsed == name)
        {
            return Err(self.wrong(format!(
                "`{name}` cannot be a name: a name begins with neither a digit nor -, and has no comma, \
                 no = and no character that cannot be shown; write one as Alice-H"
            )));
        }
        let before = self.setup.name_of(channel);
        let number = channel.to_string();
        let channels = self.table("channels")?;
        match name {
            Some(name) => _ = channels.insert(&number, value(name)),
            None => _ = channels.remove(&number),
        }
        // References in delays and groups are changed to the new name.
        let now = name.map_or(number, str::to_owned);
        if now != before {
            self.rename(&before, &now, channel)?;
        }
        self.reread()
    }

    /// Writes the file to its path, completely or not at all. If the path is a link, the file that it
    /// points to is replaced, because it may be the setup of other runs, too.
    ///
    /// # Errors
    /// [`Error::Io`], also for a link whose target does not exist.
    pub fn save(&self, progress: &dyn Progress) -> Result<(), Error> {
        let target = if self.path.is_symlink() {
            let failed = |source| Error::Io {
                path: self.path.clone(),
                action: "follow this link to the setup",
                source,
            };
            dunce::canonicalize(&self.path).map_err(failed)?
        } else {
            self.path.clone()
        };
        let to = Destination { path: &target, force: true, reads: &[] };
        let fresh = NewFile::create(&to, progress)?;
        let mut file = fresh.file()?;
        let written = file.write_all(self.document.to_string().as_bytes());
        let failed = |source| Error::Io { path: self.path.clone(), action: "write", source };
        written.map_err(failed)?;
        fresh.keep(&file)
    }

    /// Changes everything that names a channel after its name has changed: delays, groups, definitions, and options of
    /// queries.
    fn rename(&mut self, before: &str, now: &str, channel: u16) -> Result<(), Error> {
        let delays = self.table("delays")?;
        if let Some(delay) = delays.remove(before) {
            delays.insert(now, delay);
        }
        let is_name = now.parse::<u16>().is_err();
        let renaming = Renaming {
            before,
            now: if is_name { Operand::Name(now.into()) } else { Operand::Number(channel) },
        };
        let mut stated = None;
        for (key, item) in self.document.iter_mut() {
            match item {
                Item::Value(groups) => renaming.change(groups, true),
                Item::Table(table) if key != "channels" && key != "delays" => {
                    for (option, item) in table.iter_mut() {
                        let Item::Value(text) = item else { continue };
                        renaming.change(text, false);
                        // It is a channel, or a word such as the name of a rule. Numbers stay valid.
                        if text.as_str() == Some(before) && before.parse::<u16>().is_err() {
                            stated = Some(format!("[{key}] has {option} = \"{before}\""));
                        }
                    }
                }
                _ => {}
            }
        }
        match stated {
            Some(stated) => Err(self.wrong(format!("{stated}; change it there first"))),
            None => Ok(()),
        }
    }

    fn table(&mut self, name: &str) -> Result<&mut Table, Error> {
        let wrong = self.wrong(format!("[{name}] is no table"));
        if !self.document.contains_key(name) {
            // After the comments at the end of the file, which would follow the new table otherwise.
            let before =
                self.document.trailing().as_str().unwrap_or_default().trim_end().to_owned();
            let mut table = Table::new();
            if !before.is_empty() {
                table.decor_mut().set_prefix(format!("{before}\n\n"));
                self.document.set_trailing("");
            }
            self.document.insert(name, Item::Table(table));
        }
        let item = self.document.entry(name).or_insert_with(|| Item::Table(Table::new()));
        item.as_table_mut().ok_or(wrong)
    }

    /// Checks that the edited text is a valid setup.
    fn reread(&mut self) -> Result<(), Error> {
        for name in ["delays", "channels"] {
            let is_empty =
                self.document.get(name).and_then(Item::as_table).is_some_and(Table::is_empty);
            if is_empty {
                self.document.remove(name);
            }
        }
        self.setup = Setup::parse(&self.path, &self.document.to_string())?;
        Ok(())
    }

    fn wrong(&self, reason: String) -> Error {
        Error::Setup { path: self.path.clone(), reason }
    }
}

/// Another name of a channel, or its number, in place of a name.
struct Renaming<'a> {
    before: &'a str,
    now: Operand,
}

impl Renaming<'_> {
    /// Changes the texts in a value that name the channel: definitions, and names in lists.
    fn change(&self, of: &mut Value, is_in_list: bool) {
        if let Value::Array(list) = of {
            return list.iter_mut().for_each(|member| self.change(member, true));
        }
        let Some(text) = of.as_str() else { return };
        let now = match &self.now {
            _ if text != self.before || !is_in_list => self.definition(text).map(Value::from),
            Operand::Name(name) => Some(name.as_str().into()),
            Operand::Number(number) => Some(i64::from(*number).into()),
        };
        if let Some(mut now) = now {
            *now.decor_mut() = of.decor().clone();
            *of = now;
        }
    }

    /// Returns a definition, or a name and a definition, that names the channel, with the other name.
    fn definition(&self, text: &str) -> Option<String> {
        let renamed = |text: &str| {
            let definition: Expression = text.parse().ok()?;
            Some(definition.renamed(self.before, &self.now)?.to_string())
        };
        let with_name = || {
            let (name, text) = text.split_once('=')?;
            Some(format!("{} = {}", name.trim(), renamed(text)?))
        };
        renamed(text).or_else(with_name)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::progress::Silent;

    const WRITTEN: &str = "\
# the bench in room 3
tick = '156.25ps'
groups = [['Alice', 15], [3, 16]]

[channels]
3 = 'Alice' # H

[delays]
Alice = '1ns'
16 = '2ns'
";

    fn file(text: &str) -> (tempfile::TempDir, SetupFile) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("tagq.toml");
        fs::write(&path, text).unwrap();
        let file = SetupFile::open(&path).unwrap();
        (folder, file)
    }

    fn duration(text: &str) -> Duration {
        text.parse().unwrap()
    }

    #[test]
    fn what_was_written_stays_but_for_what_is_set() {
        let (folder, mut file) = file(WRITTEN);
        file.set_delay(3, &duration("-4.0625ns"), false).unwrap();
        file.set_delay(15, &duration("3t"), false).unwrap();
        file.set_delay(16, &duration("0t"), true).unwrap();
        file.save(&Silent).unwrap();
        let text = fs::read_to_string(folder.path().join("tagq.toml")).unwrap();
        let expected =
            WRITTEN.replace("Alice = '1ns'\n16 = '2ns'\n", "Alice = \"-4.0625ns\"\n15 = \"3t\"\n");
        assert_eq!(text, expected);
        assert_eq!(Setup::of(folder.path(), None).unwrap().delays.len(), 2);
    }

    #[test]
    fn a_name_is_changed_wherever_it_stands() {
        let (folder, mut file) = file(WRITTEN);
        file.set_name(3, Some("Alice-H")).unwrap();
        file.set_name(15, Some("Bob")).unwrap();
        assert_eq!(file.setup().name_of(3), "Alice-H");
        assert_eq!(file.setup().groups, [[3, 15], [3, 16]]);
        assert_eq!(file.setup().delays.len(), 2);
        file.set_name(3, None).unwrap();
        assert_eq!(file.setup().groups, [[3, 15], [3, 16]]);
        let taken = file.set_name(4, Some("Bob")).unwrap_err().to_string();
        assert!(taken.contains("two channels are called `Bob`"), "{taken}");
        for bad in ["7up", "-", "a,b", "a=b", "", "a\u{1b}[31m", "a\nb", "\u{202e}a"] {
            let (_folder, mut file) = self::file(WRITTEN);
            assert!(file.set_name(4, Some(bad)).is_err(), "{bad}");
        }
        drop(folder);
    }

    #[test]
    fn definitions_and_options_of_queries_take_the_new_name() {
        let text = "[channels]\n1 = \"alice\"\n2 = \"bob\"\n[derived]\nlate = \"alice & bob within 5ns\" # late\n\
                    [gates]\nopen = \"alice .. bob\"\n[coincidences]\nrule = \"all\"\n\
                    channels = [\"alice\", \"bob\"]\nby = \"bob .. alice\"\nderive = [\"x = alice & bob within 1ns\"]\n";
        let (_folder, mut file) = file(text);
        file.set_name(1, Some("second arm")).unwrap();
        let expected = "[channels]\n1 = \"second arm\"\n2 = \"bob\"\n[derived]\nlate = '\"second arm\" & bob within 5ns' # late\n\
                        [gates]\nopen = '\"second arm\" .. bob'\n[coincidences]\nrule = \"all\"\n\
                        channels = [\"second arm\", \"bob\"]\nby = 'bob .. \"second arm\"'\n\
                        derive = ['x = \"second arm\" & bob within 1ns']\n";
        assert_eq!(file.document.to_string(), expected);
        file.set_name(1, None).unwrap();
        assert!(file.document.to_string().contains("late = \"1 & bob within 5ns\" # late"));
        // An option may be a channel or another word.
        let (_folder, mut file) =
            self::file("[channels]\n1 = \"once\"\n[coincidences]\nrule = \"once\"\n");
        let refused = file.set_name(1, Some("alice")).unwrap_err().to_string();
        assert!(
            refused.contains("[coincidences] has rule = \"once\"; change it there first"),
            "{refused}"
        );
    }

    #[test]
    fn a_new_file_has_what_was_set_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("tagq.toml");
        let mut file = SetupFile::open(&path).unwrap();
        file.set_name(1, Some("Idler")).unwrap();
        file.save(&Silent).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "[channels]\n1 = \"Idler\"\n");
        fs::write(&path, "tick = 3").unwrap();
        assert!(matches!(SetupFile::open(&path), Err(Error::Setup { .. })));
    }
}
