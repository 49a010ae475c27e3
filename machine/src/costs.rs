//! The bill of a job: the cost of its own work, by model and by tool, at the prices of its
//! submission. Work that a rollback took out stays on the bill, because it was paid.

use std::collections::BTreeMap;

use proto::{budget::Budget, cost::Cost, id::ToolName, message::Usage, spent::Spent};

/// Name of the model of the configuration, which an agent does not name.
const USUAL: &str = "default";

/// The cost of a job without its children: the results that counted when they arrived.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Costs {
    /// Cost of model calls by model.
    pub models: BTreeMap<String, Spent>,
    /// Cost of tools by tool. Tools that cost nothing are left out.
    pub tools: BTreeMap<ToolName, Spent>,
}

impl Costs {
    /// Returns the sum.
    #[must_use]
    pub fn total(&self) -> Spent {
        self.models.values().chain(self.tools.values()).copied().sum()
    }

    /// Adds the tokens of a model's reply, and returns their cost.
    pub(crate) fn add_model(
        &mut self,
        budget: &Budget,
        model: Option<&str>,
        usage: Usage,
    ) -> Spent {
        if usage.is_nothing() {
            return Spent::default();
        }
        let price = model.and_then(|model| budget.own_price(model)).or(budget.price);
        let spent = Spent::at(usage, price.as_ref());
        *self.models.entry(model.unwrap_or(USUAL).to_owned()).or_default() += spent;
        spent
    }

    /// Adds the cost of a tool's result, and returns it.
    pub(crate) fn add_tool(&mut self, budget: &Budget, tool: &ToolName, cost: &Cost) -> Spent {
        let spent = Spent::on(cost, budget.price.as_ref());
        *self.tools.entry(tool.clone()).or_default() += spent;
        spent
    }
}
