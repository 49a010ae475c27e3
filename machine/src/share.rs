//! The share of a job's budget that a child may spend: the remainder, divided among the children
//! that are to start now. A running child's share is reserved, so that a family never exceeds the
//! budget.

use proto::{agent::Agent, budget::Budget, decision::SpawnWork, message::Usage};

use super::{call::Call, state::ActiveJob, step::Exec};

/// Limits of a child; `None` where the parent has no limit.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Share {
    turns: Option<u32>,
    tokens_in: Option<u64>,
    tokens_out: Option<u64>,
    tokens: Option<u64>,
    money: Option<f64>,
}

impl ActiveJob {
    /// Returns the limits of the next child, or `None` if it must wait until a running child has
    /// ended.
    pub(super) fn share(&self) -> Option<Share> {
        let Budget { turns, tokens_in, tokens_out, tokens, money, price, fan_out, .. } =
            &self.brief.agent.budget;
        let alive: Vec<&SpawnWork> = self.family.alive().map(|child| &*child.spawn).collect();
        let room = usize::try_from(fan_out.alive).unwrap_or(usize::MAX).saturating_sub(alive.len());
        let sharing = u64::try_from(self.wanted_children().min(room)).unwrap_or(u64::MAX);
        if sharing == 0 {
            return None;
        }
        let Usage { input_tokens, output_tokens, .. } = self.spending.usage();
        let both = input_tokens.saturating_add(output_tokens);
        let left = |limit: &Option<u64>, used: u64, held: fn(&Budget) -> Option<u64>| {
            let Some(limit) = limit else { return Some(None) };
            let held = alive.iter().filter_map(|spawn| held(&spawn.agent.budget));
            let left = limit.saturating_sub(held.fold(used, u64::saturating_add));
            (left > 0).then(|| Some((left / sharing).max(1)))
        };
        let turns =
            left(&turns.map(u64::from), self.spending.turns().into(), |b| b.turns.map(u64::from))?;
        Some(Share {
            turns: turns.map(|turns| u32::try_from(turns).unwrap_or(u32::MAX)),
            tokens_in: left(tokens_in, input_tokens, |b| b.tokens_in)?,
            tokens_out: left(tokens_out, output_tokens, |b| b.tokens_out)?,
            tokens: left(tokens, both, |b| b.tokens)?,
            money: match (money, price) {
                (Some(money), Some(price)) => {
                    let held: f64 = alive.iter().filter_map(|s| s.agent.budget.money).sum();
                    let left = money - self.spending.cost(price) - held;
                    #[expect(clippy::cast_precision_loss, reason = "at most 64 share")]
                    let each = left / sharing as f64;
                    Some(each).filter(|each| *each > 0.0).map(Some)?
                }
                (Some(_) | None, _) => None,
            },
        })
    }

    /// Returns the number of calls of sub-agents that are to be sent now.
    fn wanted_children(&self) -> usize {
        let is_due = |call: &Call| call.end.is_none() && call.attempts.to_send().is_some();
        let wants = |call: &Call| call.is_agent() && is_due(call) && self.may_send(call);
        let steps = self.active_steps().into_iter();
        steps
            .map(|step| match &step.exec {
                Exec::Tool(call) => usize::from(wants(call)),
                Exec::Acting(acting) => acting.calls().filter(|call| wants(call)).count(),
                Exec::NotBegun
                | Exec::Turn(_)
                | Exec::Rerun(_)
                | Exec::Asked(_)
                | Exec::Sleep(_)
                | Exec::Ended => 0,
            })
            .sum()
    }

    /// Returns `true` if a sub-agent is to be called now.
    pub(super) fn wants_child(&self) -> bool {
        let has_children = self.family.callees().is_some() || self.has_workflow();
        has_children && self.wanted_children() > 0
    }
}

impl Share {
    /// Reduces the child's limits to the share, to the parent's permitted depth and to the parent's
    /// hosts. A child with a limit on money and no price gets the parent's price.
    pub(super) fn bound(self, child: &mut Agent, parent: &Agent) {
        fn least<T: PartialOrd>(own: Option<T>, share: Option<T>) -> Option<T> {
            match (own, share) {
                (Some(own), Some(share)) => Some(if own < share { own } else { share }),
                (own, share) => own.or(share),
            }
        }
        let budget = &mut child.budget;
        budget.turns = least(budget.turns, self.turns);
        budget.tokens_in = least(budget.tokens_in, self.tokens_in);
        budget.tokens_out = least(budget.tokens_out, self.tokens_out);
        budget.tokens = least(budget.tokens, self.tokens);
        budget.money = least(budget.money, self.money);
        if budget.money.is_some() && budget.price.is_none() {
            budget.price = parent.budget.price;
        }
        budget.depth = budget.depth.min(parent.budget.depth.saturating_sub(1));
        let hosts = (child.tool.hosts.take(), &parent.tool.hosts);
        child.tool.hosts = match hosts {
            (Some(own), Some(of_parent)) => Some(own.and(of_parent)),
            (own, of_parent) => own.or_else(|| of_parent.clone()),
        };
    }
}
