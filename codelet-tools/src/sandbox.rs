//! The sandbox for commands: they write only in the workspace and in temporary folders, and reach no terminal, no named
//! socket of another program, and no network unless the user [permits it](Sandbox::with_network).
//!
//! On Linux it consists of Landlock (files, signals) and a seccomp filter (sockets, limits and priorities of other
//! processes, the kernel's keys). Both restrict the calling *thread* and its children, so a thread of its own enters
//! the sandbox and starts the command. Of root's capabilities (containers often run as root), only those over files and
//! own processes are kept. So no command can read the memory or environment of a process outside, where keys are.
//!
//! A user's terminal shows a question drawn by a command like one of ours, interprets its escape sequences, and gives
//! it what is typed. No rule can tell the user's terminals from pseudo-terminals that a command creates, so those are
//! not available either.
//!
//! A named socket leads to its listener: Docker, D-Bus and tmux run commands for their clients, outside the sandbox.
//! Since Linux 7.1, Landlock refuses connections to sockets that the command has not created itself. A seccomp filter
//! sees no names, so on older kernels Unix sockets cannot connect at all, and there are no datagram sockets, which need
//! no connection; a socket pair is equivalent to a pipe and stays available.
//!
//! Read-only commands, which run without a prompt, have a stricter sandbox: a list of permitted files and system calls.
//!
//! The other sandbox leaves these open: reading any file that the user may read, including those with keys (known keys
//! are removed from a command's output, and without the network it cannot send anything); modes, owners, times and attributes of the user's
//! files anywhere, for which Landlock has no right and which a filter cannot refuse without breaking builds; shared
//! memory by name (`/dev/shm`), which many programs need among their own processes; whatever outside programs read from
//! the files that it may write (including named pipes); the settings and hooks of the workspace's own repository, since
//! committing writes beside them (the user is told of changes when the command ends or, if a background job made them,
//! at the next command; changes by the last job of a session are not reported).
//!
//! Programs that git starts because of other files are not watched either: hooks in a folder that `core.hooksPath`
//! names, settings in a file that `include.path` names, repositories elsewhere in the workspace, and programs of the
//! workspace that settings or hooks call. They belong to the workspace, like a build script.

#[cfg(target_os = "linux")]
mod readers;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

/// The files that a command may access.
#[derive(Clone, Debug)]
pub struct Sandbox {
    /// Writable folders and files, including everything below them, by paths without links: a path that has become a
    /// link since permits nothing.
    writable: BTreeSet<PathBuf>,
    /// For read-only commands, the files readable besides the system's programs; `None` if all files of the user are
    /// readable.
    looks_at: Option<LookedAt>,
    /// True if other machines, and servers on this one, can be reached.
    has_network: bool,
}

/// Files that a read-only command may access, by paths without links.
#[derive(Clone, Debug)]
struct LookedAt {
    /// Folders whose entries may be listed, including those below.
    folders: Vec<PathBuf>,
    /// Folders and files that may be read, including everything below.
    files: Vec<PathBuf>,
}

/// The kinds of sandbox that differ in privileges and in the filter of system calls.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Calls {
    /// For read-only commands: a list of permitted calls.
    Reading,
    /// For all others: a list of refused calls.
    Working,
    /// The same with network access.
    Network,
}

/// The isolation that this machine supports.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Sandboxing {
    /// All of it.
    Full,
    /// All that this kernel supports; the text says what a newer one would also block.
    Partial(String),
    /// Not enough for a sandbox, so no command runs in it; the text says what is missing.
    None(String),
}

/// The folder of devices.
const DEVICES: &str = "/dev";
/// Devices that store and display nothing, and the folder of shared memory.
const HARMLESS: [&str; 6] = ["null", "zero", "full", "random", "urandom", "shm"];

fn harmless(name: &str) -> PathBuf {
    Path::new(DEVICES).join(name)
}

