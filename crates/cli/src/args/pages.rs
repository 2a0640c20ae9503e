//! Generated from the command line: shell completions and manual pages.

use std::{
    io::{self, Write as _},
    path::PathBuf,
};

use clap::{Command, builder::StyledStr};
use clap_complete::Shell;
use clap_mangen::Man;
use tagq::{Destination, NewFile, Silent};

/// Print the completions of commands and options for a shell
///
/// The shell reads this text when it starts, from the path in the examples, or with
/// `source <(tagq completions bash)`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  tagq completions bash > ~/.local/share/bash-completion/completions/tagq
  tagq completions zsh > ~/.zfunc/_tagq
  tagq completions fish > ~/.config/fish/completions/tagq.fish")]
pub(crate) struct CompletionsArgs {
    /// The shell
    #[arg(value_enum, value_name = "SHELL")]
    shell: Shell,
}

impl CompletionsArgs {
    /// Prints the completions.
    pub(crate) fn print(&self, mut program: Command) -> io::Result<()> {
        let mut text = Vec::new();
        clap_complete::generate(self.shell, &mut program, "tagq", &mut text);
        let mut out = io::stdout().lock();
        out.write_all(&text)?;
        out.flush()
    }
}

/// Write the manual pages into a folder
#[derive(Debug, clap::Args)]
pub(crate) struct ManArgs {
    /// The folder, which must exist
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// Replace pages that are there
    #[arg(long)]
    force: bool,
}

impl ManArgs {
    /// Writes a page for the program and one for each command.
    pub(crate) fn write(&self, program: Command) -> anyhow::Result<()> {
        let mut program = program.disable_help_flag(true);
        program.build();
        for command in program.get_subcommands().filter(|command| !command.is_hide_set()) {
            self.page(command)?;
        }
        self.page(&program)
    }

    fn page(&self, command: &Command) -> anyhow::Result<()> {
        let name = command.get_display_name().unwrap_or_else(|| command.get_name());
        let path = self.folder.join(format!("{name}.1"));
        let to = Destination { path: &path, force: self.force, reads: &[] };
        let fresh = NewFile::create(&to, &Silent)?;
        let mut file = fresh.file()?;
        file.write_all(&page(command)?)?;
        Ok(fresh.keep(&file)?)
    }
}

/// Returns the page of one command. Its examples keep their line breaks.
fn page(command: &Command) -> io::Result<Vec<u8>> {
    let after = command.get_after_long_help().or_else(|| command.get_after_help());
    let after = after.map(StyledStr::to_string).unwrap_or_default();
    let bare = command.clone().after_help(None).after_long_help(None);
    let mut page = Vec::new();
    Man::new(bare).render(&mut page)?;
    for part in after.split("\n\n").filter(|part| !part.trim().is_empty()) {
        let (head, text) = match part.strip_prefix("Examples:\n") {
            Some(examples) => ("EXAMPLES", examples),
            None => ("NOTES", part),
        };
        writeln!(page, ".SH {head}\n.nf")?;
        plain(text, &mut page)?;
        writeln!(page, ".fi")?;
    }
    Ok(page)
}

/// Writes lines literally: escapes all characters that roff would interpret.
fn plain(text: &str, page: &mut Vec<u8>) -> io::Result<()> {
    for line in text.lines() {
        let line = line.replace('\\', "\\e").replace('-', "\\-").replace('\'', "\\(aq");
        writeln!(page, "\\&{line}")?;
    }
    Ok(())
}
