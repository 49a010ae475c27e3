//! Tests of the permissions of each user: every user tries every line of the table, and only the
//! named users succeed.

use broker::testing::wait::eventually_blocking;

use super::broker::{Brokers, USERS};

/// The kind of an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Try {
    Publish,
    Subscribe,
}
use Try::{Publish, Subscribe};

/// The roles of `callboard serve`.
const SERVING: &str = "supervisor planner executor tools interaction door gateway";
/// No user.
const NOBODY: &str = "";
const OPERATOR: &str = "operator";

/// The attempts: the kind, the subject, and the users that may.
const TABLE: &[(Try, &str, &str)] = &[
    // Only the supervisor writes decisions and timers.
    (Publish, "cb.6.demo.do.plan.default", "supervisor"),
    (Publish, "cb.6.demo.do.turn.default", "supervisor"),
    (Publish, "cb.6.demo.do.call.builtin", "supervisor"),
    (Publish, "cb.6.demo.do.call.python", "supervisor"),
    (Publish, "cb.6.demo.do.ask.people", "supervisor"),
    (Publish, "cb.6.demo.do.note.people", "supervisor"),
    (Publish, "cb.6.demo.do.finish.none", "supervisor"),
    (Publish, "cb.6.demo.do.done.none", NOBODY),
    (Publish, "cb.6.demo.at.retry-1", "supervisor"),
    (Publish, "cb.6.demo.at._", "supervisor operator"),
    (Publish, "cb.stop.6.demo", "supervisor"),
    // Facts, each by the role that reports it. The server writes those of the clock.
    (Publish, "cb.6.demo.in.door", "supervisor door"),
    (Publish, "cb.6.demo.in.plan", "planner"),
    (Publish, "cb.6.demo.in.turn", "executor"),
    (Publish, "cb.6.demo.in.call.builtin", "tools"),
    (Publish, "cb.6.demo.in.call.python", "python"),
    (Publish, "cb.6.demo.in.call.other", NOBODY),
    (Publish, "cb.6.demo.in.crew", NOBODY),
    (Publish, "cb.6.demo.in.people", "interaction"),
    (Publish, "cb.6.demo.in.clock", NOBODY),
    (Publish, "cb.6.demo.in.boss", NOBODY),
    (Publish, "cb.6.demo.live", "planner executor tools interaction"),
    // The presence of a role.
    (Publish, "cb.crew.supervisor.x", "supervisor"),
    (Publish, "cb.crew.planner.x", "planner"),
    (Publish, "cb.crew.executor.x", "executor"),
    (Publish, "cb.crew.tools.x", "tools"),
    (Publish, "cb.crew.interaction.x", "interaction"),
    (Publish, "cb.crew.door.x", "door"),
    (Publish, "cb.crew.gateway.x", "gateway"),
    (Publish, "cb.crew.worker.x", "python"),
    // Sessions of jobs: tools ask for them and keep them.
    (Publish, "cb.host.browser", "tools"),
    (Publish, "cb.host.browser.x", "tools"),
    (Subscribe, "cb.host.browser", "tools"),
    (Subscribe, "cb.host.browser.x", "tools"),
    (Publish, "$KV.cb-sessions.browser.demo", "tools"),
    (Subscribe, "$KV.cb-sessions.>", NOBODY),
    (
        Publish,
        "$JS.API.DIRECT.GET.KV_cb-sessions",
        "supervisor planner executor tools interaction door operator",
    ),
    (Publish, "cb.object.ab.0", "supervisor planner executor tools interaction door python"),
    // The front door.
    (Publish, "cb.svc.submit", "client gateway"),
    (Publish, "cb.svc.signal", "client gateway"),
    (Publish, "cb.svc.preview", "client gateway"),
    (Publish, "cb.svc.batch", "client gateway"),
    (Publish, "cb.svc.answer", "client gateway"),
    (Publish, "cb.svc.link", "client gateway"),
    (Publish, "cb.svc.unlink", "client gateway"),
    (Publish, "cb.svc.redeem", "client gateway"),
    (Publish, "cb.svc.get", "client gateway watcher operator"),
    (Publish, "cb.svc.list", "client gateway watcher operator"),
    (Publish, "cb.svc.count", "client gateway watcher operator"),
    (Publish, "cb.svc.usage", "client gateway watcher operator"),
    (Publish, "cb.svc.watch", "client gateway watcher"),
    (Publish, "cb.svc.inbox", "client gateway watcher operator"),
    (Publish, "cb.svc.dead", "client gateway watcher operator"),
    (Publish, "cb.svc.tools", "client gateway watcher operator"),
    (Publish, "cb.svc.crew", "client gateway watcher operator"),
    (Publish, "cb.svc.about", "client gateway watcher operator"),
    (Publish, "cb.svc.agents", "client gateway watcher operator"),
    (Publish, "cb.svc.workflows", "client gateway watcher operator"),
    (Publish, "cb.svc.set_workflow", "client gateway"),
    (Publish, "cb.svc.drop_workflow", "client gateway"),
    (Publish, "cb.svc.set_agent", "client gateway"),
    (Publish, "cb.svc.drop_agent", "client gateway"),
    (Publish, "cb.svc.agent_revisions", "client gateway watcher operator"),
    (Publish, "cb.svc.download", "client gateway watcher operator"),
    (Publish, "cb.svc.other", NOBODY),
    (Subscribe, "cb.svc.submit", "door"),
    (Subscribe, "cb.svc.crew", "door"),
    (Subscribe, "cb.svc.preview", "door"),
    (Subscribe, "cb.svc.usage", "door"),
    (Subscribe, "cb.svc.batch", "door"),
    (Subscribe, "cb.svc.dead", "door"),
    (Subscribe, "cb.svc.about", "door"),
    (Subscribe, "cb.svc.agents", "door"),
    (Subscribe, "cb.svc.set_workflow", "door"),
    (Subscribe, "cb.svc.set_agent", "door"),
    (Subscribe, "cb.svc.drop_agent", "door"),
    (Subscribe, "cb.svc.agent_revisions", "door"),
    (Subscribe, "cb.svc.answer", "interaction"),
    (Subscribe, "cb.svc.inbox", "interaction"),
    (Subscribe, "cb.svc.link", "interaction"),
    (Subscribe, "cb.svc.unlink", "interaction"),
    (Subscribe, "cb.svc.redeem", "interaction"),
    (Subscribe, "cb.svc.*", NOBODY),
    (Subscribe, "$SRV.PING", "interaction door"),
    (Subscribe, "$SRV.INFO.callboard.x", "interaction door"),
    (Publish, "$SRV.PING", "watcher operator"),
    // Replies: each client's own inbox, and the inboxes of callers for the roles that answer them.
    (Publish, "_INBOX_supervisor.x", "supervisor"),
    (Publish, "_INBOX_planner.x", "planner"),
    (Publish, "_INBOX_executor.x", "executor"),
    (Publish, "_INBOX_tools.x", "tools"),
    (Publish, "_INBOX_interaction.x", "interaction"),
    (Publish, "_INBOX_door.x", "door"),
    (Publish, "_INBOX_gateway.x", "gateway interaction door"),
    (Publish, "_INBOX_client.shared.x", "client interaction door"),
    (Publish, "_INBOX_watcher.x", "watcher interaction door"),
    (Publish, "_INBOX_operator.x", "operator interaction door"),
    (Publish, "_INBOX_python.x", "python"),
    (Publish, "_INBOX_monitor.x", "monitor"),
    (Publish, "_INBOX.x", NOBODY),
    (Subscribe, "_INBOX_supervisor.>", "supervisor"),
    (Subscribe, "_INBOX_planner.>", "planner"),
    (Subscribe, "_INBOX_executor.>", "executor"),
    (Subscribe, "_INBOX_tools.>", "tools"),
    (Subscribe, "_INBOX_interaction.>", "interaction"),
    (Subscribe, "_INBOX_door.>", "door"),
    (Subscribe, "_INBOX_gateway.>", "gateway"),
    (Subscribe, "_INBOX_client.shared.>", "client"),
    (Subscribe, "_INBOX_client.>", NOBODY),
    (Subscribe, "_INBOX_watcher.>", "watcher"),
    (Subscribe, "_INBOX_operator.>", "operator"),
    (Subscribe, "_INBOX_python.>", "python"),
    (Subscribe, "_INBOX_monitor.>", "monitor"),
    (Subscribe, "_INBOX.>", NOBODY),
    (Subscribe, "*.x", NOBODY),
    (Subscribe, ">", NOBODY),
    // Subscriptions to jobs.
    (Subscribe, "cb.>", NOBODY),
    (Subscribe, "cb.6.demo.in.>", "interaction door"),
    (Subscribe, "cb.6.demo.do.>", "interaction door"),
    (Subscribe, "cb.6.demo.at.>", NOBODY),
    (Subscribe, "cb.6.demo.live", "door"),
    (Subscribe, "cb.stop.>", "planner executor tools interaction python"),
    (
        Subscribe,
        "cb.crew.>",
        "supervisor planner executor tools interaction door gateway watcher operator",
    ),
    (Publish, "cb.pulse.ask", "gateway"),
    (Subscribe, "cb.pulse.ask", "supervisor"),
    (Publish, "cb.pulse.shard.6", "supervisor"),
    (Subscribe, "cb.pulse.shard.*", "gateway"),
    (Subscribe, "cb.object.>", NOBODY),
    (Subscribe, "$KV.cb-tools.>", SERVING),
    (Subscribe, "$KV.cb-inbox.>", NOBODY),
    (Subscribe, "$KV.cb-links.>", NOBODY),
    (Subscribe, "$KV.cb-receivers.>", NOBODY),
    (Subscribe, "$KV.cb-mcp.>", NOBODY),
    (Subscribe, "$KV.cb-tasks.>", NOBODY),
    (Subscribe, "$KV.cb-conversations.>", NOBODY),
    (Subscribe, "$KV.cb-agents.>", "door"),
    (Subscribe, "$KV.cb-workflows.>", "door"),
    (Subscribe, "$JS.>", NOBODY),
    (Subscribe, "$JS.API.>", NOBODY),
    (Subscribe, "$JS.ACK.>", NOBODY),
    (Subscribe, "$JS.EVENT.>", NOBODY),
    // Reads of the server's state.
    (
        Publish,
        "$JS.API.INFO",
        "supervisor planner executor tools interaction door gateway operator",
    ),
    (
        Publish,
        "$JS.API.STREAM.INFO.cb-shard-6",
        "supervisor planner executor tools interaction door gateway operator",
    ),
    (Publish, "$JS.API.STREAM.NAMES", OPERATOR),
    (Publish, "$JS.API.STREAM.LIST", "operator python"),
    (Publish, "$JS.API.CONSUMER.LIST.cb-shard-6", "supervisor door operator"),
    (Publish, "$JS.API.CONSUMER.NAMES.cb-shard-6", OPERATOR),
    (Publish, "$JS.API.CONSUMER.INFO.cb-shard-6.facts", "supervisor operator"),
    (Publish, "$JS.API.CONSUMER.INFO.cb-shard-6.plan-default", "planner operator"),
    (Publish, "$JS.API.CONSUMER.INFO.cb-shard-6.turn-default", "executor operator"),
    (Publish, "$JS.API.CONSUMER.INFO.cb-shard-6.call-builtin", "tools operator"),
    (Publish, "$JS.API.CONSUMER.INFO.cb-shard-6.call-python", "python operator"),
    (Publish, "$JS.API.CONSUMER.INFO.cb-shard-6.ask-people", "interaction operator"),
    // Reads of records.
    (
        Publish,
        "$JS.API.DIRECT.GET.cb-shard-6",
        "supervisor planner executor tools interaction door operator",
    ),
    (
        Publish,
        "$JS.API.STREAM.MSG.GET.cb-shard-6",
        "supervisor planner executor tools interaction door operator",
    ),
    (
        Publish,
        "$JS.API.DIRECT.GET.cb-objects",
        "supervisor planner executor tools interaction door operator python",
    ),
    (Publish, "$JS.API.DIRECT.GET.cb-shard-6.cb.6.demo.do.finish.none", "operator python"),
    (
        Publish,
        "$JS.API.DIRECT.GET.KV_cb-tools",
        "supervisor planner executor tools interaction door gateway operator",
    ),
    (Publish, "$JS.API.DIRECT.GET.KV_cb-tools.$KV.cb-tools.echo", "operator python"),
    (Publish, "$JS.API.DIRECT.GET.KV_cb-inbox", "interaction operator"),
    (Publish, "$JS.API.STREAM.MSG.GET.KV_cb-inbox", "interaction operator"),
    (Publish, "$JS.API.DIRECT.GET.KV_cb-links", "interaction operator"),
    (Publish, "$JS.API.STREAM.MSG.GET.KV_cb-links", "interaction operator"),
    (Publish, "$JS.API.DIRECT.GET.KV_cb-receivers", "gateway operator"),
    (Publish, "$JS.API.STREAM.MSG.GET.KV_cb-receivers", "gateway operator"),
    (Publish, "$JS.API.DIRECT.GET.KV_cb-tasks", "planner tools operator"),
    (Publish, "$JS.API.STREAM.MSG.GET.KV_cb-tasks", "planner tools operator"),
    // Shared values.
    (Publish, "$KV.cb-tools.echo", "tools"),
    (Publish, "$KV.cb-tools.word_count", "tools python"),
    (Publish, "$KV.cb-tasks.task.1", "tools"),
    (Publish, "$KV.cb-inbox.demo.q1", "interaction operator"),
    (Publish, "$KV.cb-links.0123", "interaction"),
    (Publish, "$KV.cb-receivers.demo", "gateway operator"),
    (Publish, "$JS.API.CONSUMER.MSG.NEXT.cb-shard-0.hook-a2a", "gateway operator"),
    (Publish, "$JS.API.CONSUMER.PAUSE.cb-shard-0.hook-a2a", OPERATOR),
    (Publish, "$KV.cb-conversations.trip", "operator door"),
    (Publish, "$KV.cb-mcp.files", OPERATOR),
    (Publish, "$KV.cb-agents.mine", "door"),
    (Publish, "$KV.cb-workflows.mine", "door"),
    (Publish, "$KV.cb-agents.mine.7", "door"),
    (Publish, "$KV.cb-workflows.mine.7", "door"),
    (Publish, "$KV.cb-installation.created", OPERATOR),
    (Publish, "$KV.cb-installation.other", NOBODY),
    // Deliveries and acknowledgements.
    (Publish, "$JS.API.CONSUMER.MSG.NEXT.cb-shard-6.facts", "supervisor operator"),
    (Publish, "$JS.API.CONSUMER.UNPIN.cb-shard-6.facts", "supervisor operator"),
    (Publish, "$JS.API.CONSUMER.MSG.NEXT.cb-shard-6.plan-default", "planner operator"),
    (Publish, "$JS.API.CONSUMER.MSG.NEXT.cb-shard-6.turn-default", "executor operator"),
    (Publish, "$JS.API.CONSUMER.MSG.NEXT.cb-shard-6.call-builtin", "tools operator"),
    (Publish, "$JS.API.CONSUMER.MSG.NEXT.cb-shard-6.call-python", "python operator"),
    (Publish, "$JS.API.CONSUMER.MSG.NEXT.cb-shard-6.ask-people", "interaction operator"),
    (Publish, "$JS.API.CONSUMER.MSG.NEXT.cb-shard-6.note-people", "interaction operator"),
    (Publish, "$JS.API.CONSUMER.MSG.NEXT.cb-shard-6.hook-audit", "gateway operator"),
    (Publish, "$JS.API.CONSUMER.MSG.NEXT.cb-shard-6.other", OPERATOR),
    (Publish, "$JS.ACK.cb-shard-6.facts.1.1.1.1.0", "supervisor"),
    (Publish, "$JS.ACK.cb-shard-6.plan-default.1.1.1.1.0", "planner"),
    (Publish, "$JS.ACK.cb-shard-6.turn-default.1.1.1.1.0", "executor"),
    (Publish, "$JS.ACK.cb-shard-6.call-builtin.1.1.1.1.0", "tools"),
    (Publish, "$JS.ACK.cb-shard-6.call-python.1.1.1.1.0", "python"),
    (Publish, "$JS.ACK.cb-shard-6.ask-people.1.1.1.1.0", "interaction"),
    (Publish, "$JS.ACK.cb-shard-6.note-people.1.1.1.1.0", "interaction"),
    (Publish, "$JS.ACK.cb-shard-6.hook-audit.1.1.1.1.0", "gateway"),
    (Publish, "$JS.API.CONSUMER.INFO.cb-shard-6.hook-audit", "gateway operator"),
    (Publish, "$JS.API.CONSUMER.PAUSE.cb-nowhere.hook-audit", "gateway operator"),
    (Publish, "$JS.API.CONSUMER.CREATE.cb-nowhere.hook-audit", OPERATOR),
    // Creation, change and deletion. No stream has these names.
    (Publish, "$JS.API.STREAM.CREATE.cb-nowhere", OPERATOR),
    (Publish, "$JS.API.STREAM.UPDATE.cb-nowhere", OPERATOR),
    (Publish, "$JS.API.STREAM.DELETE.cb-nowhere", OPERATOR),
    (Publish, "$JS.API.STREAM.PURGE.cb-nowhere", OPERATOR),
    (Publish, "$JS.API.STREAM.MSG.DELETE.cb-nowhere", OPERATOR),
    (Publish, "$JS.API.STREAM.SNAPSHOT.cb-nowhere", OPERATOR),
    (Publish, "$JS.API.STREAM.RESTORE.cb-nowhere", OPERATOR),
    (Publish, "$JS.API.STREAM.PEER.REMOVE.cb-nowhere", OPERATOR),
    (Publish, "$JS.API.STREAM.LEADER.STEPDOWN.cb-nowhere", OPERATOR),
    (Publish, "$JS.API.STREAM.PURGE.cb-shard-6.x", OPERATOR),
    (Publish, "$JS.API.CONSUMER.CREATE.cb-nowhere", OPERATOR),
    (Publish, "$JS.API.CONSUMER.CREATE.cb-nowhere.mine", OPERATOR),
    (Publish, "$JS.API.CONSUMER.CREATE.cb-nowhere.mine.cb.>", OPERATOR),
    (Publish, "$JS.API.CONSUMER.DURABLE.CREATE.cb-nowhere.mine", OPERATOR),
    (Publish, "$JS.API.CONSUMER.DELETE.cb-nowhere.facts", OPERATOR),
    (Publish, "$JS.API.CONSUMER.PAUSE.cb-nowhere.facts", OPERATOR),
    (Publish, "$JS.API.META.LEADER.STEPDOWN", OPERATOR),
    // The server's own subjects.
    (Publish, "$SYS.REQ.SERVER.PING", "monitor"),
    (Publish, "$SYS.REQ.SERVER.PING.VARZ", "monitor"),
    (Publish, "$SYS.REQ.SERVER.PING.PROFILEZ", NOBODY),
    (Publish, "$SYS.REQ.SERVER.x.RELOAD", NOBODY),
    (Publish, "$SYS.REQ.SERVER.x.KICK", NOBODY),
    (Publish, "$SYS.REQ.SERVER.x.LDM", NOBODY),
    (Publish, "$SYS.REQ.USER.INFO", NOBODY),
    (Subscribe, "$SYS.>", NOBODY),
    (Publish, "anything", NOBODY),
    (Subscribe, "anything", NOBODY),
];

