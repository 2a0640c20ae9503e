//! Targets of the compiler that tagq is built for, and how a Linux machine builds for them and runs their programs.
//!
//! `aarch64-unknown-linux-musl` is linked by zig, and QEMU runs its tests; Windows programs are linked by MinGW-w64 and
//! run in Wine; macOS programs are linked and not run. PLATFORMS.md must have each target of the list here, which
//! `tests/documents.rs` checks.

use std::{
    fs, io,
    path::{Path, PathBuf},
    process::Command,
};

use crate::{
    tools::{Tools, can, output, succeed},
    workspace::cargo,
};

/// A target. PLATFORMS.md says how far each is tested.
#[derive(Debug)]
pub(crate) struct Target {
    /// Its name for the compiler.
    pub triple: &'static str,
    pub system: System,
    /// The program that runs its tests on Linux on x86-64, if there is one.
    runner: Option<Runner>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum System {
    /// Linux with glibc 2.28 or later.
    Glibc,
    /// Linux with any C library: linked statically.
    Musl,
    Windows,
    MacOs,
}

#[derive(Debug, Clone, Copy)]
enum Runner {
    /// The machine itself.
    Native,
    Wine,
    Qemu,
}

/// All targets.
pub(crate) const TARGETS: [Target; 7] = [
    Target {
        triple: "x86_64-unknown-linux-gnu",
        system: System::Glibc,
        runner: Some(Runner::Native),
    },
    Target {
        triple: "x86_64-unknown-linux-musl",
        system: System::Musl,
        runner: Some(Runner::Native),
    },
    Target {
        triple: "aarch64-unknown-linux-gnu",
        system: System::Glibc,
        runner: Some(Runner::Qemu),
    },
    Target {
        triple: "aarch64-unknown-linux-musl",
        system: System::Musl,
        runner: Some(Runner::Qemu),
    },
    Target { triple: "x86_64-pc-windows-gnu", system: System::Windows, runner: Some(Runner::Wine) },
    Target { triple: "x86_64-apple-darwin", system: System::MacOs, runner: None },
    Target { triple: "aarch64-apple-darwin", system: System::MacOs, runner: None },
];

/// The C compiler and linker for Windows, of MinGW-w64; zig is those of all other targets.
const MINGW: &str = "x86_64-w64-mingw32-gcc";
const MINGW_NEEDED: &str =
    "x86_64-w64-mingw32-gcc is needed (on Debian: apt install gcc-mingw-w64-x86-64)";
const WINE_NEEDED: &str = "Wine is needed (on Debian: apt install wine64 wine)";
/// Where Debian has the C library for other processors.
const ARM_LIBRARIES: &str = "/usr/aarch64-linux-gnu";
const ARM_NEEDED: &str =
    "the C library for ARM is needed (on Debian: apt install libc6-arm64-cross)";
/// The file by which the kernel says that it starts programs for ARM.
const ARM_PROGRAMS: &str = "/proc/sys/fs/binfmt_misc/qemu-aarch64";
const QEMU_NEEDED: &str = "the kernel does not start programs for ARM by itself (on Debian: apt install \
     qemu-user-static binfmt-support; without a service, as root: mount -t binfmt_misc none \
     /proc/sys/fs/binfmt_misc, then cat /usr/lib/binfmt.d/qemu-aarch64.conf > \
     /proc/sys/fs/binfmt_misc/register)";

/// The function that programs in Rust take random bytes from, for a Wine without it (before 8.13).
const RANDOM_SOURCE: &str = "#include <windows.h>\n#include <ntsecapi.h>\n\
     __declspec(dllexport) BOOL WINAPI ProcessPrng(PBYTE bytes, SIZE_T len)\n\
     { return RtlGenRandom(bytes, (ULONG)len); }\n";
const RANDOM_LIBRARY: &str = "bcryptprimitives.dll";

impl Target {
    /// Returns the target of this name.
    ///
    /// # Errors
    /// Fails for an unknown name, and lists those known.
    pub(crate) fn named(triple: &str) -> io::Result<&'static Self> {
        let found = TARGETS.iter().find(|target| target.triple == triple);
        found.ok_or_else(|| {
            let known: Vec<_> = TARGETS.iter().map(|target| target.triple).collect();
            io::Error::other(format!("no target {triple}; there are {}", known.join(", ")))
        })
    }

