//! The roles of a process.

use std::collections::BTreeSet;

/// A function of a process. A process may have several roles, and a role may run in many processes.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    strum::IntoStaticStr,
    strum::VariantArray,
    strum::Display,
    strum::EnumString,
)]
#[strum(serialize_all = "snake_case", parse_err_ty = UnknownRole, parse_err_fn = UnknownRole::of)]
pub enum Role {
    /// Decides the next actions of jobs.
    Supervisor,
    /// Makes plans.
    Planner,
    /// Runs the model turns of steps.
    Executor,
    /// Runs the built-in tools.
    Tools,
    /// Maintains the inbox, and accepts answers.
    Interaction,
    /// Serves the front door.
    Door,
    /// Serves HTTP and the console.
    Gateway,
}

impl Role {
    /// Every role.
    pub const ALL: &'static [Self] = <Self as strum::VariantArray>::VARIANTS;

    /// Name of the role in `--roles` and in presence.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// `true` if jobs wait where no process plays the role.
    #[must_use]
    pub fn is_needed(self) -> bool {
        match self {
            Self::Supervisor
            | Self::Planner
            | Self::Executor
            | Self::Tools
            | Self::Interaction
            | Self::Door => true,
            Self::Gateway => false,
        }
    }

    /// `true` if the role calls a language model.
    #[must_use]
    pub fn uses_model(self) -> bool {
        match self {
            Self::Planner | Self::Executor | Self::Tools => true,
            Self::Supervisor | Self::Interaction | Self::Door | Self::Gateway => false,
        }
    }

    /// `true` if the role cannot start without a language model.
    #[must_use]
    pub fn needs_model(self) -> bool {
        match self {
            Self::Planner | Self::Executor => true,
            Self::Supervisor | Self::Tools | Self::Interaction | Self::Door | Self::Gateway => {
                false
            }
        }
    }
}

/// The name of a role is unknown.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "there is no role {0:?}; the roles are supervisor, planner, executor, tools, interaction, door, gateway and all"
)]
pub struct UnknownRole(pub String);

impl UnknownRole {
    fn of(name: &str) -> Self {
        Self(name.chars().take(40).collect())
    }
}

/// Parses a comma-separated list of roles; `all` selects every one that jobs need.
///
/// # Errors
/// The first unknown name. An empty list is an error too.
pub fn parse_roles(list: &str) -> Result<BTreeSet<Role>, UnknownRole> {
    let mut roles = BTreeSet::new();
    for name in list.split(',').map(str::trim) {
        if name == "all" {
            roles.extend(Role::ALL.iter().filter(|role| role.is_needed()));
        } else {
            roles.insert(name.parse()?);
        }
    }
    Ok(roles)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_role_is_counted_under_its_name() {
        assert_eq!(
            Role::ALL.iter().map(|role| role.name()).collect::<Vec<_>>(),
            runtime::presence::ROLES
        );
    }

    #[test]
    fn roles_are_read_from_a_list() {
        let names = |list: &str| {
            parse_roles(list)
                .map(|roles| roles.iter().map(|r| r.name()).collect::<Vec<_>>().join(" "))
        };
        assert_eq!(names("tools, planner"), Ok("planner tools".into()));
        assert_eq!(names("all"), Ok("supervisor planner executor tools interaction door".into()));
        assert_eq!(names("gateway"), Ok("gateway".into()));
        assert_eq!(names("boss"), Err(UnknownRole("boss".into())));
        assert!(names("").is_err());
    }
}
