//! Tests of the layers, of inheritance and of the shipped agents.

use proto::{
    agent::{Dispatch, OnFailure, PlanWhen, ReplanWhen, StepExec},
    policy::{AskLimit, PlanProtocol},
};

use super::*;

fn name(text: &str) -> AgentName {
    AgentName::new(text).unwrap()
}

fn source(called: &str, text: &str) -> Source {
    Source { name: name(called), place: format!("{called}.yaml"), text: text.into() }
}

fn catalogue(sources: &[(&str, &str)]) -> Catalogue {
    let mut catalogue = Catalogue::presets();
    catalogue.set(Layer::Directory, sources.iter().map(|(name, text)| source(name, text)));
    catalogue
}

fn agent(catalogue: &Catalogue, called: &str) -> Agent {
    let resolved = catalogue.get(&name(called)).expect(called);
    Agent::clone(resolved.as_ref().unwrap_or_else(|e| panic!("{e}")))
}

fn refused(catalogue: &Catalogue, called: &str) -> String {
    catalogue.get(&name(called)).expect(called).as_ref().unwrap_err().to_string()
}

#[test]
fn every_agent_that_comes_with_the_program_can_be_used() {
    let presets = Catalogue::presets();
    assert_eq!(presets.mistakes(), []);
    assert_eq!(presets.names().count(), PRESETS.len());
    for entry in presets.entries() {
        assert!(!entry.about.is_empty(), "{} says what it is for", entry.name);
        let text = entry.text.unwrap();
        assert!(text.starts_with("# "), "{}", entry.name);
        assert!(entry.resolved.unwrap().name == entry.name);
    }
}

#[test]
fn every_agent_file_of_this_directory_comes_with_the_program() {
    let mut files: Vec<_> = std::fs::read_dir(env!("CARGO_MANIFEST_DIR"))
        .unwrap()
        .map(|file| file.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.ends_with(".yaml"))
        .collect();
    files.sort();
    let mut known: Vec<_> = PRESETS.iter().map(|(name, _)| format!("{name}.yaml")).collect();
    known.sort();
    assert_eq!(files, known);
}

#[test]
fn default_says_what_holds_without_it() {
    let default = agent(&Catalogue::presets(), "default");
    assert_eq!(default, Agent::default());
}

#[test]
fn the_designs_differ_where_they_should() {
    let presets = Catalogue::presets();
    let fastgpt = agent(&presets, "fastgpt");
    assert_eq!(fastgpt.plan.protocol, PlanProtocol::TaskSteps);
    assert_eq!((fastgpt.confirm, fastgpt.ask.limit), (true, AskLimit::AtMost(3)));
    assert_eq!(fastgpt.replan_when(), ReplanWhen::AfterListed);
    let phased = agent(&presets, "loop-phased");
    assert_eq!((phased.plan.protocol, phased.plan.attempts), (PlanProtocol::Phased, 3));
    assert_eq!((phased.ask.prefix, phased.budget.steps), (true, Some(20)), "taken from loop");
    assert_eq!(phased.replan_when(), ReplanWhen::AfterEachItem);
    let manus = agent(&presets, "manus");
    assert_eq!((manus.dispatch, manus.step.on_failure), (Dispatch::Sequential, OnFailure::FailRun));
    let plan = agent(&presets, "plan-then-execute");
    assert_eq!((plan.plan.when, plan.step.exec), (PlanWhen::Auto, StepExec::DirectTool));
    assert_eq!((plan.plan.temperature, plan.step.on_failure), (Some(0.1), OnFailure::Stop));
    assert_eq!((fastgpt.step.max_turns, fastgpt.plan.temperature), (100, Some(0.1)));
    assert!(!agent(&presets, "unattended").confirm);
}

#[test]
fn an_agent_may_extend_another_and_change_one_axis() {
    let files = [("mine", "extends: fastgpt\nstep:\n  max_turns: 7\n")];
    let (mine, theirs) = (agent(&catalogue(&files), "mine"), agent(&catalogue(&[]), "fastgpt"));
    assert_eq!((mine.name.as_str(), mine.step.max_turns), ("mine", 7));
    assert_eq!(mine.step.exec, theirs.step.exec, "the rest of an axis stays");
    assert_eq!(mine.plan, theirs.plan);
}