/// The system's programs and what they load. Their contents are not secret, and no command can change them. Not all of
/// `/usr`: people work in `/usr/src`, `/usr/home` and the like.
const PROGRAMS: [&str; 22] = [
    "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/usr/bin", "/usr/sbin", "/usr/lib", "/usr/lib32",
    "/usr/lib64", "/usr/libx32", "/usr/libexec", "/usr/local/bin", "/usr/local/sbin", "/usr/local/lib",
    "/usr/local/lib32", "/usr/local/lib64", "/usr/local/libexec", "/nix/store", "/gnu/store", "/run/current-system/sw",
];
/// Data that those programs read: time zones, locales, file types.
const SHARED: [&str; 2] = ["/usr/share", "/usr/local/share"];
/// Files about the system that programs read: users and groups, libraries, the time zone, file types.
#[cfg(target_os = "linux")]
const FACTS: [&str; 8] = [
    "/etc/magic", "/etc/magic.mime", "/etc/ld.so.cache", "/etc/ld.so.preload", "/etc/passwd", "/etc/group",
    "/etc/nsswitch.conf", "/etc/localtime",
];

/// Returns whether a program, with links resolved, is in one of the system's folders.
pub(crate) fn is_program_of_the_system(program: &Path) -> bool {
    let real = program.is_absolute().then(|| program.canonicalize().ok()).flatten();
    real.is_some_and(|real| PROGRAMS.iter().any(|folder| real.starts_with(folder)))
}

/// Returns whether read-only commands may read this path, which has no links, because it is among the system's files.
pub(crate) fn is_open_to_all(place: &Path) -> bool {
    // Cached: the system's folders do not move, and every read-only command checks them.
    static REAL: LazyLock<Vec<PathBuf>> = LazyLock::new(|| {
        let folders = PROGRAMS.iter().chain(&SHARED).map(Path::new);
        folders.filter_map(|folder| folder.canonicalize().ok()).collect()
    });
    REAL.iter().any(|folder| place.starts_with(folder))
}

/// Everything but the devices. Landlock rules only permit, so the folders beside `/dev` are listed; if that fails,
/// everything is readable.
#[cfg(target_os = "linux")]
fn readable() -> Vec<PathBuf> {
    let Ok(top) = std::fs::read_dir("/") else {
        return vec![PathBuf::from("/")];
    };
    let beside = top.flatten().map(|entry| entry.path());
    beside.filter(|path| path != Path::new(DEVICES)).collect()
}

impl Sandbox {
    /// Creates a sandbox in which these folders and the harmless devices are writable.
    pub fn new(writable: impl IntoIterator<Item = PathBuf>) -> Self {
        Sandbox {
            writable: writable.into_iter().collect(),
            looks_at: None,
            has_network: false,
        }
    }

    /// Creates a sandbox for read-only commands: nothing can be written or changed, only these folders can be listed,
    /// only these files and the system's programs can be read, and only those programs can be started by path.
    pub(crate) fn looking_at(folders: Vec<PathBuf>, files: Vec<PathBuf>) -> Self {
        Sandbox {
            looks_at: Some(LookedAt { folders, files }),
            ..Sandbox::new([])
        }
    }

    /// Returns the same sandbox with or without network access. Named sockets stay out of reach.
    pub fn with_network(self, has_network: bool) -> Self {
        Sandbox { has_network, ..self }
    }

    /// Returns whether nothing can be written in it.
    pub(crate) fn only_looks(&self) -> bool {
        self.looks_at.is_some()
    }

    /// Returns whether it has network access.
    pub(crate) fn has_network(&self) -> bool {
        self.has_network
    }

    /// Returns whether this path, which has no links, can be changed from within.
    pub(crate) fn writes(&self, place: &Path) -> bool {
        let is_device = || HARMLESS.iter().any(|name| place.starts_with(harmless(name)));
        place.ancestors().any(|folder| self.writable.contains(folder)) || is_device()
    }

    /// Returns whether something below this path can be changed from within.
    pub(crate) fn writes_below(&self, place: &Path) -> bool {
        self.writable.iter().any(|writable| writable.starts_with(place))
    }

