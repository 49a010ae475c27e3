//! The entry of a path into a node: the bounds on visits, and the evaluation of the node's work.

use agents::workflow::schema;
use jiff::{SignedDuration, Timestamp};
use proto::{
    job::FailReason,
    limits,
    strict::is_deep,
    workflow::{
        Agent, AgentTask, End, Entered, Human, Map, Move, Node, NodeId, Parallel, Path, Pause,
        TemplateValue, Visit, Wait, Work, WorkflowEnd, WorkflowName,
    },
};
use serde_json::{Value, json};

use super::planner::{Over, Planner};
use crate::{kin_text, text::Text};

impl Planner<'_> {
    /// Enters a node. A node without work outside of the workflow is left at once.
    pub(super) fn enter(&mut self, path: &Path, node: &NodeId) -> Result<(), Over> {
        let visit = self.graph.next_visit(node, path);
        self.within_bounds(&visit)?;
        let node = self.node(&visit);
        self.entering = Some(visit.clone());
        let work = self.entered(path, &visit, &node);
        self.entering = None;
        match work {
            Ok(work) => {
                let is_passed = work == Entered::Passed;
                self.make(Move::Enter { visit: visit.clone(), path: path.clone(), work });
                if is_passed { self.pass(path, &visit, &node) } else { Ok(()) }
            }
            Err(error) => {
                let work = Entered::Passed;
                self.make(Move::Enter { visit: visit.clone(), path: path.clone(), work });
                self.fail(path, &visit, &node, error)
            }
        }
    }

    /// Enters the first node of a map's next item.
    pub(super) fn begin_item(&mut self, split: &Visit, slot: u32) -> Result<(), Over> {
        let Work::Map(map) = self.node(split).work else { return Ok(()) };
        self.enter(&Path::Of { split: split.clone(), slot }, &map.start)
    }

    /// Ends the workflow when a visit would exceed its bounds.
    fn within_bounds(&self, visit: &Visit) -> Result<(), Over> {
        let bounds = &self.graph.run().definition.limits;
        let (node, steps, visits) = (visit.node.as_str(), bounds.steps, bounds.visits);
        let text = if self.graph.visited() >= steps {
            Text::WorkflowStepsUsedUp { steps: &steps, node: &node }
        } else if visit.number > visits {
            Text::VisitsUsedUp { visits: &visits, node: &node }
        } else {
            return Ok(());
        };
        let message = text.text(self.open.language());
        Err(Over(WorkflowEnd::Failed { reason: FailReason::BudgetExceeded, message }))
    }

    /// Evaluates the work of a node.
    fn entered(&self, path: &Path, visit: &Visit, node: &Node) -> Result<Entered, String> {
        match &node.work {
            Work::Model(model) => Ok(Entered::Model {
                prompt: self.text(path, &model.prompt)?,
                system: model.system.as_ref().map(|text| self.text(path, text)).transpose()?,
            }),
            Work::Tool(tool) => {
                let args = self.value(path, &tool.args)?;
                if !args.is_object() {
                    return Err(Text::ArgsNoObject.text(self.open.language()));
                }
                if is_deep(&args) {
                    let max = &limits::JSON_DEPTH_MAX;
                    return Err(Text::ArgsTooDeep { max }.text(self.open.language()));
                }
                Ok(Entered::Tool { args })
            }
            Work::Agent(Agent { does }) => match does {
                AgentTask::Here { task, tools: _ } => {
                    Ok(Entered::Agent { task: self.text(path, task)? })
                }
                AgentTask::Named { agent, task } => {
                    if self.open.sub_agent(agent).is_none() {
                        let (node, agent) = (visit.node.as_str(), agent.as_str());
                        let text = Text::NoSuchSubAgent { node: &node, agent: &agent };
                        return Err(text.text(self.open.language()));
                    }
                    Ok(Entered::Child { agent: agent.clone(), task: self.text(path, task)? })
                }
                AgentTask::Workflow { workflow, input } => {
                    let input = self.value(path, input)?;
                    self.fits_input(visit, workflow, &input)?;
                    Ok(Entered::Workflow { workflow: workflow.clone(), input })
                }
            },
            Work::Human(human) => self.human(path, human),
            Work::Wait(wait) => Ok(Entered::Wait { until: self.until(path, wait)? }),
            Work::Event(event) => {
                let within = event.timeout.as_ref().map(|timeout| self.after(timeout.after_ms));
                Ok(Entered::Event { until: within.transpose()? })
            }
            Work::Branch {} | Work::Set {} | Work::Parallel(_) | Work::Map(_) | Work::End(_) => {
                Ok(Entered::Passed)
            }
        }
    }

    /// Checks the input of a sub-workflow, and that the job may have children.
    fn fits_input(&self, visit: &Visit, name: &WorkflowName, input: &Value) -> Result<(), String> {
        let language = self.open.language();
        let Some(sub) = self.graph.run().workflows.get(name) else {
            let (node, workflow) = (&visit.node.as_str(), &name.as_str());
            return Err(Text::NoSuchWorkflow { node, workflow }.text(language));
        };
        if self.open.brief.agent.budget.depth == 0 {
            return Err(kin_text::Text::NoFurtherDown.text(language));
        }
        if is_deep(input) {
            return Err(Text::ArgsTooDeep { max: &limits::JSON_DEPTH_MAX }.text(language));
        }
        let of_object = json!({"type": "object"});
        let schema = sub.definition.input.as_ref().unwrap_or(&of_object);
        match schema::misfit(schema, input) {
            None => Ok(()),
            Some(why) => {
                Err(Text::InputMisfit { workflow: &name.as_str(), why: &why }.text(language))
            }
        }
    }

    fn human(&self, path: &Path, human: &Human) -> Result<Entered, String> {
        let ask = self.text(path, &human.ask)?;
        let fields = human.form.iter().map(|field| {
            let default = field.default.as_ref().map(|value| self.value(path, value));
            Ok(field.field(default.transpose()?))
        });
        let form = fields.collect::<Result<_, String>>()?;
        Ok(Entered::Human { ask, form })
    }

    fn until(&self, path: &Path, wait: &Wait) -> Result<Timestamp, String> {
        match &wait.pause {
            Pause::ForMs(ms) => self.after(*ms),
            Pause::Until(text) => {
                let text = self.text(path, text)?;
                text.trim().parse().map_err(|error| format!("{text:?}: {error}"))
            }
        }
    }

    fn after(&self, ms: u64) -> Result<Timestamp, String> {
        let wait = SignedDuration::from_millis(i64::try_from(ms).unwrap_or(i64::MAX));
        self.now.checked_add(wait).map_err(|error| error.to_string())
    }

    fn text(&self, path: &Path, template: &TemplateValue) -> Result<String, String> {
        self.scoped(path, None, |eval, scope| eval.text(template, scope))
    }

    fn value(&self, path: &Path, template: &TemplateValue) -> Result<Value, String> {
        self.scoped(path, None, |eval, scope| eval.value(template, scope))
    }

    /// Goes on from a node without work outside of the workflow.
    fn pass(&mut self, path: &Path, visit: &Visit, node: &Node) -> Result<(), Over> {
        match &node.work {
            Work::Parallel(parallel) => self.split(visit, parallel),
            Work::Map(map) => self.split_items(path, visit, node, map),
            Work::End(end) => Err(Over(self.end(path, end))),
            Work::Set {} => self.write_and_follow(path, visit, node),
            Work::Branch {}
            | Work::Model(_)
            | Work::Tool(_)
            | Work::Agent(_)
            | Work::Human(_)
            | Work::Wait(_)
            | Work::Event(_) => self.follow(path, visit, node, None),
        }
    }

    fn split(&mut self, visit: &Visit, parallel: &Parallel) -> Result<(), Over> {
        let paths = u32::try_from(parallel.branches.len()).unwrap_or(u32::MAX);
        self.make(Move::Split { visit: visit.clone(), paths, items: Vec::new() });
        Ok(())
    }

    fn split_items(
        &mut self,
        path: &Path,
        visit: &Visit,
        node: &Node,
        map: &Map,
    ) -> Result<(), Over> {
        let max = map.max_items;
        let items = self.scoped(path, None, |eval, scope| eval.items(&map.over, max, scope));
        match items {
            Ok(items) => {
                let paths = u32::try_from(items.len()).unwrap_or(u32::MAX);
                self.make(Move::Split { visit: visit.clone(), paths, items });
                // A list without items is over at once.
                if paths == 0 { self.settle_join(visit, node) } else { Ok(()) }
            }
            Err(error) => self.fail(path, visit, node, error),
        }
    }

    fn end(&self, path: &Path, end: &End) -> WorkflowEnd {
        let failed = |message| WorkflowEnd::Failed { reason: FailReason::StepFailed, message };
        let output = match end {
            End::Fail(reason) => return failed(self.text(path, reason).unwrap_or_else(|e| e)),
            End::Output(Some(output)) => self.value(path, output),
            End::Output(None) => match &self.graph.run().definition.output {
                Some(output) => self.evaluated_output(output),
                None => Ok(self.graph.state_as_value()),
            },
        };
        match output.and_then(|output| self.within_bound(output)) {
            Ok(output) => WorkflowEnd::Completed { output },
            Err(error) => failed(format!("output: {error}")),
        }
    }
}
