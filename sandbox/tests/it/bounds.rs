//! What a command may use, and the end of everything that it started.

use std::{
    fs::{self, File},
    io::{BufRead, BufReader, Write},
    process::Stdio,
    thread,
};

use callboard_sandbox::{Ended, Isolation, Limits, Refusal, Status, Stopped, Task};
use rstest::rstest;
use rustix::{io::Errno, process::Signal};

use crate::place::{Answer, Place, Worker, take_away};

const KILLED: Status = Status::Signaled(Signal::KILL.as_raw());

/// A command that leaves behind a process which ignores signals, has a session of its own, and holds
/// a lock for as long as it lives; it waits until the lock is held.
const LEAVES: &str = "(setsid sh -c \"trap '' TERM INT HUP; flock -x held sleep 600\" &) & \
                      until [ -e held ] && ! flock -n held true; do sleep 0.01; done; echo out";

fn place() -> Place {
    Place::of(Worker::all()[0])
}

fn sh(place: &Place, command: &str, limits: impl FnOnce(&mut Limits)) -> Ended {
    let mut task = place.task(Isolation::Kernel, &["bash", "-c", command]);
    limits(&mut task.limits);
    place.ended(&task)
}

/// Asserts that no process holds the lock.
fn assert_nobody_is_left(place: &Place) {
    File::open(place.at("workspace/held")).unwrap().try_lock().unwrap();
}

#[rstest]
fn processes_that_hide_end_with_the_command(
    #[values(Isolation::Kernel, Isolation::Namespaces)] isolation: Isolation,
) {
    for worker in Worker::that_have(isolation) {
        let place = Place::of(worker);
        let ended = place.sh(isolation, LEAVES);
        assert_eq!((ended.status, &*ended.stdout.text), (Status::Exited(0), "out\n"), "{ended:?}");
        assert_nobody_is_left(&place);
    }
}

/// The kernel shows a process whose first thread has ended as dead.
#[rstest]
fn a_process_without_its_first_thread_ends_too(
    #[values(Isolation::Kernel, Isolation::Namespaces)] isolation: Isolation,
) {
    let place = place();
    let script = "import ctypes, fcntl, os, threading, time\n\
                  held = open('held', 'w')\n\
                  fcntl.flock(held, fcntl.LOCK_EX)\n\
                  threading.Thread(target=time.sleep, args=(600,)).start()\n\
                  ctypes.CDLL(None).syscall(60 if os.uname().machine == 'x86_64' else 93, 0)";
    std::fs::write(place.at("workspace/hide.py"), script).unwrap();
    place.give(&place.at("workspace/hide.py"));
    let command = "(setsid /usr/bin/python3 hide.py &) & until [ -e held ] && ! flock -n held true; \
                   do sleep 0.01; done; echo out";
    let ended = place.sh(isolation, command);
    assert_eq!((ended.status, &*ended.stdout.text), (Status::Exited(0), "out\n"), "{ended:?}");
    assert_nobody_is_left(&place);
}

/// Namespaces end all of their processes, seen or not.
#[test]
fn a_machine_that_hides_processes_needs_namespaces() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let place = Place::of(Worker::Plain);
    let run = |isolation| Place::run_by(place.blind_warden(), &place.task(isolation, &["true"]));
    assert_eq!(run(Isolation::Kernel).missing_layer(), "processes");
    let Answer::Ended(ended) = run(Isolation::Namespaces) else { panic!("it runs") };
    assert_eq!(ended.status, Status::Exited(0));
}

#[rstest]
fn a_command_ends_with_its_time(
    #[values(Isolation::Kernel, Isolation::Namespaces)] isolation: Isolation,
) {
    let place = place();
    let command = format!("{LEAVES}; sleep 600");
    let task = place.task(isolation, &["sh", "-c", &command]);
    let ended = place.ended(&Task { limits: Limits { time_ms: 5_000, ..task.limits }, ..task });
    assert_eq!((ended.stopped, ended.status), (Some(Stopped::TimedOut), KILLED));
    assert_eq!(ended.stdout.text, "out\n");
    assert_nobody_is_left(&place);
}

