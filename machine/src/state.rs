//! What is known of a job after some of its records.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use jiff::Timestamp;
use proto::{
    agent::Agent,
    conversation::Conversation,
    cost::{Paid, ToolCost},
    decision::{Closed, PlanTalk},
    fact::{Answered, Asked, Signaled, Submitted},
    family::Parent,
    file::File,
    id::{AgentName, AskId, Generation, JobId, Seq, StepId, TimerName, ToolName, WorkId},
    interaction::Question,
    job::{FailReason, JobState, Outcome, SubStatus},
    lang::Language,
    message::Usage,
    notice::Notice,
    outline::Item,
    plan::Plan,
    policy::Detected,
    record::Unreadable,
    revision::Cause,
    rules::Rules,
    view::{Origin, Snapshot},
};

use super::{
    anomaly::Watch, budget::Spent, family::Family, fold::At, replanning::Force, step::StepRun,
    tries::Tries,
};

/// A job, as far as its log has been read.
#[derive(Debug, Clone)]
pub struct Job {
    pub(super) id: JobId,
    /// The last record that was applied.
    pub(super) seq: Seq,
    /// The first one.
    pub(super) first: Seq,
    /// The last decision that was applied: what the next compare-and-set expects.
    pub(super) last_decision: Seq,
    /// The last fact from a person, whether it counts or not: the next answer is stored right after
    /// it.
    pub(super) last_answer: Seq,
    pub(super) records: u64,
    pub(super) created: Timestamp,
    pub(super) updated: Timestamp,
    /// Records that changed nothing: too late, twice, or from somebody not entitled.
    pub(super) ignored: u64,
    pub(super) poison: Option<Poison>,
    pub(super) awake: Awake,
    /// Since when it lives, and how long it had lived before that: what a roll-back has taken out of
    /// its timeline does not count.
    pub(super) since: Timestamp,
    pub(super) lived_ms: u64,
    /// It was rolled back and is to be folded anew. Until then nothing follows.
    pub(super) back: Option<At>,
    /// Absent until the first record.
    pub(super) open: Option<Open>,
}

/// The fact that found the job with nothing in workers' hands: what the job does from then until it
/// waits for a person or the clock again, or ends, is one stretch of its life.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Awake {
    /// Where it is.
    pub seq: Seq,
    /// When it was stored, by the server's clock.
    pub time: Timestamp,
    /// The question that it answers, if it is an answer.
    pub ask: Option<AskId>,
}

/// Where a job stands, as far as it is counted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Standing {
    /// Its agent.
    pub agent: AgentName,
    /// Its state in A2A's words.
    pub state: JobState,
    /// What it is at.
    pub sub_status: Option<SubStatus>,
    /// Questions that wait for a person.
    pub questions: usize,
    /// When the first of them was asked, by the server's clock.
    pub asked: Option<Timestamp>,
}

/// A record that the machine cannot go past.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Poison {
    /// Where it is.
    pub seq: Seq,
    /// What is wrong with it. May quote what users wrote.
    pub reason: String,
    /// The same without a word of what is written there: what may be logged.
    pub place: String,
}

impl Poison {
    pub(super) fn unreadable(seq: Seq, why: &Unreadable) -> Self {
        Self { seq, reason: why.to_string(), place: why.place() }
    }
}