    /// The kind of this sandbox.
    pub(crate) fn calls(&self) -> Calls {
        match (self.only_looks(), self.has_network) {
            (true, _) => Calls::Reading,
            (false, false) => Calls::Working,
            (false, true) => Calls::Network,
        }
    }

    /// Restricts the calling thread and its children, permanently. If a part of the sandbox fails, nothing may be
    /// started from the thread; the only gaps tolerated are those of an older kernel.
    pub(crate) fn enter(&self) -> Sandboxing {
        match self.calls().enter() {
            Ok(()) => self.enter_files(),
            Err(why) => Sandboxing::None(why),
        }
    }

    /// The part of the sandbox that is added to [that of its kind](Calls::enter): file rules. The same applies.
    #[cfg(target_os = "linux")]
    pub(crate) fn enter_files(&self) -> Sandboxing {
        match linux::restrict_files(self).map(linux::gap) {
            Ok(gap) => gap.map_or(Sandboxing::Full, |gap| Sandboxing::Partial(gap.to_owned())),
            Err(why) => Sandboxing::None(why),
        }
    }

    /// Other systems offer nothing comparable without privileges.
    #[cfg(not(target_os = "linux"))]
    pub(crate) fn enter_files(&self) -> Sandboxing {
        Sandboxing::None(LINUX_ONLY.to_owned())
    }
}

#[cfg(not(target_os = "linux"))]
const LINUX_ONLY: &str = "the sandbox works on Linux only";

impl Calls {
    pub(crate) const KINDS: usize = 3;

    /// Restricts the privileges and system calls of the calling thread and its children, permanently. Nothing may be
    /// started from the thread before the files are [restricted](Sandbox::enter_files) too.
    ///
    /// # Errors
    /// Says what is missing.
    #[cfg(target_os = "linux")]
    pub(crate) fn enter(self) -> Result<(), String> {
        let has_names = linux::holds_names()?;
        linux::restrict_privileges()
            .map_err(|error| format!("a superuser's privileges cannot be given up here ({error})"))?;
        // The filter permits what the file rules take.
        linux::restrict_calls(self, has_names)
            .map_err(|error| format!("system calls cannot be filtered here ({error})"))
    }

    #[cfg(not(target_os = "linux"))]
    pub(crate) fn enter(self) -> Result<(), String> {
        Err(LINUX_ONLY.to_owned())
    }
}

/// Sets close-on-exec for all descriptors except the standard streams, so that children get only those that are handed
/// to them on purpose: an inherited descriptor of this process (a wrapper's log, a socket) would lead a command out of
/// its sandbox.
pub fn hand_on_nothing() {
    close_fds::set_fds_cloexec_threadsafe(3, &[]);
}

/// Keeps other processes of the same user, which may be outside any sandbox, from reading this one's memory and
/// environment, where keys are. From now on it cannot be dumped or traced.
pub fn conceal_process() {
    // If this fails, everything works as before.
    #[cfg(target_os = "linux")]
    let _ = rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable);
}

#[cfg(target_os = "linux")]
mod linux {
    use super::{Calls, FACTS, HARMLESS, PROGRAMS, SHARED, Sandbox, harmless, readable, readers};
    use crate::files;
    use landlock::{
        ABI, Access, AccessFs, BitFlags, CompatLevel, Compatible, LandlockStatus, PathBeneath, RestrictionStatus,
        Ruleset, RulesetAttr, RulesetCreatedAttr, RulesetError, RulesetStatus, Scope, path_beneath_rules,
    };
    use rustix::fs::FileType;
    use rustix::thread::{CapabilitySet, CapabilitySets, capabilities, set_capabilities, set_no_new_privs};
    use seccompiler::{
        BackendError, BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
        SeccompRule, TargetArch,
    };
    use std::collections::BTreeMap;
    use std::os::fd::OwnedFd;
    use std::path::PathBuf;
    use std::sync::OnceLock;

    /// The newest Landlock rules requested, as far as the kernel supports them (Linux 7.1).
    const NEWEST: ABI = ABI::V9;

    /// The bits of a socket type without its flags.
    pub(super) const KIND: u64 = 0xf;

