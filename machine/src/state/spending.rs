//! The account of a job: units of work, tokens, and money. Units of work are counted when the decision
//! for their first attempt is stored, tokens when the answer that cost them counts.

use std::collections::BTreeMap;

use proto::{
    budget::{Price, Spend},
    cost::{Cost, Paid, ToolCost},
    id::ToolName,
    message::Usage,
    rules::Rules,
};

use super::brief::Brief;

/// Everything spent so far. Questions are counted with the questions themselves.
#[derive(Debug, Clone, Default)]
pub(crate) struct Spending {
    usage: Usage,
    /// Money paid beside the price of tokens, by this job and its descendants.
    paid: Paid,
    /// The cost of the job's own tools.
    tools: BTreeMap<ToolName, ToolCost>,
    plans: u32,
    replans: u32,
    thoughts: u32,
    turns: u32,
    calls: u32,
    steps: u32,
    /// Model turns of descendants: turns as those of this job, and none of its steps.
    of_descendants: u32,
}

impl Spending {
    pub(crate) fn usage(&self) -> Usage {
        self.usage
    }

    pub(crate) fn tools(&self) -> impl Iterator<Item = &ToolCost> {
        self.tools.values()
    }

    /// Whether a call of this tool has cost something before.
    pub(crate) fn has_cost(&self, tool: &ToolName) -> bool {
        self.tools.contains_key(tool)
    }

    /// A unit of work is sent for the first time.
    pub(crate) fn count(&mut self, what: Spend) {
        if let Some(counter) = self.counter(what) {
            *counter = counter.saturating_add(1);
        }
    }

    /// A unit of work that was sent will be sent for the first time once more, by another name.
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
            // Spent with the questions themselves.
            Spend::Ask => return None,
        })
    }

    /// Units of work of one kind; `asked` is the number of questions.
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

    /// Model turns, those of descendants included.
    pub(crate) fn turns(&self) -> u32 {
        self.turns.saturating_add(self.of_descendants)
    }

    /// A result of a tool counts, and with it its cost.
    pub(crate) fn tool(&mut self, tool: ToolName, cost: &Cost) {
        if cost.is_nothing() {
            return;
        }
        self.usage += cost.usage;
        self.paid.add(cost);
        self.tools.entry(tool.clone()).or_insert_with(|| ToolCost::new(tool)).add(cost);
    }

    /// A model answered. Tokens of one that has a price of its own are paid for at that.
    pub(crate) fn model(&mut self, brief: &Brief, model: Option<&str>, usage: Usage) {
        self.usage += usage;
        if let Some(price) = model.and_then(|model| brief.agent.budget.own_price(model)) {
            self.paid.below(&Paid { money: price.of(usage), usage });
        }
    }

    /// A child has ended.
    pub(crate) fn child(&mut self, usage: Usage, turns: u32, paid: &Paid, rules: Rules) {
        self.usage += usage;
        self.paid.below(paid);
        // By the first rules its turns were counted like the job's own.
        let counter =
            if rules >= Rules::SECOND { &mut self.of_descendants } else { &mut self.turns };
        *counter = counter.saturating_add(turns);
    }

    /// The money spent when tokens without a price of their own have this one.
    pub(crate) fn cost(&self, price: &Price) -> f64 {
        price.with(self.usage, &self.paid)
    }

    /// The amount paid as the parent counts it: tokens at the price of this job's model, which may be
    /// another one than the parent's.
    pub(crate) fn paid_in_all(&self, brief: &Brief) -> Paid {
        let price = brief.agent.budget.price;
        price.map_or(self.paid, |price| Paid { money: self.cost(&price), usage: self.usage })
    }
}