#[test]
fn a_later_layer_wins_and_may_extend_what_it_hides() {
    let mut catalogue = catalogue(&[("default", "extends: default\nconfirm: false\n")]);
    assert!(!agent(&catalogue, "default").confirm);
    assert_eq!(catalogue.entry(&name("default")).unwrap().layer, Layer::Directory);
    assert!(!agent(&catalogue, "unattended").confirm);
    catalogue.set(Layer::Bucket, [source("default", "extends: default\nreplan: {max: 9}\n")]);
    let both = agent(&catalogue, "default");
    assert_eq!((both.confirm, both.replan.max), (false, 9));
    assert!(catalogue.remove(Layer::Bucket, &name("default")));
    assert_eq!(agent(&catalogue, "default").replan.max, 3);
    catalogue.keep(Layer::Directory, &BTreeSet::new());
    assert!(agent(&catalogue, "default").confirm);
}

#[test]
fn what_cannot_be_used_never_falls_back_to_what_it_hides() {
    let catalogue = catalogue(&[("react", "step: {max_turn: 3}\n")]);
    assert_eq!(
        refused(&catalogue, "react"),
        "react.yaml:1:8: step.max_turn: there is no such field; did you mean max_turns?"
    );
}

#[test]
fn the_configuration_gives_agents_in_full() {
    let given = Agent { name: name("given"), confirm: false, ..Agent::default() };
    let mut catalogue = Catalogue::presets().with_given([given]);
    catalogue.set(Layer::Directory, [source("child", "extends: given\nask: {limit: 1}\n")]);
    let child = agent(&catalogue, "child");
    assert_eq!((child.confirm, child.ask.limit), (false, AskLimit::AtMost(1)));
}

#[test]
fn circles_chains_without_end_and_parents_that_are_not_there_are_refused() {
    let circle = catalogue(&[("a", "extends: b\n"), ("b", "extends: c\n"), ("c", "extends: a\n")]);
    assert_eq!(
        refused(&circle, "a"),
        "c.yaml:1:10: extends: agents extend each other in a circle: a → b → c → a"
    );
    let own = catalogue(&[("own", "extends: own\n")]);
    assert!(refused(&own, "own").contains("there is no agent own below this one"));
    let typo = catalogue(&[("t", "about: x\nextends: fastgtp\n")]);
    assert_eq!(
        refused(&typo, "t"),
        "t.yaml:2:10: extends: there is no agent fastgtp; did you mean fastgpt?"
    );
    let long: Vec<_> = (0..EXTENDS_MAX + 1)
        .map(|n| {
            (format!("a{n}"), if n == 0 { "{}".into() } else { format!("extends: a{}", n - 1) })
        })
        .collect();
    let long: Vec<_> = long.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
    let long = catalogue(&long);
    assert!(refused(&long, &format!("a{EXTENDS_MAX}")).contains("at most 8 agents"));
    agent(&long, &format!("a{}", EXTENDS_MAX - 1));
}

#[test]
fn what_does_not_go_together_is_shown_where_this_file_says_it() {
    let files = [("mine", "extends: plan-then-execute\n\nplan:\n  protocol: task_steps\n")];
    assert_eq!(
        refused(&catalogue(&files), "mine"),
        "mine.yaml:4:3: step.exec: must not be direct_tool with this protocol, whose steps are tasks in words"
    );
    let bounds = [("mine", "extends: default\nreplan:\n  max: 1000\n")];
    assert_eq!(
        refused(&catalogue(&bounds), "mine"),
        "mine.yaml:3:3: replan.max: must be at most 100"
    );
}