    /// Restricts the calling thread and its children to the files of this sandbox. Returns the newest rules that the
    /// kernel enforces.
    pub(super) fn restrict_files(sandbox: &Sandbox) -> Result<ABI, String> {
        let all = AccessFs::from_write(NEWEST);
        // Not even in writable folders: tmux listens in the temporary folder. A command's own sockets need no
        // permission.
        let changes = all & !AccessFs::ResolveUnix;
        let restricted = || {
            let ruleset = Ruleset::default().set_compatibility(CompatLevel::BestEffort);
            let read = AccessFs::ReadFile | AccessFs::ReadDir;
            let Some(looked_at) = &sandbox.looks_at else {
                return ruleset
                    .handle_access(all | AccessFs::ReadFile)?
                    .scope(Scope::from_all(NEWEST))?
                    .create()?
                    .add_rules(rules(&sandbox.writable, changes | AccessFs::ReadFile))?
                    .add_rules(path_beneath_rules(HARMLESS.map(harmless), changes | AccessFs::ReadFile))?
                    .add_rules(path_beneath_rules(readable(), AccessFs::ReadFile))?
                    .restrict_self();
            };
            // Without shared memory, which other programs use too.
            let devices = HARMLESS.map(harmless).into_iter().filter(|device| !device.is_dir());
            ruleset
                .handle_access(all | read | AccessFs::Execute)?
                .scope(Scope::from_all(NEWEST))?
                .create()?
                .add_rules(path_beneath_rules(devices, AccessFs::ReadFile | AccessFs::WriteFile))?
                .add_rules(path_beneath_rules(PROGRAMS, read | AccessFs::Execute))?
                .add_rules(path_beneath_rules(SHARED, read))?
                .add_rules(path_beneath_rules(FACTS, AccessFs::ReadFile))?
                .add_rules(rules(&looked_at.folders, AccessFs::ReadDir.into()))?
                .add_rules(rules(&looked_at.files, read))?
                .restrict_self()
        };
        enforced(restricted())
    }

    fn enforced(restricted: Result<RestrictionStatus, RulesetError>) -> Result<ABI, String> {
        let status = restricted.map_err(|error| error.to_string())?;
        match status.landlock {
            LandlockStatus::Available { effective_abi, .. } if status.ruleset != RulesetStatus::NotEnforced => {
                Ok(effective_abi)
            }
            _ => Err("the kernel has no Landlock, or it is switched off".to_owned()),
        }
    }

