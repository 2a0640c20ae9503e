//! The archive of a target: one folder with the program, its manual pages, completions and documents.

use std::{
    fs,
    io::{self, Write as _},
    path::{Path, PathBuf},
    process::Command,
};

use zip::{ZipWriter, write::SimpleFileOptions};

use super::{Goods, copy_folder, licenses, place};
use crate::{targets::System, tools::succeed};

/// Writes the archive: one folder. The same commit gives the same bytes.
pub(crate) fn archive(goods: &Goods, work: &Path, dist: &Path) -> io::Result<PathBuf> {
    let name = format!("tagq-{}-{}", goods.version, goods.target.triple);
    let folder = work.join(&name);
    fs::create_dir(&folder)?;
    place(&goods.program, &folder.join(goods.program_name()))?;
    copy_folder(&goods.completions, &folder.join("completions"))?;
    for document in &goods.documents {
        place(&goods.root.join(document), &folder.join(document))?;
    }
    place(&goods.licenses, &folder.join(licenses::NAME))?;
    if goods.target.system == System::Windows {
        return zip(work, &name, dist);
    }
    copy_folder(&goods.man, &folder.join("man"))?;
    let path = dist.join(format!("{name}.tar.gz"));
    let tar = dist.join(format!("{name}.tar"));
    succeed(
        Command::new("tar")
            .args(["--sort=name", "--owner=0", "--group=0", "--numeric-owner"])
            .arg("--mode=u=rwX,go=rX")
            .arg(format!("--mtime=@{}", goods.moment))
            .arg("-C")
            .arg(work)
            .arg("-cf")
            .arg(&tar)
            .arg(&name),
    )?;
    succeed(Command::new("gzip").args(["-9", "--no-name", "--force"]).arg(tar))?;
    Ok(path)
}

/// Writes the folder `name` in `work` as a ZIP file.
fn zip(work: &Path, name: &str, dist: &Path) -> io::Result<PathBuf> {
    let path = dist.join(format!("{name}.zip"));
    let mut zip = ZipWriter::new(fs::File::create(&path)?);
    let (mut folders, mut files) = (vec![PathBuf::from(name)], Vec::new());
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(work.join(&folder))? {
            let entry = entry?;
            let inside = folder.join(entry.file_name());
            if entry.file_type()?.is_dir() { folders.push(inside) } else { files.push(inside) }
        }
    }
    files.sort();
    for file in files {
        // Without a time of its own each file has that of 1980.
        let options = SimpleFileOptions::default().last_modified_time(zip::DateTime::default());
        zip.start_file(file.to_string_lossy().replace('\\', "/"), options)?;
        zip.write_all(&fs::read(work.join(file))?)?;
    }
    zip.finish()?;
    Ok(path)
}