/// A submitted job.
#[derive(Debug, Clone)]
pub(super) struct Open {
    /// How often it was rolled back or forked; part of the names of its work.
    pub(super) generation: Generation,
    /// Whether a decision of this generation is stored, and with it the job's deadline armed.
    pub(super) has_decided: bool,
    /// Points that people gave names.
    pub(super) snapshots: Vec<Snapshot>,
    /// The job it was forked from.
    pub(super) origin: Option<Origin>,
    pub(super) goal: String,
    /// Shared, as what never changes is not copied with the rest.
    pub(super) agent: Arc<Agent>,
    pub(super) language: Language,
    /// What its log is folded by.
    pub(super) rules: Rules,
    pub(super) stage: Stage,
    /// Counts the planner's commands; names the current one.
    pub(super) round: u32,
    /// The planner's conversation so far.
    pub(super) dialogue: Vec<PlanTalk>,
    /// Replies of the planner that could not be used, since the last one that could.
    pub(super) rejected: u32,
    pub(super) replans: u32,
    /// Plans that have been in force.
    pub(super) revision: u32,
    pub(super) plan_title: String,
    /// Steps of the plan in force.
    pub(super) steps: Vec<StepRun>,
    /// Steps of earlier plans that have ended.
    pub(super) past: Vec<StepRun>,
    pub(super) questions: BTreeMap<AskId, Asking>,
    /// Every question so far, confirmations and approvals included: numbers the next one.
    pub(super) asks: u32,
    /// Questions an agent asked: what the policy limits.
    pub(super) agent_asks: u32,
    pub(super) waits: u32,
    pub(super) cancel: Option<Signaled>,
    pub(super) paused: Option<Signaled>,
    pub(super) deadline_passed: bool,
    /// Timers that fired before the decision they are for was stored: it was armed first, and storing
    /// the decision took longer than the timer ran.
    pub(super) early: BTreeSet<TimerName>,
    /// Timers that nothing waits for any more; canceled with the decisions that follow.
    pub(super) orphans: Vec<TimerName>,
    pub(super) usage: Usage,
    /// What was paid beside the price of tokens, by this job and those below it.
    pub(super) paid: Paid,
    /// What its own tools cost, by tool.
    pub(super) tools: BTreeMap<ToolName, ToolCost>,
    pub(super) spent: Spent,
    /// What the plans so far have come to, once there has been another one.
    pub(super) watch: Option<Box<Watch>>,
    /// What the planner is told of that.
    pub(super) notices: Vec<Notice>,
    /// Shared, as what never changes is not copied with the rest.
    pub(super) conversation: Option<Arc<Conversation>>,
    /// Shared, as what never changes is not copied with the rest.
    pub(super) files: Arc<[File]>,
    pub(super) family: Family,
    pub(super) outcome: Option<Outcome>,
    /// What was found out about the goal.
    pub(super) detected: Option<Detected>,
    /// What the planner intends, where it decides one action at a time.
    pub(super) outline: Vec<Item>,
    /// The final answer, when the planner gave one.
    pub(super) answer: Option<String>,
    /// What people answered, by what tells one question from another; kept for the guard alone.
    pub(super) answers: BTreeMap<String, String>,
    /// Questions that were wanted again after they had been answered.
    pub(super) repeats: u32,
    /// Every plan that has been in force.
    pub(super) forces: Vec<Force>,
    /// Why the plan before makes way, until the next one is in force.
    pub(super) cause: Option<Cause>,
    /// Steps of the plan in force after which the rest is made anew.
    pub(super) listed: Vec<StepId>,
    /// What people told the job while it ran.
    pub(super) instructions: Vec<String>,
    /// How many of those a plan or a turn carried.
    pub(super) heard: usize,
}

/// A question that was asked.
#[derive(Debug, Clone)]
pub(super) struct Asking {
    pub(super) question: Question,
    /// What the answer is for.
    pub(super) work: WorkId,
    /// When it was stored, by the server's clock.
    pub(super) asked: Timestamp,
    pub(super) state: AskState,
}

/// The state of a question.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum AskState {
    /// It waits for a person.
    Open,
    /// The first valid answer, and its position.
    Answered { winner: Arc<Answered>, seq: Seq },
    /// It closed without an answer, and the inbox must be told.
    ToClose(Closed),
    /// It closed without an answer, and the inbox knows.
    Closed(Closed),
}

/// What the job is about. Only one thing at a time.
#[derive(Debug, Clone)]
pub(super) enum Stage {
    /// A plan is wanted.
    Plan { tries: Tries },
    /// The planner must know something first.
    Clarify { asked: Asked, ask: Option<AskId> },
    /// No reply of the planner could be used; a person is asked what to do.
    Confused { reply: String, error: String, ask: Option<AskId> },
    /// The plan waits to be confirmed.
    Check { plan: Plan, ask: Option<AskId> },
    /// The steps are carried out.
    Execute,
    /// The job is going to fail; what runs may end.
    Failing { reason: FailReason, message: String },
    /// Somebody rejected the plan.
    Rejected { reason: Option<String> },
}

impl Job {
    /// A job of which nothing has been read.
    #[must_use]
    pub fn new(id: JobId) -> Self {
        Self {
            id,
            seq: Seq(0),
            first: Seq(0),
            last_decision: Seq(0),
            last_answer: Seq(0),
            records: 0,
            created: Timestamp::UNIX_EPOCH,
            updated: Timestamp::UNIX_EPOCH,
            ignored: 0,
            poison: None,
            awake: Awake { seq: Seq(0), time: Timestamp::UNIX_EPOCH, ask: None },
            since: Timestamp::UNIX_EPOCH,
            lived_ms: 0,
            back: None,
            open: None,
        }
    }

    /// The job's id.
    #[must_use]
    pub fn id(&self) -> &JobId {
        &self.id
    }

    /// The last record that was applied.
    #[must_use]
    pub fn seq(&self) -> Seq {
        self.seq
    }

    /// The first record that was applied: a submission, when all is well.
    #[must_use]
    pub fn first(&self) -> Seq {
        self.first
    }

    /// The last decision that was applied; a decision is stored only right after it.
    #[must_use]
    pub fn last_decision(&self) -> Seq {
        self.last_decision
    }

    /// When the last record was stored, by the server's clock.
    #[must_use]
    pub fn updated(&self) -> Timestamp {
        self.updated
    }

    /// Records that changed nothing.
    #[must_use]
    pub fn ignored(&self) -> u64 {
        self.ignored
    }

    /// The record the machine cannot go past, if there is one.
    #[must_use]
    pub fn poison(&self) -> Option<&Poison> {
        self.poison.as_ref()
    }

