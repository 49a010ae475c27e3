//! seccomp: the system calls that a command may make.
//!
//! A call that is not in the list does not exist for the command, so a call of a newer kernel or of
//! the x32 ABI is refused without being named. The list follows the default profile of containers
//! (moby's `seccomp/default.json`), without sockets, System V IPC, asynchronous I/O and everything
//! that needs a capability.

use std::collections::BTreeMap;

use rustix::io::Errno;
use seccompiler::{
    BackendError, BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition,
    SeccompFilter, SeccompRule, TargetArch, apply_filter,
};

use crate::message::Refusal;

/// The flags of `clone` that make namespaces.
const NEW_NAMESPACES: u64 = (libc::CLONE_NEWUSER
    | libc::CLONE_NEWPID
    | libc::CLONE_NEWNS
    | libc::CLONE_NEWNET
    | libc::CLONE_NEWIPC
    | libc::CLONE_NEWUTS
    | libc::CLONE_NEWCGROUP) as u64;

/// The requests of `ioctl` that type into a terminal.
const TYPES: [u64; 2] = [libc::TIOCSTI, libc::TIOCLINUX];

/// The first of the requests of `ioctl` about network interfaces; the last byte tells them apart.
const NETWORK: u64 = 0x8900;

/// The bits of the kind of a socket that are not flags.
const SOCKET_KINDS: u64 = 0xf;

/// The kinds of sockets in pairs that stay connected: another one sends to any path.
const CONNECTED: [i32; 2] = [libc::SOCK_STREAM, libc::SOCK_SEQPACKET];

/// Calls that may change any process of the same user, with the arguments that must be 0 for
/// the caller itself.
const OWN: &[(i64, &[u8])] = &[
    (libc::SYS_prlimit64, &[0]),
    (libc::SYS_sched_setaffinity, &[0]),
    (libc::SYS_sched_setattr, &[0]),
    (libc::SYS_sched_setparam, &[0]),
    (libc::SYS_sched_setscheduler, &[0]),
    // The first argument says that the second one names a process.
    (libc::SYS_setpriority, &[0, 1]),
];

/// The personalities that change nothing: the plain one, and the question for the current one.
const PERSONALITIES: [u64; 2] = [0, 0xffff_ffff];

/// Restricts this process to the list.
pub(crate) fn restrict() -> Result<(), Refusal> {
    let filters = filters().map_err(Refusal::of("seccomp"))?;
    filters.iter().try_for_each(|filter| apply_filter(filter)).map_err(Refusal::of("seccomp"))
}

/// Builds the list, and the filter that gives known calls the usual error. Of two filters that
/// refuse a call, the one applied later names the error.
fn filters() -> Result<[BpfProgram; 2], BackendError> {
    let target = TargetArch::try_from(std::env::consts::ARCH)?;
    let refused = |errno: Errno| SeccompAction::Errno(errno.raw_os_error().unsigned_abs());
    let mut rules: BTreeMap<_, _> =
        EVERYWHERE.iter().chain(HERE).map(|call| (*call, Vec::new())).collect();
    rules.insert(libc::SYS_clone, vec![SeccompRule::new(vec![without_new_namespaces()?])?]);
    let pair = |kind| {
        let unix = is(0, SeccompCmpOp::Eq, unsigned(libc::AF_UNIX))?;
        let kind = is(1, SeccompCmpOp::MaskedEq(SOCKET_KINDS), unsigned(kind))?;
        SeccompRule::new(vec![unix, kind])
    };
    rules.insert(libc::SYS_socketpair, CONNECTED.map(pair).into_iter().collect::<Result<_, _>>()?);
    for (call, arguments) in OWN {
        let zeros = arguments.iter().map(|argument| is(*argument, SeccompCmpOp::Eq, 0));
        rules.insert(*call, vec![SeccompRule::new(zeros.collect::<Result<_, _>>()?)?]);
    }
    let personalities = PERSONALITIES.map(|persona| is(0, SeccompCmpOp::Eq, persona));
    let personalities = personalities.into_iter().map(|rule| SeccompRule::new(vec![rule?]));
    rules.insert(libc::SYS_personality, personalities.collect::<Result<_, _>>()?);
    // Programs fall back to older calls when they see this error.
    let unknown = refused(Errno::NOSYS);
    let listed = SeccompFilter::new(rules, unknown, SeccompAction::Allow, target)?;

    let mut denied: BTreeMap<_, _> = DENIED.iter().map(|call| (*call, Vec::new())).collect();
    let network = SeccompRule::new(vec![is(1, SeccompCmpOp::MaskedEq(0xff00), NETWORK)?])?;
    let types = TYPES.map(|request| SeccompRule::new(vec![is(1, SeccompCmpOp::Eq, request)?]));
    let requests = types.into_iter().chain([Ok(network)]).collect::<Result<_, _>>()?;
    denied.insert(libc::SYS_ioctl, requests);
    let permission = refused(Errno::PERM);
    let denied = SeccompFilter::new(denied, SeccompAction::Allow, permission, target)?;
    Ok([listed.try_into()?, denied.try_into()?])
}