#[test]
fn what_is_wrong_in_one_place_hides_nothing_in_another() {
    let lines = |text: &str| -> Vec<String> {
        let told = refused(&catalogue(&[("mine", text)]), "mine");
        told.lines().map(|line| line.split(": ").take(2).collect::<Vec<_>>().join(" ")).collect()
    };
    assert_eq!(
        lines("ask: {limit: 5000}\ntemperature: 9\nstep: {max_turns: 1000}\ndeadline_ms: 0\n"),
        [
            "mine.yaml:1:7 ask.limit",
            "mine.yaml:2:1 temperature",
            "mine.yaml:3:8 step.max_turns",
            "mine.yaml:4:1 deadline_ms",
        ]
    );
    assert_eq!(
        lines("extends: reakt\ndispatch: levls\nagents: [resercher]\n"),
        ["mine.yaml:1:10 extends", "mine.yaml:2:11 dispatch", "mine.yaml:3:1 agents[0]"]
    );
}

#[test]
fn a_setting_that_decides_nothing_is_refused_where_it_is_written_and_not_where_it_is_inherited() {
    let written = [("mine", "extends: direct\nconfirm: true\n")];
    assert!(
        refused(&catalogue(&written), "mine").starts_with("mine.yaml:2:1: confirm: has no effect")
    );
    let inherited = [("mine", "extends: manus\nplan: {when: never}\nreplan: {when: never}\n")];
    assert_eq!(agent(&catalogue(&inherited), "mine").plan.when, PlanWhen::Never);
}

#[test]
fn a_change_that_breaks_others_is_known_before_it_is_made() {
    let before = catalogue(&[("parent", "confirm: false\n"), ("child", "extends: parent\n")]);
    let mut after = before.clone();
    after.remove(Layer::Directory, &name("parent"));
    let broken: Vec<_> = before.broken_by(&after).into_iter().map(|(name, _)| name).collect();
    assert_eq!(broken, [name("child"), name("parent")]);
    let mut fine = before.clone();
    fine.set(Layer::Bucket, [source("parent", "confirm: true\n")]);
    assert!(before.broken_by(&fine).is_empty());
}

#[test]
fn a_sub_agent_that_is_not_there_is_refused_with_the_one_that_was_meant() {
    let there = [("boss", "agents: [helper, boss]\n"), ("helper", "about: helps\n")];
    assert_eq!(agent(&catalogue(&there), "boss").agents.len(), 2);
    let typo = [("boss", "about: b\nagents:\n  - helpr\n"), ("helper", "about: helps\n")];
    assert_eq!(
        refused(&catalogue(&typo), "boss"),
        "boss.yaml:2:1: agents[0]: there is no agent helpr; did you mean helper?"
    );
    let mut after = catalogue(&there);
    after.remove(Layer::Directory, &name("helper"));
    assert_eq!(catalogue(&there).broken_by(&after).len(), 2);
}

#[test]
fn arguments_are_fixed_of_the_agents_own_tools_alone() {
    let wrong = |text: &str| {
        let mut catalogue = Catalogue::presets();
        let name = AgentName::new("mine").unwrap();
        let source = Source { name: name.clone(), place: "mine.yaml".into(), text: text.into() };
        catalogue.set(Layer::Directory, [source]);
        catalogue.get(&name).unwrap().as_ref().map(|_| ()).map_err(ToString::to_string)
    };
    let fixed = "tools: [http_get]\ntool:\n  presets:\n    http_get: {max_bytes: 9}\n";
    assert_eq!(wrong(fixed), Ok(()));
    for (text, expected) in [
        (
            fixed.replace("    http_get", "    htp_get"),
            "mine.yaml:4:5: tool.presets.htp_get: is not among the tools of this agent; did you mean http_get?",
        ),
        (
            fixed.replace("    http_get", "    dance"),
            "mine.yaml:4:5: tool.presets.dance: is not among the tools of this agent",
        ),
        (
            fixed.replace("{max_bytes: 9}", "9"),
            "mine.yaml:4:15: tool.presets.http_get: must be a mapping of fields, not 9",
        ),
        (
            fixed
                .replace("tools: [http_get]", "agents: [react]")
                .replace("    http_get", "    react"),
            "mine.yaml:4:5: tool.presets.react: must be a tool; arguments of agents cannot be fixed",
        ),
    ] {
        assert_eq!(wrong(&text), Err(expected.to_owned()));
    }
}
