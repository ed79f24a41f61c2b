//! Tests of `factor`.

use super::*;
use crate::{Amount, FactorDeclaration, FactorScale, ScaleShape, declare_factors};

static PACE: FactorDeclaration = FactorDeclaration {
    name: "pace",
    title: "pace",
    plural: "paces",
    syntax: "a length of time",
    parse: |setting| setting.parse::<Amount>().ok().map(|amount| amount.to_string()),
    scale: Some(FactorScale {
        number: |setting| setting.parse::<Amount>().ok().map(Amount::seconds),
        with_number: |_, seconds| Some(format!("{}us", (seconds * 1e6).round())),
        shape: ScaleShape::Amount { grows: |_| true, whole: false },
    }),
    ..FactorDeclaration::EMPTY
};

fn factor(text: &str) -> Result<Factor, BadFactor> {
    declare_factors([&PACE]);
    text.parse()
}

#[test]
fn settings_are_canonical_and_survive_json() {
    let pace = factor("pace=1000us").unwrap();
    assert_eq!((pace.to_string().as_str(), pace.flag().as_str()), ("pace=1ms", "--pace=1ms"));
    let json = serde_json::to_value(&pace).unwrap();
    assert_eq!(json, serde_json::json!({"factor": "pace", "setting": "1ms"}));
    assert_eq!(serde_json::from_value::<Factor>(json).unwrap(), pace);
}

#[test]
fn invalid_settings_are_rejected_with_the_syntax() {
    let bad = |text: &str| factor(text).unwrap_err().to_string();
    assert_eq!(bad("pace=fast"), "`fast` is not a setting of pace; use a length of time");
    assert_eq!(bad("weather=rain"), "`weather=rain` is not a factor; write one like `date=2027-01-30`");
    assert_eq!(bad("pace"), "`pace` is not a factor; write one like `date=2027-01-30`");
}

#[test]
fn settings_with_a_scale_have_numbers() {
    let pace = factor("pace=10us").unwrap();
    assert_eq!(pace.number(), Some(0.00001));
    assert_eq!(pace.with_number(0.001).map(|pace| pace.to_string()).as_deref(), Some("pace=1ms"));
    assert_eq!(pace.with_number(-1.0), None);
}

#[test]
fn undeclared_factors_are_read_from_json_unchanged() {
    let json = r#"{"factor":"old-seed","setting":"7"}"#;
    let factor: Factor = serde_json::from_str(json).unwrap();
    assert_eq!(
        (factor.to_string(), serde_json::to_string(&factor).unwrap()),
        ("old-seed=7".to_owned(), json.to_owned())
    );
    assert_eq!(serde_json::from_str::<Factor>(json).unwrap(), factor);
    assert_eq!((factor.number(), factor.with_number(1.0)), (None, None));
}
