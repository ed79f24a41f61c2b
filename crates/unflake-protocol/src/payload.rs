//! How model types look on the wire, where that differs from how the model serializes them.

pub(crate) fn is_zero(number: &u32) -> bool {
    *number == 0
}

pub(crate) fn is_false(value: &bool) -> bool {
    !value
}

/// An outcome as the fields `outcome`, `signal` and `exit` of the surrounding message.
pub(crate) mod outcome {
    use serde::de::{IntoDeserializer, value};
    use serde::{Deserialize, Deserializer, Serialize, Serializer};
    use unflake_model::{Death, Outcome};

    use super::death::DeathFields;

    #[derive(Serialize, Deserialize)]
    struct OutcomeFields<S> {
        outcome: S,
        #[serde(flatten)]
        death: DeathFields,
    }

    pub(crate) fn serialize<S: Serializer>(outcome: &Outcome, serializer: S) -> Result<S::Ok, S::Error> {
        let death = match outcome {
            Outcome::Crashed(death) => (*death).into(),
            _ => DeathFields::default(),
        };
        OutcomeFields { outcome: outcome.word(), death }.serialize(serializer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Outcome, D::Error> {
        let OutcomeFields { outcome, death } = OutcomeFields::<String>::deserialize(deserializer)?;
        if outcome == Outcome::Crashed(Death::Unknown).word() {
            return Ok(Outcome::Crashed(death.into()));
        }
        let name: value::StrDeserializer<'_, D::Error> = outcome.as_str().into_deserializer();
        Outcome::deserialize(name)
    }
}

/// How a process died as the fields `signal` and `exit`; neither when it is not known.
pub(crate) mod death {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};
    use unflake_model::Death;

    #[derive(Default, Serialize, Deserialize)]
    pub(super) struct DeathFields {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        signal: Option<i32>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        exit: Option<i32>,
    }

    impl From<Death> for DeathFields {
        fn from(death: Death) -> Self {
            match death {
                Death::Signal(number) => Self { signal: Some(number), exit: None },
                Death::Exit(code) => Self { signal: None, exit: Some(code) },
                Death::Unknown => Self::default(),
            }
        }
    }

    impl From<DeathFields> for Death {
        fn from(fields: DeathFields) -> Self {
            match (fields.signal, fields.exit) {
                (Some(number), _) => Self::Signal(number),
                (_, Some(code)) => Self::Exit(code),
                _ => Self::Unknown,
            }
        }
    }

    pub(crate) fn serialize<S: Serializer>(death: &Death, serializer: S) -> Result<S::Ok, S::Error> {
        DeathFields::from(*death).serialize(serializer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Death, D::Error> {
        DeathFields::deserialize(deserializer).map(Death::from)
    }
}

/// An optional failure; fields without a value are omitted.
pub(crate) mod failure {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};
    use unflake_model::{Failure, Phase};

    #[derive(Serialize, Deserialize)]
    #[serde(remote = "Failure")]
    struct FailureFields {
        phase: Phase,
        kind: String,
        message: String,
        trace: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        file: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        line: Option<u32>,
    }

    #[derive(Serialize)]
    struct BorrowedFailure<'a>(#[serde(with = "FailureFields")] &'a Failure);

    #[derive(Deserialize)]
    struct OwnedFailure(#[serde(with = "FailureFields")] Failure);

    pub(crate) fn serialize<S: Serializer>(failure: &Option<Failure>, serializer: S) -> Result<S::Ok, S::Error> {
        failure.as_ref().map(BorrowedFailure).serialize(serializer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Failure>, D::Error> {
        Ok(Option::<OwnedFailure>::deserialize(deserializer)?.map(|owned| owned.0))
    }
}

#[cfg(test)]
mod tests {
    use unflake_model::{Death, Failure, Outcome, Phase};

    use crate::{AgentMessage, AttemptResult};

    /// The message as JSON, after a round trip that must not change it.
    fn json(message: AgentMessage) -> String {
        let text = serde_json::to_string(&message).unwrap();
        assert_eq!(serde_json::from_str::<AgentMessage>(&text).unwrap(), message, "{text}");
        text
    }

    fn done(outcome: Outcome, failure: Option<Failure>) -> AgentMessage {
        AgentMessage::Done(Box::new(AttemptResult { failure, ..AttemptResult::new(3, 0, outcome, 0.5) }))
    }

    #[test]
    fn an_outcome_is_a_word_and_a_crash_has_its_signal_or_exit_code_beside_it() {
        let of = |outcome| json(done(outcome, None));
        assert_eq!(of(Outcome::TimedOut), r#"{"event":"done","n":3,"run":0,"outcome":"timed-out","seconds":0.5}"#);
        let crashed = r#"{"event":"done","n":3,"run":0,"outcome":"crashed","signal":11,"seconds":0.5}"#;
        assert_eq!(of(Outcome::Crashed(Death::Signal(11))), crashed);
        assert_eq!(of(Outcome::Crashed(Death::Exit(2))), crashed.replace(r#""signal":11"#, r#""exit":2"#));
        assert_eq!(of(Outcome::Crashed(Death::Unknown)), crashed.replace(r#""signal":11,"#, ""));
        assert!(serde_json::from_str::<AgentMessage>(&crashed.replace("crashed", "exploded")).is_err());
    }

    #[test]
    fn a_death_without_signal_or_exit_code_is_unknown() {
        let reaped = |death| json(AgentMessage::Reaped { environment: 7, death });
        assert_eq!(reaped(Death::Exit(0)), r#"{"event":"reaped","environment":7,"exit":0}"#);
        assert_eq!(reaped(Death::Unknown), r#"{"event":"reaped","environment":7}"#);
    }

    #[test]
    fn a_failure_without_a_place_has_no_file_and_no_line() {
        let text = |part: &str| part.to_owned();
        let (file, line) = (None, None);
        let failure = Failure { phase: Phase::Call, kind: text("E"), message: text("m"), trace: text("t"), file, line };
        let expected = r#""seconds":0.5,"failure":{"phase":"call","kind":"E","message":"m","trace":"t"}}"#;
        assert!(json(done(Outcome::Failed, Some(failure))).ends_with(expected));
    }
}
