//! `tagq help`: the help of a command, and topics that no command has for itself.
//!
//! `tagq help veto` shows the help of `coincidences`, and `tagq hist` is `tagq histogram`. Each command that is not
//! hidden is in exactly one family of the list, which a test checks.

use std::fmt::Write as _;

use clap::{Command, error::ErrorKind};
use console::strip_ansi_codes;
use tagq::QUERY_TYPES;

use crate::wrapped::broken;

/// Help on a command, or on what is counted: rules, windows
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  tagq help rules
  tagq help coincidences")]
pub(crate) struct HelpArgs {
    /// rules, windows, or a command
    #[arg(value_name = "TOPIC")]
    words: Vec<String>,
}

/// Topics that can be explained apart from commands.
const TOPICS: [(&str, &str); 2] =
    [("rules", include_str!("topics/rules.txt")), ("windows", include_str!("topics/windows.txt"))];

/// Words that a person looks for, and the command or topic whose help explains them.
const EXPLAINED: [(&str, &[&str]); 5] = [
    ("coincidences", &["accidentals", "car", "efficiency", "heralding", "klyshko", "veto"]),
    ("windows", &["units", "durations", "duration", "ticks", "tick", "full-width", "window"]),
    ("rules", &["rule"]),
    ("derive", &["gates", "gate", "derived", "definitions"]),
    ("delays", &["delay", "skew", "offsets"]),
];

/// The commands as a person looks for them.
const FAMILIES: [(&str, &[&str]); 6] = [
    // After the types of queries.
    ("Ask", &["scan", "fit", "reproduce"]),
    ("Watch", &["watch", "serve"]),
    ("Many", &["runs", "plan", "partial"]),
    ("Stores", &["ingest", "merge", "derive", "info", "verify", "init", "name", "set"]),
    ("Files", &["cat", "convert", "export", "formats", "simulate", "demo"]),
    ("Other", &["doctor", "completions", "help"]),
];

/// Returns the commands of a family.
fn names_of(family: &str, names: &[&'static str]) -> Vec<&'static str> {
    let queries = QUERY_TYPES.iter().map(|of| of.name).filter(|_| family == FAMILIES[0].0);
    queries.chain(names.iter().copied()).collect()
}

/// Columns that the list of commands fits.
const WIDTH: usize = 80;

impl HelpArgs {
    /// Prints what was asked for, and ends the program.
    pub(crate) fn answer(&self, mut program: Command) -> ! {
        // To clap a topic is one more command, so that one that is misspelt is offered, too.
        let topic =
            |(name, text): (&'static str, &'static str)| Command::new(name).override_help(text);
        let known = program.clone().subcommands(TOPICS.map(topic));
        let known = EXPLAINED.into_iter().fold(known, |known, (name, others)| {
            known.mut_subcommand(name, |command| command.aliases(others))
        });
        let mut words = vec![known.get_name().to_owned()];
        words.extend(self.words.iter().map(|word| word.to_lowercase()));
        words.push("--help".to_owned());
        let none = || program.error(ErrorKind::InvalidSubcommand, "there is no such help");
        known.try_get_matches_from(words).err().unwrap_or_else(none).exit()
    }
}

/// Other words for commands. The beginning of a word answers, too, if it is that of no other command.
const SYNONYMS: [(&str, &[&str]); 15] = [
    ("coincidences", &["count", "pairs"]),
    ("histogram", &["hist", "startstop", "start-stop"]),
    ("g2", &["correlate", "correlation", "hbt"]),
    ("histogram2d", &["hist2d", "g3", "map"]),
    ("image", &["flim"]),
    ("micro", &["lifetime", "tcspc"]),
    ("rates", &["singles", "counts", "countrate", "trace"]),
    ("delays", &["align"]),
    ("runs", &["ls", "list", "find"]),
    ("ingest", &["import", "load"]),
    ("info", &["show", "stat"]),
    ("verify", &["check", "fsck"]),
    ("cat", &["print", "dump", "head"]),
    ("watch", &["live", "follow", "monitor"]),
    ("simulate", &["generate"]),
];

/// Returns the program with other words for its commands.
pub(super) fn with_synonyms(program: Command) -> Command {
    SYNONYMS.into_iter().fold(program.infer_subcommands(true), |program, (name, others)| {
        program.mut_subcommand(name, |command| command.aliases(others))
    })
}

/// `command` with its commands in families.
pub(super) fn in_families(command: Command) -> Command {
    let styles = command.get_styles();
    let (head, literal) = (*styles.get_header(), *styles.get_literal());
    let mut text = String::from("{about}\n\n{usage-heading} {usage}\n");
    for (family, names) in FAMILIES {
        let _ = writeln!(text, "\n{head}{family}:{head:#}");
        for name in names_of(family, names) {
            let Some(of) = command.find_subcommand(name) else { continue };
            let about = of.get_about().map(ToString::to_string).unwrap_or_default();
            let about = broken(&strip_ansi_codes(&about), 0, WIDTH - INDENT);
            let lines: Vec<&str> = about.lines().collect();
            let _ = write!(text, "  {literal}{name}{literal:#}{:1$}", "", INDENT - 2 - name.len());
            let _ = writeln!(text, "{}", lines.join(&format!("\n{:INDENT$}", "")));
        }
    }
    text.push_str("\n{options}\n\n");
    let _ = write!(
        text,
        "{head}More:{head:#}\n  \
         {literal}tagq help rules{literal:#}    which tags make a coincidence, with pictures\n  \
         {literal}tagq help windows{literal:#}  how far apart they may be\n  \
         {literal}tagq help COMMAND{literal:#}  all of a command, with examples\n"
    );
    command.help_template(text)
}

/// Where the second column begins.
const INDENT: usize = 16;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_command_is_in_one_family() {
        let command = crate::args::program();
        let named: Vec<&str> =
            FAMILIES.iter().flat_map(|(family, names)| names_of(family, names)).collect();
        for of in command.get_subcommands() {
            let families = named.iter().filter(|name| **name == of.get_name()).count();
            assert_eq!(families, usize::from(!of.is_hide_set()), "{}", of.get_name());
        }
        assert_eq!(command.get_subcommands().filter(|of| !of.is_hide_set()).count(), named.len());
    }

    #[test]
    fn topics_fit_a_terminal() {
        let g2 = include_str!("topics/g2.txt");
        for text in TOPICS.map(|(_, text)| text).into_iter().chain([g2]) {
            for line in text.lines() {
                assert!(line.chars().count() <= WIDTH, "{line}");
            }
        }
    }
}
