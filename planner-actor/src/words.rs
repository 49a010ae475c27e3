//! What the planner itself tells a model that is wrong with its reply, and the one question it asks in
//! a model's place: fixed texts, in the job's language.

use proto::lang::Language;

/// No question may be asked any more.
pub(crate) fn no_more_questions(language: Language) -> &'static str {
    match language {
        Language::En => "no more questions can be asked; go on with what is known",
        Language::Zh => "不能再提问，请根据已有信息继续",
    }
}

/// The same, where nothing but a plan is wanted.
pub(crate) fn only_a_plan(language: Language) -> &'static str {
    match language {
        Language::En => "no more questions can be asked; reply with the plan",
        Language::Zh => "不能再提问，请直接给出计划",
    }
}

/// A person is to be asked, and nothing says what.
pub(crate) fn question_without_words(language: Language) -> &'static str {
    match language {
        Language::En => "the question has no words; say what the user is to be asked",
        Language::Zh => "问题内容为空，请写明要问用户什么",
    }
}

/// What a person is asked then.
pub(crate) fn say_what_is_missing(language: Language) -> &'static str {
    match language {
        Language::En => "please add what is needed",
        Language::Zh => "请补充必要信息",
    }
}

/// The reply ended at the bound of tokens.
pub(crate) fn cut(language: Language) -> &'static str {
    match language {
        Language::En => "the reply was cut because it is too long; reply with a shorter plan",
        Language::Zh => "回复过长被截断，请给出更短的计划",
    }
}

/// More than one plan was handed over.
pub(crate) fn one_plan(language: Language) -> &'static str {
    match language {
        Language::En => "only one plan can be handed over at a time",
        Language::Zh => "一次只能提交一个计划",
    }
}

/// More than one question was asked.
pub(crate) fn one_question(language: Language) -> &'static str {
    match language {
        Language::En => {
            "only one question can be asked at a time; use a form to ask for several things"
        }
        Language::Zh => "一次只能提一个问题；需要多项信息时请使用表单",
    }
}

/// A tool was called.
pub(crate) fn no_calls(language: Language, name: &str) -> String {
    match language {
        Language::En => {
            format!("{name:?} cannot be called while planning; name the tool in a step of the plan")
        }
        Language::Zh => format!("规划时不能调用 {name:?}；请在计划的步骤中指定该工具"),
    }
}

/// The goal is reached, and there is no answer.
pub(crate) fn no_answer(language: Language) -> &'static str {
    match language {
        Language::En => "response: is missing; nothing was reached yet that could be the answer",
        Language::Zh => "response：缺失；目前还没有可以作为答案的结果",
    }
}