/// `clone3` has its flags in memory, where a filter cannot read them: it is not in the list, and
/// libraries use `clone` without it.
fn without_new_namespaces() -> Result<SeccompCondition, BackendError> {
    is(0, SeccompCmpOp::MaskedEq(NEW_NAMESPACES), 0)
}

fn unsigned(value: i32) -> u64 {
    u64::from(value.unsigned_abs())
}

fn is(argument: u8, how: SeccompCmpOp, value: u64) -> Result<SeccompCondition, BackendError> {
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, how, value)
}

/// The calls that every program may make.
const EVERYWHERE: &[i64] = &[
    libc::SYS_read,
    libc::SYS_write,
    libc::SYS_close,
    libc::SYS_fstat,
    libc::SYS_lseek,
    libc::SYS_mmap,
    libc::SYS_mprotect,
    libc::SYS_munmap,
    libc::SYS_brk,
    libc::SYS_rt_sigaction,
    libc::SYS_rt_sigprocmask,
    libc::SYS_rt_sigreturn,
    libc::SYS_ioctl,
    libc::SYS_pread64,
    libc::SYS_pwrite64,
    libc::SYS_readv,
    libc::SYS_writev,
    libc::SYS_preadv,
    libc::SYS_pwritev,
    libc::SYS_preadv2,
    libc::SYS_pwritev2,
    libc::SYS_sched_yield,
    libc::SYS_mremap,
    libc::SYS_msync,
    libc::SYS_mincore,
    libc::SYS_madvise,
    libc::SYS_mlock,
    libc::SYS_munlock,
    libc::SYS_mlockall,
    libc::SYS_munlockall,
    libc::SYS_mlock2,
    libc::SYS_dup,
    libc::SYS_dup3,
    libc::SYS_nanosleep,
    libc::SYS_getitimer,
    libc::SYS_setitimer,
    libc::SYS_getpid,
    libc::SYS_getppid,
    libc::SYS_gettid,
    libc::SYS_sendfile,
    libc::SYS_sendto,
    libc::SYS_recvfrom,
    libc::SYS_sendmsg,
    libc::SYS_recvmsg,
    libc::SYS_sendmmsg,
    libc::SYS_recvmmsg,
    libc::SYS_shutdown,
    libc::SYS_getsockname,
    libc::SYS_getpeername,
    libc::SYS_setsockopt,
    libc::SYS_getsockopt,
    libc::SYS_execve,
    libc::SYS_execveat,
    libc::SYS_exit,
    libc::SYS_exit_group,
    libc::SYS_wait4,
    libc::SYS_waitid,
    libc::SYS_kill,
    libc::SYS_tkill,
    libc::SYS_tgkill,
    libc::SYS_uname,
    libc::SYS_fcntl,
    libc::SYS_flock,
    libc::SYS_fsync,
    libc::SYS_fdatasync,
    libc::SYS_sync,
    libc::SYS_syncfs,
    libc::SYS_sync_file_range,
    libc::SYS_truncate,
    libc::SYS_ftruncate,
    libc::SYS_fallocate,
    libc::SYS_fadvise64,
    libc::SYS_readahead,
    libc::SYS_getcwd,
    libc::SYS_chdir,
    libc::SYS_fchdir,
    libc::SYS_fchmod,
    libc::SYS_fchmodat,
    libc::SYS_fchown,
    libc::SYS_fchownat,
    libc::SYS_umask,
    libc::SYS_gettimeofday,
    libc::SYS_getrlimit,
    libc::SYS_setrlimit,
    libc::SYS_getrusage,
    libc::SYS_sysinfo,
    libc::SYS_times,
    libc::SYS_getuid,
    libc::SYS_getgid,
    libc::SYS_geteuid,
    libc::SYS_getegid,
    libc::SYS_getresuid,
    libc::SYS_getresgid,
    libc::SYS_setuid,
    libc::SYS_setgid,
    libc::SYS_setreuid,
    libc::SYS_setregid,
    libc::SYS_setresuid,
    libc::SYS_setresgid,
    libc::SYS_setfsuid,
    libc::SYS_setfsgid,
    libc::SYS_getgroups,
    libc::SYS_setgroups,
    libc::SYS_setpgid,
    libc::SYS_getpgid,
    libc::SYS_setsid,
    libc::SYS_getsid,
    libc::SYS_capget,
    libc::SYS_capset,
    libc::SYS_rt_sigpending,
    libc::SYS_rt_sigtimedwait,
    libc::SYS_rt_sigqueueinfo,
    libc::SYS_rt_tgsigqueueinfo,
    libc::SYS_rt_sigsuspend,
    libc::SYS_sigaltstack,
    libc::SYS_statfs,
    libc::SYS_fstatfs,
    libc::SYS_getpriority,
    libc::SYS_sched_getparam,
    libc::SYS_sched_getscheduler,
    libc::SYS_sched_get_priority_max,
    libc::SYS_sched_get_priority_min,
    libc::SYS_sched_rr_get_interval,
    libc::SYS_sched_getaffinity,
    libc::SYS_sched_getattr,
    libc::SYS_prctl,
    libc::SYS_setxattr,
    libc::SYS_lsetxattr,
    libc::SYS_fsetxattr,
    libc::SYS_getxattr,
    libc::SYS_lgetxattr,
    libc::SYS_fgetxattr,
    libc::SYS_listxattr,
    libc::SYS_llistxattr,
    libc::SYS_flistxattr,
    libc::SYS_removexattr,
    libc::SYS_lremovexattr,
    libc::SYS_fremovexattr,
    libc::SYS_futex,
    libc::SYS_futex_waitv,
    libc::SYS_set_robust_list,
    libc::SYS_epoll_create1,
    libc::SYS_epoll_ctl,
    libc::SYS_epoll_pwait,
    libc::SYS_epoll_pwait2,
    libc::SYS_getdents64,
    libc::SYS_set_tid_address,
    libc::SYS_restart_syscall,
    libc::SYS_timer_create,
    libc::SYS_timer_settime,
    libc::SYS_timer_gettime,
    libc::SYS_timer_getoverrun,
    libc::SYS_timer_delete,
    libc::SYS_clock_gettime,
    libc::SYS_clock_getres,
    libc::SYS_clock_nanosleep,
    libc::SYS_timerfd_create,
    libc::SYS_timerfd_settime,
    libc::SYS_timerfd_gettime,
    libc::SYS_openat,
    libc::SYS_openat2,
    libc::SYS_mkdirat,
    libc::SYS_mknodat,
    libc::SYS_newfstatat,
    libc::SYS_statx,
    libc::SYS_unlinkat,
    libc::SYS_renameat,
    libc::SYS_renameat2,
    libc::SYS_linkat,
    libc::SYS_symlinkat,
    libc::SYS_readlinkat,
    libc::SYS_faccessat,
    libc::SYS_faccessat2,
    libc::SYS_utimensat,
    libc::SYS_pselect6,
    libc::SYS_ppoll,
    libc::SYS_splice,
    libc::SYS_tee,
    libc::SYS_vmsplice,
    libc::SYS_signalfd4,
    libc::SYS_eventfd2,
    libc::SYS_pipe2,
    libc::SYS_getcpu,
    libc::SYS_getrandom,
    libc::SYS_memfd_create,
    libc::SYS_membarrier,
    libc::SYS_copy_file_range,
    libc::SYS_pkey_mprotect,
    libc::SYS_pkey_alloc,
    libc::SYS_pkey_free,
    libc::SYS_rseq,
    libc::SYS_close_range,
    libc::SYS_landlock_create_ruleset,
    libc::SYS_landlock_add_rule,
    libc::SYS_landlock_restrict_self,
    libc::SYS_seccomp,
    libc::SYS_pidfd_open,
    libc::SYS_pidfd_send_signal,
];

