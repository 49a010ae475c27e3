//! The roles that this broker user is permitted to run, probed operation by operation. The probes
//! store, take and change nothing; operations that cannot be probed are reported as such.

use std::collections::BTreeSet;

use broker::{
    kv::Bucket,
    nats::{Right, Rights, Try},
};
use gateway::webhooks::Webhooks;
use proto::{
    decision::{DecisionKind, pools},
    door::Verb,
    fact::Source,
    id::{JobId, TimerName, WorkerId},
    lang::Words,
    subject::Subjects,
};
use runtime::nats::Nats;

use super::words::Text;
use crate::{connect, render::findings::Finding, roles::Role};

/// Id of a job that must not exist.
const NOBODY: &str = "callboard-doctor";

/// Probes the requested roles, or all roles.
pub(super) async fn findings(
    nats: &Nats,
    subjects: &Subjects,
    asked: Option<&BTreeSet<Role>>,
    hooks: &Webhooks,
) -> Vec<Finding> {
    let rights = match Rights::connect(&nats.into()).await {
        Ok(rights) => rights,
        Err(error) => return vec![Finding::skipped("permissions", connect::refused(&error))],
    };
    let mut lacking = Vec::new();
    for role in
        Role::ALL.iter().copied().filter(|role| asked.is_none_or(|asked| asked.contains(role)))
    {
        let attempts = needs(role, subjects, nats.create, hooks);
        let mut lacks = Vec::new();
        for (attempt, right) in attempts.iter().zip(rights.of(&attempts).await) {
            match right {
                Right::Granted => {}
                Right::Denied => lacks.push(words(attempt)),
                Right::Unknown(why) => {
                    let words = format!("{}: {why}", attempt.subject());
                    return vec![Finding::skipped("permissions", words)];
                }
            }
        }
        lacking.push((role, lacks));
    }
    rights.close().await;
    judged(&lacking, asked.is_some())
}

/// Names the right that an operation needs.
fn words(attempt: &Try) -> Words {
    let subject = &attempt.subject();
    match attempt {
        Try::Listen(_) => Text::Subscribe { subject }.into(),
        Try::Look(_) | Try::Say(_) | Try::Store(_) => Text::Publish { subject }.into(),
    }
}

/// Converts missing permissions to findings. Missing permissions of a role that was not requested
/// are no problem.
fn judged(lacking: &[(Role, Vec<Words>)], asked: bool) -> Vec<Finding> {
    let may: Vec<&str> =
        lacking.iter().filter(|(_, lacks)| lacks.is_empty()).map(|(role, _)| role.name()).collect();
    let (lacks_none, roles) = (may.len() == lacking.len(), &may.join(", "));
    if lacks_none || !asked {
        let found = match (lacks_none, asked) {
            (true, true) => Text::MayPlay { roles },
            (true, false) => Text::MayPlayEvery,
            (false, _) if may.is_empty() => Text::MayPlayNone,
            (false, _) => Text::MayPlayOnly { roles },
        };
        return vec![Finding::ok("permissions", found)];
    }
    let bad = lacking.iter().filter(|(_, lacks)| !lacks.is_empty()).map(|(role, lacks)| {
        let found = Words::new(|language| {
            let rights: Vec<_> = lacks.iter().map(|right| right.text(language)).collect();
            Text::MayNot { role: &role.name(), rights: &rights.join(&Text::Comma.text(language)) }
                .text(language)
        });
        Finding::bad("permissions", found, Text::GiveRights)
    });
    bad.collect()
}