    /// Returns the processor, as in the name.
    pub(crate) fn processor(&self) -> &'static str {
        self.triple.split('-').next().unwrap_or_default()
    }

    /// Returns the processor's name in packages of Debian and in container images.
    pub(crate) fn architecture(&self) -> &'static str {
        match self.processor() {
            "x86_64" => "amd64",
            "aarch64" => "arm64",
            other => other,
        }
    }

    /// Returns the end of the names of programs.
    pub(crate) fn exe(&self) -> &'static str {
        if self.system == System::Windows { ".exe" } else { "" }
    }

    /// Returns the oldest macOS that programs for this processor run on, as major and minor version: that of the compiler.
    pub(crate) fn oldest_macos(&self) -> (u32, u32) {
        if self.processor() == "aarch64" { (11, 0) } else { (10, 12) }
    }

    /// Whether an emulator runs its programs, or nothing does.
    pub(crate) fn is_emulated(&self) -> bool {
        !matches!(self.runner, Some(Runner::Native))
    }

    /// Whether this machine runs programs for this target, and its Python loads modules for it.
    pub(crate) fn is_of_this_machine(&self) -> bool {
        self.system == System::Glibc && !self.is_emulated() && cfg!(target_env = "gnu")
    }

    /// Returns the percentage of random cases that are tested, as far as it is given.
    pub(crate) fn percent(&self) -> u32 {
        match self.runner {
            // Each call of the system is slow.
            Some(Runner::Wine) => 4,
            _ => 10,
        }
    }

    /// Returns `cargo SUBCOMMAND` for this target, with the tools that compile C and link.
    ///
    /// # Errors
    /// Fails if the tools are not there, and names what to install.
    pub(crate) fn cargo(&self, subcommand: &str, tools: &Tools) -> io::Result<Command> {
        let library = Command::new("rustup").args(["target", "add", self.triple]).output();
        // Without rustup the library is there or the compiler says that it is not.
        drop(library);
        if self.system == System::Windows {
            if !can(MINGW, "--version") {
                return Err(io::Error::other(MINGW_NEEDED));
            }
            let mut cargo = cargo();
            cargo.env("CARGO_TARGET_X86_64_PC_WINDOWS_GNU_LINKER", MINGW);
            cargo.env("CC_x86_64_pc_windows_gnu", MINGW);
            cargo.args([if subcommand == "zigbuild" { "build" } else { subcommand }]);
            cargo.args(["--target", self.triple]);
            return Ok(cargo);
        }
        let mut cargo = tools.command("cargo-zigbuild")?;
        // The oldest C library that the program may meet.
        let glibc =
            if self.system == System::Glibc && subcommand == "zigbuild" { ".2.28" } else { "" };
        cargo.args([subcommand, "--target", &format!("{}{glibc}", self.triple)]);
        if self.system == System::MacOs {
            // zig takes a newer system if none is given.
            let (major, minor) = self.oldest_macos();
            cargo.env("MACOSX_DEPLOYMENT_TARGET", format!("{major}.{minor}"));
            if cfg!(not(target_os = "macos")) {
                cargo.env("SDKROOT", frameworks(&tools.home)?);
            }
        }
        Ok(cargo)
    }

    /// Sets what runs the programs of this target.
    ///
    /// # Errors
    /// Fails if there is none, and names what to install.
    pub(crate) fn set_runner(&self, command: &mut Command, work: &Path) -> io::Result<()> {
        match self.runner {
            Some(Runner::Native) => {}
            Some(Runner::Wine) => {
                let home = wine(work)?;
                command.env("CARGO_TARGET_X86_64_PC_WINDOWS_GNU_RUNNER", "wine");
                command.env("WINEPREFIX", home).env("WINEDEBUG", "-all");
            }
            Some(Runner::Qemu) => {
                if !Path::new(ARM_PROGRAMS).exists() {
                    return Err(io::Error::other(QEMU_NEEDED));
                }
                if !Path::new(ARM_LIBRARIES).exists() {
                    return Err(io::Error::other(ARM_NEEDED));
                }
                command.env("QEMU_LD_PREFIX", ARM_LIBRARIES);
            }
            None => {
                let why = format!("programs for {} do not run on this machine", self.triple);
                return Err(io::Error::other(why));
            }
        }
        Ok(())
    }
}

/// A library of macOS that a dependency needs and zig does not have, for the linker: its path in an SDK without `.tbd`, the
/// library that programs load, and its names that are used.
struct MacLibrary {
    path: &'static str,
    loaded: &'static str,
    names: &'static str,
}

