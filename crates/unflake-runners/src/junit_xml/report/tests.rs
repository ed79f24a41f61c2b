//! Tests of `report`.

use proptest::prelude::*;

use super::*;

/// Each test as one line: where it is, what it is called, how it ended.
fn results(xml: &str) -> Vec<String> {
    let report = read(xml.as_bytes()).unwrap();
    let tell = |test: &Reported| {
        let result = match &test.result {
            JunitEvent::Passed => "passed".to_owned(),
            JunitEvent::Skipped(reason) => format!("skipped: {}", reason.message),
            JunitEvent::Failed(trouble) => format!("failed: {}: {}", trouble.kind, trouble.message),
        };
        format!("{} | {} | {} | {result}", test.suite, test.classname, test.name)
    };
    report.tests.iter().map(tell).collect()
}

fn only(xml: &str) -> Reported {
    read(xml.as_bytes()).unwrap().tests.remove(0)
}

fn trouble(test: &Reported) -> &JunitError {
    match &test.result {
        JunitEvent::Failed(trouble) => trouble,
        other => panic!("{other:?}"),
    }
}

// -- Dialects, as the runners wrote them, shortened -----------------------------------------------------------------------

#[test]
fn vitest() {
    let xml = r#"<?xml version="1.0" encoding="UTF-8" ?>
<testsuites name="vitest tests" tests="4" failures="2" errors="0" time="0.040255457">
    <testsuite name="shop.test.js" timestamp="2026-11-15T14:37:15.739Z" tests="4" failures="1" errors="0" skipped="1">
        <testcase classname="shop.test.js" name="shop &gt; is sound" time="0.00164642">
            <system-out>
hello

            </system-out>
        </testcase>
        <testcase classname="shop.test.js" name="shop &gt; has a price" time="0.029096587">
            <failure message="expected 2 to be 3 // Object.is equality" type="AssertionError">
AssertionError: expected 2 to be 3 // Object.is equality

- Expected
+ Received

 ❯ shop.test.js:6:43
            </failure>
        </testcase>
        <testcase classname="shop.test.js" name="shop &gt; is skipped" time="0">
            <skipped/>
        </testcase>
    </testsuite>
</testsuites>"#;
    assert_eq!(
        results(xml),
        [
            "shop.test.js | shop.test.js | shop > is sound | passed",
            "shop.test.js | shop.test.js | shop > has a price | failed: AssertionError: expected 2 to be 3 // Object.is equality",
            "shop.test.js | shop.test.js | shop > is skipped | skipped: ",
        ]
    );
    let tests = read(xml.as_bytes()).unwrap().tests;
    assert_eq!(tests[0].stdout.trim_end(), "hello");
    assert_eq!(tests[1].seconds, 0.029096587);
    let text = &trouble(&tests[1]).text;
    assert!(text.starts_with("AssertionError: expected") && text.ends_with("❯ shop.test.js:6:43"), "{text}");
}

#[test]
fn gotestsum() {
    let xml = r#"<?xml version="1.0" encoding="UTF-8"?>
<testsuites tests="7" failures="4" errors="0" time="0.004956">
	<testsuite tests="7" failures="4" skipped="1" time="0.005000" name="example.com/shop" timestamp="2026-11-15T14:37:11Z">
		<properties>
			<property name="go.version" value="go1.26.8 linux/amd64"></property>
		</properties>
		<testcase classname="example.com/shop" name="TestPrice" time="0.010000">
			<failure message="Failed" type="">=== RUN   TestPrice&#xA;    shop_test.go:12: price: got 2, want 3&#xA;--- FAIL: TestPrice (0.00s)&#xA;</failure>
		</testcase>
		<testcase classname="example.com/shop" name="TestSkipped" time="0.000000">
			<skipped message="=== RUN   TestSkipped&#xA;    shop_test.go:23: not here&#xA;"></skipped>
		</testcase>
		<testcase classname="example.com/shop" name="TestTable/one_two" time="0.000000"></testcase>
	</testsuite>
</testsuites>"#;
    assert_eq!(
        results(xml),
        [
            "example.com/shop | example.com/shop | TestPrice | failed: : Failed",
            "example.com/shop | example.com/shop | TestSkipped | skipped: === RUN   TestSkipped\n    shop_test.go:23: not here",
            "example.com/shop | example.com/shop | TestTable/one_two | passed",
        ]
    );
    assert!(trouble(&only(xml)).text.contains("\n    shop_test.go:12: price: got 2, want 3\n"));
}