/// Lists the operations of a role that can be probed.
fn needs(role: Role, subjects: &Subjects, create: bool, hooks: &Webhooks) -> Vec<Try> {
    let job = JobId::new(NOBODY).expect("a word is an id");
    let stream = subjects.stream(subjects.shard_of(&job));
    let worker = WorkerId::new(NOBODY).expect("a word is an id");
    let timer = TimerName::new(NOBODY).expect("a word is a name");
    let consumer = |name: String| Try::Look(format!("CONSUMER.INFO.{stream}.{name}"));
    let queue = |kind, pool| consumer(subjects.commands_consumer(kind, &pool));
    let fact = |source| Try::Store(subjects.fact(&job, &source));
    let bucket = |bucket: Bucket| format!("$KV.{}", subjects.bucket(bucket.name()));
    let mut all = vec![
        Try::Look("INFO".to_owned()),
        Try::Look(format!("STREAM.INFO.{stream}")),
        Try::Listen(subjects.all_presence()),
        Try::Say(subjects.presence(role.name(), &worker)),
        Try::Listen(format!("{}.>", bucket(Bucket::Tools))),
    ];
    if create {
        // A request without a body cannot create anything.
        all.push(Try::Look(format!("CONSUMER.CREATE.{stream}.{NOBODY}")));
    }
    let stops = Try::Listen(subjects.all_stops());
    let live = Try::Say(subjects.live(&job));
    all.extend(match role {
        Role::Supervisor => vec![
            consumer(subjects.facts_consumer()),
            fact(Source::Door),
            Try::Store(subjects.decision(&job, DecisionKind::Plan, &pools::models())),
            Try::Store(subjects.timer(&job, &timer)),
            Try::Say(subjects.stop(&job)),
        ],
        Role::Planner => {
            vec![queue(DecisionKind::Plan, pools::models()), fact(Source::Plan), live, stops]
        }
        Role::Executor => {
            vec![queue(DecisionKind::Turn, pools::models()), fact(Source::Turn), live, stops]
        }
        Role::Tools => vec![
            queue(DecisionKind::Call, pools::builtin()),
            fact(Source::Call(pools::builtin())),
            Try::Store(format!("{}.{NOBODY}", bucket(Bucket::Tools))),
            live,
            stops,
        ],
        Role::Interaction => vec![
            queue(DecisionKind::Ask, pools::people()),
            queue(DecisionKind::Note, pools::people()),
            fact(Source::People),
            Try::Store(format!("{}.{NOBODY}.q", bucket(Bucket::Inbox))),
            Try::Store(format!("{}.{NOBODY}", bucket(Bucket::Links))),
            Try::Listen(subjects.service(Verb::Answer)),
            stops,
        ],
        Role::Door => vec![
            fact(Source::Door),
            Try::Store(format!("{}.{NOBODY}", bucket(Bucket::Agents))),
            Try::Store(format!("{}.{NOBODY}.0", bucket(Bucket::Agents))),
            Try::Store(format!("{}.{NOBODY}", bucket(Bucket::Conversations))),
            Try::Listen(subjects.service(Verb::Submit)),
            Try::Listen(subjects.live(&job)),
        ],
        // A request without a body and a reply subject changes nothing and gets no reply.
        Role::Gateway => {
            let outboxes = hooks.outboxes();
            let outboxes = outboxes.iter().map(|hook| consumer(subjects.outbox_consumer(hook)));
            let receivers = Try::Store(format!("{}.{NOBODY}", bucket(Bucket::Receivers)));
            let receivers = hooks.a2a.enabled.then_some(receivers);
            [Try::Say(subjects.service(Verb::Get))]
                .into_iter()
                .chain(outboxes)
                .chain(receivers)
                .collect()
        }
    });
    all
}

#[cfg(test)]
mod tests {
    use proto::lang::Language;

    use super::*;
    use crate::render::findings::Grade;

    #[test]
    fn what_is_lacking_is_bad_only_for_a_role_that_was_asked_about() {
        let lacking = [
            (Role::Planner, vec![]),
            (
                Role::Tools,
                [Try::Say("a.b".to_owned()), Try::Listen("c".to_owned())]
                    .iter()
                    .map(words)
                    .collect(),
            ),
        ];
        let all = judged(&lacking, false);
        assert_eq!((all.len(), all[0].grade), (1, Grade::Ok));
        assert!(all[0].found.text(Language::En).contains("may play planner;"), "{:?}", all[0]);
        let asked = judged(&lacking, true);
        assert_eq!((asked.len(), asked[0].grade), (1, Grade::Bad));
        assert_eq!(
            asked[0].found.text(Language::En),
            "tools may not publish to a.b, subscribe to c"
        );
        assert_eq!(judged(&lacking[..1], true)[0].grade, Grade::Ok);
    }
}
