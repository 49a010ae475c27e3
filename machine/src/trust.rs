//! The trust in calls: the mark of a job that has seen content from outside, the verdict of its
//! agent's rules on a call, and the approvals that a person has remembered for the job.
//!
//! The fold keeps the mark and the approvals. The rules are read only when a decision is made: the
//! decision carries the verdict, as an approval question, as the question whose remembered approval
//! covers the call, or as a refused command. A replay reads no rule.

use std::borrow::Cow;

use agents::argument_rules;
use proto::{
    agent::{After, CallRule, Consequence, Narrowing, UntrustedPolicy},
    decision::{Closed, Decision, Note},
    fact::Answered,
    id::{AskId, Attempt, JobId, ToolName},
    interaction::{AskedBy, QuestionKind, Remember, Remembered, Verdict},
    tool::Approval,
    view::Mark,
};

use super::{
    at::At,
    call::{Agreement, ApprovalCause, Call},
    excerpt,
    state::{ActiveJob, AskedQuestion},
    text::Text,
};

/// Length to which a text cuts the reason of a rule, in characters.
const WHY_CHARS: usize = 300;

/// The verdict on a call that is to be sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Ruling {
    /// The tool's own approval decides.
    Run,
    /// A person must approve the call.
    Ask {
        /// Reason, for the person.
        why: String,
        /// Rules and policies that ask.
        asked_by: Vec<AskedBy>,
    },
    /// The call must not be sent, for this reason.
    Deny(String),
}

impl Ruling {
    /// Returns the stricter of two verdicts, or both questions in one.
    fn or(self, other: Self) -> Self {
        match (self, other) {
            (Self::Deny(why), _) | (Self::Run | Self::Ask { .. }, Self::Deny(why)) => {
                Self::Deny(why)
            }
            (Self::Run, other) => other,
            (asks @ Self::Ask { .. }, Self::Run) => asks,
            (Self::Ask { why, mut asked_by }, Self::Ask { asked_by: more, .. }) => {
                asked_by.extend(more);
                Self::Ask { why, asked_by }
            }
        }
    }
}

impl ActiveJob {
    /// Marks the job, unless it is marked already. Approvals that were remembered before this content
    /// end, because the person who gave them did not know of it.
    pub(super) fn saw_outside(&mut self, tool: &ToolName, at: At) {
        self.mark.get_or_insert_with(|| Mark {
            tool: tool.clone(),
            seq: Some(at.seq),
            at: Some(at.time),
        });
        self.saw_outside_at = Some(at.seq);
        self.approvals.forget();
        let steps = self.execution.steps_mut().iter_mut();
        steps.for_each(|step| step.calls_mut(&mut Call::forget_remembered));
    }

    /// Returns the mark that a job has from its beginning: that of the job that delegated it, or of
    /// an earlier job of the conversation.
    pub(super) fn inherited_mark(&self) -> Option<Mark> {
        let earlier = self.brief.conversation.iter().flat_map(|c| &c.earlier);
        let tool = self.brief.agent.approval.marked.as_ref();
        let tool = tool.or_else(|| earlier.filter_map(|e| e.untrusted.as_ref()).next_back());
        tool.map(|tool| Mark { tool: tool.clone(), seq: None, at: None })
    }

    /// Returns the strictest verdict of the agent and of the jobs above on a call that is to be sent.
    pub(super) fn ruling(&self, call: &Call) -> Ruling {
        if call.end.is_some() || call.attempts.to_send().is_none() {
            return Ruling::Run;
        }
        let approval = &self.brief.agent.approval;
        let own = self.ruling_of(0, &approval.rules, approval.untrusted.as_ref(), call);
        let above = (1..).zip(&approval.inherited);
        above
            .map(|(level, one)| self.ruling_of(level, &one.rules, one.untrusted.as_ref(), call))
            .fold(own, Ruling::or)
    }

    fn ruling_of(
        &self,
        level: u32,
        rules: &[CallRule],
        untrusted: Option<&UntrustedPolicy>,
        call: &Call,
    ) -> Ruling {
        let marked = self.mark.as_ref();
        let holds = |rule: &CallRule| {
            let is_time = match rule.after {
                None => true,
                Some(After::Untrusted) => marked.is_some(),
            };
            is_time && rule.names(&call.tool) && argument_rules::covers(rule, &call.args)
        };
        if let Some((number, rule)) = (1..).zip(rules).find(|(_, rule)| holds(rule)) {
            let why = || self.rule_text(number, rule);
            return match rule.then {
                Consequence::Allow => Ruling::Run,
                Consequence::Ask => {
                    let asked_by = vec![AskedBy::Rule { level, rule: number }];
                    Ruling::Ask { why: why(), asked_by }
                }
                Consequence::Deny => Ruling::Deny(why()),
            };
        }
        let (Some(policy), Some(mark)) = (untrusted, marked) else { return Ruling::Run };
        if !policy.covers(&call.tool, &call.binding) {
            return Ruling::Run;
        }
        let why = self.mark_text(mark);
        match policy.then {
            Narrowing::Ask => Ruling::Ask { why, asked_by: vec![AskedBy::Untrusted { level }] },
            Narrowing::Deny => Ruling::Deny(why),
        }
    }

    /// Returns the reason for which a person must approve a call now, or `None` if nobody must, a
    /// policy denies the call, or a remembered approval covers it.
    pub(super) fn approval_cause(&self, call: &Call) -> Option<ApprovalCause> {
        let cause = self.cause(call, self.ruling(call))?;
        self.covering(call, &cause).is_none().then_some(cause)
    }

