//! The trust in calls: the mark of a job that has seen content from outside, and the verdict of its
//! agent's rules on a call.
//!
//! The fold keeps the mark. The rules are read only when a decision is made: the decision carries
//! the verdict, as an approval question or as a refused command. A replay reads no rule.

use agents::argument_rules;
use proto::{
    agent::{After, CallRule, Consequence, Narrowing, UntrustedPolicy},
    id::{Seq, ToolName},
    view::Mark,
};

use super::{
    call::{Agreement, Call},
    excerpt,
    state::ActiveJob,
    text::Text,
};

/// Length to which a text cuts the reason of a rule, in characters.
const WHY_CHARS: usize = 300;

/// The verdict on a call that is to be sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Ruling {
    /// The tool's own approval decides.
    Run,
    /// A person must approve the call, for this reason.
    Ask(String),
    /// The call must not be sent, for this reason.
    Deny(String),
}

impl Ruling {
    /// Returns the stricter of two verdicts, this one of two equals.
    fn or(self, other: Self) -> Self {
        match (&self, &other) {
            (Self::Deny(_), _) | (_, Self::Run) | (Self::Ask(_), Self::Ask(_)) => self,
            (Self::Run | Self::Ask(_), Self::Deny(_)) | (Self::Run, Self::Ask(_)) => other,
        }
    }
}

impl ActiveJob {
    /// Marks the job, unless it is marked already.
    pub(super) fn saw_outside(&mut self, tool: &ToolName, seq: Seq) {
        self.mark.get_or_insert_with(|| Mark { tool: tool.clone(), seq: Some(seq) });
    }

    /// Returns the mark that a job has from its beginning: that of the job that delegated it, or of
    /// an earlier job of the conversation.
    pub(super) fn inherited_mark(&self) -> Option<Mark> {
        let earlier = self.brief.conversation.iter().flat_map(|c| &c.earlier);
        let tool = self.brief.agent.approval.marked.as_ref();
        let tool = tool.or_else(|| earlier.filter_map(|e| e.untrusted.as_ref()).next_back());
        tool.map(|tool| Mark { tool: tool.clone(), seq: None })
    }

    /// Returns the strictest verdict of the agent and of the jobs above on a call that is to be sent.
    pub(super) fn ruling(&self, call: &Call) -> Ruling {
        if call.end.is_some() || call.attempts.to_send().is_none() {
            return Ruling::Run;
        }
        let approval = &self.brief.agent.approval;
        let own = self.ruling_of(&approval.rules, approval.untrusted.as_ref(), call);
        let above = approval.inherited.iter();
        let above = above.map(|one| self.ruling_of(&one.rules, one.untrusted.as_ref(), call));
        above.fold(own, Ruling::or)
    }

    fn ruling_of(
        &self,
        rules: &[CallRule],
        untrusted: Option<&UntrustedPolicy>,
        call: &Call,
    ) -> Ruling {
        let marked = self.mark.as_ref();
        let holds = |rule: &&CallRule| {
            let is_time = match rule.after {
                None => true,
                Some(After::Untrusted) => marked.is_some(),
            };
            is_time && rule.names(&call.tool) && argument_rules::covers(rule, &call.args)
        };
        if let Some((n, rule)) = rules.iter().enumerate().find(|(_, rule)| holds(rule)) {
            return match rule.then {
                Consequence::Allow => Ruling::Run,
                Consequence::Ask => Ruling::Ask(self.rule_text(n, rule)),
                Consequence::Deny => Ruling::Deny(self.rule_text(n, rule)),
            };
        }
        let (Some(policy), Some(mark)) = (untrusted, marked) else { return Ruling::Run };
        if !policy.covers(&call.tool, &call.binding) {
            return Ruling::Run;
        }
        let why = self.mark_text(mark);
        match policy.then {
            Narrowing::Ask => Ruling::Ask(why),
            Narrowing::Deny => Ruling::Deny(why),
        }
    }

    /// Returns the reason for which a person must approve a call that needs no approval by itself.
    pub(super) fn asks_by_rule(&self, call: &Call) -> Option<String> {
        match (self.ruling(call), &call.agreement) {
            (Ruling::Ask(why), Agreement::NotNeeded | Agreement::Wanted) => Some(why),
            (Ruling::Ask(_), Agreement::Asked(_) | Agreement::Given(_))
            | (Ruling::Run | Ruling::Deny(_), _) => None,
        }
    }

    fn rule_text(&self, n: usize, rule: &CallRule) -> String {
        let (language, number) = (self.language(), &(n + 1));
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