#[test]
fn go_junit_report() {
    let xml = r#"<testsuites tests="7" failures="3" skipped="1">
	<testsuite name="example.com/shop" tests="7" failures="3" errors="0" id="0" skipped="1" time="0.003">
		<testcase name="TestPrice" classname="example.com/shop" time="0.000">
			<failure message="Failed"><![CDATA[    shop_test.go:12: price: got 2, want 3]]></failure>
		</testcase>
		<testcase name="TestSkipped" classname="example.com/shop" time="0.000">
			<skipped message="Skipped"><![CDATA[    shop_test.go:23: not here]]></skipped>
		</testcase>
	</testsuite>
</testsuites>"#;
    assert_eq!(results(xml)[1], "example.com/shop | example.com/shop | TestSkipped | skipped: Skipped");
    assert_eq!(trouble(&only(xml)).text, "    shop_test.go:12: price: got 2, want 3");
}

/// The formatter of Perl's `prove` has no classes, and tells the trouble of a test file once more for the file.
#[test]
fn prove() {
    let xml = r#"<testsuites>
  <testsuite tests="2" failures="1" name="shop_t" errors="1">
    <testcase name="1 - sound"></testcase>
    <testcase name="2 - price">
      <failure message="not ok 2 - price"
               type="TestFailed"><![CDATA[not ok 2 - price]]></failure>
    </testcase>
    <system-out><![CDATA[1..2
ok 1 - sound
not ok 2 - price
]]></system-out>
    <system-err><![CDATA[Dubious, test returned 1 (wstat 256, 0x100)
]]></system-err>
    <error message="Dubious, test returned 1 (wstat 256, 0x100)" />
  </testsuite>
  <testsuite tests="1" failures="0" name="late_t" errors="1">
    <testcase name="1 - sound"></testcase>
    <system-err></system-err>
    <error message="Dubious, test returned 9 (wstat 2304, 0x900)" />
  </testsuite>
</testsuites>"#;
    assert_eq!(
        results(xml),
        [
            "shop_t |  | 1 - sound | passed",
            "shop_t |  | 2 - price | failed: TestFailed: not ok 2 - price",
            "late_t |  | 1 - sound | passed",
            "late_t |  | (outside of its tests) | failed: : Dubious, test returned 9 (wstat 2304, 0x900)",
        ]
    );
    let tests = read(xml.as_bytes()).unwrap().tests;
    assert_eq!((tests[0].stdout.as_str(), tests[1].stdout.as_str()), ("", "1..2\nok 1 - sound\nnot ok 2 - price\n"));
}

#[test]
fn rspec() {
    let xml = r#"<?xml version="1.0" encoding="UTF-8"?>
<testsuite name="rspec" tests="3" skipped="1" failures="1" errors="0" time="0.000859">
<properties>
<property name="seed" value="54566"/>
</properties>
<testcase classname="spec.shop_spec" name="shop is sound" file="./spec/shop_spec.rb" time="0.000059"></testcase>
<testcase classname="spec.shop_spec" name="shop has a price" file="./spec/shop_spec.rb" time="0.000077"><failure message="undefined method `expect&apos; for #&lt;RSpec::ExampleGroups::Shop &quot;has a price&quot;&gt;" type="NoMethodError">Failure/Error: it(&apos;has a price&apos;) { expect(1 + 1).to eq(3) }

./spec/shop_spec.rb:3:in `block (2 levels) in &lt;top (required)&gt;&apos;</failure></testcase>
<testcase classname="spec.shop_spec" name="shop is skipped" file="./spec/shop_spec.rb" time="0.000005"><skipped/></testcase>
</testsuite>"#;
    let message = r#"undefined method `expect' for #<RSpec::ExampleGroups::Shop "has a price">"#;
    assert_eq!(
        results(xml)[1],
        format!("rspec | spec.shop_spec | shop has a price | failed: NoMethodError: {message}")
    );
    let tests = read(xml.as_bytes()).unwrap().tests;
    assert_eq!(tests[0].file.as_deref(), Some("./spec/shop_spec.rb"));
    assert!(trouble(&tests[1]).text.ends_with("in `block (2 levels) in <top (required)>'"));
}

