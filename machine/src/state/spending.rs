//! The account of a job: units of work, tokens and money. A unit of work is counted when the
//! decision for its first attempt is stored, tokens when the reply that cost them counts.

use std::collections::BTreeMap;

use proto::{
    budget::{Price, Spend},
    cost::{Cost, Paid, ToolCost},
    id::ToolName,
    message::Usage,
    spent::Spent,
};

use super::brief::Brief;
use crate::costs::Costs;

/// Everything spent so far, except questions, which [`Questions`](super::Questions) counts.
#[derive(Debug, Clone, Default)]
pub(crate) struct Spending {
    usage: Usage,
    /// Money paid in addition to the token price, by this job and its descendants.
    paid: Paid,
    /// Cost per tool of the job itself, descendants not included.
    tools: BTreeMap<ToolName, ToolCost>,
    /// Cost of the job itself, work that a rollback took out included.
    bill: Costs,
    plans: u32,
    replans: u32,
    thoughts: u32,
    turns: u32,
    calls: u32,
    steps: u32,
    /// Model turns of descendants. They count as turns, and not as steps of this job.
    of_descendants: u32,
}

impl Spending {
    pub(crate) fn usage(&self) -> Usage {
        self.usage
    }

    pub(crate) fn tools(&self) -> impl Iterator<Item = &ToolCost> {
        self.tools.values()
    }

    pub(crate) fn bill(&self) -> &Costs {
        &self.bill
    }

    /// Takes over the bill that a rollback leaves behind.
    pub(crate) fn keep_bill(&mut self, of: &Self) {
        self.bill.clone_from(&of.bill);
    }

    /// Begins an empty bill: a fork does not pay its source's work again.
    pub(crate) fn begin_bill(&mut self) {
        self.bill = Costs::default();
    }

    /// Returns `true` if an earlier call of the tool reported a cost.
    pub(crate) fn has_cost(&self, tool: &ToolName) -> bool {
        self.tools.contains_key(tool)
    }

    /// Counts the first attempt at a unit of work.
    pub(crate) fn count(&mut self, what: Spend) {
        if let Some(counter) = self.counter(what) {
            *counter = counter.saturating_add(1);
        }
    }

    /// Takes back `times` counted units that the next generation will send again under other names.
    pub(crate) fn uncount(&mut self, what: Spend, times: u32) {
        if let Some(counter) = self.counter(what) {
            *counter = counter.saturating_sub(times);
        }
    }

    fn counter(&mut self, what: Spend) -> Option<&mut u32> {
        Some(match what {
            Spend::Plan => &mut self.plans,
            Spend::Replan => &mut self.replans,
            Spend::Thought => &mut self.thoughts,
            Spend::Turn => &mut self.turns,
            Spend::Tool => &mut self.calls,
            Spend::Step => &mut self.steps,
            // Counted with the questions themselves.
            Spend::Ask => return None,
        })
    }

    /// Returns the units of one kind; `asked` is the number of questions.
    pub(crate) fn units(&self, what: Spend, asked: u32) -> u32 {
        match what {
            Spend::Plan => self.plans,
            Spend::Replan => self.replans,
            Spend::Thought => self.thoughts,
            Spend::Turn => self.turns,
            Spend::Tool => self.calls,
            Spend::Step => self.steps,
            Spend::Ask => asked,
        }
    }

    /// Returns the model turns of the job and its descendants.
    pub(crate) fn turns(&self) -> u32 {
        self.turns.saturating_add(self.of_descendants)
    }

    /// Adds the cost of a tool's result, and returns it.
    pub(crate) fn tool(&mut self, brief: &Brief, tool: ToolName, cost: &Cost) -> Spent {
        if cost.is_nothing() {
            return Spent::default();
        }
        let spent = self.bill.add_tool(&brief.agent.budget, &tool, cost);
        self.usage += cost.usage;
        self.paid.add(cost);
        self.tools.entry(tool.clone()).or_insert_with(|| ToolCost::new(tool)).add(cost);
        spent
    }

    /// Adds the tokens of a model's reply, and returns their cost. If the model has a price of its
    /// own, they are charged at that price at once.
    pub(crate) fn model(&mut self, brief: &Brief, model: Option<&str>, usage: Usage) -> Spent {
        self.usage += usage;
        let spent = self.bill.add_model(&brief.agent.budget, model, usage);
        if let Some(price) = model.and_then(|model| brief.agent.budget.own_price(model)) {
            self.paid.below(&Paid { money: price.of(usage), usage });
        }
        spent
    }

    /// Adds the spending of a child that ended.
    pub(crate) fn child(&mut self, usage: Usage, turns: u32, paid: &Paid) {
        self.usage += usage;
        self.paid.below(paid);
        self.of_descendants = self.of_descendants.saturating_add(turns);
    }

    /// Returns the money spent, with tokens that have no price of their own charged at `price`.
    pub(crate) fn cost(&self, price: &Price) -> f64 {
        price.with(self.usage, &self.paid)
    }

    /// Returns the amount that the parent is charged. Tokens are priced at this job's rate, which
    /// may differ from the parent's.
    pub(crate) fn paid_in_all(&self, brief: &Brief) -> Paid {
        let price = brief.agent.budget.price;
        price.map_or(self.paid, |price| Paid { money: self.cost(&price), usage: self.usage })
    }
}
