//! What a job's log says about its questions. Pure: entries in, standings out.
//!
//! It must agree with the job machine on which answer counts, record by record: an answer is taken
//! here only if the fold will take it. Where it is stricter (a job that is being canceled, a value
//! against its schema), the answer is refused before it is stored.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use machine::timeline::{Timeline, Turn};
use proto::{
    agent::Agent,
    decision::{Closed, Decision, Note},
    entry::Entry,
    fact::{Answered, Fact, Signal, Source},
    family::Parent,
    id::{AgentName, AskId, Generation, Seq},
    interaction::Question,
    lang::Language,
    record::{Known, Record, Unreadable},
    subject::Family,
};

/// The questions of one job.
#[derive(Debug, Clone, Default)]
pub struct Ledger {
    /// What the job is to reach; absent when its first record cannot be read.
    pub goal: Option<String>,
    /// The language of the job, in which people are told what does not fit.
    pub language: Language,
    /// The agent it runs under.
    pub agent: Option<AgentName>,
    /// What it works for, when it is the child of another job.
    pub parent: Option<Parent>,
    /// The policies it runs under.
    pub policies: Option<Arc<Agent>>,
    /// The last record that was read.
    pub seq: Seq,
    /// The last fact from a person: what the next answer is compared with.
    pub last_answer: Seq,
    /// A record that cannot be read: the job is parked there, and no answer can move it.
    pub unreadable: Option<(Seq, String)>,
    questions: BTreeMap<AskId, Standing>,
    writers: BTreeSet<String>,
    /// The record from which on the job only ends.
    ending: Option<Seq>,
    timeline: Timeline,
    /// What is decided in an earlier one counts for nothing.
    generation: Generation,
}

/// Where a question stands.
#[derive(Debug, Clone, PartialEq)]
pub enum Standing {
    /// It waits for a person.
    Open {
        /// The question.
        question: Box<Question>,
        /// When it was asked, by the server's clock.
        asked: jiff::Timestamp,
    },
    /// It has an answer.
    Answered {
        /// The first valid one.
        winner: Box<Answered>,
        /// Its position.
        seq: Seq,
    },
    /// It closed without one.
    Closed {
        /// Why.
        because: Closed,
    },
}

impl Ledger {
    /// What a whole log says.
    #[must_use]
    pub fn of(entries: &[Entry]) -> Self {
        let mut ledger = Self::default();
        entries.iter().for_each(|entry| ledger.apply(entry));
        ledger
    }

    /// Takes the next record in; one that was read before changes nothing.
    pub fn apply(&mut self, entry: &Entry) {
        if entry.seq <= self.seq {
            return;
        }
        self.seq = entry.seq;
        if entry.family == Family::In(Source::People) {
            self.last_answer = entry.seq;
        }
        // Nobody's word; but an answer is stored after it.
        if matches!(entry.record, Err(Unreadable::Forged)) {
            return;
        }
        let known = entry.record.as_ref().map_err(Clone::clone).and_then(Record::known);
        if let Turn::Back(to) = self.timeline.take(entry.seq, &entry.family, known.as_ref().ok()) {
            return self.went_back(to);
        }
        if self.unreadable.is_some() {
            return;
        }
        let record = match entry.record.as_ref() {
            Ok(record) => record,
            Err(unreadable) => return self.stuck(entry.seq, unreadable.to_string()),
        };
        match (known, &entry.family) {
            (Err(unreadable), _) => self.stuck(entry.seq, unreadable.to_string()),
            (Ok(Known::Fact(fact)), Family::In(source)) if fact.source() == *source => {
                self.wrote(record, *source);
                self.fact(entry.seq, *fact);
            }
            (Ok(Known::Decision(decision)), Family::Do(kind, _)) if decision.kind() == *kind => {
                self.writers.insert(record.by.clone());
                self.decision(entry, *decision);
            }
            // Whoever wrote it is not entitled to say this: the fold ignores it too.
            (Ok(Known::Fact(_) | Known::Decision(_)), _) => {}
        }
    }

    /// Where a question stands; nothing when it was never asked.
    #[must_use]
    pub fn standing(&self, ask: &AskId) -> Option<&Standing> {
        self.questions.get(ask)
    }

    /// The questions that wait for a person.
    pub fn open(&self) -> impl Iterator<Item = &Question> {
        self.questions.values().filter_map(|standing| match standing {
            Standing::Open { question, .. } => Some(&**question),
            Standing::Answered { .. } | Standing::Closed { .. } => None,
        })
    }