#[test]
fn pytest() {
    let xml = r#"<?xml version="1.0" encoding="utf-8"?><testsuites name="pytest tests"><testsuite name="pytest" errors="1" failures="1" skipped="1" tests="4" time="0.045"><testcase classname="test_shop" name="test_sound" time="0.000" /><testcase classname="test_shop" name="test_setup" time="0.000"><error message="failed on setup with &quot;OSError: no disk&quot;">@pytest.fixture
    def broken():
&gt;       raise OSError("no disk")

test_shop.py:5: OSError</error></testcase><testcase classname="test_shop" name="test_skipped" time="0.000"><skipped type="pytest.skip" message="not here">/home/ann/test_shop.py:12: not here</skipped></testcase></testsuite></testsuites>"#;
    assert_eq!(
        results(xml),
        [
            "pytest | test_shop | test_sound | passed",
            "pytest | test_shop | test_setup | failed: : failed on setup with \"OSError: no disk\"",
            "pytest | test_shop | test_skipped | skipped: not here",
        ]
    );
    assert!(read(xml.as_bytes()).unwrap().tests[1].result != JunitEvent::Passed);
}

/// With `rerunFailingTestsCount`: what the runner itself did again is reported, and is no result.
#[test]
fn surefire() {
    let xml = r#"<?xml version="1.0" encoding="UTF-8"?>
<testsuite xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" version="3.0" name="shop.ShopTest" time="0.09" tests="3">
  <properties>
    <property name="java.version" value="17"/>
  </properties>
  <testcase name="broken" classname="shop.ShopTest" time="0.375">
    <error message="no disk" type="java.lang.IllegalStateException"><![CDATA[java.lang.IllegalStateException: no disk
	at shop.ShopTest.broken(ShopTest.java:8)
]]></error>
    <rerunError message="no disk" type="java.lang.IllegalStateException">
      <stackTrace><![CDATA[java.lang.IllegalStateException: no disk
]]></stackTrace>
    </rerunError>
  </testcase>
  <testcase name="flaky" classname="shop.ShopTest" time="0.001">
    <flakyFailure message="expected: &lt;true&gt; but was: &lt;false&gt;" type="org.opentest4j.AssertionFailedError">
      <stackTrace><![CDATA[org.opentest4j.AssertionFailedError: expected: <true> but was: <false>
]]></stackTrace>
    </flakyFailure>
  </testcase>
  <testcase name="sound" classname="shop.ShopTest" time="0.008"/>
  <testcase name="skipped" classname="shop.ShopTest" time="0.0">
    <skipped message="not here"/>
  </testcase>
</testsuite>"#;
    assert_eq!(
        results(xml),
        [
            "shop.ShopTest | shop.ShopTest | broken | failed: java.lang.IllegalStateException: no disk",
            "shop.ShopTest | shop.ShopTest | flaky | passed",
            "shop.ShopTest | shop.ShopTest | sound | passed",
            "shop.ShopTest | shop.ShopTest | skipped | skipped: not here",
        ]
    );
    assert_eq!(read(xml.as_bytes()).unwrap().rerun, 1);
}

// -- What differs elsewhere -----------------------------------------------------------------------------------------------

