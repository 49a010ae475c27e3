//! The order in which models are asked when one does not answer. Pure.

use proto::fallback::{AnsweredBy, FallbackReason, FellBack};

use crate::{error::ModelError, port::Params};

/// The models of a request that have not been asked yet.
pub(crate) struct Chain {
    params: Params,
    /// Place of the next model in the list of the request.
    next: usize,
}

impl Chain {
    pub(crate) fn of(params: Params) -> Self {
        // Models that were passed over for their context are not asked.
        let asked = params.model.as_ref().filter(|_| !params.fell_back.is_empty());
        let place = |model: &String| params.fallback.iter().position(|one| one.model == *model);
        let next = asked.and_then(place).map_or(0, |place| place + 1);
        Self { params, next }
    }

    /// Returns the settings of the request to the current model.
    pub(crate) fn params(&self) -> Params {
        self.params.clone()
    }

    /// Goes on to the next model that is asked for the reason of an error. `false` after the last one.
    pub(crate) fn goes_on(&mut self, error: &ModelError) -> bool {
        error.kind().fallback_reason().is_some_and(|reason| self.goes_on_for(reason))
    }

    /// Goes on to the next model because the conversation exceeds the context of this one.
    pub(crate) fn passes_over(&mut self) -> bool {
        self.goes_on_for(FallbackReason::ContextTooLong)
    }

    fn goes_on_for(&mut self, reason: FallbackReason) -> bool {
        let left = self.params.fallback.iter().enumerate().skip(self.next);
        let mut fitting = left.filter(|(_, one)| one.on.contains(&reason));
        let Some((place, one)) = fitting.next() else { return false };
        let model = self.params.model.replace(one.model.clone());
        self.params.fell_back.push(FellBack { model, reason });
        self.next = place + 1;
        true
    }

    /// Returns the last model that did not answer; empty for the configured one.
    pub(crate) fn last(&self) -> &str {
        let last = self.params.fell_back.last().and_then(|last| last.model.as_deref());
        last.unwrap_or_default()
    }

    /// Returns the model that answered, if it is not the first one.
    pub(crate) fn answered(self) -> Option<AnsweredBy> {
        let Params { model, fell_back, .. } = self.params;
        let model = model.filter(|_| !fell_back.is_empty())?;
        Some(AnsweredBy { model, fell_back })
    }
}

#[cfg(test)]
mod tests {
    use proto::fallback::Fallback;
    use rstest::rstest;

    use super::*;
    use crate::error::ErrorKind;

    fn chain() -> Chain {
        let fallback = |model: &str, on: &[FallbackReason]| Fallback {
            model: model.to_owned(),
            on: on.to_vec(),
        };
        use FallbackReason::{ContextTooLong, Overloaded, RateLimited, Refused};
        let fallback = vec![
            fallback("b", &[Overloaded, RateLimited]),
            fallback("c", &[Refused]),
            fallback("d", &[Overloaded, ContextTooLong]),
        ];
        Chain::of(Params { model: Some("a".into()), fallback, ..Params::default() })
    }

    #[rstest]
    #[case(&[ErrorKind::Overloaded], Some("b"))]
    #[case(&[ErrorKind::Refused], Some("c"))]
    #[case(&[ErrorKind::Overloaded, ErrorKind::Overloaded], Some("d"))]
    #[case(&[ErrorKind::Overloaded, ErrorKind::Refused], Some("c"))]
    #[case(&[ErrorKind::ContextTooLong, ErrorKind::Overloaded], None)]
    #[case(&[ErrorKind::Auth], None)]
    #[case(&[ErrorKind::Unreachable], None)]
    fn the_next_model_is_the_first_one_that_is_asked_for_the_reason(
        #[case] errors: &[ErrorKind],
        #[case] expected: Option<&str>,
    ) {
        let mut chain = chain();
        let went_on = errors.iter().all(|kind| chain.goes_on(&ModelError::new(*kind, "no")));
        assert_eq!(went_on.then(|| chain.answered().unwrap().model).as_deref(), expected);
    }

    #[test]
    fn models_that_were_passed_over_are_not_asked_later() {
        let mut chain = chain();
        assert!(chain.passes_over());
        let mut later = Chain::of(chain.params());
        assert!(!later.goes_on(&ModelError::new(ErrorKind::Overloaded, "no")));
        let answered = later.answered().unwrap();
        assert_eq!(answered.model, "d");
        let first = FellBack { model: Some("a".into()), reason: FallbackReason::ContextTooLong };
        assert_eq!(answered.fell_back, [first]);
    }
}
