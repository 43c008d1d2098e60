//! The system calls of read-only commands: those that read, compute, start programs and print.
//!
//! An allow list, since such commands run without a prompt: calls that are not on it (modes, owners, times and
//! attributes of files, sockets, other programs' memory and queues, namespaces, locks, unnamed files, whatever kernels
//! add later) do not exist for them. Programs know how to handle "not implemented".

use super::linux::KIND;
use seccompiler::{
    BackendError, BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch,
};
use std::collections::BTreeMap;

/// Calls permitted with any arguments. Landlock's file rules refuse opening files for writing.
const FREE: &[libc::c_long] = &[
    // Files: contents, names and metadata.
    libc::SYS_close,
    libc::SYS_close_range,
    libc::SYS_copy_file_range,
    libc::SYS_dup,
    libc::SYS_dup3,
    libc::SYS_faccessat,
    libc::SYS_faccessat2,
    libc::SYS_fadvise64,
    libc::SYS_fchdir,
    libc::SYS_chdir,
    libc::SYS_fstat,
    libc::SYS_fstatfs,
    libc::SYS_getcwd,
    libc::SYS_getdents64,
    libc::SYS_lseek,
    libc::SYS_newfstatat,
    libc::SYS_openat,
    libc::SYS_openat2,
    libc::SYS_pipe2,
    libc::SYS_pread64,
    libc::SYS_preadv,
    libc::SYS_preadv2,
    libc::SYS_read,
    libc::SYS_readahead,
    libc::SYS_readlinkat,
    libc::SYS_readv,
    libc::SYS_sendfile,
    libc::SYS_splice,
    libc::SYS_statfs,
    libc::SYS_statx,
    libc::SYS_tee,
    libc::SYS_umask,
    libc::SYS_write,
    libc::SYS_writev,
    // Waiting for several descriptors.
    libc::SYS_epoll_create1,
    libc::SYS_epoll_ctl,
    libc::SYS_epoll_pwait,
    libc::SYS_epoll_pwait2,
    libc::SYS_eventfd2,
    libc::SYS_ppoll,
    libc::SYS_pselect6,
    // The process's own memory.
    libc::SYS_brk,
    libc::SYS_madvise,
    libc::SYS_membarrier,
    libc::SYS_mincore,
    libc::SYS_mmap,
    libc::SYS_mprotect,
    libc::SYS_mremap,
    libc::SYS_munmap,
    // Processes and threads. Landlock limits which processes signals can reach.
    libc::SYS_execve,
    libc::SYS_exit,
    libc::SYS_exit_group,
    libc::SYS_futex,
    libc::SYS_get_robust_list,
    libc::SYS_getcpu,
    libc::SYS_getegid,
    libc::SYS_geteuid,
    libc::SYS_getgid,
    libc::SYS_getgroups,
    libc::SYS_getpgid,
    libc::SYS_getpid,
    libc::SYS_getppid,
    libc::SYS_getpriority,
    libc::SYS_getresgid,
    libc::SYS_getresuid,
    libc::SYS_getrusage,
    libc::SYS_getsid,
    libc::SYS_gettid,
    libc::SYS_getuid,
    libc::SYS_capget,
    libc::SYS_kill,
    libc::SYS_prctl,
    libc::SYS_restart_syscall,
    libc::SYS_rseq,
    libc::SYS_rt_sigaction,
    libc::SYS_rt_sigpending,
    libc::SYS_rt_sigprocmask,
    libc::SYS_rt_sigreturn,
    libc::SYS_rt_sigsuspend,
    libc::SYS_rt_sigtimedwait,
    libc::SYS_sched_get_priority_max,
    libc::SYS_sched_get_priority_min,
    libc::SYS_sched_getaffinity,
    libc::SYS_sched_getparam,
    libc::SYS_sched_getscheduler,
    libc::SYS_sched_yield,
    libc::SYS_set_robust_list,
    libc::SYS_set_tid_address,
    libc::SYS_setpgid,
    libc::SYS_setsid,
    libc::SYS_sigaltstack,
    libc::SYS_tgkill,
    libc::SYS_wait4,
    libc::SYS_waitid,
    // The machine and its clock.
    libc::SYS_clock_getres,
    libc::SYS_clock_gettime,
    libc::SYS_clock_nanosleep,
    libc::SYS_getitimer,
    libc::SYS_getrandom,
    libc::SYS_gettimeofday,
    libc::SYS_nanosleep,
    libc::SYS_setitimer,
    libc::SYS_sysinfo,
    libc::SYS_times,
    libc::SYS_uname,
    // A program's own sandbox, nested in this one (`file` has one).
    libc::SYS_seccomp,
    libc::SYS_landlock_add_rule,
    libc::SYS_landlock_create_ruleset,
    libc::SYS_landlock_restrict_self,
];

