//! The steps of a workflow's visits, and the consequences of its end.

use agents::workflow::schema;
use jiff::Timestamp;
use proto::{
    agent::Agent,
    decision::{SpawnWork, SpawnedWorkflow},
    family::{self, Offered},
    id::{AgentName, StepId, TimerName, WorkId},
    job::Outcome,
    lang::Language,
    output::OutputSchema,
    plan::{Action, Step},
    step::StepState,
    tool::ToolSpec,
    workflow::{self, AgentTask, Entered, Node, Visit, Work, WorkflowEnd, WorkflowRun},
};
use serde_json::{Value, json};

use crate::{
    asking::TIMER_SLACK,
    call::Call,
    names,
    nodes::{Inquiry, Sleep, VisitRules},
    state::{ActiveJob, Graph},
    step::{Exec, StepRun},
    text::Text,
};

impl ActiveJob {
    /// Begins the work of a visit, and returns `true` if the workflow has it.
    pub(super) fn begin_visit(
        &mut self,
        graph: &Graph,
        visit: &Visit,
        work: &Entered,
        at: Timestamp,
    ) -> bool {
        let Some(node) = graph.node(&visit.node) else { return false };
        let Some(action) = self.action_of(graph, node, work) else {
            // A branch, writes, a split or an end has no step.
            return *work == Entered::Passed;
        };
        let (id, generation) = (visit.step(), self.generation());
        let step = Step {
            id: id.clone(),
            title: node.title.clone().unwrap_or_else(|| visit.node.to_string()),
            description: description_of(work),
            depends_on: Vec::new(),
            action,
        };
        let mut run = StepRun::new(step, generation, 0);
        run.rules = Some(Box::new(rules_of(node, work)));
        run.exec = self.exec_of(&run, node, work, &id);
        run.become_state(StepState::Ready);
        if run.sleep().is_some_and(Sleep::is_waiting) {
            run.asked_about(at);
        }
        self.execution.visit(visit.clone(), run);
        true
    }

    /// Returns the action of a visit's step, or `None` for a node without a step.
    fn action_of(&self, graph: &Graph, node: &Node, work: &Entered) -> Option<Action> {
        match (work, &node.work) {
            (Entered::Tool { args }, Work::Tool(tool)) => {
                let binding = graph.run().tools.get(&tool.tool)?.clone();
                Some(Action::Tool { tool: tool.tool.clone(), args: args.clone(), binding })
            }
            (Entered::Child { agent, task }, _) => {
                let spec = self.sub_agent(agent)?;
                let args = json!({"goal": task, "context": ""});
                Some(Action::Tool { binding: spec.binding(), tool: spec.name, args })
            }
            (Entered::Workflow { workflow, input }, _) => {
                graph.run().workflows.get(workflow)?;
                let spec = as_tool(workflow.as_str(), self.language())?;
                let args = input.clone();
                Some(Action::Tool { binding: spec.binding(), tool: spec.name, args })
            }
            (Entered::Passed | Entered::Tool { .. }, _) => None,
            (
                Entered::Model { .. }
                | Entered::Agent { .. }
                | Entered::Human { .. }
                | Entered::Wait { .. }
                | Entered::Event { .. },
                _,
            ) => Some(Action::Agent),
        }
    }

    /// Returns a sub-agent of the job's agent as a tool.
    pub(in crate::graph) fn sub_agent(&self, name: &AgentName) -> Option<ToolSpec> {
        self.family.callee(&self.brief.agent, name.as_str())?;
        as_tool(name.as_str(), self.language())
    }

    /// Returns the run of a sub-workflow, as the submission of this job holds it.
    pub(crate) fn sub_run(&self, sub: &SpawnedWorkflow) -> Option<WorkflowRun> {
        self.graph.as_ref()?.run().below(&sub.workflow, sub.input.clone())
    }

    /// Returns the run of the workflow that a sub-agent has in place of a plan, with its task as the
    /// goal, or `None` for a sub-agent without one.
    pub(crate) fn callee_run(&self, spawn: &SpawnWork) -> Option<WorkflowRun> {
        let callee = self.family.callees()?.get(&spawn.agent.name)?;
        let run = WorkflowRun::clone(callee.workflow.as_deref()?);
        let input = run.definition.with_goal(run.input, &spawn.goal);
        Some(WorkflowRun { input, ..run })
    }

    /// Returns the reason why the goal of a child does not fit the workflow that its agent has, or
    /// `None` if it fits.
    pub(crate) fn callee_misfit(&self, spawn: &SpawnWork) -> Option<String> {
        let run = self.callee_run(spawn).filter(|_| spawn.workflow.is_none())?;
        let why = schema::misfit(run.definition.input.as_ref()?, &run.input)?;
        let workflow = &run.definition.name.as_str();
        Some(Text::InputMisfit { workflow, why: &why }.text(self.language()))
    }

    /// Returns the policies of the job that runs a sub-workflow: those of this job, within the
    /// deadline of the sub-workflow.
    pub(crate) fn sub_workflow_agent(&self, sub: &SpawnedWorkflow) -> Option<Agent> {
        let definition = &self.graph.as_ref()?.run().workflows.get(&sub.workflow)?.definition;
        let mut agent = Agent::clone(&self.brief.agent);
        let deadline = [agent.deadline_ms, definition.limits.deadline_ms];
        agent.deadline_ms = deadline.into_iter().flatten().min();
        Some(agent)
    }