    /// The gap that a kernel with these rules leaves, if any.
    pub(super) fn gap(enforced: ABI) -> Option<&'static str> {
        if enforced < ABI::V3 {
            Some("kernels before 6.2 let commands truncate files outside the workspace")
        } else if enforced < ABI::V6 {
            Some("kernels before 6.12 let commands send signals to other programs")
        } else {
            None
        }
    }

    /// Rules that grant this access, reduced to what applies to the file's type. A path that is gone, or has become a
    /// link, which may lead anywhere, grants nothing.
    fn rules<'a>(
        paths: impl IntoIterator<Item = &'a PathBuf>,
        access: BitFlags<AccessFs>,
    ) -> impl Iterator<Item = Result<PathBeneath<OwnedFd>, RulesetError>> {
        let held = paths.into_iter().filter_map(|path| files::hold(path).ok());
        held.map(move |held| {
            let is_folder = rustix::fs::fstat(&held).is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode).is_dir());
            let access = match is_folder {
                true => access,
                false => access & AccessFs::from_file(NEWEST),
            };
            Ok(PathBeneath::new(held, access))
        })
    }

    /// Keeps only root's capabilities over files and own processes. With the others, a process could read any process's
    /// environment, load kernel modules, or write to raw disks.
    pub(super) fn restrict_privileges() -> Result<(), String> {
        let kept = CapabilitySet::CHOWN
            | CapabilitySet::DAC_OVERRIDE
            | CapabilitySet::FOWNER
            | CapabilitySet::FSETID
            | CapabilitySet::KILL
            | CapabilitySet::SETGID
            | CapabilitySet::SETUID;
        let restricted = || -> rustix::io::Result<()> {
            let had = capabilities(None)?;
            if (had.permitted | had.inheritable).difference(kept).is_empty() {
                return Ok(());
            }
            // With this, a program that is started gains no privileges that the thread lacks. Landlock and seccomp set
            // it too.
            set_no_new_privs(true)?;
            set_capabilities(
                None,
                CapabilitySets {
                    effective: had.effective & kept,
                    permitted: had.permitted & kept,
                    // This also clears the ambient set.
                    inheritable: CapabilitySet::empty(),
                },
            )
        };
        restricted().map_err(|error| error.to_string())
    }

    /// Returns whether this kernel's file rules cover named sockets.
    pub(super) fn holds_names() -> Result<bool, String> {
        /// Cached: the kernel stays the same.
        static HOLDS: OnceLock<bool> = OnceLock::new();
        if let Some(holds) = HOLDS.get() {
            return Ok(*holds);
        }
        let nothing = || {
            let ruleset = Ruleset::default().handle_access(AccessFs::from_all(NEWEST))?;
            ruleset.create()?.restrict_self()
        };
        // Rules restrict the thread that asks for them.
        let asked = std::thread::Builder::new().spawn(move || enforced(nothing()));
        let asked = asked.map_err(|error| files::reason(&error))?.join();
        let enforced = asked.unwrap_or_else(|_| Err("trying it failed".to_owned()))?;
        Ok(*HOLDS.get_or_init(|| enforced >= ABI::V9))
    }

    /// Installs the system-call filter; read-only commands get [their own list](readers).
    pub(super) fn restrict_calls(calls: Calls, has_names: bool) -> Result<(), String> {
        let filters = match calls {
            Calls::Reading => Vec::from(readers::filters(arch()?).map_err(told)?),
            Calls::Working => vec![filter(arch()?, has_names, false).map_err(told)?],
            Calls::Network => vec![filter(arch()?, has_names, true).map_err(told)?],
        };
        for filter in &filters {
            seccompiler::apply_filter(filter).map_err(|error| error.to_string())?;
        }
        Ok(())
    }

    fn told(error: BackendError) -> String {
        error.to_string()
    }

    fn arch() -> Result<TargetArch, String> {
        let arch = std::env::consts::ARCH.try_into();
        arch.map_err(|_| "no filter for this processor".to_owned())
    }

    /// Refuses all sockets but Unix sockets, and other ways to create them. If Landlock does not cover named
    /// sockets, also refuses those Unix sockets that could reach one. Refuses limits and priorities of
    /// other processes, and the kernel's keys.
    fn filter(arch: TargetArch, has_names: bool, has_network: bool) -> Result<BpfProgram, BackendError> {
        let when = |argument, is, value: libc::c_int| -> Result<SeccompRule, BackendError> {
            let condition = SeccompCondition::new(argument, SeccompCmpArgLen::Dword, is, value as u64)?;
            SeccompRule::new(vec![condition])
        };
        let mut refused_sockets = vec![when(0, SeccompCmpOp::Ne, libc::AF_UNIX)?];
        let mut rules: BTreeMap<i64, Vec<SeccompRule>> = BTreeMap::new();
        if !has_names {
            // Even a socket of a datagram pair can send to any name. The kernel turns raw ones into datagram sockets.
            for kind in [libc::SOCK_DGRAM, libc::SOCK_RAW] {
                refused_sockets.push(when(1, SeccompCmpOp::MaskedEq(KIND), kind)?);
            }
            // Network access needs `connect`; in that case no Unix socket that could reach a name can be created.
            if !has_network {
                rules.insert(libc::SYS_connect, Vec::new());
            }
        }
        let mut families = vec![libc::AF_INET, libc::AF_INET6];
        families.extend(has_names.then_some(libc::AF_UNIX));
        let is_other =
            |&family: &libc::c_int| SeccompCondition::new(0, SeccompCmpArgLen::Dword, SeccompCmpOp::Ne, family as u64);
        let others = families.iter().map(is_other).collect::<Result<Vec<_>, _>>()?;
        let made = match has_network {
            true => vec![SeccompRule::new(others)?],
            false => refused_sockets.clone(),
        };
        rules.insert(libc::SYS_socket, made);
        rules.insert(libc::SYS_socketpair, refused_sockets);
        for call in [
            libc::SYS_io_uring_setup,
            libc::SYS_io_uring_enter,
            libc::SYS_io_uring_register,
        ] {
            // It can create sockets without the filtered call.
            rules.insert(call, Vec::new());
        }
        // A limit on another process (memory, files, CPU time) could end it. The process's own limits use PID 0.
        rules.insert(libc::SYS_prlimit64, vec![when(0, SeccompCmpOp::Ne, 0)?]);
        // A job could stall the session and the user's other programs with these. A process's own settings use PID 0,
        // also before exec (`nice`, `taskset`, `ionice`).
        for call in [
            libc::SYS_sched_setaffinity,
            libc::SYS_sched_setattr,
            libc::SYS_sched_setparam,
            libc::SYS_sched_setscheduler,
        ] {
            rules.insert(call, vec![when(0, SeccompCmpOp::Ne, 0)?]);
        }
        /// Missing from the `libc` crate.
        const IOPRIO_WHO_USER: libc::c_int = 3;
        for (call, of_user) in [
            (libc::SYS_setpriority, libc::PRIO_USER as libc::c_int),
            (libc::SYS_ioprio_set, IOPRIO_WHO_USER),
        ] {
            rules.insert(
                call,
                vec![when(1, SeccompCmpOp::Ne, 0)?, when(0, SeccompCmpOp::Eq, of_user)?],
            );
        }
        // A command in its own user namespace may mount; to create an overlay, the kernel empties a folder that no rule
        // was checked for.
        for call in MOUNTS {
            rules.insert(call, Vec::new());
        }
        let on_folders = refused_on_folders()?;
        rules.insert(libc::SYS_ioctl, on_folders.clone());
        for call in [libc::SYS_keyctl, libc::SYS_add_key, libc::SYS_request_key] {
            // All sessions of a user share the user keyring.
            rules.insert(call, Vec::new());
        }
        #[cfg(target_arch = "x86_64")]
        {
            /// Marks calls of the x32 ABI, which has its own call numbers.
            const X32: i64 = 0x4000_0000;
            let doubled: Vec<(i64, Vec<SeccompRule>)> =
                rules.iter().map(|(call, rules)| (call | X32, rules.clone())).collect();
            rules.extend(doubled);
            // `ioctl` has a different number there.
            rules.insert(514 | X32, on_folders);
        }
        let refused = SeccompAction::Errno(libc::EACCES as u32);
        SeccompFilter::new(rules, SeccompAction::Allow, refused, arch)?.try_into()
    }

    /// Calls that mount. (The numbers of newer ones are the same on all architectures; `open_tree_attr` is missing from
    /// the `libc` crate.)
    const MOUNTS: [libc::c_long; 10] = [
        libc::SYS_mount,
        libc::SYS_umount2,
        libc::SYS_fsopen,
        libc::SYS_fsconfig,
        libc::SYS_fsmount,
        libc::SYS_fspick,
        libc::SYS_open_tree,
        libc::SYS_move_mount,
        libc::SYS_mount_setattr,
        467,
    ];

    /// Requests that need only a descriptor opened for reading and bypass all file rules: on btrfs and bcachefs,
    /// creating, copying and deleting whole trees by name in any folder; on OCFS2, copying a file to a name; making a
    /// file immutable for good, or a folder encrypted. Requests that copy file contents stay (`cp --reflink`), since
    /// the target must be open for writing.
    fn refused_on_folders() -> Result<Vec<SeccompRule>, BackendError> {
        /// The bits for the file system or device that a request belongs to, and those that also include its number.
        const KIND: u64 = 0xff00;
        const REQUEST: u64 = 0xffff;
        const BTRFS: u64 = 0x94;
        const BCACHEFS: u64 = 0xbc;
        /// `FICLONE`, `FICLONERANGE`, `FIDEDUPERANGE`: numbered as btrfs requests, and supported by other file systems.
        const COPIES: [u64; 3] = [0x4004_9409, 0x4020_940d, 0xc018_9436];
        /// `OCFS2_IOC_REFLINK`; `FS_IOC_SET_ENCRYPTION_POLICY`, `FS_IOC_ADD_ENCRYPTION_KEY`,
        /// `FS_IOC_REMOVE_ENCRYPTION_KEY`, `FS_IOC_ENABLE_VERITY`.
        const OTHERS: [u64; 5] = [0x6f04, 0x6613, 0x6617, 0x6618, 0x6685];
        let is = |op, value| SeccompCondition::new(1, SeccompCmpArgLen::Dword, op, value);
        let mut of_btrfs = vec![is(SeccompCmpOp::MaskedEq(KIND), BTRFS << 8)?];
        for copy in COPIES {
            of_btrfs.push(is(SeccompCmpOp::Ne, copy)?);
        }
        let mut rules = vec![
            SeccompRule::new(of_btrfs)?,
            SeccompRule::new(vec![is(SeccompCmpOp::MaskedEq(KIND), BCACHEFS << 8)?])?,
        ];
        for request in OTHERS {
            rules.push(SeccompRule::new(vec![is(SeccompCmpOp::MaskedEq(REQUEST), request)?])?);
        }
        Ok(rules)
    }

    #[cfg(test)]
    mod tests {
        use super::*;
        use std::net::{TcpListener, TcpStream};
        use std::os::unix::net::{UnixDatagram, UnixListener, UnixStream};

        #[test]
        #[allow(clippy::print_stdout)]
        fn what_makes_or_copies_by_a_folder_that_is_only_read_is_refused_and_copies_within_files_are_not() {
            // Rust has no safe wrapper for these requests.
            const TRY: &str = "import fcntl, os, sys\n\
                held = os.open(sys.argv[1], os.O_RDONLY)\n\
                for request in sys.argv[2:]:\n    \
                    try: fcntl.ioctl(held, int(request, 16), bytes(1024))\n    \
                    except OSError as error: print(error.errno == 13)\n    \
                    else: print(False)";
            const REFUSED: [&str; 7] = [
                "5000940e", "50009401", "5000940f", "4008941a", "4020bc10", "40186f04", "40806685",
            ];
            // Copies of file contents, and reading a file's flags.
            const FREE: [&str; 4] = ["40049409", "4020940d", "c0189436", "80086601"];
            let folder = tempfile::tempdir().unwrap();
            let mut python = std::process::Command::new("python3");
            python.args(["-c", TRY]).arg(folder.path()).args(REFUSED).args(FREE);
            // A filter applies to its thread permanently.
            let tried = std::thread::spawn(move || {
                restrict_calls(Calls::Working, true).unwrap();
                python.output()
            });
            let Ok(output) = tried.join().unwrap() else {
                println!("skipped: there is no python3");
                return;
            };
            let told = String::from_utf8(output.stdout).unwrap();
            let refused: Vec<bool> = told.lines().map(|line| line == "True").collect();
            assert_eq!(
                refused,
                [[true; REFUSED.len()].as_slice(), &[false; FREE.len()]].concat()
            );
        }

        #[test]
        fn nothing_is_mounted() {
            use rustix::io::Errno;
            use rustix::mount::{FsOpenFlags, MountFlags, OpenTreeFlags, fsopen, mount, open_tree};
            let tried = std::thread::spawn(|| {
                restrict_calls(Calls::Working, true).unwrap();
                let told = [
                    fsopen("overlay", FsOpenFlags::FSOPEN_CLOEXEC).err(),
                    open_tree(rustix::fs::CWD, "/", OpenTreeFlags::OPEN_TREE_CLONE).err(),
                    mount("none", "/proc", "proc", MountFlags::empty(), None).err(),
                ];
                assert_eq!(told, [Some(Errno::ACCESS); 3]);
            });
            tried.join().unwrap();
        }

        #[test]
        fn who_only_looks_changes_nothing_of_files_and_shares_nothing_with_other_programs() {
            use rustix::fs::{self, AtFlags, CWD, FlockOperation, MemfdFlags, Mode, Timestamps, XattrFlags};
            use rustix::io::Errno;
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("file");
            std::fs::write(&path, "kept").unwrap();
            let now = || Timestamps {
                last_access: fs::Timespec::default(),
                last_modification: fs::Timespec::default(),
            };
            let tried = std::thread::spawn(move || {
                let open = std::fs::File::open(&path).unwrap();
                restrict_calls(Calls::Reading, true).unwrap();
                let told = [
                    fs::chmod(&path, Mode::all()).err(),
                    fs::fchmod(&open, Mode::all()).err(),
                    fs::chown(&path, None, None).err(),
                    fs::utimensat(CWD, &path, &now(), AtFlags::empty()).err(),
                    fs::futimens(&open, &now()).err(),
                    fs::setxattr(&path, c"user.x", b"y", XattrFlags::empty()).err(),
                    fs::removexattr(&path, c"user.x").err(),
                    fs::ioctl_setflags(&open, fs::IFlags::empty()).err(),
                    fs::flock(&open, FlockOperation::LockExclusive).err(),
                    fs::mkdir(path.with_extension("new"), Mode::all()).err(),
                    fs::unlink(&path).err(),
                    fs::memfd_create(c"x", MemfdFlags::empty()).err(),
                    fs::inotify::init(fs::inotify::CreateFlags::empty()).err(),
                ];
                assert_eq!(told, [Some(Errno::NOSYS); 13]);
                let attribute = fs::getxattr(&path, c"user.x", [0; 9].as_mut_slice());
                assert_eq!(attribute.err(), Some(Errno::OPNOTSUPP));
                assert!(UnixListener::bind(path.with_extension("s")).is_err() && UnixDatagram::pair().is_err());
                assert!(UnixDatagram::unbound().is_err() && TcpListener::bind("127.0.0.1:0").is_err());
                let does = |program: &str, arguments: &[&str]| {
                    let mut command = std::process::Command::new(program);
                    command.args(arguments).status().is_ok_and(|status| status.success())
                };
                assert!(!does("unshare", &["-Ur", "true"]) && !does("ipcmk", &["-M", "9"]) && !does("ipcmk", &["-Q"]));
                // Read-only programs start, also with threads, and can read.
                assert!(does("true", &[]) && does("grep", &["-q", "kept", &path.to_string_lossy()]));
                assert!(std::thread::spawn(|| true).join().unwrap());
            });
            tried.join().unwrap();
        }

        #[test]
        fn who_reaches_the_network_reaches_no_socket_with_a_name() {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("s");
            let _listener = UnixListener::bind(&path).unwrap();
            let server = TcpListener::bind("127.0.0.1:0").unwrap();
            let address = server.local_addr().unwrap();
            let tried = std::thread::spawn(move || {
                restrict_calls(Calls::Network, false).unwrap();
                assert!(TcpListener::bind("127.0.0.1:0").is_ok() && TcpStream::connect(address).is_ok());
                assert!(UnixStream::connect(path).is_err() && UnixDatagram::pair().is_err());
                assert!(UnixStream::pair().is_ok());
            });
            tried.join().unwrap();
        }

        #[test]
        fn where_the_kernel_rules_the_names_of_sockets_the_filter_leaves_them_to_it() {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("s");
            let _listener = UnixListener::bind(&path).unwrap();
            for has_names in [true, false] {
                let path = path.clone();
                // A filter applies to its thread permanently.
                let tried = std::thread::spawn(move || {
                    restrict_calls(Calls::Working, has_names).unwrap();
                    assert!(TcpListener::bind("127.0.0.1:0").is_err());
                    assert!(UnixStream::pair().is_ok());
                    let made = [UnixStream::connect(path).is_ok(), UnixDatagram::pair().is_ok()];
                    assert_eq!(made, [has_names; 2]);
                });
                tried.join().unwrap();
            }
        }
    }
}
