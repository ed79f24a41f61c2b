//! Why one test is flaky: chooses among the other techniques, the cheapest first, until one proves
//! a root cause.

pub(crate) mod company_schedule_trial;
pub(crate) mod company_trial;
pub(crate) mod diagnosis;
pub(crate) mod fix_check;
pub(crate) mod retries;
pub(crate) mod schedule_trial;
pub(crate) mod seed_trial;
pub(crate) mod speed_trial;
pub(crate) mod steps;