/// Older variants of these calls, which only some architectures have.
#[cfg(target_arch = "x86_64")]
const OLDER: &[libc::c_long] = &[
    libc::SYS_access,
    libc::SYS_alarm,
    libc::SYS_arch_prctl,
    libc::SYS_dup2,
    libc::SYS_epoll_create,
    libc::SYS_epoll_wait,
    libc::SYS_eventfd,
    libc::SYS_fork,
    libc::SYS_getdents,
    libc::SYS_getpgrp,
    libc::SYS_getrlimit,
    libc::SYS_lstat,
    libc::SYS_open,
    libc::SYS_pause,
    libc::SYS_pipe,
    libc::SYS_poll,
    libc::SYS_readlink,
    libc::SYS_select,
    libc::SYS_setrlimit,
    libc::SYS_stat,
    libc::SYS_time,
    libc::SYS_vfork,
];
#[cfg(not(target_arch = "x86_64"))]
const OLDER: &[libc::c_long] = &[];

/// Permitted `fcntl` commands: no lock or lease, for which other programs would wait.
const OF_DESCRIPTORS: [libc::c_int; 8] = [
    libc::F_DUPFD,
    libc::F_DUPFD_CLOEXEC,
    libc::F_GETFD,
    libc::F_SETFD,
    libc::F_GETFL,
    libc::F_SETFL,
    libc::F_GETPIPE_SZ,
    libc::F_SETPIPE_SZ,
];
/// Permitted `ioctl` requests: terminal check (`TCGETS`), terminal size (`TIOCGWINSZ`), bytes available (`FIONREAD`),
/// and the descriptor's own flags (`FIONBIO`, `FIOCLEX`, `FIONCLEX`).
const OF_DEVICES: [u64; 6] = [0x5401, 0x5413, 0x541b, 0x5421, 0x5451, 0x5450];
/// Flags that give a new process its own namespaces.
const NAMESPACES: libc::c_int = libc::CLONE_NEWNS
    | libc::CLONE_NEWCGROUP
    | libc::CLONE_NEWUTS
    | libc::CLONE_NEWIPC
    | libc::CLONE_NEWUSER
    | libc::CLONE_NEWPID
    | libc::CLONE_NEWNET;

/// Extended attributes, which may hold data and which no file rule restricts to the workspace.
const ATTRIBUTES: [libc::c_long; 6] = [
    libc::SYS_getxattr,
    libc::SYS_lgetxattr,
    libc::SYS_fgetxattr,
    libc::SYS_listxattr,
    libc::SYS_llistxattr,
    libc::SYS_flistxattr,
];

/// The filters, which apply together.
pub(super) fn filters(arch: TargetArch) -> Result<[BpfProgram; 2], BackendError> {
    // As on a file system without attributes: `ls` complains about any other error.
    let none = SeccompAction::Errno(libc::EOPNOTSUPP as u32);
    let attributes = ATTRIBUTES.map(|call| (call, Vec::new()));
    let attributes = SeccompFilter::new(attributes.into_iter().collect(), SeccompAction::Allow, none, arch)?;
    Ok([permitted(arch)?, attributes.try_into()?])
}

/// The allow list. (It lacks `clone3`, whose flags a filter cannot see; programs then use `clone`.)
fn permitted(arch: TargetArch) -> Result<BpfProgram, BackendError> {
    let when = |argument, is, value| -> Result<SeccompRule, BackendError> {
        SeccompRule::new(vec![SeccompCondition::new(
            argument,
            SeccompCmpArgLen::Dword,
            is,
            value,
        )?])
    };
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> = BTreeMap::new();
    rules.extend(
        FREE.iter()
            .chain(OLDER)
            .chain(&ATTRIBUTES)
            .map(|&call| (call, Vec::new())),
    );
    let of_descriptors = OF_DESCRIPTORS.map(|asked| when(1, SeccompCmpOp::Eq, asked as u64));
    let of_devices = OF_DEVICES.map(|asked| when(1, SeccompCmpOp::Eq, asked));
    rules.insert(libc::SYS_fcntl, of_descriptors.into_iter().collect::<Result<_, _>>()?);
    rules.insert(libc::SYS_ioctl, of_devices.into_iter().collect::<Result<_, _>>()?);
    rules.insert(
        libc::SYS_clone,
        vec![when(0, SeccompCmpOp::MaskedEq(NAMESPACES as u64), 0)?],
    );
    // This process uses such a pair to learn that a program has started; it is equivalent to a pipe.
    let pair = [
        SeccompCondition::new(0, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, libc::AF_UNIX as u64)?,
        SeccompCondition::new(
            1,
            SeccompCmpArgLen::Dword,
            SeccompCmpOp::MaskedEq(KIND),
            libc::SOCK_SEQPACKET as u64,
        )?,
    ];
    rules.insert(libc::SYS_socketpair, vec![SeccompRule::new(pair.to_vec())?]);
    rules.insert(libc::SYS_recvfrom, Vec::new());
    // Without a destination address.
    let unnamed = SeccompCondition::new(4, SeccompCmpArgLen::Qword, SeccompCmpOp::Eq, 0)?;
    rules.insert(libc::SYS_sendto, vec![SeccompRule::new(vec![unnamed])?]);
    // The process's own limits.
    rules.insert(libc::SYS_prlimit64, vec![when(0, SeccompCmpOp::Eq, 0)?]);
    let refused = SeccompAction::Errno(libc::ENOSYS as u32);
    SeccompFilter::new(rules, refused, SeccompAction::Allow, arch)?.try_into()
}
