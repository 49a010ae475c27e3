//! The table of the design's interfaces, held against the verbs, the commands and the routes.

use proto::door::Verb;

use super::{page, rows};

/// The interfaces of the design.
const INTERFACES: [&str; 10] = [
    "run",
    "get_state",
    "load_workflow",
    "execute_workflow",
    "get_execution_log",
    "export_graph",
    "create_snapshot",
    "rollback_to_snapshot",
    "add_node",
    "update_edge",
];
const PAGE: &str = "docs/internals/interfaces.md";

#[test]
fn each_interface_of_the_design_is_in_the_table() {
    let rows = rows(&page(PAGE), "interface");
    let listed: Vec<&str> = rows.iter().map(|row| row[0].text.as_str()).collect();
    assert_eq!(listed, INTERFACES);
}

#[test]
fn each_verb_command_and_route_of_the_table_exists() {
    let (commands, routes) = (page("docs/cli.md"), page("docs/gateway.md"));
    let verbs: Vec<&str> = Verb::ALL.map(Verb::spec).into_iter().map(|spec| spec.name).collect();
    for row in rows(&page(PAGE), "interface") {
        let [_, verb, command, route] = row.as_slice() else { panic!("{row:?}") };
        assert!(verbs.contains(&verb.text.as_str()), "{}", verb.text);
        assert!(commands.contains(&command.text), "callboard {}", command.text);
        // The table of the gateway has the verb of each route.
        let line = routes.lines().find(|line| line.starts_with(&format!("| `{}", route.text)));
        let line = line.unwrap_or_else(|| panic!("{}", route.text));
        assert!(line.contains(&format!("`{}`", verb.text)), "{line}");
    }
}