/// The calls of x86-64 that later architectures do without.
#[cfg(target_arch = "x86_64")]
const HERE: &[i64] = &[
    libc::SYS_open,
    libc::SYS_creat,
    libc::SYS_stat,
    libc::SYS_lstat,
    libc::SYS_poll,
    libc::SYS_access,
    libc::SYS_pipe,
    libc::SYS_select,
    libc::SYS_dup2,
    libc::SYS_pause,
    libc::SYS_alarm,
    libc::SYS_fork,
    libc::SYS_vfork,
    libc::SYS_getdents,
    libc::SYS_rename,
    libc::SYS_mkdir,
    libc::SYS_rmdir,
    libc::SYS_link,
    libc::SYS_unlink,
    libc::SYS_symlink,
    libc::SYS_readlink,
    libc::SYS_chmod,
    libc::SYS_chown,
    libc::SYS_lchown,
    libc::SYS_getpgrp,
    libc::SYS_utime,
    libc::SYS_utimes,
    libc::SYS_futimesat,
    libc::SYS_mknod,
    libc::SYS_time,
    libc::SYS_epoll_create,
    libc::SYS_epoll_wait,
    libc::SYS_signalfd,
    libc::SYS_eventfd,
    libc::SYS_arch_prctl,
];
#[cfg(not(target_arch = "x86_64"))]
const HERE: &[i64] = &[];

