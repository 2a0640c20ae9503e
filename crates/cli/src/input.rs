//! Standard input, named `-` in place of a run or a file. It can be read once, so that it is set aside in a temporary
//! file, which a signal removes as well, and may be named once in a command.

use std::{
    env,
    io::stdin,
    path::{Path, PathBuf},
};

use tagq::{Input, OpenOptions, Run, requests::Setup};

use crate::{Usage, args::SetupArgs, progress::Reporter};

/// Returns whether the name means standard input.
pub(crate) fn is_stdin(path: &Path) -> bool {
    path == Path::new("-")
}

/// Checks that standard input is named at most once, because it can be read once.
pub(crate) fn check_once(paths: &[PathBuf]) -> Result<(), Usage> {
    if paths.iter().filter(|path| is_stdin(path)).count() > 1 {
        return Err(Usage("`-` stands twice; standard input can be read once".into()));
    }
    Ok(())
}

/// Returns the setup that the user named, else the one in the folder of the run, if any, with the names that the
/// sources give to channels. Notes which one is used.
pub(crate) fn setup(path: &Path, args: &SetupArgs) -> Result<Setup, tagq::RunError> {
    let setup = written_setup(path, args)?;
    Ok(if is_stdin(path) { setup } else { setup.with_names_of(path) })
}

/// Returns the same setup without the names that the sources give to channels.
pub(crate) fn written_setup(path: &Path, args: &SetupArgs) -> Result<Setup, tagq::RunError> {
    let asked = args.setup.as_deref();
    if args.no_setup || is_stdin(path) && asked.is_none() {
        return Ok(Setup::default());
    }
    Setup::written(path, asked)
}

/// Opens a run, or standard input as a run.
pub(crate) fn open(path: &Path, options: &OpenOptions, reporter: &Reporter) -> anyhow::Result<Run> {
    if !is_stdin(path) {
        return Ok(tagq::open(path, options, reporter)?);
    }
    if options.store.is_some() || !options.ingest {
        return Err(Usage(
            "a question to standard input has a store of its own that is removed again; `tagq ingest \
             - --store DIR` keeps one"
                .into(),
        )
        .into());
    }
    let input = set_aside(&env::temp_dir(), reporter)?;
    Ok(tagq::open_input(&input, options, reporter)?)
}

/// Buffers standard input in a file in `folder`.
pub(crate) fn set_aside(folder: &Path, reporter: &Reporter) -> Result<Input, tagq::RunError> {
    Input::set_aside(stdin().lock(), folder, reporter)
}