#[test]
fn every_user_may_do_what_the_table_says_and_nothing_else() {
    let brokers = Brokers::single();
    brokers.set_up(1);
    let mut wrong = Vec::new();
    for user in USERS {
        let mut wire = brokers.wire(user);
        for (attempt, subject, who) in TABLE {
            let may = who.split(' ').any(|named| named == user);
            let does = match attempt {
                Publish => wire.may_publish(subject),
                Subscribe => wire.may_subscribe(subject),
            };
            if may != does {
                let verb = if does { "may" } else { "may not" };
                wrong.push(format!("{user} {verb} {attempt:?} {subject}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn every_user_of_the_file_is_in_the_table_and_in_the_script() {
    let read = |file: &str| {
        std::fs::read_to_string(callboard_tests::root().join("deploy/nats").join(file)).unwrap()
    };
    let file = read("permissions.conf");
    let mut named: Vec<String> = file
        .lines()
        .filter_map(|line| line.trim().strip_prefix("nkey: $NKEY_"))
        .map(str::to_lowercase)
        .collect();
    let mut known = USERS.map(str::to_owned).to_vec();
    named.sort();
    known.sort();
    assert_eq!(named, known);
    let script = read("keys");
    let line = script.lines().find_map(|line| line.strip_prefix("users=(")).unwrap();
    let mut made: Vec<&str> = line.trim_end_matches(')').split(' ').collect();
    made.sort_unstable();
    assert_eq!(made, known);
}

#[test]
fn nobody_connects_without_a_key_that_is_known_or_without_tls() {
    let brokers = Brokers::single();
    let stranger = nkeys::KeyPair::new_user().seed().unwrap();
    let refused = |said: Result<super::wire::Wire, String>| {
        let why = said.err().expect("it was let in");
        assert!(why.contains("Authorization Violation") || why.contains("hung up"), "{why}");
    };
    refused(super::wire::Wire::connect(brokers.ports[0], &brokers.ca(), &stranger));
    refused(super::wire::Wire::connect_with(brokers.ports[0], &brokers.ca(), |_| {
        serde_json::json!({})
    }));
    // Without TLS the program refuses before it sends anything.
    let mut plain = brokers.callboard("client", 1);
    plain.env("CALLBOARD__NATS__TLS__CA_FILE", brokers.file("users.conf"));
    let said = plain.args(["jobs", "ls"]).output().unwrap();
    assert!(!said.status.success());
}

#[test]
fn a_key_that_was_rotated_is_good_for_nothing() {
    let brokers = Brokers::single();
    let seed = || std::fs::read_to_string(brokers.file("tools.nk")).unwrap();
    let old = seed();
    brokers.wire("tools");
    brokers.keys(&["--rotate", "tools"]);
    assert_ne!(seed(), old);
    brokers.reload();
    let connect = |seed: &str| super::wire::Wire::connect(brokers.ports[0], &brokers.ca(), seed);
    eventually_blocking("the new key", || connect(&seed()).map_err(|_| brokers.logs()));
    let why = connect(&old).err().expect("it was let in");
    assert!(why.contains("Authorization Violation"), "{why}");
    // The keys of other users are unchanged.
    brokers.wire("planner");
}