    /// Returns a call as it is to be sent: approved, if a remembered approval covers it.
    pub(super) fn cleared<'a>(&self, call: &'a Call, job: &JobId) -> Cow<'a, Call> {
        let cause = self.cause(call, self.ruling(call));
        match cause.and_then(|cause| self.covering(call, &cause)) {
            None => Cow::Borrowed(call),
            Some(approval) => {
                let mut call = call.clone();
                call.approve_as_remembered(job, &approval.ask);
                Cow::Owned(call)
            }
        }
    }

    /// Returns the attempt that would be sent now, if the call needs no approval, or has one.
    pub(super) fn would_send(&self, call: &Call) -> Option<Attempt> {
        let cause = || self.cause(call, self.ruling(call));
        let is_covered = || cause().is_some_and(|cause| self.covering(call, &cause).is_some());
        let of_covered = || call.attempts.to_send().filter(|_| is_covered());
        call.would_send().or_else(of_covered)
    }

    /// Returns `true` if no policy keeps a call from being sent now.
    pub(super) fn may_send(&self, call: &Call) -> bool {
        match self.ruling(call) {
            Ruling::Deny(_) => false,
            ruling @ (Ruling::Run | Ruling::Ask { .. }) => match &call.agreement {
                Agreement::Given(_) => true,
                Agreement::Asked(_) => false,
                Agreement::Wanted | Agreement::NotNeeded => {
                    let cause = self.cause(call, ruling);
                    cause.is_none_or(|cause| self.covering(call, &cause).is_some())
                }
            },
        }
    }

    /// Returns the reason for which a person must approve a call, remembered approvals aside.
    fn cause(&self, call: &Call, ruling: Ruling) -> Option<ApprovalCause> {
        let is_wanted = match &call.agreement {
            _ if call.end.is_some() => return None,
            Agreement::Asked(_) | Agreement::Given(_) => return None,
            Agreement::Wanted => true,
            Agreement::NotNeeded => false,
        };
        let (why, mut asked_by) = match ruling {
            Ruling::Deny(_) => return None,
            Ruling::Run if !is_wanted => return None,
            Ruling::Run => (self.mark.as_ref().map(|mark| self.mark_text(mark)), Vec::new()),
            Ruling::Ask { why, asked_by } => (Some(why), asked_by),
        };
        // After a rollback a call is approved again, also where nothing but a rule asked before.
        if call.binding.approval == Approval::Always || asked_by.is_empty() {
            asked_by.push(AskedBy::Tool);
        }
        let seen = self.mark.as_ref().map(|mark| mark.tool.clone());
        Some(ApprovalCause { why, asked_by, seen, seen_seq: self.saw_outside_at })
    }

    fn covering(&self, call: &Call, cause: &ApprovalCause) -> Option<&Remembered> {
        self.approvals.covering(&call.tool, &call.binding.version, &cause.asked_by)
    }

    /// Keeps an approval that a person wants to be remembered. An approval that was asked for before
    /// the job saw its newest content from outside counts for its own call alone.
    pub(super) fn remember_approval(
        &mut self,
        asking: &AskedQuestion,
        answered: &Answered,
        at: At,
    ) {
        match (answered.answer.decision, answered.answer.remember) {
            (Verdict::Approve, Some(Remember::Job)) => {}
            (Verdict::Approve | Verdict::Reject | Verdict::Respond | Verdict::Edit, _) => return,
        }
        let QuestionKind::ToolApproval { tool, version, asked_by, seen, seen_seq, .. } =
            &asking.question.kind
        else {
            return;
        };
        if seen.is_some() == self.mark.is_some() && *seen_seq == self.saw_outside_at {
            self.approvals.remember(Remembered {
                tool: tool.clone(),
                version: version.clone(),
                asked_by: asked_by.clone(),
                ask: asking.question.id.clone(),
                by: answered.by.clone(),
                seq: at.seq,
                at: at.time,
            });
        }
    }

    /// Returns the note that withdraws the open question about a call that a policy now denies.
    pub(super) fn withdrawal(&self, call: &Call) -> Option<Decision> {
        let Agreement::Asked(ask) = &call.agreement else { return None };
        let is_open = self.questions.get(ask).is_some_and(AskedQuestion::is_open);
        let (ask, because, generation) = (ask.clone(), Closed::Denied, self.generation());
        is_open.then(|| Decision::Note(Note::QuestionClosed { ask, because, generation }))
    }

    /// Records that the inbox was told about a closed question. Returns `false` if there is no such
    /// question.
    pub(super) fn noted_closed(&mut self, ask: &AskId, because: Closed, at: At) -> bool {
        let open = self.questions.get(ask).filter(|asked| asked.is_open());
        let timer = open.and_then(AskedQuestion::timer);
        let is_withdrawn = open.is_some() && because == Closed::Denied;
        if is_withdrawn {
            self.timers.orphan(timer);
            for step in self.execution.steps_mut() {
                let is_asked = |call: &Call| call.agreement == Agreement::Asked(ask.clone());
                if let Some((call, _)) = step.call_mut(is_asked) {
                    call.agreement = Agreement::Wanted;
                    step.follow();
                }
            }
        }
        self.questions.noted_closed(ask, because, at.time)
    }

    fn rule_text(&self, number: u32, rule: &CallRule) -> String {
        let (language, number) = (self.language(), &number);
        let text = match rule.why.as_str() {
            "" => Text::ByRule { number }.text(language),
            why => {
                Text::ByRuleBecause { number, why: &excerpt::line(why, WHY_CHARS) }.text(language)
            }
        };
        match &self.mark {
            Some(mark) => format!("{text} {}", self.mark_text(mark)),
            None => text,
        }
    }

    fn mark_text(&self, mark: &Mark) -> String {
        Text::SawOutside { tool: &mark.tool }.text(self.language())
    }
}