    /// Whether a name is that of an agent or a process that works for this job: those never answer
    /// for a person.
    #[must_use]
    pub fn is_crew(&self, name: &str) -> bool {
        self.writers.contains(name) || self.agent.as_ref().is_some_and(|a| a.as_str() == name)
    }

    fn stuck(&mut self, seq: Seq, why: String) {
        self.unreadable = Some((seq, why));
    }

    fn wrote(&mut self, record: &Record, source: Source) {
        match source {
            Source::Crew => {
                self.writers.insert(record.by.clone());
            }
            Source::Door | Source::People | Source::Clock => {}
        }
    }

    fn fact(&mut self, seq: Seq, fact: Fact) {
        match fact {
            Fact::Submitted(submitted) => {
                if self.goal.is_none() {
                    if let Some(forked) = &submitted.forked {
                        self.generation = machine::timeline::fork_generation(forked);
                    }
                    self.goal = Some(submitted.goal);
                    self.language = submitted.language;
                    self.parent = submitted.parent;
                    self.agent = Some(submitted.agent.name.clone());
                    self.policies = Some(Arc::new(submitted.agent));
                }
            }
            Fact::Signaled(signaled) => match signaled.signal {
                Signal::Cancel => self.end(seq),
                Signal::Pause
                | Signal::Resume
                | Signal::Retry
                | Signal::Steer { .. }
                | Signal::Snapshot { .. }
                | Signal::RollBack { .. } => {}
            },
            Fact::Answered(answered) => {
                let Some(standing) = self.questions.get_mut(&answered.ask) else { return };
                if let Standing::Open { question, .. } = standing
                    && question.check(&answered.answer).is_ok()
                {
                    *standing = Standing::Answered { winner: Box::new(answered), seq };
                }
            }
            Fact::Fired(fired) => {
                let name = fired.timer.as_str().strip_prefix("ask-");
                if let Some(ask) = name.and_then(|ask| AskId::new(ask).ok()) {
                    self.close(&ask, Closed::Expired);
                }
            }
            Fact::Planned(_)
            | Fact::Turned(_)
            | Fact::Started(_)
            | Fact::Called(_)
            | Fact::Child(_) => {}
        }
    }

    /// The job goes on from a record. What is open is closed, whether or not it was open there: what
    /// still wants an answer is asked anew.
    fn went_back(&mut self, to: Seq) {
        for standing in self.questions.values_mut() {
            if matches!(standing, Standing::Open { .. }) {
                *standing = Standing::Closed { because: Closed::RolledBack };
            }
        }
        self.ending = self.ending.filter(|ending| *ending <= to);
        self.unreadable = self.unreadable.take().filter(|(seq, _)| *seq <= to);
        self.generation = self.generation.next();
    }

    fn decision(&mut self, entry: &Entry, decision: Decision) {
        let is_fenced = decision.generation() < self.generation;
        match decision {
            Decision::Ask(work) => {
                let (id, question) = (work.question.id.clone(), Box::new(work.question));
                let open = Standing::Open { question, asked: entry.time };
                let standing = match self.ending {
                    _ if is_fenced => Standing::Closed { because: Closed::RolledBack },
                    Some(_) => Standing::Closed { because: Closed::JobEnded },
                    None => open,
                };
                self.questions.entry(id).or_insert(standing);
            }
            Decision::Note(Note::QuestionClosed { ask, because, .. }) => {
                self.close(&ask, because);
            }
            Decision::Finish(_) if is_fenced => {}
            Decision::Note(Note::Concluded { .. }) if is_fenced => {}
            Decision::Finish(_) | Decision::Note(Note::Concluded { .. }) => self.end(entry.seq),
            Decision::Plan(_)
            | Decision::Turn(_)
            | Decision::Call(_)
            | Decision::Note(Note::Stopped { .. })
            | Decision::Wait(_)
            | Decision::Spawn(_)
            | Decision::Note(
                Note::Spawned { .. }
                | Note::ChildTold { .. }
                | Note::ParentTold { .. }
                | Note::Held { .. },
            ) => {}
        }
    }

    fn close(&mut self, ask: &AskId, because: Closed) {
        if let Some(standing @ Standing::Open { .. }) = self.questions.get_mut(ask) {
            *standing = Standing::Closed { because };
        }
    }