#[test]
fn suites_within_suites_and_states_in_attributes() {
    let xml = r#"<testsuites><testsuite name="outer" file="a.cc"><testsuite name="inner">
        <testcase name="a" line="7"/></testsuite><testcase name="b" status="notrun"/>
        <testcase name="c" result="suppressed" time="1,234.5"/></testsuite></testsuites>"#;
    assert_eq!(results(xml), ["inner |  | a | passed", "outer |  | b | skipped: ", "outer |  | c | skipped: "]);
    let tests = read(xml.as_bytes()).unwrap().tests;
    assert_eq!((tests[0].line, tests[1].file.as_deref(), tests[2].seconds), (Some(7), Some("a.cc"), 1234.5));
}

#[test]
fn several_errors_become_one() {
    let xml = r#"<testsuite><testcase name="a"><failure message="first">x</failure><skipped/><error message="then">y</error>
        </testcase></testsuite>"#;
    let test = only(xml);
    assert_eq!((trouble(&test).message.as_str(), trouble(&test).text.as_str()), ("first", "x\nthen\ny"));
}

#[test]
fn a_file_that_is_no_report_is_an_error() {
    let complaint = |text: &str| read(text.as_bytes()).unwrap_err();
    assert_eq!(complaint(""), "it has neither `testsuites` nor `testsuite`");
    assert_eq!(complaint("<html></html>"), "it has neither `testsuites` nor `testsuite`");
    assert_eq!(complaint("<testsuites><testsuite name='a'><testcase name='b'>"), "it is truncated");
    assert!(complaint("<testsuite></testcase>").starts_with("it is not XML: "));
    assert!(complaint(&"<testsuite>".repeat(100)).starts_with("it has more than 64 elements"));
}

#[test]
fn nothing_is_expanded_but_what_xml_has_by_itself() {
    let xml = r#"<!DOCTYPE t [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;"><!ENTITY f SYSTEM "file:///etc/passwd">]>
        <testsuite><testcase name="&b;&lt;"><failure>&b; &f; &amp;&#65; &#xFFFFFFFF;</failure></testcase></testsuite>"#;
    let test = only(xml);
    assert_eq!((test.name.as_str(), trouble(&test).text.as_str()), ("&b;&lt;", "&b; &f; &A &#xFFFFFFFF;"));
}

#[test]
fn bytes_that_are_no_text_are_spelled() {
    let test = only("<testsuite><testcase name='a'><system-out>x</system-out></testcase></testsuite>");
    assert_eq!(test.stdout, "x");
    let report = read(b"<testsuite><testcase name='\xff'/></testsuite>").unwrap();
    assert_eq!(report.tests[0].name, "\\xff");
}

proptest! {
    #[test]
    fn any_bytes_are_read_without_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        let _ = read(&bytes);
    }

    #[test]
    fn pieces_of_reports_in_any_order_are_read_without_a_panic(
        pieces in prop::collection::vec(prop::sample::select(PIECES.to_vec()), 0..60)
    ) {
        let text = pieces.concat();
        if let Ok(report) = read(text.as_bytes()) {
            prop_assert!(report.tests.len() <= pieces.len());
        }
    }
}

const PIECES: [&str; 26] = [
    "<testsuites>",
    "</testsuites>",
    "<testsuite name='s'>",
    "</testsuite>",
    "<testcase name='a' classname='b'>",
    "<testcase name='&lt;&x;&#0;'/>",
    "</testcase>",
    "<failure message='m'>",
    "</failure>",
    "<error/>",
    "<skipped/>",
    "<system-out>",
    "</system-out>",
    "<system-err>",
    "</system-err>",
    "<![CDATA[<x>]]>",
    "&amp;",
    "&none;",
    "&#1114112;",
    "text",
    "<!-- c -->",
    "<?pi?>",
    "<flakyFailure/>",
    "<testsuite/>",
    "<!DOCTYPE x>",
    "\u{feff}",
];
