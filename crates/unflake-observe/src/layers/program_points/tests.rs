//! Tests of `program_points`.

use proptest::prelude::*;

use super::*;

fn names(count: usize) -> Vec<String> {
    ["x", "y", "z", "w"].iter().take(count).map(|name| (*name).to_owned()).collect()
}

fn infer(rows: &[Vec<Value>]) -> Vec<String> {
    let width = rows.first().map_or(0, Vec::len);
    let mut point = ProgramPoint::new(width);
    rows.iter().for_each(|row| point.add_row(row));
    point.invariants().iter().map(|(one, rows)| format!("{} ({rows})", one.text(&names(width)))).collect()
}

fn ints(rows: impl IntoIterator<Item = Vec<i64>>) -> Vec<Vec<Value>> {
    rows.into_iter().map(|row| row.into_iter().map(Value::Int).collect()).collect()
}

#[test]
fn too_few_rows_yield_no_invariants() {
    assert!(infer(&ints(vec![vec![5]; 6])).is_empty());
    assert_eq!(infer(&ints(vec![vec![5]; 7])), ["x == 5 (7)"]);
}

#[test]
fn unary_invariants_are_inferred() {
    assert_eq!(infer(&ints((0..12).map(|at| vec![at % 2]))), ["x is one of 0, 1 (12)"]);
    assert_eq!(
        infer(&ints((0..40).map(|at| vec![3 + at % 5]))),
        ["x is of type int (40)", "x >= 3 (40)", "x <= 7 (40)"]
    );
    // A wide span with few rows: its bounds are accidental, its sign is not.
    assert_eq!(infer(&ints((0..10).map(|at| vec![7 + at * at]))), ["x is of type int (10)", "x > 0 (10)"]);
    let sides = |at: i64| if at % 2 == 0 { -1 - at % 9 } else { 1 + at % 9 };
    assert_eq!(
        infer(&ints((0..200).map(|at| vec![sides(at)]))),
        ["x is of type int (200)", "x >= -9 (200)", "x <= 9 (200)", "x != 0 (200)"]
    );
    assert_eq!(infer(&vec![vec![Value::Null]; 8]), ["x is null (8)"]);
    let list = |size| vec![Value::Other { kind: "list".into(), size: Some(size), text: None }];
    assert_eq!(infer(&vec![list(3); 8]), ["x is of type list (8)", "size of x == 3 (8)"]);
    assert_eq!(infer(&(0..9).map(|at| list(at * at + 1)).collect::<Vec<_>>())[1], "size of x > 0 (9)");
    let mixed = |at: i32| vec![if at % 2 == 0 { Value::Int(at.into()) } else { Value::Text(at.to_string().into()) }];
    assert_eq!(infer(&(0..9).map(mixed).collect::<Vec<_>>()), ["x is not null (9)"]);
    let truth = |at: i32| vec![Value::Bool(at % 2 == 0)];
    assert_eq!(infer(&(0..20).map(truth).collect::<Vec<_>>()), ["x is of type bool (20)"]);
}

#[test]
fn binary_invariants_are_inferred() {
    let two = |of: &dyn Fn(i64) -> i64| {
        let found = infer(&ints((0..30).map(|at| vec![at * 37 % 101, of(at * 37 % 101)])));
        found
            .into_iter()
            .filter(|one| !one.contains("type") && one.contains('y') && one.contains('x'))
            .collect::<Vec<_>>()
    };
    assert_eq!(two(&|x| x), ["x == y (30)"]);
    assert_eq!(two(&|x| 2 * x + 1), ["y == 2 * x + 1 (30)"]);
    assert_eq!(two(&|x| 7 - x), ["y == -1 * x + 7 (30)"]);
    assert_eq!(two(&|x| x + x % 3), ["x <= y (30)"]);
    assert_eq!(two(&|x| x + 1 + x % 3), ["x < y (30)"]);
    assert_eq!(two(&|x| x - x % 3), ["x >= y (30)"]);
    assert!(two(&|x| 1000 + x * x).is_empty(), "their ranges say it");
    assert!(two(&|_| 5).is_empty());
    assert!(two(&|x| (x * x) % 101).is_empty());
}

#[test]
fn repeated_rows_are_no_evidence_for_pairs() {
    let rows = (0..100).map(|at| if at < 50 { vec![1, 2] } else { vec![3, 5] });
    assert!(!infer(&ints(rows)).iter().any(|one| one.contains("x < y")));
}

#[test]
fn copies_are_reported_once() {
    let found = infer(&ints((0..40).map(|at| vec![at * 7 % 40, at * 7 % 40, at * 7 % 40, at * 7 % 40 + at % 2])));
    let between: Vec<_> =
        found.iter().filter(|one| !one.contains("type") && one.matches(['x', 'y', 'z', 'w']).count() > 1).collect();
    assert_eq!(between, ["x == y (40)", "x == z (40)", "x <= w (40)"]);
}

fn value() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        (-3_i64..4).prop_map(Value::Int),
        any::<i64>().prop_map(Value::Int),
        (-2.0..2.0_f64).prop_map(Value::Float),
        "[ab]{0,1}".prop_map(|text| Value::Text(text.into())),
        (0_i64..3).prop_map(|size| Value::Other { kind: "list".into(), size: Some(size), text: None }),
    ]
}

/// Random rows: some columns of one type, some of mixed types.
fn rows() -> impl Strategy<Value = Vec<Vec<Value>>> {
    let column = prop_oneof![
        prop::collection::vec((-20_i64..20).prop_map(Value::Int), 60),
        prop::collection::vec((-1.0..1.0_f64).prop_map(Value::Float), 60),
        prop::collection::vec(value(), 60),
        value().prop_map(|value| vec![value; 60]),
    ];
    (prop::collection::vec(column, 1..4), 1_usize..60, -3_i64..4, -9_i64..9).prop_map(|(mut columns, length, a, b)| {
        // Adds a column that depends on the first one.
        let by = |value: &Value| {
            if let Value::Int(x) = value { Value::Int(x.saturating_mul(a).saturating_add(b)) } else { value.clone() }
        };
        columns.push(columns[0].iter().map(by).collect());
        (0..length).map(|at| columns.iter().map(|column| column[at].clone()).collect()).collect()
    })
}

proptest! {
    #[test]
    fn invariants_hold_for_every_row(rows in rows()) {
        let mut point = ProgramPoint::new(rows[0].len());
        rows.iter().for_each(|row| point.add_row(row));
        for (invariant, support) in point.invariants() {
            prop_assert!(support as usize <= rows.len());
            for row in &rows {
                prop_assert!(invariant.holds(row), "{} does not hold of {row:?}", invariant.text(&names(row.len())));
            }
        }
    }
}