/// The known calls that get the error "operation not permitted".
const DENIED: &[i64] = &[
    libc::SYS_socket,
    libc::SYS_bind,
    libc::SYS_listen,
    libc::SYS_accept,
    libc::SYS_accept4,
    libc::SYS_connect,
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_process_madvise,
    libc::SYS_pidfd_getfd,
    libc::SYS_kcmp,
    libc::SYS_unshare,
    libc::SYS_setns,
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_move_mount,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_open_tree,
    libc::SYS_mount_setattr,
    libc::SYS_bpf,
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_userfaultfd,
    libc::SYS_perf_event_open,
    libc::SYS_open_by_handle_at,
    libc::SYS_name_to_handle_at,
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_kexec_load,
    libc::SYS_kexec_file_load,
    libc::SYS_reboot,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_clock_adjtime,
    libc::SYS_adjtimex,
    libc::SYS_acct,
    libc::SYS_quotactl,
    libc::SYS_syslog,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    libc::SYS_vhangup,
    libc::SYS_shmget,
    libc::SYS_shmat,
    libc::SYS_shmctl,
    libc::SYS_shmdt,
    libc::SYS_semget,
    libc::SYS_semop,
    libc::SYS_semctl,
    libc::SYS_semtimedop,
    libc::SYS_msgget,
    libc::SYS_msgsnd,
    libc::SYS_msgrcv,
    libc::SYS_msgctl,
    libc::SYS_mq_open,
];