    /// What last set the job going.
    #[must_use]
    pub fn awake(&self) -> &Awake {
        &self.awake
    }

    /// When it was submitted, by the server's clock.
    #[must_use]
    pub fn created(&self) -> Timestamp {
        self.created
    }

    /// What all its model calls cost so far.
    #[must_use]
    pub fn usage(&self) -> Usage {
        self.open.as_ref().map_or_else(Usage::default, |open| open.usage)
    }

    /// Where it stands; nothing when it was never submitted.
    #[must_use]
    pub fn standing(&self) -> Option<Standing> {
        let open = self.open.as_ref()?;
        let (state, sub_status) = self.state(open);
        let open_questions = || open.questions.values().filter(|a| a.state == AskState::Open);
        Some(Standing {
            agent: open.agent.name.clone(),
            state,
            sub_status,
            questions: open_questions().count(),
            asked: open_questions().map(|a| a.asked).min(),
        })
    }

    /// How the job ended, if it has.
    #[must_use]
    pub fn outcome(&self) -> Option<&Outcome> {
        self.open.as_ref()?.outcome.as_ref()
    }

    /// Whether a job that works for this one has not ended yet.
    #[must_use]
    pub fn has_children_out(&self) -> bool {
        self.open.as_ref().is_some_and(|open| open.outcome.is_none() && open.has_children_out())
    }

    /// The job that this one works for.
    #[must_use]
    pub fn parent(&self) -> Option<&Parent> {
        self.open.as_ref()?.family.parent.as_deref()
    }

    /// How often it was rolled back, all that were forked before it counted.
    #[must_use]
    pub fn generation(&self) -> Generation {
        self.open.as_ref().map_or(Generation::FIRST, |open| open.generation)
    }

    /// Whether it was rolled back, and nothing of it can be said before its log is folded anew from
    /// the first record: see [`crate::Replay`].
    #[must_use]
    pub fn must_be_refolded(&self) -> bool {
        self.back.is_some()
    }

    /// Whether a command is in a queue or with a worker, so that a fact may come at any moment.
    #[must_use]
    pub fn has_work_out(&self) -> bool {
        self.open.as_ref().is_some_and(|open| open.outcome.is_none() && open.has_work_out())
    }
}

impl Open {
    pub(super) fn new(submitted: Submitted) -> Self {
        Self {
            family: Family::of(&submitted),
            generation: Generation::FIRST,
            has_decided: false,
            snapshots: Vec::new(),
            origin: None,
            goal: submitted.goal,
            agent: Arc::new(submitted.agent),
            language: submitted.language,
            rules: submitted.rules,
            stage: Stage::Plan { tries: Tries::Idle },
            round: 1,
            dialogue: Vec::new(),
            rejected: 0,
            replans: 0,
            revision: 0,
            plan_title: String::new(),
            steps: Vec::new(),
            past: Vec::new(),
            questions: BTreeMap::new(),
            asks: 0,
            agent_asks: 0,
            waits: 0,
            cancel: None,
            paused: None,
            deadline_passed: false,
            early: BTreeSet::new(),
            orphans: Vec::new(),
            usage: Usage::default(),
            paid: Paid::default(),
            tools: BTreeMap::new(),
            spent: Spent::default(),
            watch: None,
            notices: Vec::new(),
            conversation: submitted.conversation.map(Arc::new),
            files: submitted.files.into(),
            outcome: None,
            detected: None,
            outline: Vec::new(),
            answer: None,
            answers: BTreeMap::new(),
            repeats: 0,
            forces: Vec::new(),
            cause: None,
            listed: Vec::new(),
            instructions: Vec::new(),
            heard: 0,
        }
    }

    /// Whether who plans may still ask a person.
    pub(super) fn may_ask_in_planning(&self) -> bool {
        self.agent.ask.when.in_planning() && self.may_still_ask()
    }

    /// Whether who carries out a step may still ask a person.
    pub(super) fn may_ask_in_steps(&self) -> bool {
        self.agent.ask.when.in_steps() && self.may_still_ask()
    }

    fn may_still_ask(&self) -> bool {
        self.agent.ask.limit.left_after(self.agent_asks) != Some(0)
    }

    /// Whether a command is in a queue or with a worker.
    pub(super) fn has_work_out(&self) -> bool {
        let planning = matches!(&self.stage, Stage::Plan { tries } if tries.is_out());
        planning || self.steps.iter().any(StepRun::has_work_out)
    }

    /// Questions that wait for a person, in the order they were asked.
    pub(super) fn open_questions(&self) -> impl Iterator<Item = &Asking> {
        let mut open: Vec<_> =
            self.questions.values().filter(|a| a.state == AskState::Open).collect();
        open.sort_by_key(|a| {
            a.question.id.as_str().trim_start_matches('q').parse::<u32>().unwrap_or(u32::MAX)
        });
        open.into_iter()
    }
}
