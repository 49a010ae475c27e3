//! The table of verbs, held against the rights of the broker's users.

use std::{collections::BTreeSet, fs, path::PathBuf};

use proto::door::{Role, Server, Verb, VerbSpec};

/// Verbs that a user of the broker may ask for, and those that it may serve.
fn rights<'a>(permissions: &'a str, user: &str) -> [BTreeSet<&'a str>; 2] {
    let (_, from) =
        permissions.split_once(&format!("nkey: $NKEY_{user}\n")).expect("the user is there");
    let block = from.split("nkey: $").next().unwrap_or_default();
    let (publish, subscribe) = block.split_once("subscribe {").expect("it has both");
    [publish, subscribe]
        .map(|half| half.split('"').filter_map(|word| word.strip_prefix("cb.svc.")).collect())
}

#[test]
fn each_user_of_the_broker_may_serve_and_ask_what_the_table_says() {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../deploy/nats/permissions.conf");
    let permissions = fs::read_to_string(path).unwrap();
    let verbs = |is: fn(&VerbSpec) -> bool| -> BTreeSet<&str> {
        Verb::ALL.map(Verb::spec).into_iter().filter(is).map(|spec| spec.name).collect()
    };
    let nothing = || verbs(|_| false);
    for (user, asks, serves) in [
        ("SUPERVISOR", nothing(), nothing()),
        ("PLANNER", nothing(), nothing()),
        ("EXECUTOR", nothing(), nothing()),
        ("TOOLS", nothing(), nothing()),
        ("PYTHON", nothing(), nothing()),
        ("INTERACTION", nothing(), verbs(|spec| spec.server == Server::Interaction)),
        ("DOOR", nothing(), verbs(|spec| spec.server == Server::Door)),
        ("CLIENT", verbs(|_| true), nothing()),
        ("WATCHER", verbs(|spec| spec.roles.contains(&Role::Read)), nothing()),
        ("OPERATOR", verbs(|spec| spec.roles.contains(&Role::Read) && !spec.streams), nothing()),
    ] {
        assert_eq!(rights(&permissions, user), [asks, serves], "{user}");
    }
}