    fn end(&mut self, seq: Seq) {
        self.ending.get_or_insert(seq);
        for standing in self.questions.values_mut() {
            if matches!(standing, Standing::Open { .. }) {
                *standing = Standing::Closed { because: Closed::JobEnded };
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use proto::{
        decision::{AskWork, Finish},
        fact::{Fired, Signaled, Submitted},
        id::{JobId, WorkId, WorkerId},
        interaction::{Answer, QuestionKind},
        job::Outcome,
    };
    use rstest::rstest;
    use serde_json::{Value, json};

    use super::*;

    fn entry(seq: u64, family: Family, record: Result<Record, Unreadable>) -> Entry {
        let (time, job) = (Timestamp::UNIX_EPOCH, JobId::new("j").unwrap());
        Entry { seq: Seq(seq), time, job, family, record, trace: None }
    }

    fn worker() -> WorkerId {
        WorkerId::new("w1").unwrap()
    }

    fn fact_from(seq: u64, source: Source, fact: &Fact) -> Entry {
        entry(seq, Family::In(source), Ok(Record::of_fact(fact, "r", &worker()).unwrap()))
    }

    fn fact(seq: u64, fact: &Fact) -> Entry {
        fact_from(seq, fact.source(), fact)
    }

    fn decision(seq: u64, decision: &Decision) -> Entry {
        let family = Family::Do(decision.kind(), decision.pool());
        entry(seq, family, Ok(Record::of_decision(decision, "r", &worker()).unwrap()))
    }

    fn ask(id: &str) -> AskId {
        AskId::new(id).unwrap()
    }

    fn asked(seq: u64, id: &str) -> Entry {
        let question = Question {
            id: ask(id),
            prompt: "When?".into(),
            kind: QuestionKind::Question,
            step: None,
            deadline: None,
            default: None,
        };
        decision(seq, &Decision::Ask(AskWork { work: WorkId::new("g0.p1.ask").unwrap(), question }))
    }

    fn answer(id: &str, value: Option<Value>, by: &str) -> Fact {
        let answer = Answer { value, ..Answer::respond(Value::Null) };
        Fact::Answered(Answered { ask: ask(id), answer, by: by.into() })
    }

    fn answered(seq: u64, id: &str, by: &str) -> Entry {
        fact(seq, &answer(id, Some(json!("now")), by))
    }

    fn closed(seq: u64, id: &str, because: Closed) -> Entry {
        decision(
            seq,
            &Decision::Note(Note::QuestionClosed {
                ask: ask(id),
                because,
                generation: Generation::FIRST,
            }),
        )
    }

    fn finished(seq: u64) -> Entry {
        let outcome = Outcome::Canceled { reason: None };
        decision(
            seq,
            &Decision::Finish(Finish {
                outcome,
                usage: Default::default(),
                generation: Generation::FIRST,
            }),
        )
    }

    fn fired(seq: u64, timer: &str) -> Entry {
        let timer = proto::id::TimerName::new(timer).unwrap();
        fact(seq, &Fact::Fired(Fired { timer }))
    }

    fn canceled(seq: u64) -> Entry {
        let signaled =
            Signaled { signal: Signal::Cancel, reason: None, by: None, parent_seq: None };
        fact(seq, &Fact::Signaled(signaled))
    }

    fn shown(standing: Option<&Standing>) -> String {
        match standing {
            None => "unknown".into(),
            Some(Standing::Open { .. }) => "open".into(),
            Some(Standing::Answered { winner, seq }) => format!("{} at {seq}", winner.by),
            Some(Standing::Closed { because }) => format!("{because:?}"),
        }
    }

    #[rstest]
    #[case::never_asked(vec![], "unknown")]
    #[case::asked(vec![asked(1, "q1")], "open")]
    #[case::another_one(vec![asked(1, "q2")], "unknown")]
    #[case::answered(vec![asked(1, "q1"), answered(2, "q1", "ann")], "ann at 2")]
    #[case::the_first_wins(vec![asked(1, "q1"), answered(2, "q1", "ann"), answered(3, "q1", "bob")], "ann at 2")]
    #[case::before_it_was_asked(vec![answered(1, "q1", "ann"), asked(2, "q1")], "open")]
    #[case::an_invalid_one_does_not_win(vec![asked(1, "q1"), fact(2, &answer("q1", None, "ann")), answered(3, "q1", "bob")], "bob at 3")]
    #[case::one_forged_by_a_worker(vec![asked(1, "q1"), fact_from(2, Source::Crew, &answer("q1", Some(json!("x")), "ann"))], "open")]
    #[case::expired(vec![asked(1, "q1"), fired(2, "ask-q1"), answered(3, "q1", "ann")], "Expired")]
    #[case::answered_just_before_it_expired(vec![asked(1, "q1"), answered(2, "q1", "ann"), fired(3, "ask-q1")], "ann at 2")]
    #[case::another_timer(vec![asked(1, "q1"), fired(2, "ask-q11"), fired(3, "retry-1")], "open")]
    #[case::a_timer_before_its_question(vec![fired(1, "ask-q1"), asked(2, "q1")], "open")]
    #[case::closed(vec![asked(1, "q1"), closed(2, "q1", Closed::Superseded), answered(3, "q1", "ann")], "Superseded")]
    #[case::a_note_after_an_answer(vec![asked(1, "q1"), answered(2, "q1", "ann"), closed(3, "q1", Closed::Superseded)], "ann at 2")]
    #[case::the_job_ended(vec![asked(1, "q1"), finished(2), answered(3, "q1", "ann")], "JobEnded")]
    #[case::the_job_is_being_canceled(vec![asked(1, "q1"), canceled(2)], "JobEnded")]
    #[case::asked_while_it_is_being_canceled(vec![canceled(1), asked(2, "q1")], "JobEnded")]
    fn a_question_stands_where_the_log_says(#[case] log: Vec<Entry>, #[case] expected: &str) {
        assert_eq!(shown(Ledger::of(&log).standing(&ask("q1"))), expected);
        let twice: Vec<_> = log.iter().chain(&log).cloned().collect();
        assert_eq!(shown(Ledger::of(&twice).standing(&ask("q1"))), expected, "read twice");
    }

    #[test]
    fn every_fact_from_a_person_moves_the_position_that_answers_are_compared_with() {
        let mut log = vec![asked(1, "q1"), answered(5, "q1", "ann"), answered(7, "q9", "ann")];
        assert_eq!(Ledger::of(&log).last_answer, Seq(7));
        log.push(entry(9, Family::In(Source::People), Err(Unreadable::Kind("x".into()))));
        let ledger = Ledger::of(&log);
        assert_eq!((ledger.last_answer, ledger.unreadable.unwrap().0), (Seq(9), Seq(9)));
    }

    #[test]
    fn what_the_broker_was_made_to_write_moves_that_position_and_says_nothing() {
        let forged = entry(6, Family::In(Source::People), Err(Unreadable::Forged));
        let ledger = Ledger::of(&[asked(1, "q1"), forged, answered(7, "q1", "ann")]);
        assert_eq!((ledger.last_answer, &ledger.unreadable), (Seq(7), &None));
        assert_eq!(shown(ledger.standing(&ask("q1"))), "ann at 7");
        let forged = entry(9, Family::In(Source::People), Err(Unreadable::Forged));
        assert_eq!(Ledger::of(&[asked(1, "q1"), forged]).last_answer, Seq(9));
    }

    #[test]
    fn nothing_after_a_record_that_cannot_be_read_counts() {
        let unreadable = entry(2, Family::In(Source::Crew), Err(Unreadable::Kind("x".into())));
        let ledger = Ledger::of(&[asked(1, "q1"), unreadable, answered(3, "q1", "ann")]);
        assert_eq!(shown(ledger.standing(&ask("q1"))), "open");
        assert_eq!(ledger.unreadable.unwrap().0, Seq(2));
    }

    #[test]
    fn agents_and_processes_of_the_job_are_crew_and_people_are_not() {
        let submitted = Fact::Submitted(Submitted {
            goal: "g".into(),
            agent: proto::agent::Agent::default(),
            language: proto::lang::Language::En,
            digest: String::new(),
            by: Some("ann".into()),
            conversation: None,
            parent: None,
            agents: Default::default(),
            forked: None,
            plan: None,
            files: Vec::new(),
            rules: proto::rules::Rules::NOW,
        });
        let ledger = Ledger::of(&[fact(1, &submitted), asked(2, "q1")]);
        assert!(ledger.is_crew("default") && ledger.is_crew("w1"));
        assert!(!ledger.is_crew("ann"));
        assert_eq!(ledger.goal.as_deref(), Some("g"));
    }
}
