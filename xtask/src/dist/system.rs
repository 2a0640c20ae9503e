//! The oldest system that a program runs on, read from the program.

use std::io;

use object::{
    Endianness,
    read::macho::{LoadCommandVariant, MachOFile64},
};

use crate::targets::{System, Target};

/// The oldest glibc that runs the program and loads the wheel, 2.x: that of Debian 10, RHEL 8 and Ubuntu 18.10.
pub(crate) const GLIBC: u32 = 28;

/// Checks that a program needs no newer system than PLATFORMS.md says: glibc 2.[`GLIBC`], or the oldest macOS of the target.
pub(crate) fn check_system(target: &Target, program: &[u8]) -> io::Result<()> {
    let (needs, allowed) = match target.system {
        System::Glibc => (glibc(program).map(|minor| (2, minor)), Some((2, GLIBC))),
        System::MacOs => (macos(program)?, Some(target.oldest_macos())),
        // No glibc.
        System::Musl | System::Windows => (glibc(program).map(|minor| (2, minor)), None),
    };
    if needs.is_some() == allowed.is_some() && needs <= allowed {
        return Ok(());
    }
    let version = |version: Option<(u32, u32)>| {
        version.map_or_else(|| "none".into(), |(major, minor)| format!("{major}.{minor}"))
    };
    let why = format!(
        "{}: the program needs version {} of the system's libraries; allowed is {}",
        target.triple,
        version(needs),
        version(allowed)
    );
    Err(io::Error::other(why))
}

/// Returns the newest glibc 2.x whose symbols a program needs.
pub(crate) fn glibc(program: &[u8]) -> Option<u32> {
    const MARK: &[u8] = b"GLIBC_2.";
    let minors = program.windows(MARK.len() + 2).filter(|bytes| bytes.starts_with(MARK));
    let minor = |bytes: &[u8]| {
        let digits = bytes[MARK.len()..].iter().take_while(|byte| byte.is_ascii_digit());
        digits.fold(None, |number: Option<u32>, byte| {
            Some(number.unwrap_or(0) * 10 + u32::from(byte - b'0'))
        })
    };
    minors.filter_map(minor).max()
}

/// Returns the oldest macOS that a program says that it runs on, as major and minor version.
fn macos(program: &[u8]) -> io::Result<Option<(u32, u32)>> {
    let file = MachOFile64::<Endianness>::parse(program).map_err(io::Error::other)?;
    let mut commands = file.macho_load_commands().map_err(io::Error::other)?;
    while let Some(command) = commands.next().map_err(io::Error::other)? {
        let version = match command.variant().map_err(io::Error::other)? {
            LoadCommandVariant::BuildVersion(build) => build.minos.get(file.endian()),
            LoadCommandVariant::VersionMin(oldest) => oldest.version.get(file.endian()),
            _ => continue,
        };
        return Ok(Some((version >> 16, version >> 8 & 0xff)));
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checked(triple: &str, program: &[u8]) -> Result<(), String> {
        check_system(Target::named(triple).unwrap(), program).map_err(|error| error.to_string())
    }

    #[test]
    fn the_glibc_of_a_release_is_checked() {
        checked("x86_64-unknown-linux-gnu", b"\0GLIBC_2.28\0GLIBC_2.2.5").unwrap();
        let newer = checked("x86_64-unknown-linux-gnu", b"\0GLIBC_2.29\0").unwrap_err();
        assert!(newer.contains("2.29") && newer.contains("2.28"), "{newer}");
        checked("x86_64-unknown-linux-gnu", b"static").unwrap_err();
        checked("x86_64-unknown-linux-musl", b"\0GLIBC_2.17\0").unwrap_err();
        checked("x86_64-pc-windows-gnu", b"MZ").unwrap();
    }

    /// A program for macOS with one command, which says what system it needs.
    fn mach_o(command: &[u32]) -> Vec<u8> {
        let size = u32::try_from(command.len() * 4).unwrap();
        let header = [0xfeed_facf, 0x0100_000c, 0, 2, 1, size, 0, 0];
        header.iter().chain(command).flat_map(|word| word.to_le_bytes()).collect()
    }

    #[test]
    fn the_macos_of_a_release_is_checked() {
        let build = |version| mach_o(&[0x32, 24, 1, version, 0, 0]);
        let oldest = |version| mach_o(&[0x24, 16, version, 0]);
        checked("aarch64-apple-darwin", &build(11 << 16)).unwrap();
        checked("x86_64-apple-darwin", &oldest(10 << 16 | 12 << 8)).unwrap();
        let newer = checked("aarch64-apple-darwin", &build(15 << 16)).unwrap_err();
        assert!(newer.contains("15.0") && newer.contains("11.0"), "{newer}");
        checked("x86_64-apple-darwin", &oldest(10 << 16 | 13 << 8)).unwrap_err();
        checked("aarch64-apple-darwin", &mach_o(&[0x1b, 24, 0, 0, 0, 0])).unwrap_err();
        checked("aarch64-apple-darwin", b"no program").unwrap_err();
    }

    #[test]
    fn the_newest_glibc_is_found() {
        assert_eq!(glibc(b"\0GLIBC_2.2.5\0GLIBC_2.34\0GLIBC_2.9\0GLIBC_PRIVATE"), Some(34));
        assert_eq!(glibc(b"no such thing"), None);
    }
}
