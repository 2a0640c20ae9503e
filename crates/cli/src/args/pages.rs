//! Generated from the command line: shell completions and manual pages.

use std::{
    fs,
    io::{self, Write as _},
    path::{Path, PathBuf},
};

use clap::{Command, builder::StyledStr};
use clap_complete::Shell;
use clap_mangen::Man;

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
}

impl ManArgs {
    /// Writes a page for the program and one for each command.
    pub(crate) fn write(&self, program: Command) -> io::Result<()> {
        let mut program = program.disable_help_flag(true);
        program.build();
        for command in program.get_subcommands().filter(|command| !command.is_hide_set()) {
            page(command, &self.folder)?;
        }
        page(&program, &self.folder)
    }
}

/// Writes the page of one command. Its examples keep their line breaks.
fn page(command: &Command, folder: &Path) -> io::Result<()> {
    let name = command.get_display_name().unwrap_or_else(|| command.get_name()).to_owned();
    let behind = command.get_after_long_help().or_else(|| command.get_after_help());
    let behind = behind.map(StyledStr::to_string).unwrap_or_default();
    let bare = command.clone().after_help(None).after_long_help(None);
    let mut page = Vec::new();
    Man::new(bare).render(&mut page)?;
    for part in behind.split("\n\n").filter(|part| !part.trim().is_empty()) {
        let (head, text) = match part.strip_prefix("Examples:\n") {
            Some(examples) => ("EXAMPLES", examples),
            None => ("NOTES", part),
        };
        writeln!(page, ".SH {head}\n.nf")?;
        plain(text, &mut page)?;
        writeln!(page, ".fi")?;
    }
    fs::write(folder.join(format!("{name}.1")), page)
}

/// Writes lines literally: escapes all characters that roff would interpret.
fn plain(text: &str, page: &mut Vec<u8>) -> io::Result<()> {
    for line in text.lines() {
        let line = line.replace('\\', "\\e").replace('-', "\\-").replace('\'', "\\(aq");
        writeln!(page, "\\&{line}")?;
    }
    Ok(())
}