/// The libraries: for the name of the time zone and, in `tagq doctor`, for disks.
const MAC_LIBRARIES: [MacLibrary; 3] = [
    MacLibrary {
        path: "System/Library/Frameworks/CoreFoundation.framework/CoreFoundation",
        loaded: "/System/Library/Frameworks/CoreFoundation.framework/Versions/A/CoreFoundation",
        names: "_CFArrayCreate, _CFBooleanGetValue, _CFDataGetBytes, _CFDataGetLength, _CFDataGetTypeID, \
                _CFDictionaryGetTypeID, _CFDictionaryGetValueIfPresent, _CFGetTypeID, _CFNumberGetValue, _CFRelease, \
                _CFRetain, _CFStringCreateWithBytesNoCopy, _CFStringGetBytes, _CFStringGetCStringPtr, \
                _CFStringGetLength, _CFTimeZoneCopySystem, _CFTimeZoneGetName, _CFTimeZoneResetSystem, \
                _CFURLCopyResourcePropertiesForKeys, _CFURLCreateFromFileSystemRepresentation, _kCFAllocatorDefault, \
                _kCFAllocatorNull, _kCFTypeArrayCallBacks, _kCFURLVolumeAvailableCapacityForImportantUsageKey, \
                _kCFURLVolumeAvailableCapacityKey, _kCFURLVolumeIsBrowsableKey, _kCFURLVolumeIsEjectableKey, \
                _kCFURLVolumeIsInternalKey, _kCFURLVolumeIsLocalKey, _kCFURLVolumeIsRemovableKey, \
                _kCFURLVolumeNameKey, _kCFURLVolumeTotalCapacityKey, _kCFURLVolumeUUIDStringKey",
    },
    MacLibrary {
        path: "System/Library/Frameworks/IOKit.framework/IOKit",
        loaded: "/System/Library/Frameworks/IOKit.framework/Versions/A/IOKit",
        names: "_IOBSDNameMatching, _IOIteratorNext, _IOObjectConformsTo, _IOObjectRelease, \
                _IORegistryEntryCreateCFProperty, _IORegistryEntryGetName, _IORegistryEntryGetParentEntry, \
                _IOServiceGetMatchingServices, _IOServiceMatching, _kIOMasterPortDefault",
    },
    MacLibrary {
        path: "usr/lib/libobjc",
        loaded: "/usr/lib/libobjc.A.dylib",
        names: "_objc_autoreleasePoolPop, _objc_autoreleasePoolPush",
    },
];

impl MacLibrary {
    /// Returns the list of names that the linker reads.
    fn list(&self) -> String {
        let Self { loaded, names, .. } = self;
        let targets = "targets: [ x86_64-macos, arm64-macos ]";
        format!(
            "--- !tapi-tbd\ntbd-version: 4\n{targets}\ninstall-name: '{loaded}'\nexports:\n  - {targets}\n    \
             symbols: [ {names} ]\n...\n"
        )
    }
}

/// Makes a folder that stands for the SDK of macOS.
fn frameworks(tools: &Path) -> io::Result<PathBuf> {
    let sdk = tools.join("macos");
    for library in &MAC_LIBRARIES {
        let path = sdk.join(library.path).with_added_extension("tbd");
        fs::create_dir_all(path.parent().unwrap_or(&sdk))?;
        fs::write(path, library.list())?;
    }
    Ok(sdk)
}

/// Makes a folder in which Wine keeps its files, so that those of the user stay as they are.
fn wine(work: &Path) -> io::Result<PathBuf> {
    if !can("wine", "--version") {
        return Err(io::Error::other(WINE_NEEDED));
    }
    let home = work.join("wine");
    fs::create_dir_all(&home)?;
    let system = home.join("drive_c/windows/system32");
    if !system.exists() {
        eprintln!("preparing {}", home.display());
        output(
            Command::new("wineboot")
                .arg("--init")
                .env("WINEPREFIX", &home)
                .env("WINEDEBUG", "-all"),
        )?;
    }
    if !system.join(RANDOM_LIBRARY).exists() {
        let source = home.join("random.c");
        fs::write(&source, RANDOM_SOURCE)?;
        let mut compile = Command::new(MINGW);
        compile.args(["-shared", "-o"]).arg(system.join(RANDOM_LIBRARY)).arg(source);
        succeed(compile.arg("-ladvapi32"))?;
    }
    Ok(home)
}