    fn exec_of(&self, run: &StepRun, node: &Node, work: &Entered, id: &StepId) -> Exec {
        let name = names::step(run.generation, run.revision, id);
        match work {
            Entered::Model { .. } | Entered::Agent { .. } | Entered::Passed => {
                Exec::Turn(run.first_turn(1, None))
            }
            Entered::Workflow { workflow, input } => {
                let Action::Tool { tool, args, binding } = &run.step.action else {
                    return Exec::Turn(run.first_turn(1, None));
                };
                let mut call = Call::new(name, tool.clone(), binding.clone(), args.clone());
                call.retry.clone_from(&node.retry);
                let (workflow, input) = (workflow.clone(), input.clone());
                call.workflow = Some(Box::new(SpawnedWorkflow { workflow, input }));
                Exec::Tool(Box::new(call))
            }
            Entered::Tool { .. } | Entered::Child { .. } => {
                let Action::Tool { tool, args, binding } = &run.step.action else {
                    return Exec::Turn(run.first_turn(1, None));
                };
                let args = self.brief.agent.tool.presets.fill(tool, args.clone());
                let mut call = Call::new(name, tool.clone(), binding.clone(), args);
                call.retry.clone_from(&node.retry);
                Exec::Tool(Box::new(call))
            }
            Entered::Human { ask, form } => Exec::Asked(Box::new(Inquiry {
                work: name,
                prompt: ask.clone(),
                form: form.clone(),
                within_ms: node.work.timeout().map(|timeout| timeout.after_ms),
                ask: None,
            })),
            Entered::Wait { until } => Exec::Sleep(Sleep::new(name, None, Some(*until))),
            Entered::Event { until } => {
                let event = node.work.as_event().map(|event| event.event.clone());
                Exec::Sleep(Sleep::new(name, event, *until))
            }
        }
    }

    /// Ends a visit's question whose time is up, and returns `true` if the question is one of a visit.
    pub(in crate::graph) fn question_timed_out(
        &mut self,
        work: &WorkId,
        reason: &str,
        at: Timestamp,
    ) -> bool {
        let mut steps = self.execution.steps_mut().iter_mut();
        let asked = steps.find(|step| step.is_asked(work) || step.asks(work));
        let Some(step) = asked else { return false };
        match step.is_asked(work) {
            true => step.time_out(reason.to_owned(), at),
            false => step.fail(reason.to_owned(), at),
        }
        true
    }

    /// Ends the pause of a timer, and returns `true` if the timer is one of a pause.
    pub(in crate::graph) fn pause_over(&mut self, timer: &TimerName, at: Timestamp) -> bool {
        let mut steps = self.execution.steps_mut().iter_mut();
        let Some(step) = steps.find(|step| step.sleep_timer() == Some(timer)) else {
            return false;
        };
        // A timer of this name may remain from a wait that was never stored.
        let latest = at.saturating_add(TIMER_SLACK).unwrap_or(at);
        if step.sleep().and_then(|sleep| sleep.until).is_some_and(|until| until > latest) {
            return false;
        }
        step.wake(at);
        true
    }

    /// Returns the outcome of a workflow that has ended.
    pub(in crate::graph) fn outcome_of(&self, end: &WorkflowEnd) -> Outcome {
        match end {
            WorkflowEnd::Completed { output } => Outcome::Completed {
                summary: summary_of(output),
                results: self.results(),
                value: output.clone(),
            },
            WorkflowEnd::Failed { reason, message } => self.failed(*reason, message.clone()),
        }
    }
}

fn description_of(work: &Entered) -> String {
    match work {
        Entered::Model { prompt: text, .. }
        | Entered::Agent { task: text }
        | Entered::Child { task: text, .. }
        | Entered::Human { ask: text, .. } => text.clone(),
        Entered::Wait { until } => until.to_string(),
        Entered::Event { until } => until.map(|until| until.to_string()).unwrap_or_default(),
        Entered::Tool { .. } | Entered::Workflow { .. } | Entered::Passed => String::new(),
    }
}

/// Returns an agent or a workflow as a tool whose calls are child jobs.
fn as_tool(name: &str, language: Language) -> Option<ToolSpec> {
    let offered = Offered { name: AgentName::new(name).ok()?, about: String::new() };
    family::as_tools(&[offered], language).pop()
}

fn rules_of(node: &Node, work: &Entered) -> VisitRules {
    let kind = Some(node.work.kind());
    let rules = VisitRules { kind, retry: node.retry.clone(), ..VisitRules::default() };
    if let (Work::Model(model), Entered::Model { system, .. }) = (&node.work, work) {
        return VisitRules {
            system: system.clone(),
            model: model.model.clone(),
            reply: model.reply.clone().map(OutputSchema),
            tools: Some(Vec::new()),
            is_one_turn: true,
            ..rules
        };
    }
    if let Work::Agent(workflow::Agent { does: AgentTask::Here { tools, .. } }) = &node.work {
        return VisitRules { tools: tools.clone(), ..rules };
    }
    rules
}

/// Returns the output of a workflow as a text: a single text as it is, other values as JSON.
fn summary_of(output: &Value) -> String {
    let only = match output {
        Value::Object(fields) if fields.len() == 1 => fields.values().next().unwrap_or(output),
        Value::Null
        | Value::Bool(_)
        | Value::Number(_)
        | Value::String(_)
        | Value::Array(_)
        | Value::Object(_) => output,
    };
    match only {
        Value::String(text) => text.clone(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
            serde_json::to_string_pretty(output).unwrap_or_default()
        }
    }
}