#[rstest]
fn a_command_ends_with_the_worker_that_waits_for_it(
    #[values(Isolation::Kernel, Isolation::Namespaces)] isolation: Isolation,
) {
    let place = place();
    // The FIFO says that the command runs.
    rustix::fs::mknodat(
        rustix::fs::CWD,
        place.at("workspace/running"),
        rustix::fs::FileType::Fifo,
        0o666.into(),
        0,
    )
    .unwrap();
    let permissions = std::os::unix::fs::PermissionsExt::from_mode(0o666);
    fs::set_permissions(place.at("workspace/running"), permissions).unwrap();
    let command = format!("{LEAVES}; echo yes > running; sleep 600");
    let task = place.task(isolation, &["sh", "-c", &command]);
    let mut warden = place.warden();
    let mut warden = warden.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut interest = warden.stdin.take().unwrap();
    serde_json::to_writer(&mut interest, &task).unwrap();
    interest.write_all(b"\n").unwrap();
    assert_eq!(fs::read_to_string(place.at("workspace/running")).unwrap(), "yes\n");
    // The kernel closes this end when the worker is killed.
    drop(interest);
    let mut answer = String::new();
    BufReader::new(warden.stdout.take().unwrap()).read_line(&mut answer).unwrap();
    warden.wait().unwrap();
    let Answer::Ended(ended) = serde_json::from_str(&answer).unwrap() else { panic!("{answer}") };
    assert_eq!(ended.stopped, Some(Stopped::Canceled));
    assert_nobody_is_left(&place);
}

#[test]
fn a_fork_bomb_is_bounded_and_ends() {
    for worker in Worker::all() {
        let place = Place::of(worker);
        let mut task = place
            .task(Isolation::Kernel, &["bash", "-c", "touch held; b() { b | b & }; b; sleep 600"]);
        task.limits.time_ms = 1_500;
        let ended = place.ended(&task);
        assert_eq!(ended.stopped, Some(Stopped::TimedOut), "{worker:?}");
        // Those that end between two looks are counted too.
        assert!(ended.killed <= 256, "{worker:?}: {} processes", ended.killed);
    }
}

#[test]
fn memory_files_and_output_are_bounded() {
    let place = place();
    let ended = sh(&place, "exec python3 -c 'bytearray(2 << 30)'", |_| {});
    assert!(ended.stderr.text.contains("MemoryError"), "{ended:?}");
    let ended = sh(&place, "head -c 3000000 /dev/zero > big; exit 7", |_| {});
    assert_eq!(ended.status, Status::Exited(7));
    assert_eq!(fs::metadata(place.at("workspace/big")).unwrap().len(), 1 << 20);
    let ended =
        sh(&place, "head -c 20000000 /dev/zero; echo end >&2", |limits| limits.output_bytes = 100);
    let dropped = (ended.stdout.text.len(), ended.stdout.dropped);
    assert_eq!((dropped, &*ended.stderr.text), ((100, 19_999_900), "end\n"));
}

#[rstest]
fn a_program_that_is_not_there_is_named(
    #[values(Isolation::Kernel, Isolation::Namespaces)] isolation: Isolation,
) {
    let place = place();
    let answer = place.run(&place.task(isolation, &["no-such-program"]));
    let Answer::Refused(Refusal::Program { program, .. }) = answer else { panic!("{answer:?}") };
    assert_eq!(program, "no-such-program");
}

/// A kernel without a system call answers "function not implemented".
#[rstest]
#[case::landlock(libc::SYS_landlock_create_ruleset, "Landlock")]
#[case::seccomp(libc::SYS_seccomp, "seccomp")]
#[case::namespaces(libc::SYS_unshare, "namespaces")]
fn a_kernel_that_lacks_a_layer_is_refused_by_the_name_of_the_layer(
    #[case] call: i64,
    #[case] missing: &str,
) {
    let isolation = match missing {
        "namespaces" => Isolation::Namespaces,
        _ => Isolation::Kernel,
    };
    // A filter holds for the thread that sets it and the processes that it starts.
    let answer = thread::spawn(move || {
        let place = place();
        take_away(&[call], Errno::NOSYS.raw_os_error().unsigned_abs());
        place.run(&place.task(isolation, &["true"]))
    });
    assert_eq!(answer.join().unwrap().missing_layer(), missing);
}
